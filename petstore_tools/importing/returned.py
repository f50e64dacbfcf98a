"""
The list that comes back: your own list with two more columns, the ids of its animals
and a sentence about each row that is not an animal as the row says.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from petstore_tools.errors import JournalError, SheetError
from petstore_tools.importing.comparison import Edit
from petstore_tools.importing.entries import Entry
from petstore_tools.importing.journal import Journal
from petstore_tools.importing.read_sheet import ReadSheet, origin_of
from petstore_tools.importing.values import (
    ABOVE,
    HEADER_AGAIN,
    ID_TITLE,
    NOTE_TITLE,
    TOTALS_ROW,
)
from petstore_tools.tabular.atomic import existing_numbers, numbered, replace_file
from petstore_tools.tabular.cells import (
    MalformedLine,
    Sheet,
    are_blank,
    column_letter,
    whole_number,
)
from petstore_tools.tabular.sources import FrameSource, open_content
from petstore_tools.tabular.workbooks import LONGEST_CELL, Worksheet, find_losses

if TYPE_CHECKING:
    import pandas as pd

# what Windows has in no file name
_NO_FILE_NAME = re.compile(r'[\\/:*?"<>|\x00-\x1f]')
Cells = Mapping[int, Mapping[int, int | str]]


class Mark(NamedTuple):
    """
    What a returned list says of a row.

    Attributes:
        pet_id: The id of its animal, None if no animal is known.
        note: What happened, in one sentence, "" if the animal is as the row says.
        keeps_id: The cell of the id stays as it was typed.
    """

    pet_id: int | None = None
    note: str = ""
    keeps_id: bool = False


def mark_rows(
    sheet: ReadSheet, entries: Iterable[Entry], edits: Iterable[Edit]
) -> dict[int, Mark]:
    """
    Say of each row which animal it is, and what happened to the row.

    Args:
        sheet: The list.
        entries: What became of its rows, in their order.
        edits: Rows whose animal has other values.
    """
    changes = {edit.row: edit.changes for edit in edits}
    marks = {
        row.number: Mark(note=f"left out: {row.reason}", keeps_id=True)
        for row in sheet.rows_left_out
        if row.kind not in (ABOVE, TOTALS_ROW)
    }
    by_own_id = sorted(entries, key=lambda entry: (not entry.has_id, not entry.pet_id))
    used_ids = _typed_ids(sheet)
    for entry in by_own_id:
        pet_id = entry.animal_id
        if entry.problems:
            marks[entry.number] = Mark(note=_describe_problems(entry), keeps_id=True)
            continue
        note = _describe(entry, changes.get(entry.number, ""))
        if pet_id in used_ids and not entry.has_id:
            pet_id = None  # no animal has two rows
        used_ids.add(pet_id)
        marks[entry.number] = Mark(pet_id, note)
    return marks


def _typed_ids(sheet: ReadSheet) -> set[int | None]:
    """Return the ids that the list has."""
    column = sheet.layout.columns.get(ID_TITLE)
    if column is None:
        return set()
    cells = (cell for row in sheet.rows for cell in row.cells[column : column + 1])
    return {whole_number(cell) for cell in cells} - {None}


def _describe_problems(entry: Entry) -> str:
    """Return the problems of a row: a list that is sorted has other row numbers."""
    texts = (
        str(problem).removeprefix(f"row {entry.number}") for problem in entry.problems
    )
    return "not sent: " + "; ".join(text.lstrip(", ") for text in texts)


def _describe(entry: Entry, changes: str) -> str:
    """Return what happened to a row, "" if its animal is as the row says."""
    if entry.state == "created":
        if changes:
            return f"the service cannot change the animal: {changes}"
        return entry.detail if entry.detail.startswith("the answer") else ""
    if entry.state == "skipped":
        if entry.equal_id is not None:
            return f"left out: the same animal as {entry.equal_id}"
        return f"left out: {entry.detail}"
    if entry.state == "rejected":
        return f"rejected: {entry.detail}"
    if entry.state == "unsent":
        return "not sent yet"
    may_be = f"; it may be the animal {entry.may_be}" if entry.may_be else ""
    return f"unknown: {entry.detail}{may_be}"


@dataclass(frozen=True)
class ReturnedList:
    """
    A list with what its two columns say.

    Attributes:
        sheet: The list as it was read.
        marks: What is said of each row, by its number.
    """

    sheet: ReadSheet
    marks: Mapping[int, Mark]

    @property
    def frame(self) -> pd.DataFrame:
        """The list as a DataFrame, with the two columns."""
        import pandas as pd

        from petstore_tools.listing.frames import text_dtype

        layout = self.sheet.layout
        rows = {
            number: cells
            for number, cells in layout.sheet.records()
            if number > layout.header_row and not are_blank(cells)
        }
        width = len(layout.header)
        ids = [self._id(number, cells) for number, cells in rows.items()]
        notes = [self.marks.get(number, Mark()).note for number in rows]
        if isinstance(layout.sheet, FrameSource):
            positions = [number - layout.header_row - 1 for number in rows]
            frame = layout.sheet.frame.iloc[positions].copy()
        else:
            texts = [
                [*map(str, cells[:width]), *[""] * (width - len(cells))]
                for cells in rows.values()
            ]
            frame = pd.DataFrame(texts, columns=[*layout.header], dtype=text_dtype())
        frame[ID_TITLE] = pd.array(ids, dtype="Int64")
        frame[NOTE_TITLE] = pd.array(notes, dtype=text_dtype())
        return frame

    def _id(self, number: int, cells: Sequence[str]) -> int | None:
        """Return the id in a row, also one that was typed."""
        mark = self.marks.get(number, Mark(keeps_id=True))
        column = self.sheet.layout.columns.get(ID_TITLE)
        if mark.keeps_id and column is not None:
            return whole_number("".join(cells[column : column + 1]))
        return mark.pet_id

    @cached_property
    def new_columns(self) -> dict[str, int]:
        """The columns that are added, by title: after the last used column."""
        layout = self.sheet.layout
        sheet = layout.sheet
        end = sheet.width if isinstance(sheet, Worksheet) else len(layout.header)
        missing = [
            name for name in (ID_TITLE, NOTE_TITLE) if name not in layout.columns
        ]
        if layout.is_export:  # its own column stays as it is
            missing = [ID_TITLE, NOTE_TITLE]
        return {name: end + index for index, name in enumerate(missing)}

    @cached_property
    def cells(self) -> Cells:
        """The cells that change, by row and column."""
        layout = self.sheet.layout
        columns = {**layout.columns, **self.new_columns}
        ids, notes = columns[ID_TITLE], columns[NOTE_TITLE]
        titles = {column: title for title, column in self.new_columns.items()}
        changes: dict[int, dict[int, int | str]] = {}
        if layout.has_header:
            changes[layout.header_row] = {**titles}
        repeated = {
            row.number for row in self.sheet.rows_left_out if row.kind == HEADER_AGAIN
        }
        for number, cells in layout.sheet.records():
            mark = self.marks.get(number)
            if number in repeated:
                changes[number] = {**titles}
            elif mark and not isinstance(cells, MalformedLine):
                texts: dict[int, int | str] = {notes: mark.note[:LONGEST_CELL]}
                if not mark.keeps_id or layout.is_export:
                    pet_id = self._id(number, cells)
                    texts[ids] = "" if pet_id is None else pet_id
                if self._is_too_wide(cells):
                    texts = self._cells_beyond(cells, mark)
                changes[number] = {
                    column: text
                    for column, text in sorted(texts.items())
                    if [str(text)] != [*map(str, cells[column : column + 1])]
                }
        return {number: texts for number, texts in changes.items() if texts}

    def _is_too_wide(self, cells: Sequence[str]) -> bool:
        """Say whether a line of a text has more cells than the header."""
        layout = self.sheet.layout
        is_text = not isinstance(layout.sheet, Worksheet)
        return is_text and not are_blank(cells[len(layout.header) :])

    def _cells_beyond(self, cells: Sequence[str], mark: Mark) -> dict[int, int | str]:
        """
        Return the note of a line that is too wide, which stays too wide: behind all its
        cells, once.
        """
        if not self.new_columns:
            return {}
        end = max(len(cells), *(column + 1 for column in self.new_columns.values()))
        return {end: mark.note}

    @property
    def titles(self) -> list[str]:
        """The titles of a list that has none."""
        layout = self.sheet.layout
        if layout.has_header:
            return []
        columns = {**layout.columns, **self.new_columns}
        titles = [""] * (max(columns.values()) + 1)
        for name, column in columns.items():
            titles[column] = name if name != "row_key" else ""
        return titles

    @property
    def note(self) -> str:
        """What should be known of the place of the two columns, "" if nothing."""
        sheet = self.sheet.layout.sheet
        if not isinstance(sheet, Worksheet) or not self.new_columns:
            return ""
        first = min(self.new_columns.values())
        last_title = max(
            (index for index, title in enumerate(self.sheet.layout.header) if title),
            default=-1,
        )
        if not first or last_title == first - 1:
            return ""
        return (
            f"the new columns are {column_letter(first)} and"
            f" {column_letter(first + 1)}, beside the columns that are used, and not"
            " beside the table: if you sort the list, sort them with it"
        )


class WrittenList(NamedTuple):
    """
    What became of the file of a returned list.

    Attributes:
        path: The file, None if there is none.
        notes: What should be known of it.
        failure: Why it could not be written, "" if it was.
    """

    path: Path | None = None
    notes: tuple[str, ...] = ()
    failure: str = ""


class _Obstacle(Exception):  # noqa: N818
    """Why a file must not be replaced."""


def _first_path(sheet: ReadSheet, environment: str, suffix: str) -> Path:
    """Return the path of a returned list that has no number."""
    path = sheet.options.path.resolve()
    origin = origin_of(sheet)
    name = Path(sheet.options.name or (path if origin is None else origin[0]).name)
    stem = name.stem if name.suffix.casefold() == suffix.casefold() else name.name
    place = "" if environment == "production" else f".{environment}"
    return path.with_name(f"{_NO_FILE_NAME.sub('_', stem)}{place}.imported{suffix}")


def write_list(
    returned: ReturnedList, journal: Journal, environment: str
) -> WrittenList:
    """
    Write a returned list: in place if it was read from a returned list, else beside its
    source. A file that a person has gone on with is not replaced: the list takes the
    next number.
    """
    sheet = returned.sheet
    if not sheet.options.is_file:
        return WrittenList()
    source = sheet.options.path.resolve()
    origin = origin_of(sheet)
    is_ours = origin is not None and origin[1] == environment
    try:
        if not is_ours:
            returned = _on_top_of_last(returned, journal, environment)
        content, is_whole = _fill(returned)
        suffix = sheet.layout.sheet.suffix if is_whole else ".xlsx"
        first_path = _first_path(sheet, environment, suffix)
        number = max(existing_numbers(first_path), default=1)
        number += is_ours and not is_whole  # a whole list stays
        path = source if is_ours and is_whole else numbered(first_path, number)
        known = sheet.layout.sheet.source if path == source else None
        notes = [*filter(None, [returned.note])]
        if not is_whole:
            notes.append("the list has the values of the sheet, without its formats")
        try:
            _replace(path, content, journal, known)
            is_shown = True
        except (_Obstacle, OSError) as error:
            name = path.name
            path = numbered(first_path, number + 1)
            notes.append(f"the list is {path.name}, because {name} {_reason(error)}")
            is_shown = False
            _replace(path, content, journal, None)
    except (_Obstacle, OSError, SheetError, JournalError) as error:
        return WrittenList(failure=f"{source.name} ({_reason(error)})")
    is_gone_on_with = known is not None and is_shown
    digest = "" if is_gone_on_with else sha256(content).hexdigest()
    try:
        journal.note_list(path, digest, is_shown=is_shown)
    except JournalError as error:
        notes.append(str(error))
    return WrittenList(path, tuple(notes))


def _reason(error: Exception) -> str:
    """Return why a file was not written, as the rest of a sentence."""
    if isinstance(error, OSError):
        return f"cannot be written: {error.strerror}"
    return str(error)


def _replace(path: Path, content: bytes, journal: Journal, known: bytes | None) -> None:
    """
    Write a file, if nothing is lost with the old one.

    Raises:
        _Obstacle: The old one must stay, or the new one cannot be read back.
    """

    def check(written: bytes) -> None:
        if written != content:
            raise OSError(errno.EIO, "it reads back otherwise")
        _check_free(path, journal, known)

    _check_free(path, journal, known)
    if not path.exists() or path.read_bytes() != content:
        replace_file(path, content, check)


def _check_free(path: Path, journal: Journal, known: bytes | None) -> None:
    """
    Raise an error if a file must not be replaced.

    Args:
        path: The file.
        journal: It knows which lists came back.
        known: The contents that were read, None if the file was not read.
    """
    locks = {"~$" + path.name: "Excel", f".~lock.{path.name}#": "LibreOffice"}
    for name, program in locks.items():
        if path.with_name(name).exists():
            raise _Obstacle(f"is open in {program}")
    if not path.exists():
        return
    if not path.is_file():
        raise _Obstacle("is not a file")
    content = path.read_bytes()
    if known is not None:
        if content != known:
            raise _Obstacle("was changed while the import ran")
        return
    digest = journal.digest_of(path)
    if digest is None:
        raise _Obstacle("did not come back from this list")
    if digest != sha256(content).hexdigest():
        raise _Obstacle("is a list that a person has gone on with")


def _on_top_of_last(
    returned: ReturnedList, journal: Journal, environment: str
) -> ReturnedList:
    """
    Return the list as its returned workbook has it, which has the ids of other sheets,
    too; as it is if that holds another list.
    """
    sheet = returned.sheet
    worksheet = sheet.layout.sheet
    path = _first_path(sheet, environment, worksheet.suffix)
    number = max(existing_numbers(path), default=0)
    path = numbered(path, number)
    if len(worksheet.names) < 2 or not number or not path.is_file():
        return returned
    content = path.read_bytes()
    if journal.digest_of(path) != sha256(content).hexdigest():
        return returned
    (last,) = open_content(content, path, worksheet.name)
    header = dict(last.records()).get(sheet.layout.header_row, ())
    layout = replace(sheet.layout, sheet=last, header=header)
    own_columns = [layout.columns.get(name, -1) for name in (ID_TITLE, NOTE_TITLE)]
    changes = {number: dict.fromkeys(own_columns, "") for number, _ in last.records()}
    if find_difference(worksheet, last, changes):
        return returned
    return replace(returned, sheet=replace(sheet, layout=layout))


def _fill(returned: ReturnedList) -> tuple[bytes, bool]:
    """
    Return the contents of a returned list, and whether they have all that its source
    has; of some workbooks there are only values.

    Raises:
        SheetError: The list cannot be read back.
    """
    layout = returned.sheet.layout
    sheet: Any = layout.sheet
    facts = returned.cells, returned.titles, layout.header_row
    try:
        content = sheet.fill(*facts)
        _check_whole(returned, content)
        return content, True
    except BaseException as error:
        is_panic = type(error).__name__ == "PanicException"  # of Rust
        is_foreign = is_panic or isinstance(error, Exception)
        if not (isinstance(sheet, Worksheet) and is_foreign):
            raise
    return sheet.fill_values(*facts), False


def _check_whole(returned: ReturnedList, content: bytes) -> None:
    """
    Read a list back, and compare all that did not change.

    Raises:
        SheetError: Something else has changed.
    """
    options = returned.sheet.options
    layout = returned.sheet.layout
    before = layout.sheet
    name = before.name or None
    after = open_content(content, options.path, name, options.encoding)[0]
    inserted = layout.header_row + 1 if returned.titles else 0
    differences = find_difference(before, after, returned.cells, inserted=inserted)
    if isinstance(before, Worksheet):
        differences += find_losses(before, content)
    if differences:
        raise SheetError(f"the list cannot be read back: {differences[0]} differs")


def find_difference(
    before: Sheet, after: Sheet, changes: Cells, *, inserted: int = 0
) -> list[str]:
    """
    Return in words where two sheets differ.

    Args:
        before: A sheet.
        after: The same sheet with changes.
        changes: Cells that may differ, by row and column of the first sheet.
        inserted: The row of the second sheet that the first one has not, 0 for none.
    """
    rows: list[dict[int, list[object]]] = [{}, {}]
    for sheet, shown in zip((before, after), rows, strict=True):
        for number, cells in sheet.records():
            if sheet is after and inserted:
                if number == inserted:
                    continue
                number -= number > inserted
            columns = changes.get(number, {})
            texts: list[object] = [
                ("", "")
                if column in columns
                else (str(cell), getattr(cell, "kind", ""))
                for column, cell in enumerate(cells)
            ]
            while texts and texts[-1] == ("", ""):
                texts.pop()
            if texts:
                shown[number] = texts
    old, new = rows
    numbers = sorted(n for n in old.keys() | new.keys() if old.get(n) != new.get(n))
    differences = [f"row {number}" for number in numbers]
    if before.formulas != after.formulas or before.hidden != after.hidden:
        differences.append("a formula")
    return differences
