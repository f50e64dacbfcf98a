"""
Count what a reader of the code meets: a word or a sign is one token. Less is better.

Comments, docstrings, line ends and indents count nothing. SQL in a string counts by its
words, and an f-string by the parts of its expressions. Templates count by words between
blanks. A bound that is not kept prints `missed`; the script fails 8 % above it.

Run: python tests/benchmarks/code_size.py
"""

import ast
import re
import sys
import tokenize
from collections import Counter
from io import StringIO
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST_TOKENS = {"petstore_tools": 92_000, "tests": 120_000}
MOST_FILES = 92
MOST_WORDS = 2_000
MARGIN = 1.08
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
PARTS = (ast.Name, ast.Attribute, ast.Call, ast.Constant, ast.Subscript)
SQL = re.compile(
    r"\b(SELECT|INSERT|UPDATE|DELETE FROM|WHERE|VALUES|FROM \w+|ON CONFLICT|PRAGMA"
    r"|CREATE (TABLE|INDEX|TEMP|UNIQUE|TRIGGER|FUNCTION))\b"
)


def docstrings(tree: ast.Module) -> list[ast.Constant]:
    """Return the strings that open modules, classes and functions."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, DOCUMENTED)]
    documented = [node for node in nodes if ast.get_docstring(node, clean=False)]
    return [node.body[0].value for node in documented]  # type: ignore[attr-defined]


def signs(source: str, comments: list[ast.Constant]) -> int:
    """Count the tokens that are code; an f-string, and what stands in it, is one."""
    lines: set[int] = set()
    for node in comments:
        lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    count = depth = 0
    for token in tokenize.generate_tokens(StringIO(source).readline):
        kind = tokenize.tok_name[token.type]
        is_docstring = kind == "STRING" and token.start[0] in lines
        if kind == "FSTRING_END":  # Python 3.12 takes an f-string apart
            depth -= 1
        elif depth == 0 and token.type not in NO_CODE and not is_docstring:
            count += 1
        if kind == "FSTRING_START":
            depth += 1
    return count


def hidden(tree: ast.Module, comments: list[ast.Constant]) -> int:
    """Count the words of SQL but one, and the parts of what f-strings show."""
    count = 0
    for node in ast.walk(tree):
        match node:
            case ast.FormattedValue(value=expression):
                parts = ast.walk(expression)
                count += sum(isinstance(part, PARTS) for part in parts)
            case ast.Constant(value=str(text)) if SQL.search(text):
                if node not in comments:
                    count += len(re.findall(r"\w+|[^\w\s]", text)) - 1
    return count


def code_tokens(source: str) -> int:
    r"""
    Count the tokens of a file: a word or a sign each; SQL by its words, an f-string by
    its parts, no comment or docstring.

        >>> code_tokens("")
        0
        >>> code_tokens("n = len(rows) + 1  # a comment")
        8
        >>> code_tokens("def f():\n    'Say it.'\n    return 'It is said.'")
        7
        >>> code_tokens("db = 'SELECT id FROM pet WHERE id > ?'")
        10
        >>> code_tokens("text = f'{len(rows)} rows of {n:,}'")
        7
        >>> code_tokens("text = f'{f\"{n}\"} rows'")
        5
    """
    tree = ast.parse(source)
    comments = docstrings(tree)
    return signs(source, comments) + hidden(tree, comments)


def verdict(label: str, size: int, most: int) -> bool:
    """
    Print a size beside its bound; say whether it fails, 8 % above it: a bound that is
    hardly missed is named, and stays as it is.

        >>> verdict("x", 1_000, 1_000)
        x: 1,000, at most 1,000
        False
        >>> verdict("x", 1_080, 1_000)
        x: 1,080, at most 1,000: missed
        False
        >>> verdict("x", 1_081, 1_000)
        x: 1,081, at most 1,000: missed
        True
    """
    note = "" if size <= most else ": missed"
    print(f"{label}: {size:,}, at most {most:,}{note}")
    return size > most * MARGIN


def main() -> int:
    """
    Print each room, and each sum beside its bound; the exit code is 1 where one fails.
    """
    failures = []
    for folder, most in MOST_TOKENS.items():
        rooms: Counter[str] = Counter()
        for path in (ROOT / folder).rglob("*.py"):
            room = path.relative_to(ROOT / folder).parts[0].removesuffix(".py")
            rooms[room] += code_tokens(path.read_text(encoding="utf-8"))
        print(*(f"{room} {rooms[room]:,}" for room in sorted(rooms)), sep=", ")
        failures.append(verdict(f"{folder}: tokens", rooms.total(), most))
    package = ROOT / "petstore_tools"
    failures.append(verdict("files", len(list(package.rglob("*.py"))), MOST_FILES))
    templates = package.rglob("templates/*")
    words = sum(len(path.read_text(encoding="utf-8").split()) for path in templates)
    failures.append(verdict("templates: words", words, MOST_WORDS))
    return int(any(failures))


if __name__ == "__main__":
    sys.exit(main())
