"""
A sheet read to its end: each row to send, with problems, or left out, and the one call
that asks for what is missing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeGuard

from petstore_tools import spec
from petstore_tools.errors import ArgumentError, SheetError
from petstore_tools.importing.layout import Layout, find_layout, read_titles
from petstore_tools.importing.options import ImportOptions
from petstore_tools.importing.values import (
    NO_ID,
    NO_STATUS,
    Match,
    PetValues,
    ProblemRow,
    Row,
    RowLeftOut,
    RowProblem,
    cell_kind,
    count_matches,
)
from petstore_tools.importing.words import (
    FIELDS,
    IDENTITY,
    STATUS_WORDS,
    fold,
    is_known,
    is_note,
    is_total,
)
from petstore_tools.tabular.cells import (
    MalformedLine,
    Problem,
    Record,
    are_blank,
    column_letter,
    is_blank,
)
from petstore_tools.tabular.sources import open_source
from petstore_tools.text import option, pluralize, printable

COLUMNS = 30  # of the file that are shown
SAMPLES = 3  # values shown of a column
# categories or status words that are asked for: more are no words
MOST_WORDS = 50
# the attribute of a row that may repeat, and what is wrong where it does
_REPEATS = {
    "row_key": (
        "row_key",
        "is the key of several rows",
        "give each row a key of its own; "
        + option("drop_duplicates", True)
        + " leaves out rows that repeat the values, too",
    ),
    "petstore_id": (
        "pet_id",
        "is the id of several rows",
        "delete it in the rows that are other animals",
    ),
}
AnyRow = Row | ProblemRow | RowLeftOut | None


@dataclass(frozen=True, repr=False)
class ReadSheet:
    """
    A sheet read to its end.

    Attributes:
        options: What is imported, and how.
        layout: Where its header is, and which column holds which field.
        rows_to_send: Rows that can be sent, in the sheet's order.
        problem_rows: Rows that cannot.
        rows_left_out: Rows that are not empty and not imported, each with the reason.
        blank: Empty rows, skipped.
    """

    options: ImportOptions
    layout: Layout
    rows_to_send: tuple[Row, ...]
    problem_rows: tuple[ProblemRow, ...]
    rows_left_out: tuple[RowLeftOut, ...]
    blank: int

    @property
    def file(self) -> str:
        """
        Name of the file as it can be printed, and of the sheet where there are several.
        """
        name = printable(self.options.import_path.name)
        sheet = self.layout.sheet
        return f"{name} ({sheet.name})" if len(sheet.names) > 1 else name

    @property
    def columns(self) -> list[dict[str, Any]]:
        """
        For each column of the file: how often it is filled, what becomes of it, and
        three values, those first that a wrong encoding would garble.
        """
        fields = {index: field for field, index in self.layout.titles.columns.items()}
        rows = [row.cells for row in self.rows_to_send]
        rows += [row.cells for row in self.problem_rows]
        columns = []
        for index, title in enumerate(self.layout.titles.header[:COLUMNS]):
            cells = [
                cells[index]
                for cells in rows
                if len(cells) > index and cells[index].strip()
            ]
            # odd letters first
            distinct = sorted(dict.fromkeys(cells), key=str.isascii)
            if title.strip() or cells:
                columns.append(
                    {
                        "column": column_letter(index),
                        "title": str(title),
                        "filled": len(cells),
                        "values": [*map(str, distinct[:SAMPLES])],
                        "becomes": fields.get(index, "not sent"),
                    }
                )
        return columns

    @cached_property
    def questions(self) -> str:
        """
        The call and the command with everything that needs an answer, "" where nothing
        does.
        """
        asks = self.layout.titles.proposals or any(
            _asks(row, ()) for row in self.problem_rows
        )
        return write_questions(self.layout) if asks else ""

    @cached_property
    def matches(self) -> list[Match]:
        """Each distinct cell that is not sent as typed, the most frequent first."""
        return count_matches(self.rows_to_send, self.layout.titles.indexes)

    @property
    def problems(self) -> tuple[RowProblem, ...]:
        """Why rows cannot be sent, by row."""
        return tuple(problem for row in self.problem_rows for problem in row.problems)


def read_sheet(options: ImportOptions) -> ReadSheet:
    """
    Read a source to its end.

    Raises:
        SheetError: It cannot be used, or has no rows.
    """
    layout = open_layout(options)
    rows: list[AnyRow] = [
        RowLeftOut(number, "above the header") for number in layout.rows_above
    ]
    rows += read_rows(layout)
    for field in IDENTITY:
        if field in layout.titles.columns:
            _mark_repeats(rows, layout, field)
    if not any(rows):
        raise SheetError(f"{options.path.name} has a header and no rows")
    return ReadSheet(
        options,
        layout,
        tuple(row for row in rows if isinstance(row, Row)),
        tuple(row for row in rows if isinstance(row, ProblemRow)),
        tuple(row for row in rows if isinstance(row, RowLeftOut)),
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
        raise type(error)(f"{error}. {write_questions(layout)}") from error
    sheets = open_source(options.source, options.sheet, options.encoding)
    layouts = [find_layout(sheet, options) for sheet in sheets]
    candidates = [layout for layout in layouts if layout.is_complete]
    if not candidates:
        likeliest = max(layouts, key=lambda layout: layout.likeness)
        fields, _ = likeliest.likeness
        candidates = [layout for layout in layouts if layout.likeness[0] == fields > 0]
        if len(candidates) < 2:
            raise SheetError(f"{name}: {_refusal(likeliest)}")
    if len(candidates) > 1:
        names = ", ".join(repr(layout.sheet.name) for layout in candidates)
        layout = replace(candidates[0], options=replace(options, sheet="…"))
        raise SheetError(
            f"{name}: sheets {names} may be meant: name one. {write_questions(layout)}"
        )
    return candidates[0]


def _refusal(layout: Layout) -> str:
    """Say what is missing, and the call with everything that needs an answer."""
    if not layout.titles.header:
        return "there is no header row"
    reasons = "; ".join([layout.titles.refusal(), *layout.sheet.notes])
    return f"{reasons}. {write_questions(layout)}"


def write_questions(layout: Layout) -> str:
    """
    Return the one call that asks for each title, category and status word which needs
    an answer; what is proposed stands there, the rest is left open.
    """
    columns = {**layout.titles.answers, **layout.titles.proposals}
    options = replace(layout.options, columns=columns)
    titles = read_titles(layout.titles.header, options)
    titles = replace(titles, has_header=layout.titles.has_header)
    layout = replace(layout, titles=titles)
    words = _unread_words(layout)
    statuses = {word: STATUS_WORDS.get(fold(word), "…") for word in words["status"]}
    categories: Any = options.categories
    if words["categoryId"]:
        categories = {**(categories or {}), **dict.fromkeys(words["categoryId"], ...)}
    elif not isinstance(categories, str | Path | Mapping | None):
        categories = ...
    missing = [*titles.missing]
    defaults: dict[str, Any] = {**(options.defaults or {})}
    if "categoryId" in missing and not _free_columns(layout):
        missing.remove("categoryId")
        defaults["categoryId"] = ...
    if _may_hold_status(layout):
        missing.append("status")
    has_key = not options.row_key or "row_key" in titles.columns
    answers = replace(
        options,
        row_key=options.row_key if has_key else "…",
        categories=categories,
        statuses={**(options.statuses or {}), **statuses},
        defaults=defaults,
    )
    call = answers.spell(missing)
    hints = []
    if "…" in call:
        hints.append(
            "Replace each … by the title or letter, the id or the word that is meant,"
            " or leave that entry out."
        )
    if "categoryId" in missing:
        default = option("defaults", {"categoryId": ...})
        hints.append(f"One category for all rows is {default}.")
    if "status" in missing:
        hints.append("Leave out the status if no column has one.")
    return f"{' '.join([*hints, 'To read it:'])}\n{call}"


def _free_columns(layout: Layout) -> set[int]:
    """Return the columns that are filled, and are no field."""
    columns = {
        index
        for _, cells in _records_below(layout)
        for index, cell in enumerate(cells)
        if not is_blank(cell)
    }
    return columns - {*layout.titles.columns.values()}


def _may_hold_status(layout: Layout) -> bool:
    """
    Say whether the status has no column, and one of an unknown title holds words.
    """
    titles = layout.titles
    answers = {*titles.columns, *titles.missing, *(layout.options.defaults or {})}
    if "status" in answers:
        return False
    indexes = {i for i, title in enumerate(titles.header) if not is_known(title)}
    indexes -= {*titles.columns.values()}
    return any(
        cells[index][:1].isalpha()
        for _, cells in _records_below(layout)
        for index in indexes
        if index < len(cells)
    )


def _unread_words(layout: Layout) -> dict[str, list[str]]:
    """Return the distinct cells of each field that wait for their meaning."""
    words: dict[str, dict[str, str]] = {field: {} for field in FIELDS}
    for row in read_rows(layout):
        if _asks(row, layout.titles.missing):
            for problem in row.problems:
                word = problem.value.strip()
                words[problem.field].setdefault(fold(word), word)
    for field in layout.titles.missing:
        words[field].clear()
    return {field: [*cells.values()][:MOST_WORDS] for field, cells in words.items()}


def _asks(row: AnyRow, missing: Sequence[str]) -> TypeGuard[ProblemRow]:
    """
    Say whether a row can be sent as soon as its words have a meaning, and the missing
    fields a column.
    """
    return isinstance(row, ProblemRow) and all(
        problem.rule in (NO_ID, NO_STATUS) or problem.field in missing
        for problem in row.problems
    )


def _records_below(layout: Layout) -> Iterator[Record]:
    """
    Yield the rows below the header; of a rejects file with the cells as they were.
    """
    width = len(layout.titles.header)
    for number, cells in layout.sheet.records():
        if number > layout.header_row:
            if layout.added_columns and not isinstance(cells, MalformedLine):
                cells = [*cells]
                del cells[width : width + layout.added_columns]
            yield number, cells


def read_rows(layout: Layout) -> Iterator[AnyRow]:
    """
    Yield each row below the header: one to send, one with all its problems, one that is
    left out, or None where every cell is empty.

    Where a row is short, what has no column or may be empty counts as empty. In a text,
    a row of another width may have lost a sign.
    """
    titles = layout.titles
    sheet = layout.sheet
    width = len(titles.header)
    header = [*map(str.casefold, map(str.strip, titles.header))]
    # no row may lack it
    last = max(titles.columns.get(name, -1) for name in spec.REQUIRED)
    names = [*FIELDS, *(name for name in IDENTITY if name in titles.columns)]
    width_of_values = len(names) - ("row_key" in names)  # a key alone is no animal
    # of a field without a column, the cell behind the last one
    pick_fields = itemgetter(*(titles.columns.get(name, width) for name in names))
    for number, cells in _records_below(layout):
        whole = (*cells[:width], *[""] * (width - len(cells)))
        fields = pick_fields((*whole, ""))
        beyond = cells if len(cells) <= last else cells[width:]
        problem: tuple[str, ...] = ()
        if isinstance(cells, MalformedLine):
            problem = cells.reason, "check its quotation marks"
        elif beyond and not (sheet.name or are_blank(beyond)):
            rule = f"has {pluralize(len(cells), 'cell')} where the header has {width}"
            problem = rule, "check for a missing quote or comma"
        if problem:
            line = RowProblem(number, "", "", ", ".join(cells), *problem)
            yield ProblemRow(number, tuple(cells), [line])
        elif number in sheet.hidden:
            yield RowLeftOut(number, "hidden")
        elif are_blank(fields[:width_of_values]):
            reason = "filled only in columns that are not imported"
            yield None if are_blank(cells) else RowLeftOut(number, reason)
        elif [*map(str.casefold, map(str.strip, whole))] == header:
            yield RowLeftOut(number, "the header again")
        else:
            yield _decide(number, whole, names, fields, layout)


def _decide(
    number: int,
    cells: tuple[str, ...],
    names: Sequence[str],
    fields: Sequence[str],
    layout: Layout,
) -> Row | ProblemRow:
    """Decide each cell of a row that is not empty."""
    values: list[Any] = [*map(layout.matcher.decide, names, fields)]
    note = _note(cells, fields, values[2], layout)
    if note:
        values = [Problem(note, "complete the row, or delete it"), None, None]
    pet_id, row_key = _identity(names, values) if len(names) > 3 else (None, "")
    reject_of = layout.original_numbers.get(number, 0)
    if Problem not in map(type, values):
        return Row(number, PetValues(*values[:3]), cells, row_key, pet_id, reject_of)
    columns = layout.titles.columns
    problems = [
        RowProblem(
            number,
            column_letter(columns[field]) if field in columns else "",
            field,
            cell,
            *value,
        )
        for field, cell, value in zip(names, fields, values, strict=False)
        if isinstance(value, Problem)
    ]
    return ProblemRow(number, cells, problems, row_key, pet_id, reject_of)


def _note(
    cells: Sequence[str], fields: Sequence[str], status: object, layout: Layout
) -> str:
    """
    Say why a row is no animal, "" where it may be one: no default fills a row that
    stands alone, or that begins like a total, a page or a signature; and a total needs
    a status of its own.
    """
    name = fields[0].strip()
    labels = {name, next(filter(str.strip, cells), "")}
    has_status = fields[2].strip() and isinstance(status, str)
    needs_default = name and not (fields[1].strip() or cell_kind(fields[1]))
    is_alone = needs_default and sum(map(is_blank, cells)) == len(cells) - 1
    if is_alone and layout.titles.indexes.count(None) < 2:
        return "stands alone in its row"
    is_line = not has_status and any(map(is_total, labels))
    if is_line or (needs_default and (is_total(name) or is_note(name))):
        return "is a total or a line about the table"
    return ""


def _identity(names: Sequence[str], values: Sequence[Any]) -> tuple[int | None, str]:
    """Return the id and the key of a row, as far as it has them."""
    known = dict(zip(names, values, strict=False))
    pet_id = known.get("petstore_id")
    row_key = known.get("row_key", "")
    return (
        None if isinstance(pet_id, Problem) else pet_id,
        "" if isinstance(row_key, Problem) else row_key,
    )


def _mark_repeats(rows: list[AnyRow], layout: Layout, field: str) -> None:
    """
    Make problem rows of those whose key or id another row has, too. Rows that repeat
    all that is sent may have one key where duplicates are dropped.
    """
    attribute, *problem = _REPEATS[field]
    may_repeat = field == "row_key" and layout.options.drop_duplicates
    groups: defaultdict[str | int, list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        if value := getattr(row, attribute, None):
            groups[value].append(index)
    for indexes in groups.values():
        contents = {getattr(rows[index], "content", index) for index in indexes}
        if len(indexes) == 1 or (may_repeat and len(contents) == 1):
            continue
        for index in indexes:
            rows[index] = _add_problem(rows[index], layout, field, problem)


def _add_problem(
    row: Any, layout: Layout, field: str, problem: Sequence[str]
) -> ProblemRow:
    """Return a row with a further problem of its key or its id."""
    index = layout.titles.columns[field]
    cell = row.cells[index]
    repeat = RowProblem(row.number, column_letter(index), field, cell, *problem)
    problems = [*getattr(row, "problems", ()), repeat]
    identity = (row.row_key, row.pet_id, row.reject_of)
    return ProblemRow(row.number, row.cells, problems, *identity)
