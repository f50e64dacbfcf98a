"""
Print every text of the package that a person may read, sorted by room and file, each with its line
and kind.

- raise: the message of an exception
- warn: a warning
- print: what is printed or echoed
- help: help of commands and options
- repr: what `repr`, `str` and notebooks show
- text: any other string of three words or more; messages are often built in a function and raised
  elsewhere

Strings are read from the source, so a placeholder shows its expression: `{n} rows`.

Run: python tests/messages.py [ROOM ...]
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "petstore_tools"
PLACES = {  # the name of what is around a text, and what that makes of it
    **dict.fromkeys(("__repr__", "__str__", "_repr_html_", "_repr_markdown_", "to_text"), "repr"),
    **dict.fromkeys(("echo", "print", "secho", "confirm", "prompt"), "print"),
    **dict.fromkeys(("Raise", "fail", "UsageError", "BadParameter", "super"), "raise"),
    **dict.fromkeys(("help", "short_help", "epilog", "HELP"), "help"),
    "warn": "warn",
}
NO_PROSE = re.compile(
    r"\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|PRAGMA|BEGIN|WITH|LOCK|<!|\(\?)\b"
)


def template(node: ast.AST) -> str:
    """
    Return a string as it is written, an f-string with its expressions in braces, "" for all else.
    """
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.FormattedValue):
        return ast.unparse(ast.JoinedStr([node]))[2:-1]
    return "".join(map(template, node.values)) if isinstance(node, ast.JoinedStr) else ""


def names(node: ast.AST) -> list[str]:
    """Return what a node is called, or calls."""
    if isinstance(node, ast.Call):
        return re.findall(r"\w+", ast.unparse(node.func))
    if isinstance(node, ast.Assign):
        return [ast.unparse(target) for target in node.targets]
    return [type(node).__name__, getattr(node, "name", ""), getattr(node, "arg", None) or ""]


def texts(node: ast.AST, kind: str = "text") -> Iterator[tuple[int, str, str]]:
    """Yield line, kind and text of each string below a node; what is around it tells the kind."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return  # a docstring, or what describes the field above
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        kind = "text"
        if any({"command", "group"} & {*names(each)} for each in node.decorator_list):
            yield node.lineno, "help", ast.get_docstring(node) or ""
    kind = next((PLACES[name] for name in names(node) if name in PLACES), kind)
    text = "" if isinstance(node, ast.FormattedValue) else template(node)
    words = re.findall(r"[A-Za-z]{2,}|\{", text)
    enough = len(words) >= (3 if kind == "text" else 1) and " " in text.strip()
    if (enough or (kind in ("help", "repr") and words)) and not NO_PROSE.match(text):
        yield node.lineno, kind, text  # type: ignore[attr-defined]
    for child in ast.iter_child_nodes(node):
        if not (isinstance(node, ast.JoinedStr) and isinstance(child, ast.Constant)):
            yield from texts(child, kind)


def main(rooms: list[str]) -> None:
    """Print all texts, or those of some rooms."""
    for path in sorted(PACKAGE.rglob("*.py"), key=lambda p: p.relative_to(PACKAGE).parts):
        place = path.relative_to(PACKAGE)
        if rooms and place.parts[0].removesuffix(".py") not in rooms:
            continue
        found = sorted(set(texts(ast.parse(path.read_text(encoding="utf-8")))))
        if found:
            print(f"\n{place.as_posix()}")
        for line, kind, text in found:
            print(f"{line:>5} {kind:<5} {text.strip().replace(chr(10), chr(10) + ' ' * 12)}")


if __name__ == "__main__":
    main(sys.argv[1:])
