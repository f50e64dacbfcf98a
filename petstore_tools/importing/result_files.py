"""The files beside the input: what was created and what was rejected, whole or not at all."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from petstore_tools.errors import SheetError
from petstore_tools.importing.journal import Journal
from petstore_tools.importing.preview import ImportPreview
from petstore_tools.importing.row_states import Entry
from petstore_tools.importing.sheet import (
    JOURNAL_COLUMN,
    PROBLEM_COLUMN,
    ROW_COLUMN,
)
from petstore_tools.tabular.atomic import check_writable, replace_file
from petstore_tools.tabular.cells import column_letter
from petstore_tools.tabular.template import LONGEST_CELL
from petstore_tools.tabular.workbooks import FORMATS

_REJECTED: Final = re.compile(r"\.rejected(\.\d+)?$", re.IGNORECASE)
_NO_FILE_NAME: Final = re.compile(
    r'[\\/:*?"<>|\x00-\x1f]'
)  # characters that Windows has in no file name


def check_folder(path: Path) -> Path:
    """
    Return the folder of the result files: that of the input, else the current one.

    Raises:
        SheetError: Neither can be written.
    """
    for place in (path, Path(path.name)):
        try:
            folder = place.resolve().parent
            check_writable(folder / ".petstore")
            return folder
        except OSError as error:
            why = error
    raise SheetError(
        f"the result files of {path.name} can be written neither beside it nor in the current "
        "folder "
        f"({why}); run the import in another folder"
    )


def _stem(preview: ImportPreview) -> str:
    """Return how the names of the result files begin; those of a sandbox or of staging say so."""
    path, table = preview.options.path, preview.table
    stem = path.stem if path.suffix.casefold() in FORMATS else path.name  # a frame's may have dots
    if not preview.options.is_file:
        stem = _NO_FILE_NAME.sub("_", stem)
    if table.rejects_of:
        stem = _REJECTED.sub("", stem)  # it names the sheet
    elif len(table.source.names) > 1:
        stem += "." + _NO_FILE_NAME.sub("_", table.source.name)
    mark = "" if preview.environment == "production" else f".{preview.environment}"
    return stem.removesuffix(mark) + mark


def write(preview: ImportPreview, journal: Journal) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """
    Write what was created and rejected beside the input, whole or not at all.

    A file of an earlier run is replaced, or removed where it holds nothing any more. One that a
    person changed is left alone, as is the input: the new one gets a number.

    Args:
        preview: The file as it was checked.
        journal: Its name is carried by the rejects file, so that what is fixed there is created
            once.

    Returns:
        The files that were written, and what could not be written, and why.
    """
    path, source = preview.options.path, preview.table.source
    try:
        folder = check_folder(path)
    except SheetError as error:
        return (), (str(error),)
    written, failed = [], []
    for outcome, (header, rows) in _contents(preview, journal).items():
        first = folder / f"{_stem(preview)}.{outcome}{source.suffix}"
        try:
            marks = _marks(preview, rows) if outcome == "rejected" else {}
            content = source.content(header, rows, **marks) if rows else b""
            place = _write(first, path.resolve(), content, journal)
        except (OSError, SheetError) as error:
            why = getattr(error, "strerror", None) or str(error)
            helps = "; close it where it is open" if isinstance(error, PermissionError) else ""
            failed.append(f"{first.name} ({why}{helps})")
        else:
            written += [place] if content else []
    return tuple(written), tuple(failed)


def _write(first: Path, source: Path, content: bytes, journal: Journal) -> Path:
    """
    Write a file where one of ours is or none, and remove ours where there is nothing to write.
    """
    ours = journal.written | {_digest(content)}
    numbered = (
        first.with_name(f"{first.stem}.{number}{first.suffix}") for number in itertools.count(2)
    )
    place = next(
        place
        for place in itertools.chain([first], numbered)
        if not place.exists()
        or (
            not (source.exists() and place.samefile(source)) and _digest(place.read_bytes()) in ours
        )
    )
    if content:
        journal.note_written(_digest(content))
        replace_file(place, content)
    else:
        place.unlink(missing_ok=True)
    return place


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _contents(
    preview: ImportPreview, journal: Journal
) -> dict[str, tuple[Sequence[str], list[list[str]]]]:
    """Return header and rows of each result file."""
    titles, entries = preview.table.titles, journal.entries()
    created = [(e, [str(e.pet_id)]) for e in entries if e.state == "created"]
    header, rows = _aligned(created, titles)
    rejects = _rejects(preview, journal.entries(wanted=2), journal.id, len(titles))
    return {
        "created": ([*header, "id" if "id" not in header else "petstore_id"], rows),
        "rejected": ([*titles, ROW_COLUMN, JOURNAL_COLUMN, PROBLEM_COLUMN], rejects),
    }


def _aligned(
    rows: Sequence[tuple[Entry, list[str]]], titles: tuple[str, ...]
) -> tuple[list[str], list[list[str]]]:
    """Return a header, and the cells of rows under the titles they were read with."""
    cells = [dict(zip(_numbered(e.titles), e.cells, strict=False)) for e, _ in rows]
    columns = dict.fromkeys(itertools.chain(_numbered(titles), *cells))
    aligned = [
        [found.get(column, "") for column in columns] + more
        for found, (_, more) in zip(cells, rows, strict=True)
    ]
    return [title for title, _ in columns], aligned


@cache
def _numbered(titles: tuple[str, ...]) -> list[tuple[str, int]]:
    """Tell columns of the same title apart."""
    return [(title, titles[:at].count(title)) for at, title in enumerate(titles)]


def _fit(reason: str) -> str:
    """Cut a reason to what a cell of a spreadsheet holds."""
    return reason if len(reason) <= LONGEST_CELL else reason[: LONGEST_CELL - 1] + "…"


def _rejects(
    preview: ImportPreview, entries: Sequence[Entry], journal: str, width: int
) -> list[list[str]]:
    """Return the rows of the rejects file: no spreadsheet runs their cells as formulas."""
    refused = [(e.number, e.cells, e.detail) for e in entries if e.state == "rejected"]
    refused += [(bad.origin, bad.cells, bad.why) for bad in preview.bad]
    rows = []
    for number, cells, problem in sorted(refused):
        padded = [*cells, *[""] * (width - len(cells))]
        if (
            len(padded) > width
        ):  # they join the last one: nothing is lost, and the row stays a problem
            padded[width - 1 :] = [preview.table.source.delimiter.join(padded[width - 1 :])]
        added = (str(int(number)), journal, _fit(problem))
        rows.append([preview.table.source.escape(cell) for cell in (*padded, *added)])
    return rows


def _marks(preview: ImportPreview, rows: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Return which cells of the rejects file are bad, and why, and what its drop-downs offer."""
    columns, width = preview.table.columns, len(preview.table.titles)
    places = {column_letter(at): at for at in range(width)}
    problems = {str(int(bad.origin)): bad.problems for bad in preview.bad}
    bad: dict[tuple[int, int], str] = {}
    for number, (*_, origin, _journal, why) in enumerate(rows):
        found = [
            (p.column, f"{p.rule}; {p.suggestion}".strip("; ")) for p in problems.get(origin, ())
        ]
        for column, reason in found or [("", why)]:
            place = number, places.get(column, columns.columns["name"])
            bad[place] = "; ".join(filter(None, [bad.get(place), reason]))
    return {"bad": bad, "fields": columns.columns, "categories": preview.table.rules.categories}
