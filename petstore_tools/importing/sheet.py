"""
Spreadsheets understood: the header found, the columns matched, rows counted as the spreadsheet
does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from petstore_tools.errors import SheetError
from petstore_tools.importing.options import ImportOptions
from petstore_tools.importing.titles import Titles, is_known, read_titles
from petstore_tools.importing.values import (
    STATUS_WORDS,
    AnyRow,
    BadRow,
    Match,
    Matcher,
    Row,
    ValueRules,
    count_matches,
    fold,
    read_rows,
)
from petstore_tools.tabular.cells import Record, Sheet, column_letter, is_blank
from petstore_tools.tabular.frames import FrameSource
from petstore_tools.tabular.workbooks import open_sheets
from petstore_tools.text import option

HEADER_WITHIN: Final = 30  # rows in which the header is searched
SAMPLES: Final = 3  # names shown where the encoding was guessed
MOST_WORDS: Final = 50  # categories or status words that are asked for: more are no words
PROBLEM_COLUMN: Final = "petstore_problem"
ROW_COLUMN: Final = "petstore_row"
_PLAIN: Final = re.compile(r"[\w.,/=+:@-]+")
_ENCODINGS: Final = ("cp1250", "iso8859-2", "cp852", "mac_roman", "cp850")


@dataclass(frozen=True)
class Table:
    """
    A sheet, read and understood but not checked.

    Attributes:
        source: Its cells.
        header_row: As the spreadsheet counts; where there is no header, the row before the first.
        columns: Which column holds which field.
        options: How it is read.
        above: Rows above the header that are not empty.
    """

    source: Sheet
    header_row: int
    columns: Titles
    options: ImportOptions
    above: tuple[int, ...] = ()

    @property
    def titles(self) -> tuple[str, ...]:
        """The header without the columns that a rejects file adds."""
        header = self.columns.header
        return header[: header.index(ROW_COLUMN)] if self.is_rejects else header

    @property
    def rules(self) -> ValueRules:
        """How its cells are read."""
        return self.options.rules

    @cached_property
    def matcher(self) -> Matcher:
        """What decides its cells."""
        in_frame = isinstance(self.source, FrameSource)
        is_text = not (in_frame or self.source.name)
        delimiter = self.source.delimiter
        rules = replace(self.rules, delimiter=delimiter, is_text=is_text, in_frame=in_frame)
        return Matcher(rules)

    @property
    def header(self) -> str:
        """Where the header is, and its cells."""
        if self.columns.has_header:
            return f"row {self.header_row}: {self.columns.shown()}"
        return f"none: row {self.header_row + 1} is the first animal"

    def rows(self) -> Iterator[AnyRow]:
        """Yield each row below the header: to send, bad, left out, or None where it is empty."""
        return self._unescaped() if self.is_rejects else self._read(self._below())

    def _below(self) -> Iterator[Record]:
        return (record for record in self.source.records() if record[0] > self.header_row)

    def _read(self, records: Iterable[Record]) -> Iterator[AnyRow]:
        return read_rows(records, self.columns, self.matcher, hidden=self.source.hidden)

    def column(self, at: int) -> Iterator[str]:
        """Return the cells of a column below the header."""
        return (cells[at] for _, cells in self._below() if len(cells) > at)

    def _unescaped(self) -> Iterator[AnyRow]:
        """Yield rows of a rejects file with their cells as they were, and without our columns."""
        width = len(self.titles)
        unescape = self.source.unescape
        plain = ((number, cells and [*map(unescape, cells)]) for number, cells in self._below())
        for row in self._read(plain):
            if isinstance(row, Row | BadRow):
                yield row._replace(cells=row.cells[:width])
            else:
                yield row

    def matches(self, rows: Sequence[Row]) -> list[Match]:
        """Count each distinct cell of its rows that was read differently from what was typed."""
        return count_matches(rows, self.columns, self.matcher)

    @cached_property
    def is_rejects(self) -> bool:
        """Whether it is a rejects file of the toolkit, with columns and signs of ours."""
        return {PROBLEM_COLUMN, ROW_COLUMN} <= set(self.columns.header)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was found and should be known."""
        columns = self.columns
        others = [repr(name) for name in self.source.names if name != self.source.name]
        notes = [f"sheet {self.source.name!r}; not read: {', '.join(others)}"] if others else []
        notes += [*self.source.notes, *self._guessed_names()]
        hidden = [at for at in columns.columns.values() if at in self.source.hidden_columns]
        notes += [f"column {columns.place(at)} is hidden, and is read" for at in hidden]
        if columns.proposals:
            meant = columns.proposals.items()
            notes.append(", ".join(f"{title!r} may be {field}" for title, field in meant))
        if "status" not in columns.columns and "status" not in self.rules.defaults:
            notes.append(
                "no column for status: the animals will have none, and it cannot be added later"
            )
        return tuple(notes)

    def _guessed_names(self) -> list[str]:
        """Show names with guessed letters: a wrong guess garbles them for good."""
        names = self.column(self.columns.columns["name"]) if self.source.is_guessed else ()
        found = dict.fromkeys(name for name in names if not name.isascii())
        shown = ", ".join(map(repr, islice(found, SAMPLES)))
        how = "if a letter is wrong, save the file as CSV UTF-8, or name its encoding: "
        how += option('encoding="…"', "--encoding NAME")
        return [f"the encoding was guessed, and names read so: {shown}; {how}"] if found else []

    def answered(self) -> Table:
        """Return it as it is read where titles mean what they may mean."""
        given = {**(self.options.columns or {}), **self.columns.proposals}
        columns = read_titles(self.columns.header, given, defaults=self.rules.defaults)
        columns = replace(columns, has_header=self.columns.has_header)
        return replace(self, columns=columns, options=replace(self.options, columns=given))

    def questions(self) -> str:
        """
        Return the one call, and the one command, that asks for each title, category and status word
        which needs an answer; what is proposed stands there, the rest is left open.
        """
        read = self.answered()
        options = read.options
        columns = dict(read.options.columns or {})
        blanks = [("…", field) for field in read.columns.missing]
        words: dict[str, list[str]] = {"is a name, not an id": [], "is not a status": []}
        for of in ("categoryId", "status"):
            at = read.columns.columns.get(of)
            title = "" if at is None else read.columns.header[at]
            cells = {} if at is None else {fold(cell): cell for cell in read.column(at)}
            for cell in cells.values():
                problem = read.matcher.decide(of, cell).problem
                if problem and problem.rule in words and cell != title:
                    words[problem.rule].append(cell.strip())
        categories, statuses = (found[:MOST_WORDS] for found in words.values())
        meant = {word: STATUS_WORDS.get(fold(word), "…") for word in statuses}
        meant = {**(options.statuses or {}), **meant}
        return _call(options, [*columns.items(), *blanks], categories, meant)


def _call(
    options: ImportOptions,
    columns: Sequence[tuple[str, str]],
    categories: Sequence[str],
    statuses: Mapping[str, str],
) -> str:
    """Write a call and a command to be copied."""
    command = ["petstore-tools", "import", str(options.source)]
    call = [_quoted(options.source) if options.is_file else "frame"]
    for name in ("name", "sheet", "encoding"):
        if value := getattr(options, name):
            call.append(f"{name}={_quoted(value)}")
            command += [f"--{name}", value]
    if not options.header:
        call.append("header=False")
        command.append("--no-header")
    if columns:
        call.append(f"columns={_pairs(columns)}")
        command += [part for title, of in columns for part in ("--columns", f"{title}={of}")]
    if options.categories is not None or categories:
        is_file = isinstance(options.categories, str | Path)
        file = str(options.categories) if is_file else "FILE"
        blanks = ", ".join(f"{_quoted(name)}: …" for name in categories)
        call.append(f"categories={_quoted(file)}" if is_file else f"categories={{{blanks or '…'}}}")
        command += ["--categories", file]
    if statuses:
        call.append(f"statuses={_pairs(statuses.items())}")
        command += [p for pair in statuses.items() for p in ("--status-word", "=".join(pair))]
    for of, value in (options.defaults or {}).items():
        command += ["--default", f"{of}={value}"]
    if options.defaults:
        call.append(f"defaults={json.dumps(dict(options.defaults), ensure_ascii=False)}")
    python = f"store.import_pets({', '.join(call)})"
    return f"{python} ({' '.join(map(_argument, command))})" if options.is_file else python


def _argument(text: str) -> str:
    """Quote an argument where a shell needs it, as each of them understands."""
    escaped = text.replace('"', '\\"')
    return text if _PLAIN.fullmatch(text) else f'"{escaped}"'


def _quoted(value: object) -> str:
    return json.dumps(str(value), ensure_ascii=False)


def _pairs(pairs: Iterable[tuple[str, str]]) -> str:
    return "{" + ", ".join(f"{_quoted(key)}: {_quoted(value)}" for key, value in pairs) + "}"


def read_table(options: ImportOptions) -> Table:
    """
    Open a spreadsheet and find its header; of a CSV file encoding and delimiter, too.

    Raises:
        SheetError: Not there, of another format, empty, not text, or without the required columns:
            then it shows the call with everything that needs an answer.
    """
    found = [_understand(sheet, options) for sheet in _open(options)]
    name = options.path.name if options.is_file else "the DataFrame"
    tables = [table for table in found if isinstance(table, Table)]
    if not tables:
        refused = [refusal for refusal in found if isinstance(refusal, _Refusal)]
        best = max(refused, key=lambda refusal: refusal[:2])
        tables = [r.table for r in refused if r.table and r.fields == best.fields > 0]
        if len(tables) < 2:
            raise SheetError(f"{name}: {best.why}")
    if len(tables) > 1:
        listed = ", ".join(repr(table.source.name) for table in tables)
        asked = replace(tables[0], options=replace(options, sheet="…")).questions()
        raise SheetError(f"{name}: sheets {listed} may be meant: name one. To read it: {asked}")
    return tables[0]


def _open(options: ImportOptions) -> Sequence[Sheet]:
    if options.is_file:
        return open_sheets(options.path, options.sheet, options.encoding)
    frame: Any = options.source
    return [FrameSource(frame=frame)]


class _Refusal(NamedTuple):
    """A row that is no header: how many fields it may name, how many cells it has, and why."""

    fields: int = -1
    cells: int = -1
    table: Table | None = None
    wrong: str = "there is no header row"

    @property
    def why(self) -> str:
        """What is missing, and the call with everything that needs an answer."""
        if self.table is None:
            return self.wrong
        table = self.table
        options = self.table.options
        said = table.columns.refusal()
        for encoding in _ENCODINGS if table.source.is_guessed else ():
            for cell in table.columns.header:
                other = cell.encode("cp1252").decode(encoding, errors="replace")
                if other != cell and is_known(other):
                    told = replace(options, encoding=encoding)
                    again = _understand(_open(told)[0], told)
                    table = again if isinstance(again, Table) else again.table or table
                    said += f". The title {cell!r} is {other!r} in the encoding {encoding}"
                    return f"{said}. To read it: {table.questions()}"
        return f"{said}. To read it: {table.questions()}"


def _understand(source: Sheet, options: ImportOptions) -> Table | _Refusal:
    """
    Find the header: the first row that names all required fields; where they are named by letter,
    the first row that is not empty, or none where that row is data. Else say what is missing.
    """
    best = _Refusal()
    above: list[int] = []
    for number, cells in islice(source.records(), HEADER_WITHIN):
        filled = [at for at, cell in enumerate(cells) if not is_blank(cell)]
        if not filled:
            continue
        cells = cells[: filled[-1] + 1] if source.name else cells
        try:
            if options.by_letter:
                return _by_letter(source, number, cells, options)
            titles = read_titles(cells, options.columns, defaults=options.rules.defaults)
            table = Table(source, number, titles, options, tuple(above))
            if not titles.missing:
                return table
            fields = len(titles.columns) + len(titles.proposals)
            refused = _Refusal(fields, len(filled), table if fields else _data(table))
        except SheetError as wrong:
            refused = _Refusal(1, len(filled), None, str(wrong))
        if refused[:2] > best[:2]:  # fields, cells
            best = refused
        above.append(number)
    return best


def _data(table: Table) -> Table:
    """Propose letters for a row that is no header, where its cells are those of an animal."""
    proposals: dict[str, str] = {}
    for at, cell in enumerate(table.columns.header):
        of = "" if cell.isdecimal() or not cell else "name"
        for other in ("categoryId", "status"):
            if cell and table.matcher.decide(other, cell).value is not None:
                of = other
        if of and of not in proposals.values():
            proposals[column_letter(at)] = of
    is_data = "categoryId" in proposals.values() and "name" in proposals.values()
    return replace(table, columns=replace(table.columns, proposals=proposals)) if is_data else table


def _by_letter(source: Sheet, number: int, cells: list[str], options: ImportOptions) -> Table:
    """Take a row for the header, or for data where a category or a status stands in its place."""
    width = max(len(cells) for _, cells in islice(source.records(), HEADER_WITHIN))
    letters = [column_letter(at) for at in range(width)]
    padded = [*cells, *[""] * (width - len(cells))]
    titles = read_titles(padded, options.columns, defaults=options.rules.defaults)
    plain = Table(source, number, titles, options)
    decided = [
        plain.matcher.decide(of, padded[at])
        for of, at in titles.columns.items()
        if of != "name" and padded[at].strip()
    ]
    is_data = not options.header or any(found.value is not None for found in decided)
    if isinstance(source, FrameSource) and source.frame.columns.inferred_type == "integer":
        is_data = False  # pandas has counted its columns
    if not is_data:
        return plain
    columns = replace(read_titles(letters, options.columns), has_header=False)
    return replace(plain, header_row=number - 1, columns=columns)
