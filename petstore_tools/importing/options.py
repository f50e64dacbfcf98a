"""
What an import is asked to do: each option is defined once, with its help and its flag,
and all are passed on as one value.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, MISSING, dataclass, field, fields, replace
from difflib import get_close_matches
from functools import cached_property, wraps
from inspect import getdoc, signature
from pathlib import Path
from textwrap import fill
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
from petstore_tools.tabular.categories import CategoryWords, read_words
from petstore_tools.tabular.cells import Sheet
from petstore_tools.text import option, python_literal

if TYPE_CHECKING:
    import pandas as pd

    from petstore_tools.tabular.categories import Categories
    from petstore_tools.throttle.throttle import Wait

Doubtful = Literal["ask", "skip", "send"]
_LETTERS = re.compile("[A-Z]{1,3}")
# what nobody types as a title: a key of ours, or letters and digits without an end
_SECRET = re.compile(r"psk_.*|(?=.*\d)(?=.*[A-Za-z])[\w.~+/=-]{24,}")
_KINDS = {  # of values, by what stands behind the flag
    "NAME": (str, "a text"),
    "TITLE": (str, "a text"),
    "TITLE=FIELD": (Mapping, "a dict"),
    "WORD=STATUS": (Mapping, "a dict"),
    "FIELD=VALUE": (Mapping, "a dict"),
    "N": (int, "a whole number"),
    "": (bool, "True or False"),
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

    __module__ = "petstore_tools"

    done: int
    total: int
    created: int
    rejected: int
    unknown: int
    wait: Wait | None = None


def _option(help_text: str, form: str | None = "", default: Any = None) -> Any:
    """
    Define an option of an import.

    Args:
        help_text: What it says, for calls and commands.
        form: What stands behind its flag, "" for nothing; None: it has no flag.
        default: What holds without it; MISSING: it has to be given.
    """
    return field(default=default, metadata={"help": help_text, "form": form})


@dataclass(frozen=True, eq=False)
class ImportOptions:
    """What is imported, and how; the fields say what each option is."""

    source: str | Path | pd.DataFrame | Sheet = _option(
        "The path of a text such as .csv or of a workbook, or a DataFrame; delimiter,"
        " encoding and header row are found.",
        None,
        MISSING,
    )
    _: KW_ONLY
    name: str | None = _option(
        "What a DataFrame is called, or another list under an old file name; the same"
        " name goes on with the same import.",
        "NAME",
    )
    row_key: str | None = _option(
        "The column that tells rows apart, by its title or letter, such as Chip. Each"
        " key is sent once. The column itself is never sent.",
        "TITLE",
    )
    sheet: str | None = _option(
        "Which sheet of a workbook; without it, the visible one that has the columns.",
        "NAME",
    )
    columns: Mapping[str, str] | None = _option(
        "Which column holds name, categoryId or status, by its title or letter, where"
        " the titles do not tell.",
        "TITLE=FIELD",
    )
    header: bool = _option(
        "header=False (--no-header): there is no header, and all columns are named by"
        " letter.",
        default=True,
    )
    categories: Categories | None = _option(
        "Which id a word stands for; beside words, a whole number is an id. Or a list"
        " of all categories, ids to names: a file with two such columns, a DataFrame, a"
        " Series or a dict; an id that it lacks is refused. Words stand beside the"
        " list of the settings, or in a tuple beside another one.",
        "WORD=ID or FILE",
    )
    statuses: Mapping[str, str] | None = _option(
        "Which status a word stands for, such as verkauft=sold, in any case; an empty"
        " one is no status.",
        "WORD=STATUS",
    )
    defaults: Mapping[str, str | int] | None = _option(
        "The value of empty cells and missing columns, such as status=available; name"
        " takes none, and nor does a row that has a name alone.",
        "FIELD=VALUE",
    )
    encoding: str | None = _option(
        "Encoding of a text file, such as cp1250; without it, UTF-8, else cp1252.",
        "NAME",
    )
    first: int | None = _option(
        "Send so many rows and stop; the same call without it goes on.", "N"
    )
    drop_duplicates: bool = _option(
        "Of rows with the same three values, send one.", default=False
    )
    strict: bool = _option("Send nothing while a row has a problem.", default=False)
    doubtful: Doubtful = _option(
        "What happens to rows that may exist already: skip leaves them out, send"
        " creates them, ask asks on a terminal and sends nothing elsewhere. An answer"
        " is for the rows that were shown.",
        "|".join(get_args(Doubtful)),
        "ask",
    )
    wait: bool = _option(
        "Wait for the next day's quota instead of stopping.", default=False
    )
    progress: bool | Callable[[Progress], None] | None = _option(
        "False: nothing is printed; True: a bar; a function is called with Progress.",
        None,
    )

    def __post_init__(self) -> None:
        for definition in fields(self):
            value = getattr(self, definition.name)
            kind, word = _KINDS.get(definition.metadata["form"], (object, ""))
            if not isinstance(value, kind | None):
                raise ArgumentError(f"{definition.name} must be {word}, not {value!r}")
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
            doubtful = option("doubtful", self.doubtful)
            raise ArgumentError(f"{doubtful} must be ask, skip or send")
        if self.first is not None and self.first < 1:
            raise ArgumentError(f"{option('first', self.first)} must be at least 1")
        name = self.name or ""
        is_name = Path(name).name == name and name.strip(".")
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
        Return it with the category file of the settings, where it names no other one; a
        dict stands beside that.
        """
        if file is None or not isinstance(self.categories, Mapping | None):
            return self
        categories = (file, self.categories) if self.categories else file
        return replace(self, categories=categories)

    @property
    def is_file(self) -> bool:
        """Whether it is a file or standard input; a DataFrame is neither."""
        return isinstance(self.source, str | Path | Sheet)

    @property
    def path(self) -> Path:
        """
        The file. Standard input is like a file of its name in the current folder. A
        DataFrame has its name alone.
        """
        if isinstance(self.source, Sheet):
            return Path(f"{self.name}.csv")
        text = str(self.source) if self.is_file else self.name or ""
        return Path(os.path.expanduser(text))

    @property
    def import_path(self) -> Path:
        """The file, absolute; or the name that was given, the same in every folder."""
        return Path(self.name) if self.name else self.path.resolve()

    @property
    def by_letter(self) -> bool:
        """Whether all required columns are named by letter."""
        columns = self.columns or {}
        required = {*spec.REQUIRED} - {*(self.defaults or {})}
        return required <= {*map(str, columns.values())} and all(
            map(_LETTERS.fullmatch, map(str, columns))
        )

    @cached_property
    def category_words(self) -> CategoryWords:
        """
        Which id each word for a category stands for.

        Raises:
            ArgumentError: One of them has no id.
            SheetError: Their file cannot be read.
        """
        if self.categories is None:
            return CategoryWords()
        return read_words(self.categories)

    def spell(self, answers: Mapping[str, Any]) -> str:
        """
        Write the call that is to be copied.

        Args:
            answers: Options that stand there in place of these, `...` for a blank;
                columns as pairs of title and field.
        """
        call = [python_literal(self.source) if self.is_file else "frame"]
        for name, value in self.arguments(answers):
            call.append(f"{name}={python_literal(value)}")
        return f"store.import_pets({', '.join(call)})"

    def arguments(self, answers: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """
        Yield the options of a call with their names, without those that are as they are
        by themselves.
        """
        for definition in fields(self)[1:-1]:  # without the source, and progress
            value = answers.get(definition.name, getattr(self, definition.name))
            if value not in (definition.default, [], {}):
                yield definition.name, value


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
        options = signature(make)

        @wraps(method)
        def call(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
            try:
                options.bind(*args, **kwargs)
            except TypeError as error:
                hint = _suggest_option(kwargs, options.parameters)
                raise ArgumentError(f"{method.__name__}() {error}{hint}") from None
            return method(self, make(*args, **kwargs))

        undecorated = signature(method)
        itself, _ = undecorated.parameters.values()
        call.__signature__ = undecorated.replace(  # type: ignore[attr-defined]
            parameters=[itself, *options.parameters.values()]
        )
        call.__doc__ = f"{getdoc(method)}\n\nArgs:\n{_help_of_options()}"
        return call

    return decorate


def _suggest_option(names: Iterable[str], options: Collection[str]) -> str:
    """
    Say which option a name that is none may mean.

    >>> _suggest_option(["colums"], ["columns", "sheet"])
    "; did you mean 'columns'?"
    """
    for name in names:
        if name not in options:
            matches = get_close_matches(name, options)
            return f"; did you mean {matches[0]!r}?" if matches else ""
    return ""


def _help_of_options() -> str:
    """Return what each option says, a paragraph an option."""
    return "\n".join(
        fill(
            f"{definition.name}: {definition.metadata['help']}",
            88,
            initial_indent=" " * 4,
            subsequent_indent=" " * 8,
        )
        for definition in fields(ImportOptions)
    )
