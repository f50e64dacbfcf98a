"""
The layout of a sheet: where its header is, and which column holds which field, by exact
titles, by `columns=`, and what may be proposed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

from petstore_tools import spec
from petstore_tools.errors import SheetError
from petstore_tools.importing.options import ImportOptions
from petstore_tools.importing.values import Matcher
from petstore_tools.importing.words import BETTER_TITLES, FIELDS, TITLES, bare
from petstore_tools.tabular.cells import Sheet, are_blank, column_letter, is_blank
from petstore_tools.text import first_of, option

HEADER_WITHIN = 1_000  # rows in which the header is searched
ADDED = ["petstore_row", "petstore_problem"]  # columns of a rejects file
_EXACT = {name.casefold(): name for name in FIELDS}
_SHOWN = 20  # titles
_SPECIAL = {*'"\\$`!'}  # signs that a shell or Python reads as something else


@dataclass(frozen=True)
class Titles:
    """
    The fields that a header names.

    Attributes:
        header: Cells as typed; the letters of the columns where there is no header.
        columns: Index from 0, by field, in the order of the document.
        proposals: Field that may be meant, by title, or by letter where the title is
            not clear.
        missing: Fields that need an answer: required ones without a column or a
            default, and those that two columns could be.
        doubts: Which columns could be the same field, in words, by field.
        has_header: Whether the sheet has one.
    """

    header: tuple[str, ...]
    columns: Mapping[str, int]
    proposals: Mapping[str, str]
    missing: Sequence[str]
    doubts: Mapping[str, str]
    has_header: bool = True

    @cached_property
    def indexes(self) -> tuple[int | None, ...]:
        """Index of each field's column, None where it has none."""
        return tuple(map(self.columns.get, FIELDS))

    def label(self, index: int) -> str:
        """Return a column as people find it: `A 'Name'`."""
        letter = column_letter(index)
        return f"{letter} {self.header[index]!r}" if self.has_header else letter

    def describe(self) -> str:
        """
        Say which column is which field: `name ← A 'Name', categoryId ← C 'Category
        ID'`.
        """
        return ", ".join(
            f"{field} ← {self.label(index)}" for field, index in self.columns.items()
        )

    def header_text(self) -> str:
        """Return the cells of the header, the first of very many."""
        cells = [
            repr(cell) if cell else getattr(cell, "kind", "''") for cell in self.header
        ]
        return first_of(cells, _SHOWN)

    def refusal(self) -> str:
        """Say what is missing."""
        missing = [field for field in self.missing if field not in self.doubts]
        reasons = [f"no column for {' and '.join(missing)}"] if missing else []
        reasons += self.doubts.values()
        return f"{'; '.join(reasons)}; the header has {self.header_text()}"


@dataclass(frozen=True)
class Layout:
    """
    Where the header of a sheet is, and which column holds which field.

    Attributes:
        sheet: Its cells.
        header_row: As the spreadsheet counts; where there is no header, the row before
            the first.
        titles: Which column holds which field.
        options: How it is read.
        rows_above: Rows above the header that are not empty.
        added_columns: How many columns of a rejects file the toolkit added, behind
            those of the header.
        refusal: Why the row is no header, where `columns=` does not fit it.
    """

    sheet: Sheet
    header_row: int
    titles: Titles
    options: ImportOptions
    rows_above: tuple[int, ...] = ()
    added_columns: int = 0
    refusal: str = ""

    @cached_property
    def matcher(self) -> Matcher:
        """What decides its cells."""
        options = self.options
        return Matcher(options.category_names, options.statuses, options.defaults)

    @property
    def header(self) -> str:
        """Where the header is, and its cells."""
        if self.titles.has_header:
            return f"row {self.header_row}: {self.titles.header_text()}"
        return f"none: row {self.header_row + 1} is the first animal"

    @property
    def notes(self) -> list[str]:
        """What should be known of the sheet."""
        columns = self.titles.columns
        sheet = self.sheet
        unread = [repr(name) for name in sheet.names if name != sheet.name]
        line = f"sheet {sheet.name!r}; not read: {', '.join(unread)}"
        notes = [*([line] if unread else ()), *sheet.notes]
        notes += [
            f"column {self.titles.label(index)} is hidden, and is read"
            for index in columns.values()
            if index in sheet.hidden_columns
        ]
        if "status" not in {*columns, *(self.options.defaults or {})}:
            notes.append(
                "no column for status: the animals will have none, and it cannot be"
                " added later; " + option("columns", {"TITLE": "status"}) + " names one"
            )
        return notes

    @property
    def likeness(self) -> tuple[int, int]:
        """
        How many fields a row may name, and how many cells it has; the header has the
        most.
        """
        titles = self.titles
        fields = len(titles.columns) + len(titles.proposals) + len(titles.doubts)
        filled = [cell for cell in titles.header if not is_blank(cell)]
        return fields, len(filled)


def find_layout(sheet: Sheet, options: ImportOptions) -> Layout:
    """
    Find the header: the first row that names all required fields; where they are named
    by letter, the first row that has these columns, or none where that row is data.
    Else the likeliest row.
    """
    no_titles = Titles((), {}, {}, FIELDS, {})
    layouts = [Layout(sheet, 0, no_titles, options, refusal="there is no header row")]
    filled = (record for record in sheet.records() if not are_blank(record[1]))
    rows_above: list[int] = []
    for number, cells in islice(filled, HEADER_WITHIN):
        try:
            layout = _take_header(sheet, number, cells, options)
        except SheetError as error:
            titles = replace(no_titles, header=tuple(cells))
            layout = Layout(sheet, number, titles, options, refusal=str(error))
        layouts.append(replace(layout, rows_above=tuple(rows_above)))
        rows_above.append(number)
        if not layout.titles.missing:
            return layouts[-1]
    return max(layouts, key=lambda layout: layout.likeness)


def _take_header(
    sheet: Sheet, number: int, cells: Sequence[str], options: ImportOptions
) -> Layout:
    """
    Take a row for the header; where columns are named by letter, for data where a
    category or a status stands in its place.
    """
    added = cells[cells.index(ADDED[0]) :] if {*ADDED} <= {*cells} else []
    header = cells[: len(cells) - len(added)]
    titles = read_titles(header, options.columns, options.defaults)
    layout = Layout(sheet, number, titles, options, added_columns=len(added))
    # by pandas
    is_counted = not options.is_file and all(map(str.isdecimal, header))
    if not options.by_letter or is_counted:
        return layout
    is_data = any(
        isinstance(layout.matcher.decide(field, header[index]), int | str)
        for field, index in titles.columns.items()
        if field != "name" and header[index].strip()
    )
    if options.header and not is_data:
        return layout
    letters = [*map(column_letter, range(len(header)))]
    titles = read_titles(letters, options.columns, options.defaults)
    titles = replace(titles, has_header=False)
    return replace(layout, header_row=number - 1, titles=titles)


def read_titles(
    header: Sequence[str],
    columns: Mapping[str, str] | None,
    defaults: Collection[str] | None,
) -> Titles:
    """
    Find the fields in a header.

    Args:
        header: Cells as typed.
        columns: Field by title, or by column letter where no title is that.
        defaults: Fields that have a default: they need no column.

    Raises:
        SheetError: `columns` names a column or a field that is not there.

    Spec: §2.1, required fields.
    """
    titles = [cell.strip() for cell in header]
    chosen = {
        _column_index(str(key).strip(), titles, field): field
        for key, field in (columns or {}).items()
    }
    exact = [_EXACT.get(re.sub(r"[\s_-]", "", title).casefold()) for title in titles]
    fields = {
        index: field
        for index, field in enumerate(exact)
        if field not in chosen.values()
    } | chosen
    free = {
        bare(titles[index]): index
        for index in reversed(range(len(titles)))
        if not fields.get(index)
    }
    indexes: dict[str, int] = {}
    doubts: dict[str, str] = {}
    proposals: dict[str, str] = {}
    missing: list[str] = []
    for field in FIELDS:
        candidates = [index for index in fields if fields[index] == field]
        if candidates and field not in chosen.values():
            candidates += [free[word] for word in BETTER_TITLES[field] if word in free]
        likely = [free[word] for word in TITLES[field] if word in free]
        if len(candidates) == 1:
            indexes[field] = candidates[0]
        elif candidates:
            labels = [f"{column_letter(i)} {titles[i]!r}" for i in candidates]
            doubts[field] = f"columns {' and '.join(labels)} could both be {field}"
        elif likely:
            title = titles[likely[0]]
            is_clear = (
                titles.count(title) == 1
                and title.isprintable()
                and not _SPECIAL & {*title}
            )
            proposals[title if is_clear else column_letter(likely[0])] = field
        is_required = field in spec.REQUIRED and field not in (defaults or ())
        if field not in indexes and (candidates or is_required):
            missing.append(field)
    return Titles(tuple(header), indexes, proposals, missing, doubts)


def _column_index(key: str, titles: Sequence[str], field: str) -> int:
    """Return the index of the column of a title or a letter."""
    if field not in FIELDS:
        raise SheetError(
            f"{field!r} is not a field; a column can be name, categoryId or status"
        )
    indexes = [index for index, title in enumerate(titles) if title == key]
    if len(indexes) > 1:
        letters = " and ".join(map(column_letter, indexes))
        raise SheetError(
            f"columns {letters} both have the title {key!r}: give a letter, such as "
            f'columns={{"{column_letter(indexes[0])}": "{field}"}}'
        )
    if not indexes:
        indexes = [i for i in range(len(titles)) if column_letter(i) == key]
    if not indexes:
        listed = ", ".join(map(repr, titles[:_SHOWN]))
        raise SheetError(f"there is no column {key!r}; the header has {listed}")
    return indexes[0]
