"""Workbooks as programs write them, and as the toolkit reads and writes them."""

import re
import resource
import struct
import zipfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest
import xlsxwriter
from office import list_rules, workbook_part
from tables import corpus_file, read_json, soak_parts

from petstore_tools.errors import SheetError
from petstore_tools.importing.options import ImportOptions
from petstore_tools.importing.read_sheet import open_layout, read_rows
from petstore_tools.tabular.cells import NonTextCell
from petstore_tools.tabular.sources import open_source
from petstore_tools.tabular.workbooks import (
    CATEGORY_SHEET,
    template_bytes,
    workbook_bytes,
)

SPACE = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def with_kind(cell):
    """Return a cell, one that was no text with what it was."""
    return [str(cell), cell.kind] if isinstance(cell, NonTextCell) else cell


def write_zip(path, parts):
    """Write a workbook of these parts."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        for name, content in parts.items():
            book.writestr(name, content)


def read_sheet(path, rows, *, before="", after=""):
    """Write the XML of the second sheet of a workbook, and read it."""
    with xlsxwriter.Workbook(path) as book:
        book.add_worksheet("notes")
        book.add_worksheet("animals & more")
    sheet = (
        f'<?xml version="1.0"?>{before}'
        f'<x:worksheet xmlns:x="{SPACE}" xmlns="{SPACE}">'
        '<cols><col min="2" max="3" hidden="1"/>'
        '<col min="16384" max="16384" hidden="true"/></cols>'
        f"<x:sheetData>{rows}</x:sheetData>{after}</x:worksheet>"
    )
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    parts["xl/worksheets/sheet2.xml"] = sheet.encode()
    write_zip(path, parts)
    return open_source(path, "animals & more")[0]


COVERED = "part of the merged cell F1"


@pytest.mark.parametrize(
    ("rows", "records"),
    [
        *read_json(__file__, "sheet_xml.json"),
        (
            '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>',
            [[1_048_576, [*[""] * 5, *[["", COVERED]] * 16_378, ["1", COVERED]]]],
        ),
    ],
)
def test_cells_are_read_from_the_xml_as_programs_write_it(tmp_path, rows, records):
    """Rows that hold nothing are left out; the place of a button is no row."""
    button = (
        '<d:row xmlns:d="http://schemas.openxmlformats.org/drawingml/2006/x">4</d:row>'
    )
    merged = '<mergeCells><mergeCell ref="F1:XFD1048576"/></mergeCells>'

    sheet = read_sheet(tmp_path / "book.xlsx", rows, after=button + merged)

    sheet_records = [
        [number, [*map(with_kind, cells)]] for number, cells in sheet.records()
    ]
    assert sheet_records == records


@pytest.mark.parametrize(
    ("rows", "before", "reason"),
    read_json(__file__, "broken_sheets.json"),
)
def test_a_workbook_that_cannot_be_read_is_refused(tmp_path, rows, before, reason):
    """In one sentence; no entity is followed."""
    with pytest.raises(
        SheetError, match=rf"not a workbook that can be read \(.*{reason}"
    ):
        read_sheet(tmp_path / "book.xlsx", rows, before=before)


def test_what_would_fill_the_memory_or_is_locked_is_refused(tmp_path):
    """
    A bomb, a cell far away in another format, and a password; of a large .xls alone
    nobody can tell what it hides.
    """
    far = (
        "<table:table ><table:table-row"
        ' table:number-rows-repeated="1048575"/><table:table-row><table:table-cell'
        ' table:number-columns-repeated="16384" office:value-type="float"/>'
    )
    xlsb_size = b"\x94\x01\x10" + struct.pack("<4I", 0, 1_048_575, 0, 16_383)
    manifest = "META-INF/manifest.xml"
    encrypted = {manifest: "<manifest:encryption-data/>", "content.xml": ""}
    bomb = {"xl/workbook.xml": b" " * (1 + (1 << 26)), "xl/more.xml": b" "}
    write_zip(tmp_path / "bomb.xlsx", bomb)
    write_zip(tmp_path / "far.ods", {manifest: "<manifest/>", "content.xml": far})
    write_zip(tmp_path / "far.xlsb", {"xl/worksheets/sheet1.bin": xlsb_size})
    write_zip(tmp_path / "locked.ods", encrypted)
    size = struct.pack("<2I3H", 0, 65_536, 0, 256, 0)
    near = corpus_file("plain.xls").read_bytes()
    far_xls = re.sub(rb"(?s)(\x00\x02\x0e\x00).{14}", rb"\1" + size, near)
    (tmp_path / "far.xls").write_bytes(far_xls)
    large_xls = near[:44] + b"\xff" + near[45:]  # as many tables as 16 MB have
    (tmp_path / "large.xls").write_bytes(large_xls)
    locked = b"\xd0\xcf\x11\xe0" + "EncryptedPackage".encode("utf-16-le")
    (tmp_path / "locked.xlsx").write_bytes(locked)

    for name, reason in {
        "bomb.xlsx": "is too large: delete",
        "far.ods": "is too large: delete",
        "far.xlsb": "is too large: delete",
        "far.xls": "is too large: delete",
        "locked.xlsx": "has a password: remove it",
        "locked.ods": "has a password: remove it",
    }.items():
        with pytest.raises(SheetError, match=reason):
            open_source(tmp_path / name)
    assert open_source(tmp_path / "large.xls")[0].is_unseen


def test_a_date_beyond_the_calendar_leaves_the_values(tmp_path):
    """
    A chip number in a column of dates: calamine reads the values, and what the workbook
    hides cannot be seen.
    """
    path = tmp_path / "chips.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet("animals")
        sheet.write_row(0, 0, ["name", "chip"])
        sheet.write(1, 0, "Rex")
        sheet.write(1, 1, 20_260_401, book.add_format({"num_format": "dd.mm.yyyy"}))

    [sheet] = open_source(path)

    assert sheet.is_unseen
    assert [cells[0] for _, cells in sheet.records()] == ["name", "Rex"]


def test_names_of_parts_are_read_as_programs_write_them(tmp_path):
    """With a slash first, or with backslashes; hidden rows are still seen."""
    with xlsxwriter.Workbook(tmp_path / "a.xlsx") as book:
        sheet = book.add_worksheet("animals")
        sheet.write_column(0, 0, ["name", "Rex", "Mia"])
        sheet.set_row(2, options={"hidden": True})
    with zipfile.ZipFile(tmp_path / "a.xlsx") as book:
        parts = {name: book.read(name) for name in book.namelist()}
    write_zip(tmp_path / "b.xlsx", {f"/{name}": parts[name] for name in parts})
    other_names = {name.replace("/", "\\"): parts[name] for name in parts}
    write_zip(tmp_path / "c.xlsx", other_names)

    for name in "abc":
        [sheet] = open_source(tmp_path / f"{name}.xlsx")
        assert ([*sheet.rows], sheet.hidden) == ([1, 2, 3], {3})


def measure_reading(path):
    """
    Return how many rows a sheet has, and by how many KiB reading it makes a process
    grow.
    """
    import python_calamine  # noqa: F401 - loaded before it is measured

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rows = sum(1 for row in read_rows(open_layout(ImportOptions(path))))
    return rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before


@pytest.mark.parametrize("count", soak_parts([20_000, 100_000]))
def test_many_rows_stay_within_their_memory(tmp_path, count):
    """A hundred thousand take at most 150 MB beyond the process, fewer take less."""
    with xlsxwriter.Workbook(tmp_path / "big.xlsx", {"constant_memory": True}) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["name", "categoryId", "status"])
        for number in range(1, count + 1):
            sheet.write_row(number, 0, [f"Pet {number}", number % 12, "sold"])

    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        rows, growth_kib = processes.submit(
            measure_reading, tmp_path / "big.xlsx"
        ).result()

    assert rows == count
    assert growth_kib < 1.5 * count


CATEGORIES = {3: "Dogs", 4: "Cats", 7: "Vögel", 8: "Cats", 9: "12"}


def coloured_cells(content):
    """
    Return the cells below the header that have a format beside that of their column.
    """
    styled = re.findall(
        r'<c r="(\w+)" s="(\d+)"', workbook_part(content, "xl/worksheets/sheet1.xml")
    )
    (_, header), *_ = styled
    return [cell for cell, style in styled if style not in ("1", header)]


def test_a_template_has_examples_drop_downs_and_a_frozen_header(tmp_path):
    """
    Categories stand on a hidden sheet, each name once, which is not read as animals.
    """
    (tmp_path / "template.xlsx").write_bytes(template_bytes(CATEGORIES))
    content = template_bytes()

    assert list_rules(content) == {"C": "list available,pending,sold"}
    assert (
        list_rules(tmp_path / "template.xlsx")["B"]
        == f"list {CATEGORY_SHEET}!$A$1:$A$4"
    )
    sheet = workbook_part(content, "xl/worksheets/sheet1.xml")
    assert len(re.findall('prompt="[^"]*Example:', sheet)) == 3
    assert 'state="frozen"' in sheet
    assert "<cols>" in sheet
    book = workbook_part(tmp_path / "template.xlsx", "xl/workbook.xml")
    assert 'state="hidden"' in book
    [animals] = open_source(tmp_path / "template.xlsx")
    assert animals.name == "animals"


def test_a_cell_that_excel_cannot_keep_is_refused():
    """It would be cut."""
    with pytest.raises(
        SheetError, match="32,768 characters is too long for a workbook"
    ):
        workbook_bytes(["name"], [["x" * 32_768]])


def test_the_same_rows_are_the_same_bytes_whenever_they_are_written():
    """By these an import knows that nobody changed its file."""
    properties = workbook_part(workbook_bytes(["name"], [["Rex"]]), "docProps/core.xml")

    assert {*re.findall(r">(\d{4}-[^<]*)<", properties)} == {"2000-01-01T00:00:00Z"}
