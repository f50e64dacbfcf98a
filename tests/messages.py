"""
Print every text of the package that a person may read, by room and file, each with its
line.

They are the strings of two words or more; a placeholder shows its expression: `{n}
rows`. The help of a command is its docstring.

Run: python tests/messages.py [ROOM ...]
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "petstore_tools"
NO_PROSE = re.compile(
    r"\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|PRAGMA|BEGIN|WITH|LOCK|<!|\(\?)\b"
)


def template(node: ast.AST) -> str:
    """
    Return a string as it is written, an f-string with its expressions in braces, "" for
    all else.
    """
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.FormattedValue):
        return ast.unparse(ast.JoinedStr([node]))[2:-1]
    return (
        "".join(map(template, node.values)) if isinstance(node, ast.JoinedStr) else ""
    )


def texts(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and text of each string below a node."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return  # a docstring, or what describes the field above
    if isinstance(node, ast.FunctionDef):
        decorators = "".join(map(ast.unparse, node.decorator_list))
        if re.search(r"\.(command|group)\(", decorators):
            yield node.lineno, ast.get_docstring(node) or ""
    text = template(node)
    if re.search(r"[A-Za-z}]\S* \S*[A-Za-z{]", text) and not NO_PROSE.match(text):
        yield node.lineno, text  # type: ignore[attr-defined]
        return
    for child in ast.iter_child_nodes(node):
        yield from texts(child)


def main(rooms: list[str]) -> None:
    """Print all texts, or those of some rooms."""
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE)
        if not rooms or place.parts[0].removesuffix(".py") in rooms:
            print(f"\n{place.as_posix()}")
            for line, text in texts(ast.parse(path.read_text(encoding="utf-8"))):
                print(f"{line:>5} {text.strip().replace(chr(10), chr(10) + ' ' * 6)}")


if __name__ == "__main__":
    main(sys.argv[1:])
