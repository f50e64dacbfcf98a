"""
Count the tokens of the code, without comments, docstrings, line ends and indents: less is better.

Run: python tests/benchmarks/code_size.py
"""

from __future__ import annotations

import ast
import sys
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST_TOKENS = {"petstore_tools": 84_100, "tests": 114_000}
MOST_FILES = {"petstore_tools": 85}
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def docstring_positions(tree: ast.Module) -> set[tuple[int, int]]:
    """Return where the docstrings of a module begin: line and column."""
    return {
        (node.body[0].lineno, node.body[0].col_offset)
        for node in ast.walk(tree)
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None
    }


def code_tokens(path: Path) -> int:
    """Count the tokens of a file that are code."""
    docstrings = docstring_positions(ast.parse(path.read_text(encoding="utf-8")))
    with tokenize.open(path) as file:
        tokens = list(tokenize.generate_tokens(file.readline))
    return sum(token.type not in NO_CODE and token.start not in docstrings for token in tokens)


def main() -> int:
    """Print each room and each sum beside its bound; the exit code is 1 above one."""
    fails = False
    for folder, most in MOST_TOKENS.items():
        rooms: Counter[str] = Counter()
        paths = sorted((ROOT / folder).rglob("*.py"))
        for path in paths:
            rooms[path.relative_to(ROOT / folder).parts[0].removesuffix(".py")] += code_tokens(path)
        print(", ".join(f"{room} {tokens:,}" for room, tokens in sorted(rooms.items())))
        print(f"{folder}: {rooms.total():,} tokens, at most {most:,}")
        most_files = MOST_FILES.get(folder, len(paths))
        print(f"{folder}: {len(paths)} files, at most {most_files}")
        fails = fails or rooms.total() > most or len(paths) > most_files
    return int(fails)


if __name__ == "__main__":
    sys.exit(main())
