"""
Workbooks: read by wolfxl (.xlsx, .xlsm) and calamine (.ods, .xls, .xlsb), filled in by
wolfxl, and written with examples and drop-down lists.

Every cell is text. A cell that was no text says what it was.
"""

import re
import struct
import zipfile
from collections import defaultdict
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache, partial
from html import unescape
from io import BytesIO
from itertools import product
from typing import Any, Protocol

from python_calamine import CalamineWorkbook, PasswordError, SheetVisibleEnum

from petstore_tools import spec
from petstore_tools.errors import SheetError
from petstore_tools.tabular.cells import (
    EXACT,
    FORMATTED,
    MERGED,
    NUMBER,
    Area,
    NonTextCell,
    Record,
    Sheet,
    column_letter,
    is_blank,
    text_of,
)
from petstore_tools.text import option

# hidden, and by its name never read as animals
CATEGORY_SHEET = "petstore_categories"
LAST_ROW = 1_048_575  # of a sheet, counted from 0
WRITER_OPTIONS = {  # text is never a formula or a link
    "in_memory": True,
    "strings_to_formulas": False,
    "strings_to_urls": False,
    "default_date_format": "yyyy-mm-dd hh:mm",
    "nan_inf_to_errors": True,
}
LONGEST_CELL = 32_767  # characters that Excel keeps, and wolfxl
_TOO_LONG = -2  # XlsxWriter's answer to a text longer than Excel keeps
_HINTS = {
    "name": "The animal's name; it must not be empty.\nExample: Rex",
    "categoryId": "The category's id, or its name where one can be chosen.\nExample: 3",
    "status": (
        f"One of {', '.join(spec.STATUSES)}; it may be empty.\nExample: available"
    ),
}
_TEXT_FORMAT = {"num_format": "@"}  # so that 007 stays 007
_CREATED = datetime(2000, 1, 1)  # so that the same rows are the same bytes
_PLAIN_FORMATS = ("General", "@", "0", "#")  # they show a number as typed
_UNSAVED = "a formula without a saved value"
_ERRORS = ("#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A")
_FLAT_ROW = re.compile(rb"""\sht=["']0(?:\.0*)?["']""")
_ESCAPED_LETTER = re.compile("_x([0-9A-Fa-f]{4})_")
# of an unpacked workbook, and of one of its parts: wolfxl takes nine times as much
# memory as the XML of a sheet has
_MAX_BYTES = 1 << 28
_MAX_PART_BYTES = 1 << 26
_ROWS_AT_ONCE = 2_048  # whose cells are held as records of wolfxl
# of a sheet that calamine reads, from A1 to the last one
_MAX_CELLS = 8_000_000
# the records of .xlsb and of .xls that say how far a sheet goes
_XLSB_SIZE = re.compile(rb"\x94\x01\x10....(.{12})", re.DOTALL)
_XLS_SIZE = re.compile(rb"\x00\x02\x0e\x00(.{12})\x00\x00", re.DOTALL)
_ODS_ROW = re.compile(rb"<table:table-row(?=[\s/>])")
_ODS_CELL = re.compile(rb"<table:(?:covered-)?table-cell([^>]*)>")
_ODS_BREAKS = {  # calamine leaves them out
    rb"<text:line-break\s*/>": b"&#10;",
    rb"<text:tab\s*/>": b"&#9;",
}
# parts of a workbook that change when cells of a sheet do
_SHEET_PART = re.compile(r"(?i)xl/worksheets/[^/]*$")
_CHANGING_PART = re.compile(
    r"(?i)Content_Types|workbook\.xml|calcChain|xl/(?:worksheets|tables)/[^/]*$"
)
_HIDDEN = re.compile(rb'table:visibility="(?!visible)')
_FORMULA = re.compile(rb'table:formula="([^"]*)"')
_ODS_REFERENCE = re.compile(r"\[\$?((?:'[^']*'|[^\].:'])*)\.([^\]]*)\]")
_REPEAT_COUNT = re.compile(rb'-repeated="(\d+)"')
_NUMERIC_BOOLEAN = re.compile(  # which may be shown as TRUE
    rb'<table:table-cell(?![^>]*boolean-value="(?:true|false)")[^>]*value-type="boolean"'
    rb'|value-type="float"[^>]*><text:p>[^\W\d]+</text:p>'
)
_COVERED_VALUE = re.compile(rb"<table:covered-table-cell[^>]*office:value-type")
_DISPLAYED_NUMBER = re.compile(rb'office:value="([^"]+)"[^>]*><text:p(?:/>|>([^<]*))')
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_UNSEEN_NOTE = (
    "this kind of workbook hides formulas without a value, errors and, except in .ods,"
    " how a number is shown"
)


def template_bytes(categories: Mapping[int, str] | None = None) -> bytes:
    r"""
    Return an empty workbook (.xlsx) to be filled in, one row for each animal.

    >>> template_bytes({3: "Dogs"})[:4]
    b'PK\x03\x04'

    Args:
        categories: Name by id: with it, a category is chosen by its name.
    """
    import xlsxwriter

    memory = BytesIO()
    drop_downs: dict[str, Any] = {"status": [*spec.STATUSES]}
    with xlsxwriter.Workbook(memory, WRITER_OPTIONS) as book:
        sheet = book.add_worksheet("animals")
        sheet.write_row(0, 0, _HINTS, book.add_format({"bold": True}))
        sheet.freeze_panes(1, 0)
        if categories:
            names = sorted(set(categories.values()))
            hidden_sheet = book.add_worksheet(CATEGORY_SHEET)
            hidden_sheet.write_column(0, 0, names)
            hidden_sheet.hide()
            drop_downs["categoryId"] = f"={CATEGORY_SHEET}!$A$1:$A${len(names)}"
        for column, (title, hint) in enumerate(_HINTS.items()):
            rule = {
                "validate": "list" if title in drop_downs else "any",
                "source": drop_downs.get(title),
                "error_type": "warning",  # words and ids are accepted, too
                "input_message": hint,
            }
            sheet.data_validation(1, column, LAST_ROW, column, rule)
            sheet.set_column(column, column, 24, book.add_format(_TEXT_FORMAT))
    return memory.getvalue()


def workbook_bytes(
    titles: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    above: Sequence[Sequence[str]] = (),
    note: str = "",
    name: str = "animals",
) -> bytes:
    """
    Return a workbook (.xlsx) of rows.

    Args:
        titles: Of the columns.
        rows: Cells as text; one that was none (`NonTextCell`) is written as what it
            was, and shown as it was.
        above: Rows above the titles.
        note: For the properties of the workbook.
        name: Of its sheet; one that Excel does not allow is replaced.

    Raises:
        SheetError: A cell is longer than Excel keeps.
    """
    import xlsxwriter

    memory = BytesIO()
    with xlsxwriter.Workbook(memory, WRITER_OPTIONS) as book:
        book.set_properties({"comments": note, "created": _CREATED})
        try:
            sheet = book.add_worksheet(name)
        except xlsxwriter.exceptions.XlsxWriterException:
            sheet = book.add_worksheet("animals")

        @cache
        def cell_format(number_format: str | int) -> Any:
            if not number_format:
                return None
            return book.add_format({"num_format": number_format})

        for row, cells in enumerate((*above, titles, *rows)):
            for column, cell in enumerate(cells):
                style = cell_format(getattr(cell, "number_format", 0))
                value = _written_value(cell)
                if sheet.write(row, column, value, style) == _TOO_LONG:
                    raise SheetError(
                        f"a cell of {len(cell):,} characters is too long for a"
                        " workbook: use CSV"
                    )
        sheet.set_row(len(above), None, book.add_format({"bold": True}))
        sheet.freeze_panes(len(above) + 1, 0)
        sheet.autofit()
    return memory.getvalue()


def _written_value(cell: str) -> Any:
    """Return what is written for a cell."""
    if not isinstance(cell, NonTextCell):
        return cell
    if cell.kind in (NUMBER, FORMATTED) and abs(float(cell)) < EXACT:
        return float(cell)
    return str(cell) if cell.value is None else cell.value


@dataclass(frozen=True, kw_only=True)
class Worksheet(Sheet):
    """
    A sheet of a workbook.

    Attributes:
        rows: Its cells from column A on, by row number. Empty rows may be missing.
        merged: The corners of each merged cell, rows and columns from 0.
        book: The bytes of a workbook of Excel, in which cells can be filled in.
        filters: Where its tables and its autofilter are, as Excel writes it.
    """

    suffix: str = ".xlsx"
    book: bytes = field(default=b"", repr=False)
    filters: list[str] = field(default_factory=list)
    rows: dict[int, Sequence[str]] = field(default_factory=dict)
    merged: list[tuple[tuple[int, int], tuple[int, int]]] = field(default_factory=list)

    def add(self, number: int, cells: Iterable[tuple[int, str]]) -> None:
        """Keep a row, cells by column, unless it holds nothing."""
        filled = {column: cell for column, cell in cells if not is_blank(cell)}
        if filled:
            columns = range(max(filled) + 1)
            # a tuple of texts is nothing that Python's garbage collector walks again
            self.rows[number] = tuple([filled.get(column, "") for column in columns])

    def records(self) -> Iterator[Record]:
        """Yield each row with its number."""
        yield from self.rows.items()

    @property
    def width(self) -> int:
        """How many columns are used, by cells or by merged cells."""
        merged = [right + 1 for _, (_, right) in self.merged]
        return max([*map(len, self.rows.values()), *merged], default=0)

    def fill(
        self,
        cells: Mapping[int, Mapping[int, int | str]],
        titles: Sequence[str] = (),
        header_row: int = 0,
    ) -> bytes:
        """
        Return the whole workbook with other cells in this sheet. A table or an
        autofilter that ends before the first new column is extended.

        Args:
            cells: By row number, then by column from 0.
            titles: A new row with titles, if the sheet has none.
            header_row: The row of the titles, or the row after which the new one
                stands.

        Raises:
            SheetError: Only the values of this sheet can be written.
        """
        if titles or not self.book:
            raise SheetError("only the values can be written")
        import wolfxl

        # it keeps macros; with keep_vba it would write all texts anew
        with closing(wolfxl.load_workbook(self.book, modify=True)) as book:
            sheet = book[self.name]
            for row, changes in cells.items():
                for column, value in changes.items():
                    is_exact = isinstance(value, str) or abs(value) <= EXACT
                    written = value if is_exact else str(value)
                    if written or "".join(self.rows[row][column : column + 1]):
                        sheet.cell(row, column + 1, written or None)
            new_titles = {
                column: str(title)
                for column, title in cells.get(header_row, {}).items()
            }
            if new_titles:
                _extend(sheet, header_row, new_titles)
            memory = BytesIO()
            book.save(memory)  # type: ignore[arg-type]
        return memory.getvalue()

    def fill_values(
        self,
        cells: Mapping[int, Mapping[int, int | str]],
        titles: Sequence[str] = (),
        header_row: int = 0,
    ) -> bytes:
        """Return a workbook of this sheet alone, with values and without formulas."""
        rows: list[list[str]] = []
        for number in range(1, max(self.rows) + 1):
            changes = cells.get(number, {})
            row = [*self.rows.get(number, ())]
            row += [""] * (max(changes, default=-1) + 1 - len(row))
            for column, value in changes.items():
                row[column] = text_of(value if value else "")
            rows.append(row)
        if titles:
            rows.insert(header_row, [*titles])
            header_row += 1
        above = rows[: header_row - 1]
        return workbook_bytes(
            rows[header_row - 1], rows[header_row:], above=above, name=self.name
        )

    def mark_merged(self) -> None:
        """Let each cell that a merged cell covers say so, whatever it holds."""
        width = max(map(len, self.rows.values()), default=0)
        for (top, left), (bottom, right) in self.merged:
            end = min(right + 1, width)
            kind = f"{MERGED} {column_letter(left)}{top + 1}"
            for number in self.rows.keys() & range(top + 1, bottom + 2):
                cells = [*self.rows[number]]
                cells += [""] * (end - len(cells))
                start = left + 1 if number == top + 1 else left
                covered = slice(start, end)
                cells[covered] = [NonTextCell(cell, kind) for cell in cells[covered]]
                self.rows[number] = cells


def _extend(sheet: Any, header_row: int, new_titles: Mapping[int, str]) -> None:
    """Extend the table, or the autofilter, that ends before the first new column."""
    from wolfxl.worksheet.table import TableColumn

    first = min(new_titles)
    for table in sheet.tables.values():
        area = _area(table.ref)
        if area.top == header_row and area.right == first - 1:
            table.ref = _widen(area, max(new_titles))
            if table.autoFilter:
                table.autoFilter.ref = _widen(
                    _area(table.autoFilter.ref), max(new_titles)
                )
            next_id = max(column.id for column in table.tableColumns)
            for title in new_titles.values():
                next_id += 1
                table.tableColumns.append(TableColumn(id=next_id, name=title))
    if sheet.auto_filter and sheet.auto_filter.ref:
        area = _area(sheet.auto_filter.ref)
        if area.top == header_row and area.right == first - 1:
            sheet.auto_filter.ref = _widen(area, max(new_titles))


def _area(reference: str) -> Area:
    """Return the cells of a reference such as A1:C6."""
    from xlsxwriter.utility import xl_cell_to_rowcol

    first, _, last = reference.partition(":")
    top, left = xl_cell_to_rowcol(first)
    bottom, right = xl_cell_to_rowcol(last or first)
    return Area(top + 1, bottom + 1, left, right)


def _widen(area: Area, right: int) -> str:
    """Return the reference of an area that goes to another column."""
    return f"{column_letter(area.left)}{area.top}:{column_letter(right)}{area.bottom}"


def find_losses(before: Worksheet, content: bytes) -> list[str]:
    """
    Return the parts of a workbook that another one lacks or has with other bytes,
    apart from those that change with the cells of one sheet.
    """
    old_parts, new_parts = (
        {_part_name(part.filename): archive.read(part) for part in archive.infolist()}
        for archive in (
            zipfile.ZipFile(BytesIO(before.book)),
            zipfile.ZipFile(BytesIO(content)),
        )
    )
    changed = [name for name in old_parts if new_parts.get(name) != old_parts[name]]
    sheets = [name for name in changed if _SHEET_PART.search(name)]
    others = {name for name in changed if not _CHANGING_PART.search(name)}
    lost = old_parts.keys() - new_parts.keys()
    return sorted({*sheets[1:], *others, *lost})


class _Book(Protocol):
    """An open workbook; `sheets` says which of its sheets are visible."""

    sheets: dict[str, bool]

    def read(self, name: str) -> Worksheet:
        """Read a sheet."""

    def close(self) -> None:
        """Free its memory."""


class _WolfxlBook:
    """
    A workbook of Excel (.xlsx, .xlsm).

    Args:
        content: Of the file.
        has_flat_rows: Some rows may have the height 0; asking for each height takes
            long.
    """

    def __init__(self, content: bytes, *, has_flat_rows: bool) -> None:
        import wolfxl

        self._open_values = partial(wolfxl.load_workbook, content, data_only=True)
        self._has_flat_rows = has_flat_rows
        self._book = wolfxl.load_workbook(content)
        self._content = content
        with zipfile.ZipFile(BytesIO(content)) as archive:
            types = archive.read("[Content_Types].xml")
        self._suffix = ".xlsm" if b"macroEnabled" in types else ".xlsx"
        self.sheets = {
            sheet.title: sheet.sheet_state == "visible"
            for sheet in self._book.worksheets
        }

    def close(self) -> None:
        """Free its memory: an open workbook breaks other threads."""
        self._book.close()

    def read(self, name: str) -> Worksheet:
        """Read a sheet in blocks of rows, which may stand in any order in the file."""
        source = self._book[name]
        merged = [*map(_corners, source.merged_cells.ranges)]
        filters = [table.ref for table in source.tables.values()]
        if source.auto_filter and source.auto_filter.ref:
            filters.append(source.auto_filter.ref)
        sheet = Worksheet(
            name=name,
            merged=merged,
            book=self._content,
            suffix=self._suffix,
            filters=filters,
        )
        for start in range(1, (source.max_row or 0) + 1, _ROWS_AT_ONCE):
            rows = _read_block(source, start, sheet)
            for number in sorted(rows):
                sheet.add(number, rows[number].items())
        self._drop_empty_texts(sheet)
        heights = source.row_dimensions
        sheet.hidden.update(source.sheet_visibility()["hidden_rows"])
        if self._has_flat_rows:
            sheet.hidden.update(n for n in sheet.rows if heights[n].height == 0)
        names = {**self._book.defined_names, **source.defined_names}
        for cell_name, definition in names.items():
            sheet.cell_names[cell_name.casefold()] = definition.attr_text.casefold()
        _add_tables(sheet, source.tables.values())
        return sheet

    def _drop_empty_texts(self, sheet: Worksheet) -> None:
        """
        Empty the cells of a formula whose saved value is an empty text: only a workbook
        that is opened for its values tells them from formulas without a saved value.
        """
        places = [
            (number, column)
            for number, cells in sheet.rows.items()
            for column, cell in enumerate(cells)
            if getattr(cell, "kind", "") == _UNSAVED
        ]
        if not places:
            return
        with closing(self._open_values()) as values:
            source = values[sheet.name]
            for number, column in places:
                if source.cell(number, column + 1).data_type == "str":
                    cells = sheet.rows[number]
                    sheet.rows[number] = (*cells[:column], "", *cells[column + 1 :])


def _corners(area: Any) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the first and the last cell of a merged range, rows and columns from 0."""
    left, top, right, bottom = area.bounds
    return (top - 1, left - 1), (bottom - 1, right - 1)


def _read_block(source: Any, start: int, sheet: Worksheet) -> dict[int, dict[int, str]]:
    """
    Return the cells of some rows, by row and column, and keep their formulas.

    Raises:
        OSError: A cell stands twice.
    """
    rows: dict[int, dict[int, str]] = defaultdict(dict)
    records = source.iter_cell_records(
        start,
        start + _ROWS_AT_ONCE - 1,
        include_coordinate=False,
        include_style_id=False,
        include_extended_format=False,
        include_cached_formula_value=True,
    )
    for record in records:
        row = record["row"]
        column = record["column"] - 1
        if column in rows[row]:
            raise OSError(f"row {row} stands twice")
        rows[row][column] = _value(record)
        if "formula" in record:
            sheet.formulas[row, column] = record["formula"]
    return rows


def _value(record: Mapping[str, Any]) -> str:
    """Return a cell as text."""
    value = record["value"]
    is_error = record["data_type"] == "error"
    if "formula" in record:
        value = record.get("cached_value")
        is_error = isinstance(value, str) and value in _ERRORS
    number_format = record.get("number_format", 0)
    match value:
        case None:
            return NonTextCell("", _UNSAVED)
        case str() if is_error:
            return NonTextCell(value, f"the error {value}")
        case str():
            if "_x" not in value:
                return value
            return _ESCAPED_LETTER.sub(lambda code: chr(int(code[1], 16)), value)
        case int() | float() if not isinstance(value, bool):
            is_plain = number_format in (0, *_PLAIN_FORMATS)
            # a number of a workbook is a double, whatever wolfxl makes of it
            kind = NUMBER if is_plain else FORMATTED
            return text_of(float(value), kind, number_format)
    return text_of(value, number_format=number_format)


def _add_tables(sheet: Worksheet, tables: Iterable[Any]) -> None:
    """Keep where the columns of tables are, and which cells their totals rows have."""
    for table in tables:
        area = _area(table.ref)
        has_header = table.headerRowCount != 0
        data_end = area.bottom - (table.totalsRowCount or 0)
        for index, column in enumerate(table.tableColumns, start=area.left):
            key = table.displayName.casefold(), column.name.casefold()
            sheet.table_columns[key] = Area(
                area.top + has_header, data_end, index, index
            )
        totals_rows = range(data_end + 1, area.bottom + 1)
        sheet.totals.update(product(totals_rows, range(area.left, area.right + 1)))


class _CalamineBook:
    """
    A workbook that calamine reads.

    Args:
        content: Of the file.
        views: Of each sheet, what calamine does not tell: the rows that are not shown,
            and the formulas; none if that cannot be seen.
        formatted: Numbers of which a cell shows another text.
    """

    def __init__(
        self,
        content: bytes,
        views: Iterable[Worksheet] = (),
        formatted: Collection[float] = (),
    ) -> None:
        self._formatted = formatted
        self._book = CalamineWorkbook.from_filelike(BytesIO(content))
        self.sheets = {
            sheet.name: sheet.visible == SheetVisibleEnum.Visible
            for sheet in self._book.sheets_metadata
        }
        self._views = dict(zip(self.sheets, views, strict=False))

    def close(self) -> None:
        """Free its memory."""
        self._book.close()

    def read(self, name: str) -> Worksheet:
        """Read a sheet, each cell from A1 to the last one."""
        sheet = self._book.get_sheet_by_name(name)
        worksheet = replace(
            self._views.get(name, Worksheet(is_unseen=True)),
            name=name,
            notes=(_UNSEEN_NOTE,),
            merged=sheet.merged_cell_ranges or [],
        )
        rows = sheet.to_python(skip_empty_area=False)
        for number, values in enumerate(rows, start=1):
            cells = [
                text_of(value, FORMATTED if value in self._formatted else NUMBER)
                for value in values
            ]
            worksheet.add(number, enumerate(cells))
        return worksheet


class _TooLargeError(Exception):
    """A workbook would fill the memory."""


_REASONS = {
    _TooLargeError: (
        "is too large: delete what is beyond the table, or save the sheet as CSV"
    ),
    PasswordError: "has a password: remove it, and save the file",
    KeyError: (
        "is an archive (zip) without a workbook: unpack it, and give the path of a"
        " file in it"
    ),
}


def _open_zip(content: bytes) -> list[Callable[[], _Book]]:
    """
    Return what opens a zip archive, in the order to try: calamine reads the values of
    an .xlsx that wolfxl refuses.

    Raises:
        KeyError: It holds no workbook.
        _TooLargeError: It would fill the memory.
        PasswordError: It has a password.
    """
    archive = zipfile.ZipFile(BytesIO(content))
    sizes = [part.file_size for part in archive.infolist()]
    if sum(sizes) > _MAX_BYTES or max(sizes, default=0) > _MAX_PART_BYTES:
        raise _TooLargeError
    names = {_part_name(name).casefold(): name for name in archive.namelist()}
    if "content.xml" in names:
        return [partial(_open_ods, archive)]
    for part, name in names.items():
        if part.startswith("xl/worksheets/sheet") and part.endswith(".bin"):
            for end in _XLSB_SIZE.findall(archive.read(name)[:4_096]):
                _check_size(*struct.unpack("<I4xI", end))
    if "xl/workbook.xml" in names:
        if any(_part_name(name) != name for name in archive.namelist()):
            content = _repack(archive, {})
        sheets = [name for part, name in names.items() if "/worksheets/" in part]
        flat = any(_FLAT_ROW.search(archive.read(name)) for name in sheets)
        excel = partial(_WolfxlBook, content, has_flat_rows=flat)
        return [excel, partial(_CalamineBook, content)]
    _ = names["xl/workbook.bin"]
    return [partial(_CalamineBook, content)]


def _check_size(rows: int, columns: int) -> None:
    """Refuse a sheet of which calamine would keep too many cells."""
    if rows * columns > _MAX_CELLS:
        raise _TooLargeError


def _open_ods(archive: zipfile.ZipFile) -> _CalamineBook:
    if b"encryption-data" in archive.read("META-INF/manifest.xml"):
        raise PasswordError
    xml = archive.read("content.xml")
    if _NUMERIC_BOOLEAN.search(xml):
        raise ValueError("it has booleans that are written as numbers")
    if _COVERED_VALUE.search(xml):
        raise ValueError("a merged cell covers a value")
    formatted = {
        float(number)
        for number, text in _DISPLAYED_NUMBER.findall(xml)
        if text.strip().replace(b",", b".") != number
    }
    views = [*map(_scan_table, xml.split(b"<table:table ")[1:])]
    for element, sign in _ODS_BREAKS.items():
        xml = re.sub(element, sign, xml)
    content = _repack(archive, {"content.xml": xml})
    return _CalamineBook(content, views, formatted)


def _part_name(name: str) -> str:
    """Return the name of a part: some programs write a slash first, or backslashes."""
    return name.replace("\\", "/").lstrip("/")


def _repack(archive: zipfile.ZipFile, parts: Mapping[str, bytes]) -> bytes:
    """Return an archive with other parts, and the names that readers expect."""
    memory = BytesIO()
    with zipfile.ZipFile(memory, "w") as copy:
        for name in archive.namelist():
            content = parts[name] if name in parts else archive.read(name)
            copy.writestr(_part_name(name), content)
    return memory.getvalue()


def _scan_table(table: bytes) -> Worksheet:
    """
    Return which rows of a table of .ods are not shown and hold something, and its
    formulas.
    """
    view = Worksheet()
    width = 0
    next_number = 1
    for row in _ODS_ROW.split(table)[1:]:
        element = row.partition(b">")[0]
        number = next_number
        next_number += _repeat_count(element)
        cells = row.rpartition(b"office:value-type")[0]
        if cells:
            width = max(width, sum(map(_repeat_count, cells.split(b"-cell")[1:])))
            _check_size(next_number - 1, width)
            if _HIDDEN.search(element):
                view.hidden.update(range(number, next_number))
        if b"table:formula=" in row:
            formulas = {(number, column): text for column, text in _formulas(row)}
            view.formulas.update(formulas)
    return view


def _formulas(row: bytes) -> Iterator[tuple[int, str]]:
    """Yield the formulas of a row of .ods by column, written as Excel writes them."""
    column = 0
    for cell in _ODS_CELL.findall(row):
        if formula := _FORMULA.search(cell):
            text = "=" + unescape(formula[1].decode()).partition("=")[2]
            yield column, _ODS_REFERENCE.sub(_excel_reference, text)
        column += _repeat_count(cell)


def _excel_reference(reference: re.Match[str]) -> str:
    """Write a reference of .ods as Excel does: `[.B2:.B9]` is `B2:B9`."""
    sheet, cells = reference.groups()
    return (f"{sheet}!" if sheet else "") + cells.replace(":.", ":")


def _repeat_count(element: bytes) -> int:
    count = _REPEAT_COUNT.search(element)
    return int(count[1]) if count else 1


def _open_ole(content: bytes) -> list[Callable[[], _Book]]:
    if _ENCRYPTED in content:
        raise PasswordError
    for size in _XLS_SIZE.finditer(content):
        top, rows, left, columns = struct.unpack("<2I2H", size[1])
        if top < rows <= 1 << 16 and left < columns <= 1 << 8:
            _check_size(rows, columns)
    return [partial(_CalamineBook, content)]


# by the four bytes that such a file begins with
OPENERS = {b"PK\x03\x04": _open_zip, b"\xd0\xcf\x11\xe0": _open_ole}


def read_workbook(content: bytes, name: str, sheet: str | None) -> list[Worksheet]:
    """
    Read the sheets of a workbook that may be meant.

    Args:
        content: Of the file.
        name: Of the file, for messages.
        sheet: The sheet that is meant; None: all visible sheets.

    Raises:
        SheetError: The workbook has no such sheet, has a password, is too large or
            damaged.
    """
    try:
        names, worksheets = _read_first(OPENERS[content[:4]](content), sheet)
    except Exception as error:  # whatever a foreign file makes its readers raise
        unreadable = (
            f"is not a workbook that can be read ({error}): open it in a spreadsheet"
            " program, and save it as .xlsx"
        )
        reason = _REASONS.get(type(error), unreadable)
        raise SheetError(f"{name} {reason}") from error
    if not worksheets:
        listed = ", ".join(map(repr, names))
        lack = "no visible sheet" if sheet is None else f"no sheet {sheet!r}"
        spelling = option("sheet", "…")
        raise SheetError(f"{name} has {lack}; it has {listed}: name one ({spelling})")
    return worksheets


def _read_first(
    openers: Sequence[Callable[[], _Book]], sheet: str | None
) -> tuple[list[str], list[Worksheet]]:
    """Return the names of all sheets, and those to read, by the first that can."""
    *openers, last = openers
    for open_book in openers:
        try:
            return _read_sheets(open_book, sheet)
        except OSError:  # the sheet is damaged, and half of it would not do
            raise
        except BaseException as error:
            is_panic = type(error).__name__ == "PanicException"  # of Rust
            if not (is_panic or isinstance(error, Exception)):
                raise
    return _read_sheets(last, sheet)


def _read_sheets(
    open_book: Callable[[], _Book], sheet: str | None
) -> tuple[list[str], list[Worksheet]]:
    """Return the names of all sheets of a workbook, and those to read."""
    with closing(open_book()) as book:
        names = [title for title in book.sheets if title != CATEGORY_SHEET]
        worksheets = [
            replace(book.read(title), names=tuple(names))
            for title in names
            if title == sheet or (sheet is None and book.sheets[title])
        ]
    for worksheet in worksheets:
        worksheet.mark_merged()
    return names, worksheets
