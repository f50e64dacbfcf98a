"""Count code lines without docstrings, comments and blanks: small is part of the order."""

from __future__ import annotations

import ast
import tokenize
from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "petstore_tools"
BOUNDS = {"client": 7_300, "service and sandbox": 1_600}
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def code_lines(path: Path) -> set[int]:
    """Return the numbers of the lines of a file that hold code."""
    with tokenize.open(path) as file:
        tokens = list(tokenize.generate_tokens(file.readline))
    lines = {n for t in tokens if t.type not in NO_CODE for n in range(t.start[0], t.end[0] + 1)}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        if (
            isinstance(first, ast.Expr)
            and isinstance(first.value, ast.Constant)
            and isinstance(first.value.value, str)
        ):
            lines -= set(range(first.lineno, (first.end_lineno or 0) + 1))
    return lines


def main() -> None:
    """Print each room, then both sides beside their bounds."""
    rooms: Counter[str] = Counter()
    for path in PACKAGE.rglob("*.py"):
        rooms[path.relative_to(PACKAGE).parts[0].removesuffix(".py")] += len(code_lines(path))
    print(", ".join(f"{room} {lines:,}" for room, lines in sorted(rooms.items())))
    service = rooms["service"] + rooms["sandbox"]
    counts = {"client": rooms.total() - service, "service and sandbox": service}
    for side, count in counts.items():
        print(f"{side}: {count:,} code lines, {BOUNDS[side]:,} wanted at most")


if __name__ == "__main__":
    main()
