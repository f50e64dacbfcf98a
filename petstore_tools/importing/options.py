"""What an import is asked to do: every option is spelled here, and passed on as one value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property, wraps
from inspect import cleandoc, signature
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import (
    IO,
    TYPE_CHECKING,
    Any,
    Concatenate,
    Final,
    Literal,
    ParamSpec,
    Self,
    TypeVar,
    get_args,
)

from petstore_tools.errors import ArgumentError, SheetError
from petstore_tools.importing.values import ValueRules
from petstore_tools.tabular.formats import ending_of
from petstore_tools.text import option

if TYPE_CHECKING:
    import pandas as pd

    from petstore_tools.importing.categories import Categories
    from petstore_tools.importing.journals import JournalInfo
    from petstore_tools.importing.row_states import Entry
    from petstore_tools.importing.rows import PetValues
    from petstore_tools.importing.send import Progress

Existing = Literal["ask", "skip", "send"]
RECIPE: Final[
    Mapping[str, type | tuple[type, ...]]
] = {  # how a source is read, and what a recipe writes
    "sheet": str,
    "columns": dict,
    "categories": (str, dict),
    "statuses": dict,
    "defaults": dict,
    "encoding": str,
    "trim": bool,
    "thousands": str,
    "drop_duplicates": bool,
    "allow_totals": bool,
}
_STORED: Final = (*RECIPE, "hidden")  # in the journal
_INTERNAL: Final = ("together", "from_journal")
_RENAMED: Final = {
    "mapping": "columns",
    "drop_twins": "drop_duplicates",
    "known": "existing",
    "leave": "reserve",
}
P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class ImportOptions:
    """
    What is imported, and how.

    Attributes:
        source: A text such as .csv or a workbook (`tabular.formats.FORMATS`), its bytes, an open
            file or a DataFrame; delimiter, encoding and header row are found.
        name: What bytes or a DataFrame are called: the same name goes on with the same import.
        sheet: Which sheet of a workbook; None: the visible one that has the columns.
        columns: Field (`name`, `categoryId`, `status`) by title or letter, where the titles do not
            tell.
        categories: What the categories are called, so that a cell may hold a name instead of an id:
            a dict, a Series, a DataFrame, or a file with the columns `id` and `name`.
        statuses: Status by word of yours, such as `{"verkauft": "sold"}`; in any case;
            `{"n/a": ""}` is no status.
        defaults: Value by field for empty cells and missing columns, such as `{"status":
            "available"}`;
            `name` takes none.
        encoding: Of a text file, such as `cp1250`; None: it is found.
        trim: Take blanks off both ends of names.
        thousands: The sign between groups of three digits, such as `"."` in `1.000`.
        allow_totals: Send rows whose name is a word for a total (`Summe`, `Grand total`).
        hidden: Send the rows that the spreadsheet does not show, too.
        first: Send so many rows and stop; the same call without it goes on.
        strict: Send nothing while a row has a problem.
        allow_bad: Go on although more than half of the rows have problems.
        send_edited: Send rows that look like created ones edited since, as further animals.
        recipe: How a source is read: a file that `--save-recipe` wrote, or the ID of an earlier
            import (its sheet is not taken over); what is given beside it counts more.
        drop_duplicates: Of rows with the same three values, send one.
        existing: What happens to new rows that match an animal which exists already, by another
            import or
            in the inventory: `skip` leaves them out, `send` creates them anyway, `ask` refuses the
                import.
        baseline: List the inventory before the first create, to find rows whose animals exist
            already; None: where this takes at most a tenth of the requests, or ten.
        reserve: Requests of each day kept for others; default 20, or a tenth of a smaller day.
        wait: Wait for the next day's quota instead of stopping.
        progress: False: nothing is printed; True: a bar; a function: called with Progress.
    """

    source: str | Path | bytes | IO[Any] | pd.DataFrame
    _: KW_ONLY
    name: str | None = None
    sheet: str | None = None
    columns: Mapping[str, str] | None = None
    categories: Categories | None = None
    statuses: Mapping[str, str] | None = None
    defaults: Mapping[str, str | int] | None = None
    encoding: str | None = None
    trim: bool = False
    thousands: str = ""
    allow_totals: bool = False
    hidden: bool = False
    first: int | None = None
    strict: bool = False
    allow_bad: bool = False
    send_edited: bool = False
    drop_duplicates: bool = False
    recipe: str | Path | None = None
    existing: Existing = "ask"
    baseline: bool | None = None
    reserve: int | None = None
    wait: bool = False
    progress: bool | Callable[[Progress], None] | None = None
    # set by the toolkit alone: values of the rows of all sheets that are imported one after the
    # other, by sheet; and the journal that a DataFrame is read back from
    together: Mapping[str, Counter[PetValues]] = field(default_factory=dict)
    from_journal: JournalInfo | None = None

    def __post_init__(self) -> None:
        if self.existing not in get_args(Existing):
            raise ArgumentError(f"existing must be 'ask', 'skip' or 'send', not {self.existing!r}")
        if self.first is not None and self.first < 1:
            raise ArgumentError(f"first must be at least 1, not {self.first}")
        name = self.name
        try:
            str(self.path).encode()
        except UnicodeEncodeError as error:
            raise SheetError(
                "the name of the file has characters that are no text: rename it"
            ) from error
        if self.is_file:
            if name is not None:
                raise SheetError(
                    f"{option('name=', '--name')} is for data that is not a file; "
                    f"{self.path.name} has a "
                    "name already"
                )
            return
        source: Any = self.source
        if hasattr(source, "read"):
            source = source.read()
            source = source.encode() if isinstance(source, str) else source
            object.__setattr__(self, "source", source)  # a file is read once
        if not isinstance(source, bytes) and not hasattr(source, "columns"):
            what = type(source).__name__
            raise SheetError(
                f"a path, bytes, an open file or a DataFrame can be imported, not {what}"
            )
        if not name or Path(name).name != name or not name.strip("."):
            raise SheetError(
                "data that is not a file needs a name ("
                + option('name="spring"')
                + (
                    "): the same name goes on with the same import, and the result files have it "
                    "in their names"
                )
            )

    @property
    def is_file(self) -> bool:
        """Whether it is a file; bytes and a DataFrame have a name instead."""
        return isinstance(self.source, str | Path)

    @property
    def path(self) -> Path:
        """The file; of data that is not a file, its name alone."""
        return Path(self.source if isinstance(self.source, str | Path) else self.name or "")

    @contextmanager
    def readable(self) -> Iterator[Path | pd.DataFrame]:
        """
        Give the file or the DataFrame; bytes are written to a file that is removed afterwards.
        """
        source: Any = self.source
        if not isinstance(source, bytes):
            yield self.path if self.is_file else source
            return
        with TemporaryDirectory() as folder:
            path = Path(folder) / (self.path.name + ending_of(source, self.path))
            path.write_bytes(source)
            yield path

    @cached_property
    def rules(self) -> ValueRules:
        """
        How cells are read.

        Raises:
            ArgumentError: An option contradicts itself or the interface document.
            SheetError: The file of the categories cannot be read.
        """
        from petstore_tools.importing.categories import read_categories

        given = self.categories
        if isinstance(given, list):  # from a journal
            given = dict(given)
        elif given is not None:
            given = read_categories(given)
        return ValueRules(
            given,
            self.statuses or {},
            self.defaults or {},
            self.thousands,
            self.trim,
            self.allow_totals,
        )

    @property
    def recipe_entries(self) -> dict[str, Any]:
        """How the source is read, as entries of a recipe; a category file stays a file."""
        is_file = isinstance(self.categories, str | Path)
        entries = self.reading | {
            "categories": self.categories if is_file else self.rules.categories
        }
        del entries["hidden"]  # these rows go only when told
        return entries

    @property
    def reading(self) -> dict[str, Any]:
        """How the source is read, as JSON values: what a later run needs to know."""
        stored = {name: getattr(self, name) for name in _STORED}
        if self.defaults:
            stored["defaults"] = {field: str(value) for field, value in self.defaults.items()}
        if self.rules.categories is not None:  # as they are now: the file may change
            stored["categories"] = list(self.rules.categories.items())
        return stored

    @classmethod
    def resumed(cls, kept: JournalInfo, entries: Sequence[Entry], *, wait: bool) -> Self:
        """
        Read a source again as it was read before; a DataFrame comes from the rows in its journal.

        What a person agrees to is not remembered: only how the source is read.

        Args:
            kept: Its journal.
            entries: The rows of the journal that its file holds.
            wait: Wait for the next day's quota instead of stopping.

        Raises:
            SheetError: A DataFrame that version 0.1 imported: its titles are not known.
        """
        path, reading = kept.target.path, kept.reading
        options: dict[str, Any] = {name: reading[name] for name in _STORED if name in reading}
        options.setdefault("sheet", kept.target.sheet or None)
        if path.is_absolute():  # a DataFrame has a bare name
            return cls(path, wait=wait, **options)
        titles = next((entry.titles for entry in entries if entry.titles), ())
        if not titles:
            raise SheetError(f"{path} is a DataFrame: call import_pets with it again")
        frame = _frame_of(entries, titles)
        return cls(frame, name=str(path), wait=wait, from_journal=kept, **options)


def takes_options(
    make: Callable[P, T],
) -> Callable[[Callable[[S, T], R]], Callable[Concatenate[S, P], R]]:
    """
    Let a method that takes options be called with their arguments, which its help shows.

    Args:
        make: The class of the options.
    """

    def decorate(method: Callable[[S, T], R]) -> Callable[Concatenate[S, P], R]:
        @wraps(method)
        def call(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
            for old in _RENAMED.keys() & kwargs.keys():
                raise ArgumentError(f"{old}= is called {_RENAMED[old]}= since version 0.2")
            return method(self, make(*args, **kwargs))

        own, taken = signature(method), signature(make).parameters.values()
        shown = [
            next(iter(own.parameters.values())),
            *(p for p in taken if p.name not in _INTERNAL),
        ]
        call.__signature__ = own.replace(parameters=shown)  # type: ignore[attr-defined]
        call.__doc__ = f"{cleandoc(method.__doc__ or '')}\n\n{cleandoc(make.__doc__ or '')}"
        return call

    return decorate


def category_names(given: Mapping[int, str] | None, file: Path | None) -> Mapping[int, str] | None:
    """Return names by id as given, else those of the category file of the settings, else None."""
    from petstore_tools.importing.categories import read_categories

    return read_categories(file) if given is None and file is not None else given


def _frame_of(entries: Sequence[Entry], header: Sequence[str]) -> pd.DataFrame:
    """Return rows of a journal as the frame they came from; what is not in the journal is blank."""
    import pandas as pd

    last = max((entry.number for entry in entries), default=1)
    cells: list[Sequence[str]] = [[""] * len(header)] * (last - 1)
    for entry in sorted(
        entries, key=lambda entry: entry.wanted
    ):  # a row of a rejects file comes last
        cells[entry.number - 2] = entry.cells
    return pd.DataFrame(cells, columns=list(header), dtype="object")
