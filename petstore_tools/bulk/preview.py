"""What an import would do: every problem of the file, and the price, before the first request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from petstore_tools.adapters import journal as journals
from petstore_tools.adapters.journal import Target
from petstore_tools.adapters.sheets import Table, read_table
from petstore_tools.client import Client
from petstore_tools.core.forecast import Forecast, forecast, leave_per_day
from petstore_tools.core.journal import Entry, Held, Merge, merge
from petstore_tools.core.rows import Row, RowProblem
from petstore_tools.errors import SheetError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Order:
    """
    What the caller wants imported, and how.

    Attributes:
        path: The file.
        mapping: Field by column title, where the titles do not tell.
        strict: Send nothing while the file has a problem.
        allow_bad: Go on although more than half of the rows have problems.
        send_edited: Send rows that look like created ones edited since, as further animals.
        drop_twins: Of rows with the same three values, send one.
        leave: Requests of each day kept for others, None for the default.
        wait: Wait for the next day's quota in place of stopping.
    """

    path: Path
    mapping: Mapping[str, str] | None = None
    strict: bool = False
    allow_bad: bool = False
    send_edited: bool = False
    drop_twins: bool = False
    leave: int | None = None
    wait: bool = False


@dataclass(frozen=True)
class Checked:
    """
    A file after the offline check.

    Attributes:
        table: The file.
        rows: What can be sent, in the sheet's order.
        problems: All of them, by row.
        blank: Empty rows, skipped.
        twins: Rows that share their three values with an earlier one.
        merged: What the file adds to its journal.
    """

    table: Table
    rows: tuple[Row, ...]
    problems: tuple[RowProblem, ...]
    blank: int
    twins: tuple[Row, ...]
    merged: Merge

    @property
    def bad_rows(self) -> int:
        """Rows with a problem."""
        return len({problem.row for problem in self.problems})


@dataclass(frozen=True)
class ImportPreview:
    """
    What an import will do, before it does it.

    Attributes:
        file: Name of the file.
        environment, host: Where it would go.
        columns: How columns were read.
        rows: Rows below the header, blank ones left out.
        to_send: Animals that would be created.
        standing: Rows that earlier runs of this import created.
        unknown: Rows whose fate an earlier run could not tell; they are not sent.
        problems: Rows that cannot be sent, and why.
        twins: Rows that share their three values with an earlier row; they are sent.
        held: Rows that look like created ones edited since; they are not sent.
        removed: Created rows that the file does not hold any more.
        corrections: Cells that are read differently from what was typed.
        blank: Empty rows, skipped.
        notes: What was found and may surprise.
        forecast: Requests, days, finishing time.
        journal: Name of the journal.
    """

    file: str
    environment: str
    host: str
    columns: str
    rows: int
    to_send: int
    standing: int
    unknown: int
    problems: tuple[RowProblem, ...]
    twins: int
    held: tuple[Held, ...]
    removed: int
    corrections: tuple[str, ...]
    blank: int
    notes: tuple[str, ...]
    forecast: Forecast
    journal: str
    checked: Checked = field(repr=False)

    @property
    def bad_rows(self) -> int:
        """Rows that cannot be sent."""
        return self.checked.bad_rows

    @property
    def problems_frame(self) -> pd.DataFrame:
        """
        The problems as a frame.

        Returns:
            Columns `row` (int64), `column`, `field`, `value`, `rule`, `suggestion` (all string).
        """
        import pandas as pd

        names = ("row", "column", "field", "value", "rule", "suggestion")
        data = {name: [getattr(problem, name) for problem in self.problems] for name in names}
        return pd.DataFrame(data).astype({"row": "int64"} | dict.fromkeys(names[1:], "str"))

    def __str__(self) -> str:
        return "\n".join(self.lines())

    __repr__ = __str__

    def lines(self, most: int = 10) -> list[str]:
        """Return the preview as text lines, with up to `most` problems in full."""
        said = [
            f"{self.file} → {self.environment} ({self.host})",
            f"  columns   {self.columns}",
            f"  rows      {self.rows:,}: {self.to_send:,} to send, {self.bad_rows:,} with problems",
        ]
        counts = (
            (self.standing, "created already"),
            (self.unknown, "with unknown fate, not sent again"),
            (len(self.held), "held back"),
            (self.removed, "created and no longer in the file"),
            (self.twins, "equal to an earlier row"),
            (self.blank, "blank, skipped"),
        )
        said += [f"            {count:,} {what}" for count, what in counts if count]
        said += [f"  note      {note}" for note in (*self.notes, *_first(self.corrections, 3))]
        said += [f"  problem   {problem}" for problem in _first(self.problems, most)]
        said += [f"  held      {held}" for held in _first(self.held, most)]
        return [*said, f"  forecast  {self.forecast}"]


def _first(things: tuple[object, ...], most: int) -> list[str]:
    more = [f"… and {len(things) - most:,} more"] if len(things) > most else []
    return [str(thing) for thing in things[:most]] + more


def target_of(client: Client, path: Path) -> Target:
    """Return what an import of this file through this client is for."""
    return Target(client.environment, client.base_url, path.resolve())


def check(order: Order, entries: list[Entry], table: Table) -> Checked:
    """
    Check a whole file offline.

    Raises:
        SheetError: It has no rows, or more than half of them have problems.
    """
    rows: list[Row] = []
    problems: list[RowProblem] = []
    blank = 0
    for row in table.rows():
        if row is None:
            blank += 1
        elif isinstance(row, Row):
            rows.append(row)
        else:
            problems += row
    bad = len({problem.row for problem in problems})
    if not rows and not bad:
        raise SheetError(f"{order.path.name} has a header and no rows")
    if bad > len(rows) and not order.allow_bad:
        raise SheetError(
            f"{bad:,} of {len(rows) + bad:,} rows of {order.path.name} have problems, so the columns may be "
            f"mapped wrongly ({table.columns.describe()}). First: {problems[0]}. Fix it, or say that it "
            "is meant: --allow-bad"
        )
    twins = _twins(rows)
    if order.drop_twins:
        dropped = {id(row) for row in twins}
        rows = [row for row in rows if id(row) not in dropped]
    merged = merge(entries, rows, partial=bool(table.rejects_of), send_edited=order.send_edited)
    return Checked(table, tuple(rows), tuple(problems), blank, tuple(twins), merged)


def _twins(rows: list[Row]) -> list[Row]:
    seen: Counter[object] = Counter()
    twins = []
    for row in rows:
        if seen[row.content]:
            twins.append(row)
        seen[row.content] += 1
    return twins


def preview(client: Client, folder: Path, order: Order) -> ImportPreview:
    """Check a file and forecast its import; sends nothing, writes nothing."""
    table = read_table(order.path, order.mapping)
    entries = journals.peek(folder, target_of(client, order.path), journal_id=table.rejects_of)
    return describe(client, order, check(order, entries, table))


def describe(client: Client, order: Order, checked: Checked) -> ImportPreview:
    """Put a checked file and its price into words."""
    again = Counter(entry.state for entry, _ in checked.merged.known)
    to_send = len(checked.merged.new) + again["pending"] + again["rejected"]
    table = checked.table
    return ImportPreview(
        file=order.path.name,
        environment=client.environment,
        host=client.host,
        columns=table.columns.describe(),
        rows=len(checked.rows) + checked.bad_rows,
        to_send=to_send,
        standing=again["created"],
        unknown=again["unknown"] + again["sending"],
        problems=checked.problems,
        twins=len(checked.twins),
        held=checked.merged.held,
        removed=len(checked.merged.removed),
        corrections=tuple(f"row {row.number}: {row.correction}" for row in checked.rows if row.correction),
        blank=checked.blank,
        notes=table.notes,
        forecast=price(client, to_send, order.leave),
        journal=table.rejects_of or target_of(client, order.path).id,
        checked=checked,
    )


def price(client: Client, requests: int, leave: int | None) -> Forecast:
    """Forecast so many requests on what the client's key has left."""
    now = client.clock.now()
    plan, throttle = client.admission.room()
    return forecast(
        requests,
        plan,
        minute=throttle.room("minute", now),
        day=throttle.room("day", now),
        leave=leave_per_day(plan, leave),
        now=now,
    )
