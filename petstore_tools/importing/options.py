"""What a caller wants imported, and how."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from petstore_tools.errors import SheetError
from petstore_tools.http.client import Client
from petstore_tools.importing.journals import JournalInfo
from petstore_tools.importing.row_states import Entry
from petstore_tools.importing.rows import PetValues
from petstore_tools.importing.run_lock import Target
from petstore_tools.importing.sheet import Table, read_frame, read_table

if TYPE_CHECKING:
    import pandas as pd

Existing = Literal["ask", "skip", "send"]
_STORED: Final = ("columns", "sheet", "drop_duplicates", "allow_totals")


@dataclass(frozen=True)
class ImportOptions:
    """
    What the caller wants imported, and how.

    Attributes:
        path: The file.
        columns: Field by column title, where the titles do not tell.
        sheet: Which sheet of a workbook, None for the visible one that has the columns.
        frame: Rows in place of the file's; the path only names them.
        allow_totals: An animal may be called by a word for a total, such as `Summe`.
        strict: Send nothing while the file has a problem.
        allow_bad: Go on although more than half of the rows have problems.
        send_edited: Send rows that look like created ones edited since, as further animals.
        drop_duplicates: Of rows with the same three values, send one.
        existing: What to do with new rows whose animal seems to stand already, by another import or in the
            inventory: `ask`: refuse; `skip` or `send` them.
        baseline: Look before the first create what stands, where that is worth its price.
        resend: Send rows again that a look proves absent.
        reserve: Requests of each day kept for others, None for the default.
        wait: Wait for the next day's quota in place of stopping.
        together: Sheets of the workbook that are imported one after the other, this one among them.
        earlier: Values of the rows of those before this one: equal rows are duplicates.
        beside: Rows of all others of those, by their values.
        from_journal: What a DataFrame is read back from, None for all else.
    """

    path: Path
    columns: Mapping[str, str] | None = None
    sheet: str | None = None
    frame: pd.DataFrame | None = None
    allow_totals: bool = False
    strict: bool = False
    allow_bad: bool = False
    send_edited: bool = False
    drop_duplicates: bool = False
    existing: Existing = "ask"
    baseline: bool = True
    resend: bool = True
    reserve: int | None = None
    wait: bool = False
    together: tuple[str, ...] = ()
    earlier: frozenset[PetValues] = frozenset()
    beside: Counter[PetValues] = field(default_factory=Counter)
    from_journal: JournalInfo | None = None

    @classmethod
    def of(cls, source: str | Path | pd.DataFrame, *, name: str | None = None, **wishes: Any) -> Self:
        """
        Take a file, or a frame by its name.

        Raises:
            SheetError: A frame without a name, or a name for a file.
        """
        if isinstance(source, str | Path):
            if name is not None:
                raise SheetError(f"{Path(source).name} has a name already: name= is for a DataFrame")
            return cls(Path(source), **wishes)
        if not hasattr(source, "columns"):
            raise SheetError(f"a path or a DataFrame can be imported, no {type(source).__name__}")
        if not name or Path(name).name != name or not name.strip("."):
            raise SheetError(
                'give the DataFrame a name (import_pets(df, name="spring")): the same name goes on with the '
                "same import, and the result files bear it"
            )
        return cls(Path(name), frame=source, **wishes)

    @classmethod
    def resumed(cls, kept: JournalInfo, entries: Sequence[Entry], *, wait: bool) -> Self:
        """
        Read a source again as it was read before; a DataFrame comes from the rows in its journal.

        What a person agrees to is not remembered: only how the source is read.

        Args:
            kept: Its journal.
            entries: The rows of the journal that its file holds.
            wait: Wait for the next day's quota in place of stopping.

        Raises:
            SheetError: A DataFrame that version 0.1 imported: its titles are not known.
        """
        path, reading = kept.target.path, kept.reading
        options: dict[str, Any] = {name: reading[name] for name in _STORED if name in reading}
        options.setdefault("sheet", kept.target.sheet or None)
        if kept.target.of_file:
            return cls(path, wait=wait, **options)
        titles = next((entry.titles for entry in entries if entry.titles), ())
        if not titles:
            raise SheetError(f"{path} is a DataFrame: call import_pets with it again")
        return cls(path, frame=_frame_of(entries, titles), wait=wait, from_journal=kept, **options)

    @property
    def reading(self) -> dict[str, Any]:
        """How the source is read, as JSON values: what a later run needs to know."""
        return {name: getattr(self, name) for name in _STORED}

    def target(self, client: Client, table: Table) -> Target:
        """Return what the import of a table through a client is for."""
        path = self.path if self.frame is not None else self.path.resolve()
        return Target(client.environment, client.base_url, path, table.sheet)

    def read(self) -> Table:
        """Open what is to be imported."""
        if self.frame is not None:
            table = read_frame(self.frame, self.columns)
        else:
            table = read_table(self.path, self.columns, sheet=self.sheet)
        return replace(table, allow_totals=self.allow_totals)


def _frame_of(entries: Sequence[Entry], header: Sequence[str]) -> pd.DataFrame:
    """Return rows of a journal as the frame they came from; what is not in the journal is blank."""
    import pandas as pd

    last = max((entry.number for entry in entries), default=1)
    cells: list[Sequence[str]] = [[""] * len(header)] * (last - 1)
    for entry in sorted(entries, key=lambda entry: entry.wanted):  # a row of a rejects file comes last
        cells[entry.number - 2] = entry.cells
    return pd.DataFrame(cells, columns=list(header), dtype="object")
