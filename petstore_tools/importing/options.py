"""
What an import is asked to do: every option is spelled here, and passed on as one value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from functools import cached_property, wraps
from inspect import getdoc, signature
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Literal,
    ParamSpec,
    Self,
    TypeVar,
    get_args,
)

from petstore_tools import spec
from petstore_tools.errors import ArgumentError, SheetError
from petstore_tools.tabular.categories import read_categories
from petstore_tools.text import flags, option, python_literal

if TYPE_CHECKING:
    import pandas as pd

    from petstore_tools.tabular.categories import Categories
    from petstore_tools.throttle.throttle import Wait

Doubtful = Literal["ask", "skip", "send"]
_LETTERS = re.compile("[A-Z]{1,3}")
# what nobody types as a title: a key of ours, or letters and digits without an end
_SECRET = re.compile(r"psk_.*|(?=.*\d)(?=.*[A-Za-z])[\w.~+/=-]{24,}")
_KINDS: Mapping[str, tuple[Any, str]] = {
    **dict.fromkeys(("name", "row_key", "sheet", "encoding"), (str, "a text")),
    **dict.fromkeys(("columns", "statuses", "defaults"), (Mapping, "a dict")),
    "first": (int, "a whole number"),
}
P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")


@dataclass(frozen=True)
class Progress:
    """
    How far a run is.

    Attributes:
        done, total: Rows of the import, those of earlier runs included.
        created, rejected, unknown: Of those done.
        wait: Until when it waits (Unix seconds, `until`) and what for (`reason`), None
            while it sends.
    """

    done: int
    total: int
    created: int
    rejected: int
    unknown: int
    wait: Wait | None = None


@dataclass(frozen=True, eq=False)
class ImportOptions:
    """
    What is imported, and how.

    Attributes:
        source: The path of a text such as .csv or of a workbook
            (`tabular.sources.FORMATS`), or a DataFrame; delimiter, encoding and
            header row are found.
        name: What a DataFrame is called, or another list under an old file name: the
            same name goes on with the same import.
        row_key: The column that tells rows apart, by its title or its letter, such as
            `Chip`: a row is its key, and is sent once. It is never sent itself.
        sheet: Which sheet of a workbook; None: the visible one that has the columns.
        encoding: Of a text file, such as `cp1250`; None: UTF-8, else cp1252.
        header: False: there is none, and all columns are named by letter.
        columns: Field (`name`, `categoryId`, `status`) by title or letter, where the
            titles do not tell.
        categories: What the categories are called, so that a cell may hold a name
            instead of an id: a dict, a Series, a DataFrame, or a file with the columns
            `id` and `name`.
        statuses: Status by word of yours, such as `{"verkauft": "sold"}`; in any case;
            `{"n/a": ""}` is no status.
        defaults: Value by field for empty cells and missing columns, such as
            `{"status": "available"}`; `name` takes none.
        first: Send so many rows and stop; the same call without it goes on.
        strict: Send nothing while a row has a problem.
        drop_duplicates: Of rows with the same three values, send one.
        doubtful: What happens to rows that may exist already: `skip` leaves them out,
            `send` creates them, `ask` sends nothing and raises DoubtfulRowsError. After
            that it answers for the rows that were shown, and others are asked about.
        wait: Wait for the next day's quota instead of stopping.
        progress: False: nothing is printed; True: a bar; a function: called with
            Progress.
    """

    source: str | Path | pd.DataFrame
    _: KW_ONLY
    name: str | None = None
    row_key: str | None = None
    sheet: str | None = None
    encoding: str | None = None
    header: bool = True
    columns: Mapping[str, str] | None = None
    categories: Categories | None = None
    statuses: Mapping[str, str] | None = None
    defaults: Mapping[str, str | int] | None = None
    first: int | None = None
    strict: bool = False
    drop_duplicates: bool = False
    doubtful: Doubtful = "ask"
    wait: bool = False
    progress: bool | Callable[[Progress], None] | None = None

    def __post_init__(self) -> None:
        for name, (kind, word) in _KINDS.items():
            if not isinstance(value := getattr(self, name), kind | None):
                raise ArgumentError(f"{name} must be {word}, not {value!r}")
        if self.row_key is not None and _SECRET.fullmatch(self.row_key.strip()):
            raise ArgumentError(
                "row_key is the title or the letter of a column, and this looks like an"
                " API key, which no call and no command should show"
            )
        if not self.header and not self.by_letter:
            columns = option("columns", {"A": "name", "B": "categoryId"})
            raise ArgumentError(
                f"{option('header', False)} needs all columns by letter: {columns}"
            )
        if self.doubtful not in get_args(Doubtful):
            raise ArgumentError(
                f"doubtful must be 'ask', 'skip' or 'send', not {self.doubtful!r}"
            )
        if self.first is not None and self.first < 1:
            raise ArgumentError(f"first must be at least 1, not {self.first}")
        given = self.name or ""
        is_name = Path(given).name == given and given.strip(".")
        if not is_name and not (self.is_file and self.name is None):
            raise SheetError(
                "give the path of a file, or a DataFrame with a name, such as"
                ' name="spring", that has no slash: the same name goes on with the same'
                " import"
            )
        try:
            str(self.path).encode()
        except UnicodeEncodeError as error:
            raise SheetError(
                "the name of the file has characters that are no text: rename it"
            ) from error

    def with_categories(self, file: Path | None) -> Self:
        """
        Return it with the category file of the settings, where it names no categories.
        """
        return replace(self, categories=file) if self.categories is None else self

    @property
    def is_file(self) -> bool:
        """Whether it is a file; a DataFrame has a name instead."""
        return isinstance(self.source, str | Path)

    @property
    def path(self) -> Path:
        """The file; of a DataFrame, its name alone."""
        return Path(str(self.source) if self.is_file else self.name or "")

    @property
    def import_path(self) -> Path:
        """The file, absolute; or the name that was given, the same in every folder."""
        return Path(self.name) if self.name else self.path.resolve()

    @property
    def by_letter(self) -> bool:
        """Whether all required columns are named by letter."""
        given = self.columns or {}
        needed = {*spec.REQUIRED} - {*(self.defaults or {})}
        return needed <= {*given.values()} and all(
            map(_LETTERS.fullmatch, map(str, given))
        )

    @cached_property
    def category_names(self) -> dict[int, str] | None:
        """
        What the categories are called, by id.

        Raises:
            ArgumentError: They do not give each id one name.
            SheetError: Their file cannot be read.
        """
        return read_categories(self.categories)


def takes_options(
    make: Callable[P, ImportOptions],
) -> Callable[[Callable[[S, ImportOptions], R]], Callable[Concatenate[S, P], R]]:
    """
    Let a method that takes options be called with their arguments, which its help
    shows.

    Args:
        make: The class of the options.
    """

    def decorate(
        method: Callable[[S, ImportOptions], R],
    ) -> Callable[Concatenate[S, P], R]:
        @wraps(method)
        def call(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
            return method(self, make(*args, **kwargs))

        own = signature(method)
        itself, _ = own.parameters.values()
        shown = [itself, *signature(make).parameters.values()]
        call.__signature__ = own.replace(parameters=shown)  # type: ignore[attr-defined]
        call.__doc__ = f"{getdoc(method)}\n\n{getdoc(make)}"
        return call

    return decorate


_PLAIN = re.compile(r"[\w.,/=+:@-]+")


def spell(options: ImportOptions, missing: Sequence[str]) -> str:
    """
    Write a call and a command to be copied.

    Args:
        options: What they say; an id that is not known is `...`.
        missing: Fields whose columns nobody knows.
    """
    call = [python_literal(options.source) if options.is_file else "frame"]
    command = ["petstore-tools", "import", str(options.source)]
    for field in fields(options)[1:-1]:  # without the source, and progress
        name = field.name
        value = getattr(options, name)
        if isinstance(value, Mapping):
            blanks = missing if name == "columns" else ()
            value = [*value.items(), *(("…", field_name) for field_name in blanks)]
        if value in (field.default, []):
            continue
        call.append(f"{name}={python_literal(value)}")
        command += flags(name, "FILE" if name == "categories" else value)
    said = f"store.import_pets({', '.join(call)})"
    if options.is_file:
        said += f" ({' '.join(map(_argument, command))})"
    if "…" in said:
        said += (
            "; replace each … by the title or letter, the id or the word that is meant"
        )
    if "FILE" in command:
        said += ", and FILE by a file with the columns id and name"
    if "status" in missing:
        said += "; leave out the status if no column has one"
    return said


def _argument(text: str) -> str:
    """Quote an argument where a shell needs it, as each of them understands."""
    escaped = text.replace('"', '\\"')
    return text if _PLAIN.fullmatch(text) else f'"{escaped}"'
