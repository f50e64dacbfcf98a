"""What an import would do: every problem of the file, and the price, before the first request."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from petstore_tools.http.client import Client
from petstore_tools.importing.check import Checked, check, open_source
from petstore_tools.importing.journal import read_entries
from petstore_tools.importing.journals import other_imports
from petstore_tools.importing.matching import Held
from petstore_tools.importing.names import notes_on
from petstore_tools.importing.options import ImportOptions
from petstore_tools.importing.rows import RowProblem
from petstore_tools.listing.frames import text_dtype
from petstore_tools.plans import PERIODS
from petstore_tools.tabular.cells import column_letter, label_of
from petstore_tools.tabular.frames import labels
from petstore_tools.text import html_table, option, pluralize
from petstore_tools.throttle.forecast import Forecast, forecast, reserve_per_day

if TYPE_CHECKING:
    import pandas as pd

LEAST_LOOK: Final = 10  # requests that a look before may cost whatever the number of rows
SHOWN: Final = 10  # problems shown in full
WORTH: Final = 10  # and one for so many rows
_ANOTHER: Final = "another file was imported under this name before: this one is an import of its own"


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
        twins: Rows that share their three values with an earlier row; they are sent unless told.
        known: Rows whose animal seems to stand, by another import; told what to do, or nothing is sent.
        held: Rows that look like created ones edited since; they are not sent.
        removed: Created rows that the file does not hold any more.
        corrections: Cells that are read differently from what was typed.
        blank: Empty rows, skipped.
        notes: What was found and may surprise.
        forecast: Requests, days, finishing time.
        refusal: Why nothing is sent as ordered, and what to say instead; "" where it can go.
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
    known: int
    held: tuple[Held, ...]
    removed: int
    corrections: tuple[str, ...]
    blank: int
    notes: tuple[str, ...]
    forecast: Forecast
    refusal: str
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
            Columns `row` (int64, or the label), `column`, `field`, `value`, `rule`, `suggestion` (text).
        """
        import pandas as pd

        names = ("column", "field", "value", "rule", "suggestion")
        data = {name: [getattr(problem, name) for problem in self.problems] for name in names}
        rows = labels([problem.row for problem in self.problems])
        return pd.DataFrame({"row": rows, **data}).astype(dict.fromkeys(names, text_dtype()))

    def __str__(self) -> str:
        return "\n".join(self.lines())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = [
            (label_of(p.row), f"{p.column} {p.field}".strip(), p.value, p.rule, p.suggestion)
            for p in self.problems[:SHOWN]
        ]
        more = f" First {SHOWN} of {len(self.problems):,} problems." if len(self.problems) > SHOWN else ""
        also = "".join(f" {count:,} {what}." for count, what in self._counts() if count)
        told = f"{self.columns}. {self.refusal or self.forecast}.{also}{more}"
        note = "\n".join([told, *self.notes, *_first(self.corrections, 3)])
        return html_table(self._title(), ("row", "column", "typed", "problem", "what helps"), rows, note=note)

    def _title(self) -> str:
        rows = f"{self.rows:,} rows: {self.to_send:,} to send, {self.bad_rows:,} with problems"
        return f"{self.file} → {self.environment} ({self.host}): {rows}"

    def _counts(self) -> tuple[tuple[int, str], ...]:
        return (
            (self.standing, "created already"),
            (self.unknown, "with unknown fate: a look settles them"),
            (len(self.held), "held back"),
            (self.removed, "created and no longer in the file"),
            (self.twins, "equal to an earlier row"),
            (self.known, "created by another import"),
            (self.blank, "blank, skipped"),
        )

    def lines(self, most: int = SHOWN) -> list[str]:
        """Return the preview as text lines, with up to `most` problems in full."""
        said = [
            f"{self.file} → {self.environment} ({self.host})",
            f"  columns   {self.columns}",
            f"  rows      {self.rows:,}: {self.to_send:,} to send, {self.bad_rows:,} with problems",
        ]
        said += [f"            {count:,} {what}" for count, what in self._counts() if count]
        said += [f"  note      {note}" for note in (*self.notes, *_first(self.corrections, 3))]
        said += [f"  problem   {problem}" for problem in _first(self.problems, most)]
        if len(self.problems) > most:
            kinds = Counter(f"{p.field} {p.rule}".strip() for p in self.problems).most_common(SHOWN)
            said.append(f"  in all    {', '.join(f'{n:,} times {kind}' for kind, n in kinds)}")
        said += [f"  held      {held}" for held in _first(self.held, most)]
        said.append(f"  forecast  {self.forecast}")
        return [*said, f"  refused   {self.refusal}"] if self.refusal else said


def _first(things: tuple[object, ...], most: int) -> list[str]:
    return [*map(str, things[:most]), *([f"… and {len(things) - most:,} more"] if things[most:] else [])]


def preview(client: Client, folder: Path, order: ImportOptions) -> ImportPreview:
    """Check a file and forecast its import; sends nothing, writes nothing."""
    opened = open_source(client, folder, order)
    entries = read_entries(folder, opened.target, journal_id=opened.journal)
    others = other_imports(folder, opened.target, but=opened.journal, siblings=opened.siblings)
    checked = check(order, entries, opened, others)
    return describe(client, order, checked, others.notes)


def describe(
    client: Client, order: ImportOptions, checked: Checked, notes: tuple[str, ...] = ()
) -> ImportPreview:
    """Put a checked file and its price into words, with what else there is to note."""
    again = Counter(entry.state for entry, _ in checked.merged.known)
    to_send = len(checked.merged.new) + again["unsent"] + again["rejected"]
    to_send += again["skipped"] if order.existing == "send" else 0
    table = checked.table
    another = [_ANOTHER] if checked.another_file else []
    looks = most_requests(to_send) if order.baseline and checked.untouched else 0
    return ImportPreview(
        file=table.label(order.path),
        environment=client.environment,
        host=client.host,
        columns=table.columns.describe(),
        rows=len(checked.rows) + checked.bad_rows + checked.dropped,
        to_send=to_send,
        standing=again["created"],
        unknown=again["unknown"] + again["sending"],
        problems=checked.problems,
        twins=len(checked.twins),
        known=len(checked.known),
        held=checked.merged.held,
        removed=len(checked.merged.removed),
        corrections=tuple(f"row {row.number}: {row.correction}" for row in checked.rows if row.correction),
        blank=checked.blank,
        notes=(*table.notes, *notes, *another, *notes_on(checked.rows, checked.twins)),
        forecast=price(client, to_send, order.reserve, looks=looks),
        refusal=refusal(order, checked),
        journal=checked.journal,
        checked=checked,
    )


def refusal(order: ImportOptions, checked: Checked) -> str:
    """Say why nothing is sent as ordered, and what to say instead; "" where it can go."""
    if order.strict and checked.problems:
        return (
            f"{pluralize(checked.bad_rows, 'row')} of {order.path.name} cannot be sent and strict is set, so "
            f"nothing was sent; first: {checked.problems[0]}"
        )
    name, columns = order.path.name, checked.table.columns
    rows = len(checked.rows) + checked.bad_rows
    if checked.bad_rows > len(checked.rows) and not order.allow_bad:
        return (
            f"{checked.bad_rows:,} of {rows:,} rows of {name} have problems, so "
            f"the columns may be mapped wrongly ({columns.describe()}) and nothing was sent. Fix it, or say "
            f"that it is meant ({option('allow_bad=True')})"
        )
    skip, send = option('existing="skip"'), option('existing="send"')
    titles = [title.strip().casefold() for title in columns.header]
    if order.existing == "ask" and "id" in titles and checked.merged.new:
        return (
            f"{name} has a column {column_letter(titles.index('id'))} 'id', so its animals seem to stand "
            f"already, and nothing was sent. To create them all the same: {send}"
        )
    if order.existing == "ask" and checked.another_file:
        return (
            f"another file was imported as {name} before, and hardly a row of it is left in this one. "
            "Nothing was created. Save it under a name of its own; or import it as a new file, without the "
            f"rows that match animals that already exist ({skip}) or with them ({send})"
        )
    if order.existing == "ask" and checked.known:
        return (
            f"{pluralize(len(checked.known), 'row')} of {rows:,} in {name} seem to stand already: by another "
            "import to the same place, or as animals of the same name, category and status in its "
            f"inventory (first: row {checked.known[0].number}). No row of it was created. Say what is "
            f"meant: skip or send them ({skip} or {send})"
        )
    return ""


def most_requests(rows: int) -> int:
    """Return what a look before the first of so many creates may cost: a tenth of them, at least ten."""
    return min(rows, max(LEAST_LOOK, rows // WORTH))


def price(client: Client, creates: int, reserve: int | None, *, looks: int) -> Forecast:
    """Forecast so many creates on what the client's key has left."""
    door = client.gate
    plan, throttle = door.read()
    rooms = [throttle.state(window, door.now()) for window in PERIODS]
    minute, day = [replace(room, frees_at=door.local_time(room.frees_at)) for room in rooms]
    leave_day, now = reserve_per_day(plan, reserve), client.clock.now()
    return forecast(creates, plan, minute=minute, day=day, reserve=leave_day, now=now, looks=looks)
