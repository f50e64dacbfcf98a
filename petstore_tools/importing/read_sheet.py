"""
A sheet read to its end: each row to send, with problems, or left out, and the one call
that asks for what is missing.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

from petstore_tools.errors import ArgumentError, SheetError
from petstore_tools.importing.entries import Entry
from petstore_tools.importing.layout import Layout, find_layout
from petstore_tools.importing.options import ImportOptions
from petstore_tools.importing.rows import (
    AnyRow,
    group_problems,
    identify,
    read_rows,
    records_below,
)
from petstore_tools.importing.values import (
    ABOVE,
    FIELDS,
    ID_TITLE,
    IDENTITY,
    NO_ID,
    NO_STATUS,
    STATUS_WORDS,
    RowLeftOut,
    RowProblem,
    Value,
    fold,
    is_known,
)
from petstore_tools.tabular.cells import (
    NonTextCell,
    are_blank,
    column_letter,
    is_blank,
    whole_number,
)
from petstore_tools.tabular.sources import FORMATS, open_source
from petstore_tools.text import (
    clean,
    first_of,
    option,
    pluralize,
    printable,
    quoted,
    some_of,
    wrap,
)

COLUMNS = 30  # of the file that are shown
SAMPLES = 3  # values shown of a column
WORDS = 12  # of a column that may be meant, and such columns
_NOT_USED = (
    "These columns are not used yet. If you name one that holds words, say what they"
    ' mean, too: categories={"WORD": ID}, statuses={"WORD": "sold"}.'
)
# categories, and status words, that one call asks for
MOST_WORDS = 50
NOT_SENT = "not sent"
# a returned list by its name, without its ending
_RETURNED = re.compile(r"(.+?)(?:\.(sandbox|staging))?\.imported(?:\.\d+)?")


class FileColumn(NamedTuple):
    """
    A column of a file, what becomes of it, how many rows fill it, and not, and three
    values, those first that a wrong encoding would garble.
    """

    column: str
    title: str
    becomes: str
    filled: int
    empty: int
    values: list[str]

    @property
    def label(self) -> str:
        """Its letter and its title."""
        return f"{self.column} {self.title!r}"

    def __str__(self) -> str:
        gaps = f"; {self.empty:,} empty" if self.empty else ""
        values = f": {first_of([*map(quoted, self.values)])}" if self.values else ""
        return f"{self.label} → {self.becomes}{gaps}{values}"


@dataclass(frozen=True, slots=True)
class Match:
    """
    A distinct cell that is not sent as typed: what it is read as, and in how many
    cells.
    """

    field: str
    typed: str
    value: Value
    count: int

    def __str__(self) -> str:
        typed = repr(self.typed) if self.typed.strip() else "an empty cell"
        if self.typed == self.value:
            typed = f"the number {self.typed}"
        value = "no status" if self.value is None else repr(self.value)
        return (
            f"{self.field}: {typed} is read as {value} in"
            f" {pluralize(self.count, 'row')}"
        )


@dataclass(frozen=True, repr=False)
class ReadSheet:
    """
    A sheet read to its end.

    Attributes:
        options: What is imported, and how.
        layout: Where its header is, and which column holds which field.
        rows: Its rows, in their order.
        rows_left_out: Rows that are not empty and not imported, each with the reason.
        blank: Empty rows, skipped.
    """

    options: ImportOptions
    layout: Layout
    rows: Sequence[Entry]
    rows_left_out: Sequence[RowLeftOut]
    blank: int

    @cached_property
    def rows_to_send(self) -> list[Entry]:
        """Rows that can be sent."""
        return [row for row in self.rows if not row.problems]

    @cached_property
    def problem_rows(self) -> list[Entry]:
        """Rows that cannot."""
        return [row for row in self.rows if row.problems]

    @property
    def file(self) -> str:
        """
        Name of the file as it can be printed, and of the sheet where there are several.
        """
        name = printable(self.options.import_path.name)
        sheet = self.layout.sheet
        return f"{name} ({sheet.name})" if len(sheet.names) > 1 else name

    @property
    def columns(self) -> list[FileColumn]:
        """What is in the columns of the file, and what becomes of each."""
        layout = self.layout
        fields = {index: field for field, index in layout.columns.items()}
        rows = [row.cells for row in self.rows]
        columns = []
        for index, title in enumerate(layout.header[:COLUMNS]):
            cells = [cell for row in rows for cell in row[index : index + 1]]
            filled = [str(cell) for cell in cells if cell.strip()]
            if title.strip() or filled:
                # odd letters first
                values = sorted(dict.fromkeys(filled), key=str.isascii)[:SAMPLES]
                becomes = fields.get(index, NOT_SENT)
                counts = len(filled), len(rows) - len(filled)
                letter = column_letter(index)
                columns.append(FileColumn(letter, str(title), becomes, *counts, values))
        return columns

    @cached_property
    def questions(self) -> str:
        """
        The call and the command with everything that needs an answer, "" where nothing
        does.
        """
        asks = self.layout.proposals or any(_asks(row, ()) for row in self.rows)
        return write_questions(self.layout) if asks else ""

    @cached_property
    def matches(self) -> list[Match]:
        """Each distinct cell that is not sent as typed, the most frequent first."""
        counts: Counter[tuple[str, str, Value]] = Counter()
        indexes = [*map(self.layout.columns.get, FIELDS)]
        for row in self.rows_to_send:
            for field, index, value in zip(FIELDS, indexes, row.content, strict=True):
                cell = "" if index is None else row.cells[index]
                is_number = isinstance(cell, NonTextCell)
                noise = cell.value if isinstance(cell, NonTextCell) else None
                typed = str(cell if noise is None else noise)
                is_same = typed == str(value) or (value is None and is_blank(cell))
                if (is_number and field == "name") or not is_same:
                    counts[field, typed, value] += 1
        return [Match(*match, count) for match, count in counts.most_common()]

    @property
    def notes(self) -> list[str]:
        """What should be known of the sheet and its rows."""
        return [*self.layout.notes, *some_of(self.names_of_two_lines, SAMPLES)]

    @property
    def names_of_two_lines(self) -> list[str]:
        """Rows to send whose name has a line break: it may be two animals."""
        return [
            f"row {row.number}: the name {quoted(row.content.name)} has two lines; if"
            " these are two animals, give each a row of its own"
            for row in self.rows_to_send
            if "\n" in row.content.name
        ]

    @property
    def problems(self) -> tuple[RowProblem, ...]:
        """Why rows cannot be sent, by row."""
        return tuple(problem for row in self.rows for problem in row.problems)


def source_of(path: Path) -> tuple[Path, str] | None:
    """
    Return the file that a returned list came from, and the environment, by its name.

    >>> path, environment = source_of(Path("animals.ods.sandbox.imported.2.xlsx"))
    >>> path.name, environment
    ('animals.ods', 'sandbox')
    """
    match = _RETURNED.fullmatch(path.stem)
    if match is None:
        return None
    stem, environment = match.groups()
    ending = "" if Path(stem).suffix.casefold() in FORMATS else path.suffix
    return path.with_name(stem + ending), environment or "production"


def origin_of(sheet: ReadSheet) -> tuple[Path, str] | None:
    """Return the same of a list with ids, None if it did not come back."""
    options = sheet.options
    has_ids = ID_TITLE in sheet.layout.columns
    return source_of(options.path.resolve()) if options.is_file and has_ids else None


def read_sheet(options: ImportOptions) -> ReadSheet:
    """
    Read a source to its end.

    Raises:
        SheetError: It cannot be used, or has no rows.
    """
    return read_layout(open_layout(options))


def read_layout(layout: Layout) -> ReadSheet:
    """
    Read a sheet to its end whose columns are known.

    Raises:
        SheetError: It has no rows.
    """
    options = layout.options
    rows: list[AnyRow] = [
        RowLeftOut(number, ABOVE)
        for number, cells in enumerate(layout.cells_above, 1)
        if not are_blank(cells)
    ]
    rows += read_rows(layout)
    for field in IDENTITY:
        if field in layout.columns:
            identify(rows, layout, field)
    if not any(rows):
        raise SheetError(
            f"{options.path.name} has a header and no rows: add a row for each animal"
        )
    for index, row in enumerate(rows):
        if isinstance(row, Entry) and row.pet_id and not row.problems:
            rows[index] = row._replace(has_id=True, state="created")
    return ReadSheet(
        options,
        layout,
        [row for row in rows if isinstance(row, Entry)],
        [row for row in rows if isinstance(row, RowLeftOut)],
        blank=rows.count(None),
    )


def open_layout(options: ImportOptions) -> Layout:
    """
    Open a spreadsheet and find its header; of a CSV file encoding and delimiter, too.

    Raises:
        SheetError: Not there, of another format, empty, not text, or without the
            required columns: then it shows the call with everything that needs an
            answer.
        ArgumentError: The categories cannot be used: likewise.
    """
    name = options.path.name if options.is_file else "the DataFrame"
    try:
        _ = options.category_words
    except (ArgumentError, SheetError) as error:
        layout = open_layout(replace(options, categories={}))
        raise type(error)(write_questions(layout, [str(error)])) from error
    sheets = open_source(options.source, options.sheet, options.encoding)
    layouts = [find_layout(sheet, options) for sheet in sheets]
    likeliest = max(layouts, key=lambda layout: (layout.is_complete, layout.score))
    fields, _ = likeliest.score
    candidates = [layout for layout in layouts if layout.is_complete]
    if not candidates:
        candidates = [layout for layout in layouts if layout.score[0] == fields > 0]
    if len(candidates) > 1:
        names = ", ".join(repr(layout.sheet.name) for layout in candidates)
        reason = f"{name}: sheets {names} may be meant: name one"
        raise SheetError(write_questions(candidates[0], [reason], sheet="…"))
    if not likeliest.header:
        raise SheetError(
            f"{name}: there is no header row: write the titles name and categoryId"
            " above the rows"
        )
    if not likeliest.is_complete:
        first, *others = likeliest.reasons
        others += [f"the header is {likeliest.header_line}", *likeliest.sheet.notes]
        if not fields and any(map(whole_number, likeliest.header)):
            columns = option("columns", {"A": "name", "B": "categoryId"})
            row = f"if row {likeliest.header_row} is an animal"
            others.append(f"{row}, name the columns by letter: {columns}")
        raise SheetError(write_questions(likeliest, [f"{name}: {first}", *others]))
    return likeliest


def write_questions(layout: Layout, reasons: Sequence[str] = (), **answers: Any) -> str:
    """
    Return the one call that asks for each title, category and status word which needs
    an answer, on a line of its own; what is proposed stands there, the rest is open.

    Args:
        layout: What is known so far.
        reasons: Why nothing can be read, if so: a line each, and one for the words that
            have no meaning yet.
        answers: What else stands in the call.
    """
    columns = {**layout.answers, **layout.proposals}
    options = replace(layout.options, columns=columns)
    layout = replace(layout, options=options)
    missing = [field for field in layout.missing if field not in layout.unnamed]
    rows = [cells for _, cells in records_below(layout) if not are_blank(cells)]
    free_columns = _free_columns(layout, rows)
    if "categoryId" in missing and len(free_columns) < len(missing):
        missing.remove("categoryId")
        answers["defaults"] = {**(options.defaults or {}), "categoryId": ...}
    is_open = "status" not in (*layout.columns, *missing, *(options.defaults or ()))
    if is_open and len(free_columns) > len(missing):
        status_column = _find_statuses(layout, free_columns, len(rows))
        if status_column == "…":
            missing.append("status")
        elif status_column:
            columns[status_column] = "status"
            options = replace(options, columns=columns)
            layout = replace(layout, options=options)
    blanks = [("…", field) for field in missing]
    answers["columns"] = [*columns.items(), *blanks]
    if options.row_key is not None and "row_key" not in layout.columns:
        answers["row_key"] = "…"
    if layout.question_of_sheet and reasons:
        answers.setdefault("sheet", layout.sheet.name)
        reasons = [*reasons, layout.question_of_sheet]
    problems = _open_words(layout)
    answers |= _meanings(options, problems)
    call = options.spell(answers)
    hints = []
    if missing and free_columns:
        columns_shown = some_of([*_describe(layout, free_columns)], WORDS)
        lines = [wrap(line, "  ") for line in columns_shown]
        hints += [wrap(_NOT_USED), *lines]
    if "…" in call:
        hints.append(
            "Replace each … by the title or letter, the id or the word that is meant,"
            " or leave that entry out."
        )
    if "categoryId" in missing:
        default = option("defaults", {"categoryId": ...})
        hints.append(f"One category for all rows is {default}.")
    if reasons:
        fixes = [fix.problem for fix in group_problems(problems)]
        first, *others = [*reasons, *fixes]
        hints = [wrap(first), *(wrap(line, "  ") for line in others), *hints]
    subject = "it" if reasons else "these rows, too"
    title = f"To import {subject} (preview_import or --dry-run checks it):"
    return "\n".join([*hints, title, call])


def _free_columns(
    layout: Layout, rows: Iterable[Sequence[str]]
) -> dict[int, list[str]]:
    """Return the filled cells of the columns that are no field."""
    fields = layout.columns.values()
    columns = defaultdict(list)
    for cells in rows:
        for index, cell in enumerate(cells):
            if index not in fields and not is_blank(cell):
                columns[index].append(cell)
    return columns


def _find_statuses(
    layout: Layout, free_columns: Mapping[int, Sequence[str]], row_count: int
) -> str:
    """
    Return the column that holds statuses in half of the rows, `…` where one may, ""
    where none does.
    """
    likely = []
    may_be = False
    for index, cells in free_columns.items():
        title = "".join(layout.header[index : index + 1])
        statuses = [cell for cell in cells if STATUS_WORDS.get(fold(cell))]
        is_filled = 2 * len(cells) >= row_count and 2 * len(statuses) > len(cells)
        if is_filled and fold(title) not in STATUS_WORDS:
            likely.append(layout.key(index))
        has_words = any(cell[:1].isalpha() for cell in cells)
        is_titled = index < len(layout.header)
        may_be |= has_words and is_titled and not is_known(title)
    if len(likely) == 1:
        return likely[0]
    return "…" if may_be else ""


def _open_words(layout: Layout) -> list[RowProblem]:
    """Return the words that wait for a meaning in rows which can be sent with it."""
    missing = layout.missing
    return [
        problem
        for row in read_rows(layout)
        if _asks(row, missing)
        for problem in row.problems
        if problem.field not in missing
    ]


def _describe(
    layout: Layout, free_columns: Mapping[int, Sequence[str]]
) -> Iterator[str]:
    """Yield what is in each column, so that a title and its words are one answer."""
    for index in sorted(free_columns):
        values = [*dict.fromkeys(map(quoted, map(clean, free_columns[index])))]
        yield f"{layout.label(index)}: {first_of(values, WORDS)}"


def _meanings(options: ImportOptions, problems: Iterable[RowProblem]) -> dict[str, Any]:
    """
    Return the meanings of categories and status words: the given ones, the likely ones,
    and blanks for the first distinct words that wait for theirs.
    """
    words: dict[str, dict[str, str]] = {NO_ID: {}, NO_STATUS: {}}
    for problem in problems:
        word = clean(problem.value)
        words[problem.rule].setdefault(fold(word), word)
    categories, statuses = [[*words[rule].values()][:MOST_WORDS] for rule in words]
    meanings = {word: STATUS_WORDS.get(fold(word), "…") for word in statuses}
    meanings = {**(options.statuses or {}), **meanings}
    ids = _spell_categories(options, categories)
    return {"categories": ids, "statuses": meanings}


def _spell_categories(options: ImportOptions, words: Iterable[str]) -> Any:
    """Return the categories as a call shows them, with blanks for further words."""
    ids = options.categories
    blanks = dict.fromkeys(words, ...)
    if isinstance(ids, Mapping) and blanks and options.category_words.is_list:
        ids = dict(options.category_words.pairs)  # names have no place for words
    if isinstance(ids, Mapping | None):
        return {**(ids or {}), **blanks}
    parts: list[Any] = [*ids] if isinstance(ids, tuple | list) else [ids]
    parts = [part if isinstance(part, str | Path | Mapping) else ... for part in parts]
    if blanks:
        parts.append(blanks)
    return parts[0] if len(parts) == 1 else tuple(parts)


def _asks(row: AnyRow, missing: Collection[str]) -> TypeGuard[Entry]:
    """
    Say whether a row can be sent as soon as its words have a meaning, and the missing
    fields a column.
    """
    problems = row.problems if isinstance(row, Entry) else ()
    return problems != () and all(
        problem.rule in (NO_ID, NO_STATUS) or problem.field in missing
        for problem in problems
    )
