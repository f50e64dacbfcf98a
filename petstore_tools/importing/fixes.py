"""Pure: problems grouped by what fixes them, so that one decision fixes a thousand rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from dataclasses import field as member
from typing import Any, Final

from petstore_tools.importing.rows import RowProblem
from petstore_tools.tabular.cells import first_of, label_of
from petstore_tools.text import option, pluralize

LINES: Final = 15
_ROWS: Final = 5  # that a line shows, and of their values:
_VALUES: Final = 2
_LENGTH: Final = 40  # characters of a value


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
        place = f"{pluralize(len(self.rows), 'row')} ({self.numbers()})"
        if not self.column:
            return f"{place}: {self.rule} → {self.help}"
        return f"{place}: column {self.column}{self.cells(_VALUES)} {self.rule} → {self.help}"

    def numbers(self) -> str:
        """Return the first rows as people find them."""
        return first_of([label_of(row) for row in self.rows], _ROWS)

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
