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
SHOWN_BY = {"__repr__", "__str__", "_repr_html_", "_repr_markdown_", "to_text"}
CALLS = {
    "warn": "warn",
    "echo": "print",
    "print": "print",
    "secho": "print",
    "confirm": "print",
    "prompt": "print",
    "fail": "raise",
    "UsageError": "raise",
    "BadParameter": "raise",
}
NO_PROSE = re.compile(
    r"\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|PRAGMA|BEGIN|WITH|LOCK|<!|\(\?)\b"
)


def template(node: ast.expr) -> str:
    """
    Return a string as it is written, an f-string with its expressions in braces, "" for all else.
    """
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.FormattedValue):
        conversion = f"!{chr(node.conversion)}" if node.conversion > 0 else ""
        style = "" if node.format_spec is None else f":{template(node.format_spec)}"
        return f"{{{ast.unparse(node.value)}{conversion}{style}}}"
    return "".join(map(template, node.values)) if isinstance(node, ast.JoinedStr) else ""


def callee(call: ast.Call) -> str:
    """Return the last part of the name of what is called."""
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def is_command(node: ast.AST) -> bool:
    """Say whether a function is a command of click, so that its docstring is its help."""
    decorators = getattr(node, "decorator_list", [])
    return any(isinstance(d, ast.Call) and callee(d) in ("command", "group") for d in decorators)


class Reader(ast.NodeVisitor):
    """Gathers the texts of one file as (line, kind, text)."""

    def __init__(self) -> None:
        self.found: list[tuple[int, str, str]] = []
        self._kind = "text"

    def _inside(self, kind: str, node: ast.AST) -> None:
        before = self._kind
        self._kind = kind
        self.generic_visit(node)
        self._kind = before

    def _definition(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module
    ) -> None:
        if ast.get_docstring(node) is not None:
            if is_command(node):
                self.found.append((node.body[0].lineno, "help", ast.get_docstring(node) or ""))
            node.body = node.body[1:]
        shown = getattr(node, "name", "") in SHOWN_BY
        self._inside("repr" if shown else "text", node)

    visit_Module = visit_ClassDef = visit_FunctionDef = visit_AsyncFunctionDef = _definition  # noqa: N815

    def visit_FormattedValue(self, node: ast.FormattedValue) -> None:
        """Take the strings in a placeholder, without its format."""
        self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Take what is in a raised exception."""
        self._inside("raise", node)

    def visit_Call(self, node: ast.Call) -> None:
        """Take what is printed, warned of, or handed to a base class of errors."""
        name = callee(node)
        to_base = name == "__init__" and isinstance(node.func, ast.Attribute)
        self._inside("raise" if to_base else CALLS.get(name, self._kind), node)

    def visit_keyword(self, node: ast.keyword) -> None:
        """Take the help of an option."""
        self._inside("help" if node.arg in ("help", "short_help", "epilog") else self._kind, node)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Take a help text that has a name."""
        is_help = any(
            isinstance(target, ast.Name) and target.id == "HELP" for target in node.targets
        )
        self._inside("help" if is_help else self._kind, node)

    def visit_Expr(self, node: ast.Expr) -> None:
        """Leave out strings that stand alone: they describe the field above."""
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Take an f-string, and the strings in its placeholders."""
        self._take(node)
        for part in node.values:
            if not isinstance(part, ast.Constant):
                self.visit(part)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Take a plain string."""
        self._take(node)

    def _take(self, node: ast.expr) -> None:
        text = template(node)
        words = re.findall(r"[A-Za-z]{2,}|\{", text)
        enough = len(words) >= (3 if self._kind == "text" else 1) and " " in text.strip()
        if (enough or (self._kind in ("help", "repr") and words)) and not NO_PROSE.match(text):
            self.found.append((node.lineno, self._kind, text))


def texts(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield the texts of a file in the order of its lines."""
    reader = Reader()
    reader.visit(ast.parse(path.read_text(encoding="utf-8")))
    yield from sorted(set(reader.found))


def main(rooms: list[str]) -> None:
    """Print all texts, or those of some rooms."""
    for path in sorted(PACKAGE.rglob("*.py"), key=lambda p: p.relative_to(PACKAGE).parts):
        place = path.relative_to(PACKAGE)
        if rooms and place.parts[0].removesuffix(".py") not in rooms:
            continue
        if found := list(texts(path)):
            print(f"\n{place.as_posix()}")
        for line, kind, text in found:
            print(f"{line:>5} {kind:<5} {text.strip().replace(chr(10), chr(10) + ' ' * 12)}")


if __name__ == "__main__":
    main(sys.argv[1:])
