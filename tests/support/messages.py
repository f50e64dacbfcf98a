"""
Every text of the package that a person may read.

They are the strings of two words or more; a placeholder shows its expression: `{n}
rows`. The help of a command is its docstring.
"""

import ast
import re
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "petstore_tools"
NO_PROSE = re.compile(
    r"\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|PRAGMA|BEGIN|WITH|LOCK|Bearer|<!|\(\?)\b"
)


def template(node):
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


def texts(node):
    """Yield line and text of each string below a node."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return  # a docstring, or what describes the field above
    if isinstance(node, ast.FunctionDef):
        decorators = "".join(map(ast.unparse, node.decorator_list))
        if re.search(r"\.(command|group)\(", decorators):
            yield node.lineno, ast.get_docstring(node) or ""
    text = template(node)
    if re.search(r"[A-Za-z}]\S* \S*[A-Za-z{]", text) and not NO_PROSE.match(text):
        yield node.lineno, text
        return
    for child in ast.iter_child_nodes(node):
        yield from texts(child)


@cache
def package_messages():
    """Return all texts, one after the other."""
    parts = []
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        parts += [text.strip() for _, text in texts(tree)]
    return "\n".join(parts)
