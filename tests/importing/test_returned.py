"""The list that comes back: in place, beside the source, and with nothing lost."""

import errno
import io
import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pandas as pd
import pytest
import wolfxl
import xlsxwriter
from inventories import stored_animals, write_rows
from tables import CORPUS, read_json

from petstore_tools.errors import SheetError
from petstore_tools.importing import returned
from petstore_tools.tabular.sources import open_source

NOTE = r'("(?:[^"]|"")+"|[^",;^\t\r\n]+)'
TITLES = ["petstore_id", "petstore_note"]


def run(box, path, **options):
    """Import a file."""
    return box.store.import_pets(path, progress=False, **options)


def rows_of(path, sheet=None):
    """Return the cells of a sheet as texts, by row."""
    (source,) = open_source(path, sheet)
    return {number: [*map(str, cells)] for number, cells in source.records()}


@pytest.mark.parametrize(
    ("text", "encoding", "expected"), read_json(__file__, "returned_texts.json")
)
def test_a_text_comes_back_as_it_is(fast, tmp_path, text, encoding, expected):
    """
    All cells of a person stay byte for byte, also when the list is imported ten times.
    """
    path = tmp_path / "pets.csv"
    path.write_bytes(text.encode(encoding))
    options = {"encoding": encoding} if encoding == "cp1250" else {}

    list_file = run(fast, path, **options).list_file
    first = list_file.read_bytes()
    for _ in range(10):
        again = run(fast, list_file, **options)

    assert list_file.name == "pets.sandbox.imported.csv"
    pattern = re.escape(expected).replace("NOTE", NOTE)
    assert re.fullmatch(pattern, first.decode(encoding))
    assert (again.list_file, again.created_now) == (list_file, 0)
    assert list_file.read_bytes() == first
    assert path.read_bytes() == text.encode(encoding)


@pytest.mark.parametrize("suffix", ["csv", "xlsx"])
def test_a_list_without_a_header_comes_back_with_titles(fast, tmp_path, suffix):
    """The same options read it."""
    path = tmp_path / f"pets.{suffix}"
    frame = pd.DataFrame([["Rex", "a", 3], ["Mia", "b", 4]])
    write = frame.to_csv if suffix == "csv" else frame.to_excel
    write(path, header=False, index=False)
    options = {"header": False, "columns": {"A": "name", "C": "categoryId"}}

    list_file = run(fast, path, **options).list_file
    again = run(fast, list_file, **options)

    assert rows_of(list_file) == {
        1: ["name", "", "categoryId", *TITLES],
        2: ["Rex", "a", "3", "1", *[""] * (suffix == "csv")],
        3: ["Mia", "b", "4", "2", *[""] * (suffix == "csv")],
    }
    assert (again.rows, again.created_now, again.list_file) == (2, 0, list_file)


def test_a_frame_comes_back_as_a_frame(sandbox):
    """Each row with its label, its id, and a sentence if it is no animal."""
    frame = pd.DataFrame(
        {"name": ["Rex", "", "Mia"], "categoryId": [3, 4, 5]}, index=list("abc")
    )

    result = sandbox.store.import_pets(frame, name="spring", progress=False)

    pd.testing.assert_frame_equal(result.list[["name", "categoryId"]], frame)
    assert result.list["petstore_id"].dtype == "Int64"
    assert result.list["petstore_id"].notna().tolist() == [True, False, True]
    assert result.list["petstore_note"].eq("").tolist() == [True, False, True]
    again = sandbox.store.import_pets(result.list, name="spring", progress=False)
    assert (again.created, again.created_now) == (2, 0)


def change(path):
    """Change a file, as another person does."""
    path.write_text(path.read_text().replace("note", "Note"))


@pytest.mark.parametrize(
    ("befall", "reason"),
    [
        (change, "was changed while the import ran"),
        (lambda path: path.with_name(f"~${path.name}").touch(), "is open in Excel"),
        (
            lambda path: path.with_name(f".~lock.{path.name}#").touch(),
            "is open in LibreOffice",
        ),
    ],
    ids=["changed", "Excel", "LibreOffice"],
)
def test_a_list_that_is_in_use_is_not_replaced(fast, tmp_path, befall, reason):
    """The next number has all ids, and both files go on."""
    header = "name,categoryId,status,note"
    path = write_rows(tmp_path / "a.csv", "Rex,3,sold,x", header=header)
    list_file = run(fast, path).list_file
    with list_file.open("a") as file:
        file.write("Mia,4,sold,,,\n")
    befallen = []

    def progress(_):
        if not befallen:
            befall(list_file)
            befallen.append(list_file.read_bytes())

    result = fast.store.import_pets(list_file, progress=progress)

    assert list_file.read_bytes() == befallen[0]
    assert result.list_file.name == "a.sandbox.imported.2.csv"
    assert f"because {list_file.name} {reason}" in str(result)
    assert result.list_file.read_text().endswith("Mia,4,sold,,2,\n")
    for lock in (*tmp_path.glob("~$*"), *tmp_path.glob(".~lock*")):
        lock.unlink()
    again = run(fast, list_file)  # its new row lacks the id, and is known
    assert (again.created_now, again.list_file) == (0, list_file)
    assert list_file.read_text().endswith("Mia,4,sold,,2,\n")


def test_a_folder_in_the_place_of_the_list_is_kept(fast, tmp_path):
    """The list takes the next number."""
    (tmp_path / "a.sandbox.imported.csv").mkdir()
    result = run(fast, write_rows(tmp_path / "a.csv", "Rex,3,sold"))

    assert result.list_file.name == "a.sandbox.imported.2.csv"


def test_a_list_that_cannot_be_written_is_written_by_the_next_run(
    fast, tmp_path, monkeypatch
):
    """Nothing is raised after rows were sent; the journal has the ids."""
    path = write_rows(tmp_path / "a.csv", "Rex,3,sold")
    real_replace = os.replace

    def refuse(source, target):
        if Path(target).suffix == ".csv":
            raise OSError(errno.EROFS, "Read-only file system")
        real_replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", refuse)
        result = run(fast, path)
    assert (result.created, result.list_file) == (1, None)
    assert "could not be written: a.csv (cannot be written: Read-only" in str(result)
    assert result.list["petstore_id"].tolist() == [1]
    assert run(fast, path).list_file.read_text().endswith("Rex,3,sold,1,\n")


def test_killed_writing_leaves_the_old_list(fast, tmp_path, monkeypatch):
    """Before the new file has its place, the old one is whole; then the new one is."""
    path = write_rows(tmp_path / "a.csv", "Rex,3,sold")
    list_file = run(fast, path).list_file
    with list_file.open("a") as file:
        file.write("Mia,4,sold,,\n")
    before = list_file.read_bytes()
    for module, name in ((shutil, "copymode"), (os, "replace")):
        step = getattr(module, name)

        def die(*arguments, step=step):
            if list_file in arguments:
                raise SystemExit
            return step(*arguments)

        with monkeypatch.context() as patch:
            patch.setattr(module, name, die)
            with pytest.raises(SystemExit):
                run(fast, list_file)
        assert list_file.read_bytes() == before

    assert run(fast, list_file).created_now == 0
    assert list_file.read_text().endswith("Mia,4,sold,2,\n")


def rich_workbook():
    """Return a workbook with much that is no cell."""
    memory = io.BytesIO()
    with xlsxwriter.Workbook(memory, {"in_memory": True}) as book:
        pets = book.add_worksheet("Pets")
        other = book.add_worksheet("Other")
        pets.merge_range("A1:C1", "All our pets")
        titles = ["name", "categoryId", "status"]
        rows = [["Rex", 3, "sold"], ["Mia", 4, "sold"], ["Ida", "cats", "sold"]]
        pets.add_table(
            "A3:C7",
            {
                "columns": [{"header": title} for title in titles],
                "data": rows,
                "total_row": True,
            },
        )
        pets.write_row("A9", ["Leo", 5, "sold"])
        pets.set_row(8, None, None, {"hidden": True})
        pets.write_comment("A4", "likes fish")
        pets.data_validation("C4:C6", {"validate": "list", "source": ["sold"]})
        pets.conditional_format("B4:B6", {"type": "3_color_scale"})
        pets.protect("secret")
        chart = book.add_chart({"type": "column"})
        chart.add_series({"values": "=Pets!$B$4:$B$6"})
        other.insert_chart("D4", chart)
        other.write_row("A1", ["name", "categoryId"])
        other.write_row("A2", ["Tom", 6])
        other.write_row("A3", ["Eva", 7])
        other.autofilter("A1:B3")
        other.write_formula("C2", "=B2*2", None, 12)
        other.write("F2", "n" * 32_767)
        book.define_name("Kinds", "=Other!$B$2:$B$3")
    return memory.getvalue()


def parts_of(content):
    """Return the parts of a workbook."""
    archive = zipfile.ZipFile(io.BytesIO(content))
    return {name: archive.read(name) for name in archive.namelist()}


def test_a_workbook_comes_back_with_all_its_parts(fast, tmp_path):
    """Two sheets fill one list; a table is extended, and only two columns differ."""
    path = tmp_path / "pets.xlsx"
    content = rich_workbook()
    path.write_bytes(content)

    first = run(fast, path, sheet="Pets")
    second = run(fast, path, sheet="Other")
    third = run(fast, second.list_file, sheet="Pets")

    assert first.list_file == second.list_file == third.list_file
    assert len([*tmp_path.iterdir()]) == 2
    old, new = parts_of(content), parts_of(second.list_file.read_bytes())
    assert old.keys() <= new.keys()
    stable = re.compile(r"chart|drawing|comment|vml|theme|docProps|printer")
    assert all(new[name] == old[name] for name in old if stable.search(name))
    before, after = rows_of(path, "Pets"), rows_of(second.list_file, "Pets")
    assert {n: cells[:3] for n, cells in after.items()} == before
    assert after[3][3:] == TITLES
    assert [after[row][3] for row in (4, 5, 6)] == ["1", "2", ""]
    assert "'cats' is not the id of a category" in after[6][4]
    assert after[9][4] == "left out: hidden"
    other = rows_of(second.list_file, "Other")
    assert (other[1][6:], other[2][6:]) == (TITLES, ["3"])
    assert other[2][:6] == rows_of(path, "Other")[2]
    assert "the new columns are G and H" in str(second)
    book = wolfxl.load_workbook(second.list_file)
    (table,) = book["Pets"].tables.values()
    assert table.ref == "A3:E7"
    assert [column.name for column in table.tableColumns][3:] == TITLES
    assert book["Pets"].cell(4, 1).comment.text.strip() == "likes fish"
    book.close()
    sheet = new["xl/worksheets/sheet1.xml"].decode()
    for element in ("sheetProtection", "dataValidation ", "conditionalFormatting"):
        assert element in sheet
    assert stored_animals(fast).total() == 4


def test_an_autofilter_is_extended_and_large_ids_stay_exact(fast, tmp_path):
    """Excel sorts only what is inside; a number above 2**53 would be another one."""
    path = tmp_path / "pets.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        sheet.write_row("A1", ["name", "categoryId"])
        sheet.write_row("A2", ["Rex", 3])
        sheet.autofilter("A1:B2")
    result = run(fast, path)
    mark = returned.Mark(2**53 + 1, "n" * 40_000)
    list_ = returned.ReturnedList(result.returned.sheet, {2: mark})

    sheet = list_.sheet.layout.sheet
    content = sheet.fill(list_.cells, header_row=1)
    values = sheet.fill_values(list_.cells, header_row=1)
    path.write_bytes(values)
    assert rows_of(path)[2][3] == "n" * 32_767
    path.write_bytes(content)

    assert rows_of(path)[2][2:] == [str(2**53 + 1), "n" * 32_767]
    assert (
        'autoFilter ref="A1:D2"'
        in parts_of(content)["xl/worksheets/sheet1.xml"].decode()
    )


def test_a_workbook_that_changes_on_the_way_comes_back_with_values(
    fast, tmp_path, monkeypatch
):
    """A list that a person has gone on with stays, and the next number is taken."""
    path = tmp_path / "pets.xlsx"
    pd.DataFrame({"name": ["Rex"], "categoryId": [3]}).to_excel(path, index=False)
    save = wolfxl.Workbook.save

    def spoil(book, target):
        book.worksheets[0].cell(2, 1, "Max")
        save(book, target)

    with monkeypatch.context() as patch:
        patch.setattr(wolfxl.Workbook, "save", spoil)
        first = run(fast, path)
        assert rows_of(first.list_file)[2] == ["Rex", "3", "1"]
        assert "the values of the sheet" in str(first)
        second = run(fast, first.list_file)

    assert second.list_file.name == "pets.sandbox.imported.2.xlsx"
    assert rows_of(second.list_file)[2] == ["Rex", "3", "1"]


def test_a_workbook_with_macros_keeps_them(fast, tmp_path):
    """It stays one with macros."""
    path = tmp_path / "pets.xlsm"
    macros = b"\xd0\xcf\x11\xe0 no real macros"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        sheet.write_row("A1", ["name", "categoryId"])
        sheet.write_row("A2", ["Rex", 3])
        book.add_vba_project(io.BytesIO(macros), True)

    list_file = run(fast, path).list_file

    assert list_file.name == "pets.sandbox.imported.xlsm"
    parts = parts_of(list_file.read_bytes())
    assert parts["xl/vbaProject.bin"] == macros
    assert b"macroEnabled" in parts["[Content_Types].xml"]
    assert rows_of(list_file)[2] == ["Rex", "3", "1"]


@pytest.mark.parametrize(
    "path",
    sorted(CORPUS.rglob("*.xlsx")),
    ids=lambda p: p.name,
)
def test_each_workbook_of_the_corpus_comes_back_whole(fast, tmp_path, path):
    """
    Cell by cell, or with its values alone, and that is said. A workbook that is not
    imported leaves no file.
    """
    copy = shutil.copy(path, tmp_path)
    try:
        result = run(fast, copy, doubtful="send")
    except SheetError:
        assert [*tmp_path.glob("*imported*")] == []
        return

    assert result.list_file
    name = result.returned.sheet.layout.sheet.name
    before, after = rows_of(copy, name), rows_of(result.list_file, name)
    width = max(map(len, before.values()))
    for number, cells in before.items():
        assert after[number][:width][: len(cells)] == cells


@pytest.mark.skipif(
    not shutil.which("soffice"), reason="no LibreOffice on this machine"
)
def test_libreoffice_reads_a_workbook_that_came_back(fast, tmp_path):
    """All cells are equal, and the saved file is read again."""
    path = tmp_path / "pets.xlsx"
    path.write_bytes(rich_workbook())
    list_file = run(fast, path, sheet="Pets").list_file

    command = ["soffice", "--headless", "--convert-to", "xlsx", "--outdir", "saved"]
    profile = f"-env:UserInstallation={tmp_path.as_uri()}/profile"
    subprocess.run(
        [*command, profile, list_file.name],
        check=True,
        timeout=90,
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    saved = shutil.copy(tmp_path / "saved" / list_file.name, list_file)
    cells = rows_of(saved, "Pets")
    again = run(fast, saved, sheet="Pets")

    assert cells[4][:4] == ["Rex", "3", "sold", "1"]
    assert (again.created, again.created_now, again.list_file) == (2, 0, list_file)
    assert rows_of(saved, "Pets") == cells
