"""What an import is asked to do: every option is spelled here, and passed on as one value."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property, wraps
from inspect import cleandoc, signature
from itertools import islice
from pathlib import Path
from typing import (
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

from petstore_tools import spec
from petstore_tools.errors import ArgumentError, SheetError
from petstore_tools.tabular.cells import MalformedLine, Sheet
from petstore_tools.text import option, suggest

if TYPE_CHECKING:
    import pandas as pd

    from petstore_tools.importing.values import ValueRules

    Categories = str | Path | Mapping[Any, Any] | pd.Series[Any] | pd.DataFrame
    from petstore_tools.importing.send import Progress

_HEADER_WITHIN: Final = 10  # rows in which the titles may be
_ID: Final = re.compile(r"\s*(-?\d{1,19})(?:\.0)?\s*", re.ASCII)
_TITLES: Final = ({"id", "categoryid", "category_id"}, {"name", "category", "categoryname"})
_WHAT: Final = "a dict, a Series, or a DataFrame or a file with the columns id and name"


def read_categories(source: Categories) -> dict[int, str]:
    """
    Read what categories are called.

    Args:
        source: A dict or a Series whose keys or whose values are all ids; a DataFrame or a file
            with the columns `id` and `name`; of a workbook, the first visible sheet that has both.

    Returns:
        Name by id, without blanks around.

    Raises:
        ArgumentError: It is none of these, or does not give each id one name.
        SheetError: The file cannot be read.
    """
    from petstore_tools.tabular.frames import FrameSource
    from petstore_tools.tabular.workbooks import open_sheets

    if isinstance(source, str | Path):
        name = Path(source).name
        return _by_id(_from_sheets(open_sheets(Path(source)), name), name)
    if not isinstance(source, Mapping) and hasattr(source, "columns"):
        frame: Any = source
        return _by_id(_from_sheets([FrameSource(frame=frame)], "the DataFrame"), "the DataFrame")
    if not hasattr(source, "items"):
        raise ArgumentError(f"categories: give {_WHAT}, not {type(source).__name__}")
    pairs = [(str(key), str(value)) for key, value in source.items()]
    keys, values = (all(_ID.fullmatch(pair[at]) for pair in pairs) for at in (0, 1))
    if pairs and keys == values:
        why = "both are" if keys else "neither are"
        raise ArgumentError(
            f"categories: either all keys or all values must be ids (whole numbers); {why}"
        )
    return _by_id((("", *(pair if keys else pair[::-1])) for pair in pairs), "the table")


def _from_sheets(sheets: Iterable[Sheet], where: str) -> Iterator[tuple[str, str, str]]:
    """Yield place, id and name of each row of the first sheet that has both columns."""
    for sheet in sheets:
        records = sheet.records()
        for _, header in islice(records, _HEADER_WITHIN):
            titles = [cell.strip().casefold() for cell in header]
            found = [[at for at, title in enumerate(titles) if title in known] for known in _TITLES]
            if [len(places) for places in found] == [1, 1]:
                (at_id,), (at_name,) = found
                for number, cells in records:
                    padded = [*cells, *[""] * len(titles)]
                    if any(cell.strip() for cell in cells) or isinstance(cells, MalformedLine):
                        yield (
                            f" row {number}",
                            getattr(cells, "line", padded[at_id]),
                            padded[at_name],
                        )
                return
    raise ArgumentError(f"categories: {where} has no columns id and name; give {_WHAT}")


def _by_id(pairs: Iterable[tuple[str, str, str]], where: str) -> dict[int, str]:
    names: dict[int, str] = {}
    for place, id_, name in pairs:
        found = _ID.fullmatch(id_)
        if found is None or not spec.INT64_MIN <= int(found[1]) <= spec.INT64_MAX:
            raise ArgumentError(
                f"categories: {where}{place}: {id_!r} is not an id (a whole number within int64)"
            )
        known = names.setdefault(int(found[1]), name.strip())
        if known != name.strip():
            raise ArgumentError(
                f"categories: {where}{place}: {found[1]} is called {known!r} and {name.strip()!r}; "
                "give each id one name"
            )
    if not names:
        raise ArgumentError(f"categories: {where} lists no category")
    return names


Doubtful = Literal["ask", "skip", "send"]
_LETTERS: Final = re.compile("[A-Z]{1,3}")
_KINDS: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("name", "sheet", "encoding"), str),
    **dict.fromkeys(("columns", "statuses", "defaults"), Mapping),
    "first": int,
}
_WORDS: Final = {str: "a text", Mapping: "a dict", int: "a whole number"}
P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class ImportOptions:
    """
    What is imported, and how.

    Attributes:
        source: The path of a text such as .csv or of a workbook (`tabular.workbooks.FORMATS`), or a
            DataFrame; delimiter, encoding and header row are found.
        name: What a DataFrame is called, or another list under an old file name: the same name goes
            on with the same import.
        sheet: Which sheet of a workbook; None: the visible one that has the columns.
        columns: Field (`name`, `categoryId`, `status`) by title or letter, where the titles do not
            tell.
        header: False: there is none, and all columns are named by letter.
        categories: What the categories are called, so that a cell may hold a name instead of an id:
            a dict, a Series, a DataFrame, or a file with the columns `id` and `name`.
        statuses: Status by word of yours, such as `{"verkauft": "sold"}`; in any case;
            `{"n/a": ""}` is no status.
        defaults: Value by field for empty cells and missing columns, such as
            `{"status": "available"}`; `name` takes none.
        encoding: Of a text file, such as `cp1250`; None: UTF-8, else cp1252.
        first: Send so many rows and stop; the same call without it goes on.
        strict: Send nothing while a row has a problem.
        drop_duplicates: Of rows with the same three values, send one.
        doubtful: What happens to rows that may exist already: `skip` leaves them out, `send`
            creates them, `ask` sends nothing and raises DoubtfulRowsError.
        wait: Wait for the next day's quota instead of stopping.
        progress: False: nothing is printed; True: a bar; a function: called with Progress.
    """

    source: str | Path | pd.DataFrame
    _: KW_ONLY
    name: str | None = None
    sheet: str | None = None
    columns: Mapping[str, str] | None = None
    header: bool = True
    categories: Categories | None = None
    statuses: Mapping[str, str] | None = None
    defaults: Mapping[str, str | int] | None = None
    encoding: str | None = None
    first: int | None = None
    strict: bool = False
    drop_duplicates: bool = False
    doubtful: Doubtful = "ask"
    wait: bool = False
    progress: bool | Callable[[Progress], None] | None = None

    def __post_init__(self) -> None:
        for name, kind in _KINDS.items():
            if not isinstance(value := getattr(self, name), kind | None):
                raise ArgumentError(f"{name} must be {_WORDS[kind]}, not {value!r}")
        if not self.header and not self.by_letter:
            columns = option('columns={"A": "name", "B": "categoryId"}', '--columns "A=name" …')
            raise ArgumentError(
                f"{option('header=False', '--no-header')} needs all columns by letter: {columns}"
            )
        if self.doubtful not in get_args(Doubtful):
            raise ArgumentError(f"doubtful must be 'ask', 'skip' or 'send', not {self.doubtful!r}")
        if self.first is not None and self.first < 1:
            raise ArgumentError(f"first must be at least 1, not {self.first}")
        self._check_name()
        try:
            str(self.path).encode()
        except UnicodeEncodeError as error:
            raise SheetError(
                "the name of the file has characters that are no text: rename it"
            ) from error

    def _check_name(self) -> None:
        name = self.name
        if not self.is_file:
            from petstore_tools.tabular.frames import to_pandas

            frame = to_pandas(self.source)
            if frame is None:
                given = type(self.source).__name__
                raise SheetError(f"a path or a DataFrame can be imported, not {given}")
            object.__setattr__(self, "source", frame)
        if name is None and self.is_file:
            return
        if not name or Path(name).name != name or not name.strip("."):
            raise SheetError(
                'a DataFrame needs a name, such as name="spring", and a name has no slash: the '
                "same name goes on with the same import"
            )

    def with_categories(self, file: Path | None) -> Self:
        """Return it with the category file of the settings, where it names no categories."""
        return replace(self, categories=file) if self.categories is None else self

    @property
    def is_file(self) -> bool:
        """Whether it is a file; a DataFrame has a name instead."""
        return isinstance(self.source, str | Path)

    @property
    def path(self) -> Path:
        """The file; of a DataFrame, its name alone."""
        return Path(self.source if isinstance(self.source, str | Path) else self.name or "")

    @property
    def by_letter(self) -> bool:
        """Whether all required columns are named by letter."""
        given = self.columns or {}
        needed = {name for name in spec.REQUIRED if name not in (self.defaults or {})}
        return needed <= {*given.values()} and all(map(_LETTERS.fullmatch, map(str, given)))

    @cached_property
    def rules(self) -> ValueRules:
        """
        How cells are read.

        Raises:
            ArgumentError: An option contradicts itself or the interface document.
            SheetError: The file of the categories cannot be read.
        """
        from petstore_tools.importing.values import ValueRules

        categories = category_names(self.categories, None)
        return ValueRules(categories, self.statuses or {}, self.defaults or {})


def takes_options(
    make: Callable[P, T],
) -> Callable[[Callable[[S, T], R]], Callable[Concatenate[S, P], R]]:
    """
    Let a method that takes options be called with their arguments, which its help shows.

    Args:
        make: The class of the options.
    """
    parameters = signature(make).parameters

    def decorate(method: Callable[[S, T], R]) -> Callable[Concatenate[S, P], R]:
        @wraps(method)
        def call(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
            for name in kwargs.keys() - parameters:
                raise ArgumentError(f"there is no option {name!r}{suggest(name, [*parameters])}")
            return method(self, make(*args, **kwargs))

        own = signature(method)
        shown = [next(iter(own.parameters.values())), *parameters.values()]
        call.__signature__ = own.replace(parameters=shown)  # type: ignore[attr-defined]
        call.__doc__ = f"{cleandoc(method.__doc__ or '')}\n\n{cleandoc(make.__doc__ or '')}"
        return call

    return decorate


def category_names(given: Categories | None, file: Path | None) -> Mapping[int, str] | None:
    """Return names by id as given, else those of the category file of the settings, else None."""
    source = file if given is None else given
    return None if source is None else read_categories(source)
