"""
The layout of a sheet: where its header is, and which column holds which field, by exact
titles, by `columns=`, and what may be proposed.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, takewhile

from petstore_tools import spec
from petstore_tools.importing.options import ImportOptions
from petstore_tools.importing.values import (
    BETTER_TITLES,
    FIELDS,
    ID_TITLE,
    IDENTITY,
    NOTE_TITLE,
    STATUS_WORDS,
    TITLES,
    Matcher,
    bare,
    fold,
)
from petstore_tools.tabular.cells import Sheet, are_blank, column_letter, is_blank
from petstore_tools.text import clean, first_of, option

HEADER_WITHIN = 1_000  # rows in which the header is searched
_EXACT = {fold(name): name for name in FIELDS} | {
    "petstoreid": ID_TITLE,
    "petstorenote": NOTE_TITLE,
}
_SHOWN = 20  # titles
# of a column a status, with a mark in the row of each animal that has it
_STATUS_TITLES = {*map(bare, STATUS_WORDS)} - {""}


@dataclass
class Layout:
    """
    Where the header of a sheet is, and which column holds which field.

    Attributes:
        sheet: Its cells.
        header_row: As the spreadsheet counts; where there is no header, the row before
            the first.
        options: How it is read: what names columns, and which fields have a default and
            need none.
        header: Cells as typed; the letters of the columns where there is no header.
        columns: Index from 0, by field, in the order of the document; then those of
            `row_key`, `petstore_id` and `petstore_note`.
        proposals: Field that may be meant, by title, or by letter where the title is
            not clear.
        missing: Fields that need an answer, and in words which columns could be each of
            them; "" for required ones without a column or a default.
        unnamed: Of these, what no title can answer.
        answers: What `columns=` says and the header has, field by title or letter; not
            of a field that it gives to two columns.
        errors: What `columns=` and `row_key=` say and the header has not, in words.
        has_header: Whether the sheet has one.
        is_export: It is a saved listing, and its column `id` has the ids of animals.
    """

    sheet: Sheet
    header_row: int
    options: ImportOptions
    header: Sequence[str]
    has_header: bool = True
    is_export: bool = False

    def __post_init__(self) -> None:
        """Find the fields in the header (§2.1, required fields)."""
        titles = [*map(_title, self.header)]
        fields, self.answers, self.errors = _name_fields(titles, self.options)
        if self.is_export:
            fields[titles.index("id")] = ID_TITLE
        self.columns: dict[str, int] = {}
        self.proposals: dict[str, str] = {}
        self.missing: dict[str, str] = {}
        self.unnamed: set[str] = set()
        free = {
            bare(titles[index]): index
            for index in reversed(range(len(titles)))
            if index not in fields
        }
        for name in (*FIELDS, *IDENTITY, NOTE_TITLE):
            candidates = [index for index in fields if fields[index] == name]
            if candidates and name not in self.answers.values():
                words = BETTER_TITLES.get(name, ())
                candidates += [free[word] for word in words if word in free]
            likely = [free[word] for word in TITLES.get(name, ()) if word in free]
            if len(candidates) == 1:
                self.columns[name] = candidates[0]
            elif candidates:
                labels = " and ".join(map(self.label, candidates))
                self.missing[name] = f"columns {labels} could both be {name}"
                answers = self.answers.items()
                self.answers = {key: field for key, field in answers if field != name}
            elif likely:
                self.proposals[self.key(likely[0])] = name
            has_value = name in self.columns or name in (self.options.defaults or ())
            if name in spec.REQUIRED and not has_value:
                self.missing.setdefault(name, "")
            marked = sorted(free[title] for title in free.keys() & _STATUS_TITLES)
            if name == "status" and len(marked) > 1 and not has_value:
                labels = " and ".join(map(self.label, marked))
                self.unnamed = {name}
                self.missing[name] = (
                    f"columns {labels} are statuses: make one column of"
                    " them, with one of these words in each row; rename them if they"
                    " are something else"
                )

    @property
    def id_column(self) -> int | None:
        """
        The column `id` that a saved listing has beside `name` and `categoryId`; None if
        there is none, or if the list has a column petstore_id.
        """
        titles = [*map(_title, self.header)]
        is_listing = {"id", *spec.REQUIRED} <= {*titles}
        if not is_listing or ID_TITLE in self.columns or "row_key" in self.columns:
            return None
        return titles.index("id")

    @cached_property
    def matcher(self) -> Matcher:
        """What decides its cells."""
        return Matcher(self.options)

    @property
    def cells_above(self) -> list[Sequence[str]]:
        """The rows above the header, empty ones, too."""
        end = self.header_row if self.has_header else self.header_row + 1
        rows = dict(takewhile(lambda record: record[0] < end, self.sheet.records()))
        return [rows.get(number, ()) for number in range(1, end)]

    @property
    def question_of_sheet(self) -> str:
        """What is asked about a sheet that may hide rows; "" if that can be seen."""
        if not self.sheet.is_unseen or self.options.sheet:
            return ""
        name = option("sheet", self.sheet.name)
        return (
            "this kind of workbook does not show which rows are hidden:"
            f" {name} sends every row of that sheet; saved as .xlsx, hidden rows are"
            " left out"
        )

    @property
    def header_line(self) -> str:
        """Where the header is, and its cells, the first of very many."""
        if not self.has_header:
            return f"none: row {self.header_row + 1} is the first animal"
        cells = [
            repr(cell) if cell else getattr(cell, "kind", "''") for cell in self.header
        ]
        return f"row {self.header_row}: {first_of(cells, _SHOWN)}"

    def key(self, index: int) -> str:
        """
        Return what names a column in `columns=`: its title, or its letter where that is
        not clear, or where the others are named so.
        """
        titles = [*map(_title, self.header)]
        title = titles[index] if index < len(titles) else ""
        is_clear = titles.count(title) == 1 and title.isprintable()
        if self.options.by_letter or not title or not is_clear:
            return column_letter(index)
        return title

    def label(self, index: int) -> str:
        """Return a column as people find it: `A 'Name'`."""
        letter = column_letter(index)
        title = "".join(self.header[index : index + 1])
        return f"{letter} {title!r}" if self.has_header else letter

    @property
    def is_complete(self) -> bool:
        """Whether nothing is missing, and all that was named is there."""
        return not (self.missing or self.errors)

    @property
    def reasons(self) -> list[str]:
        """What is missing."""
        missing = [field for field, doubt in self.missing.items() if not doubt]
        reasons = [f"no column for {' and '.join(missing)}"] if missing else []
        reasons += filter(None, self.missing.values())
        return self.errors or reasons

    @property
    def notes(self) -> list[str]:
        """What should be known of the sheet."""
        sheet = self.sheet
        unread = [repr(name) for name in sheet.names if name != sheet.name]
        notes = []
        if unread:
            notes.append(f"sheet {sheet.name!r}; not read: {', '.join(unread)}")
        notes += sheet.notes
        if self.has_header and self.options.by_letter:
            advice = f"{option('header', False)} takes it for an animal"
            notes.append(f"row {self.header_row} is the header; {advice}")
        if "status" not in {*self.columns, *(self.options.defaults or {})}:
            notes.append(
                "no column for status: the animals will have none, and it cannot be"
                " added later; " + option("columns", {"TITLE": "status"}) + " names one"
            )
        return notes

    @property
    def score(self) -> tuple[int, int]:
        """
        How many fields a row may name, and how many cells it has; the header has the
        most.
        """
        doubts = filter(None, self.missing.values())
        fields = [*self.columns, *self.proposals, *doubts]
        filled = [cell for cell in self.header if not is_blank(cell)]
        return len(fields), len(filled)


def _title(cell: str) -> str:
    """Return a title as people type it: in one line, without invisible characters."""
    return " ".join(clean(cell).split())


def find_layout(sheet: Sheet, options: ImportOptions) -> Layout:
    """
    Find the header: the first row that names all required fields; where they are named
    by letter, the first row that has these columns, or none where that row is data.
    Else the likeliest row.
    """
    layouts = [Layout(sheet, 0, options, [])]
    filled = (record for record in sheet.records() if not are_blank(record[1]))
    for number, cells in islice(filled, HEADER_WITHIN):
        layout = _take_header(sheet, number, cells, options)
        if layout.is_complete:
            return layout
        layouts.append(layout)
    return max(layouts, key=lambda layout: layout.score)


def _take_header(
    sheet: Sheet, number: int, cells: Sequence[str], options: ImportOptions
) -> Layout:
    """
    Take a row for the header; where columns are named by letter, for data where a
    category or a status stands in its place.
    """
    layout = Layout(sheet, number, options, cells)
    # by pandas
    is_counted = not options.is_file and all(map(str.isdecimal, cells))
    if not options.by_letter or is_counted:
        return layout
    is_data = any(
        isinstance(layout.matcher.decide(field, cells[index]), int | str)
        for field, index in layout.columns.items()
        if field in ("categoryId", "status") and clean(cells[index])
    )
    # a returned list always has a header
    if (options.header or ID_TITLE in cells) and not is_data:
        return layout
    letters = [*map(column_letter, range(len(cells)))]
    return replace(layout, header_row=number - 1, header=letters, has_header=False)


def _name_fields(
    titles: Sequence[str], options: ImportOptions
) -> tuple[dict[int, str], dict[str, str], list[str]]:
    """
    Return the field of each column that is named in a call or by its exact title, the
    names that are there, and what is wrong with the others.
    """
    fields: dict[int, str] = {}
    answers: dict[str, str] = {}
    errors = []
    for key, name in (options.columns or {}).items():
        title = _title(str(key))
        if name not in FIELDS and title in FIELDS:
            errors.append(f"{title!r} is the field, and {name!r} the title")
            title, name = name, title
        indexes = _find_columns(titles, title)
        if name not in (*FIELDS, ID_TITLE):
            allowed = "a column can be name, categoryId, status or petstore_id"
            errors.append(f"{name!r} is not a field; {allowed}")
        elif len(indexes) == 1:
            fields[indexes[0]] = answers[title] = name
        else:
            count = "more than one column" if len(indexes) > 1 else "no column"
            errors.append(f"there is {count} {title!r}")
    for index, title in enumerate(titles):
        exact = _EXACT.get(fold(re.sub(r"[\s_-]", "", title)), "")
        if exact not in ("", *answers.values()):
            fields.setdefault(index, exact)
    if options.row_key is not None:
        indexes = _find_columns(titles, _title(options.row_key))
        if len(indexes) == 1 and indexes[0] not in fields:
            fields[indexes[0]] = "row_key"
        else:
            errors.append(f"no column {options.row_key!r} can be row_key")
    return fields, answers, errors


def _find_columns(titles: Sequence[str], key: str) -> list[int]:
    """Return the indexes of the columns of a title, else of a letter."""
    letters = [*map(column_letter, range(len(titles)))]
    labels = titles if key in titles else letters
    return [index for index, label in enumerate(labels) if label == key]
