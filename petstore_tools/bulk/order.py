"""What a caller wants imported, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from petstore_tools.adapters.sheets import Table, read_frame, read_table
from petstore_tools.errors import SheetError

if TYPE_CHECKING:
    import pandas as pd

Known = Literal["ask", "skip", "send"]


@dataclass(frozen=True)
class Order:
    """
    What the caller wants imported, and how.

    Attributes:
        path: The file.
        mapping: Field by column title, where the titles do not tell.
        sheet: Which sheet of a workbook, None for the visible one that has the columns.
        frame: Rows in place of the file's; the path only names them.
        strict: Send nothing while the file has a problem.
        allow_bad: Go on although more than half of the rows have problems.
        send_edited: Send rows that look like created ones edited since, as further animals.
        drop_twins: Of rows with the same three values, send one.
        known: What to do with new rows whose animal seems to stand already, by another import or in the
            inventory: `ask`: refuse; `skip` or `send` them.
        baseline: Look before the first create what stands, where that is worth its price.
        resend: Send rows again that a look proves absent.
        leave: Requests of each day kept for others, None for the default.
        wait: Wait for the next day's quota in place of stopping.
    """

    path: Path
    mapping: Mapping[str, str] | None = None
    sheet: str | None = None
    frame: pd.DataFrame | None = None
    strict: bool = False
    allow_bad: bool = False
    send_edited: bool = False
    drop_twins: bool = False
    known: Known = "ask"
    baseline: bool = True
    resend: bool = True
    leave: int | None = None
    wait: bool = False

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
        if not name or Path(name).name != name:
            raise SheetError(
                'give the DataFrame a name (import_pets(df, name="spring")): the same name goes on with the '
                "same import, and the result files bear it"
            )
        return cls(Path(name), frame=source, **wishes)

    def read(self) -> Table:
        """Open what is to be imported."""
        if self.frame is not None:
            return read_frame(self.frame, self.mapping)
        return read_table(self.path, self.mapping, sheet=self.sheet)
