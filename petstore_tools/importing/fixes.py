"""Pure: problems grouped by what fixes them, so that one decision fixes a thousand rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from dataclasses import field as member
from typing import Any, Final

from petstore_tools.importing.rows import RowProblem
from petstore_tools.importing.values import SEVERAL
from petstore_tools.tabular.cells import label_of
from petstore_tools.text import option, pluralize

LINES: Final = 15
_RANGES, _VALUES, _LENGTH = (
    5,
    2,
    40,
)  # ranges of rows, values, and characters of a value that a line shows
_SUGGESTION: Final = "did you mean "


@dataclass(slots=True)
class Fix:
    """
    Rows that one decision fixes.

    Attributes:
        column: Letter, "" where whole rows are meant.
        field: `name`, `categoryId`, `status`, or "".
        rule: What is wrong, as the rest of a sentence about one cell or row.
        help: What fixes it.
        rows: Their numbers, in the order of the sheet.
        values: Rows by cell as typed.
    """

    column: str
    field: str
    rule: str
    help: str
    rows: list[int] = member(default_factory=list)
    values: dict[str, int] = member(default_factory=dict)

    def __str__(self) -> str:
        count = f"{pluralize(len(self.rows), 'row')} ({self.numbers()})"
        if not self.column:
            return (
                f"{count}: {self.rule if len(self.rows) == 1 else _plural(self.rule)} → {self.help}"
            )
        cells = f"{count}: column {self.column}{self.cells(_VALUES)}"
        if self.help.startswith(_SUGGESTION):
            return f"{cells} → {self.help.removeprefix(_SUGGESTION)}"
        several = sum(bool(value.strip()) for value in self.values) > 1
        return f"{cells} {_plural(self.rule) if several else self.rule} → {self.help}"

    def numbers(self) -> str:
        """Return the first rows, runs of neighbours in one."""
        if len(self.rows) == 1:
            return str(label_of(self.rows[0]))
        ranges = list(_ranges(self.rows))
        return ", ".join(ranges[:_RANGES]) + (", …" if len(ranges) > _RANGES else "")

    def cells(self, most: int) -> str:
        """
        Return the most frequent cells as typed: ` 'Dogs', 'Cats', 3 more`; "" where they are empty.
        """
        typed = [
            value
            for value in sorted(self.values, key=lambda value: -self.values[value])
            if value.strip()
        ]
        shown = [
            repr(value if len(value) <= _LENGTH else value[:_LENGTH] + "…")
            for value in typed[:most]
        ]
        more = [f"{len(typed) - most:,} more"] if len(typed) > most else []
        return " " + ", ".join(shown + more) if typed else ""

    def record(self) -> dict[str, Any]:
        """Return it as a row of a table; `rows` is how many, `row` the first as people find it."""
        texts = {"column": self.column, "field": self.field, "values": self.cells(10).strip()}
        rows = {"rows": len(self.rows), "row": label_of(self.rows[0])}
        return {**rows, **texts, "rule": self.rule, "help": self.help}


def group(problems: Iterable[RowProblem]) -> list[Fix]:
    """
    Group problems by column, rule and what fixes them; each row counts under its first problem.

    Args:
        problems: In the order of the rows, those of one row together.

    Returns:
        The groups, the one with the most rows first.
    """
    groups: dict[tuple[str, str, str, str], Fix] = {}
    last: int | None = None
    for problem in problems:
        if problem.row == last:
            continue
        last = problem.row
        key = (problem.column, problem.field, problem.rule, problem.suggestion)
        fix = groups.get(key) or groups.setdefault(key, Fix(*key))
        fix.rows.append(problem.row)
        fix.values[problem.value] = fix.values.get(problem.value, 0) + 1
    return sorted(groups.values(), key=lambda fix: -len(fix.rows))


def lines(fixes: Sequence[Fix], most: int = LINES) -> list[str]:
    """
    Return at most so many lines for people; where there are more groups, the last line holds the
    rest.
    """
    if len(fixes) <= most:
        return [str(fix) for fix in fixes]
    rest = fixes[most - 1 :]
    rows = pluralize(sum(len(fix.rows) for fix in rest), "row")
    each = option("preview.problems_frame", "--dry-run --json")
    return [
        *map(str, fixes[: most - 1]),
        f"{rows}: {len(rest):,} more problems → {each} shows each row",
    ]


def _ranges(rows: Sequence[int]) -> Iterator[str]:
    """Yield runs of neighbouring rows: `14`, and `29` to `57` in one."""
    start = 0
    for at in range(1, len(rows) + 1):
        if at == len(rows) or rows[at] != rows[at - 1] + 1:
            yield str(rows[start]) if start == at - 1 else f"{rows[start]}\u2013{rows[at - 1]}"
            start = at


def _plural(rule: str) -> str:
    verb, _, rest = rule.partition(" ")
    return (
        SEVERAL.get(rule)
        or f"{ {'is': 'are', 'has': 'have', 'holds': 'hold'}.get(verb, verb) } {rest}"
    )
