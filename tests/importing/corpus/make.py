"""
Write the corpus: small spreadsheets as people have them. `cases.py` beside it says what each must
    give.

Text files and .xlsx come from here. With --all, LibreOffice turns some of them into .xls and .ods,
and
`pyxlsbwriter` writes .xlsb: those files are made once and kept, since their bytes differ each time.

Run: python tests/importing/corpus/make.py [--all]
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

import xlsxwriter

FILES = Path(__file__).parent / "files"
Rows = Sequence[Sequence[Any]]
PLAIN: Rows = [
    ["name", "categoryId", "status"],
    ["Rex", 3, "sold"],
    ["Mia", 4, "available"],
    ["Bo", 5, ""],
]
GERMAN: Rows = [
    ["Tiername", "Kategorie", "Status"],
    ["Jürgen", "Hunde", "sold"],
    ["Bärbel", "katzen", "available"],
    ["Größe", "VÖGEL", ""],
]


def text_of(rows: Rows, delimiter: str = ",", end: str = "\n") -> str:
    """Join cells that need no quotes."""
    return "".join(delimiter.join(map(str, row)) + end for row in rows)


TEXTS: dict[str, bytes] = {
    "plain.csv": text_of(PLAIN).encode(),
    "categories.csv": b"id,name\n3,Dogs\n4,Cats\n5,Birds\n",
    "kategorien.csv": "\ufeffid;name\r\n3;Hunde\r\n4;Katzen\r\n5;Vögel\r\n".encode(),
    "semicolon_bom.csv": text_of(PLAIN, ";", "\r\n").encode("utf-8-sig"),
    "pipe.csv": text_of(PLAIN, "|").encode(),
    "tabs.tsv": text_of(PLAIN, "\t").encode(),
    "tabs.csv": text_of(PLAIN, "\t").encode(),
    "cr_only.csv": text_of(PLAIN, ",", "\r").encode(),
    "unicode_text.txt": text_of(GERMAN, "\t", "\r\n").encode("utf-16"),
    "utf16_big_endian.csv": b"\xfe\xff" + text_of(PLAIN, ";", "\r\n").encode("utf-16-be"),
    "excel_text.txt": text_of(GERMAN, "\t", "\r\n").encode("cp1252"),
    "cp1252.csv": text_of(GERMAN, ";", "\r\n").encode("cp1252"),
    "cp1250.csv": "name;categoryId;status\r\nŻółw;3;sold\r\nKůň;4;available\r\n".encode("cp1250"),
    "german_titles.csv": text_of([["Tier", "Kategorie-Nr.", "Zustand"], *PLAIN[1:]], ";").encode(),
    "german_commas.csv": "Name;Kategorie;Status\nRex, der Große;3;sold\nMia, die Kleine;4;\n".encode(),
    "names_for_ids.csv": b"name,categoryId,status\nRex,Dogs,sold\nMia, cats ,available\nBo,BIRDS,\nUno,3,\n",
    "english_titles.csv": b"Pet name,Species,Status\nRex,Dogs,sold\nMia,Cats,available\n",
    "status_words.csv": b"name;categoryId;status\nRex;3;verkauft\nMia;4;Frei\nBo;5;VERKAUFT\n",
    "names_and_words.csv": b"name;categoryId;status\nRex;Hunde;verkauft\nMia;Katzen;frei\n",
    "status_case.csv": b"name,categoryId,status\nRex,3,Available\nMia,4,SOLD \n",
    "status_typo.csv": b"name,categoryId,status\nRex,3,avialable\nMia,4,sold\nBo,5,weg\n",
    "decimal_comma.csv": b"name;categoryId;status\nRex;7,0;sold\nMia; 8 ;sold\nBo;9.0;sold\n",
    "decimal_comma_quoted.csv": b'name,categoryId,status\nRex,"7,0",sold\nMia,8,sold\n',
    "thousands_point.csv": b"name;categoryId;status\nRex;1.000;sold\nMia;999;sold\nBo;1.234.567;sold\n",
    "thousands_comma.csv": b'name,categoryId,status\nRex,"1,000",sold\nMia,999,sold\n',
    "thousands_blank.csv": "name;categoryId;status\nRex;1\u00a0000;sold\nMia;2 000;sold\n".encode(),
    "no_status.csv": b"name,categoryId\nRex,3\nMia,4\n",
    "no_category.csv": b"name,status\nRex,sold\nMia,available\n",
    "empty_status.csv": b"name,categoryId,status\nRex,3,\nMia,4,sold\nBo,5, \n",
    "two_header_rows.csv": b"Animals of spring,,\n,,\nname,categoryId,status\nRex,3,sold\nMia,4,available\n",
    "group_titles.csv": b"Animal,,Sale\nname,categoryId,status\nRex,3,sold\nMia,4,available\n",
    "row_of_hints.csv": b"name,categoryId,status\nrequired,required,optional\nRex,3,sold\nMia,4,available\n",
    "sep_line.csv": b"sep=;\r\n" + text_of(PLAIN, ";", "\r\n").encode(),
    "all_quoted.csv": b'"name";"categoryId";"status"\r\n"Rex";"3";"sold"\r\n"Mia";"4";"available"\r\n',
    "html_table.xls": b"<html><table><tr><td>name</td><td>categoryId</td></tr></table></html>",
    "text.xls": text_of(PLAIN, "\t", "\r\n").encode("cp1252"),
    "errors_as_text.csv": b"name;categoryId;status\nRex;3;sold\n#N/A;4;sold\nBo;#WERT!;sold\n",
    "totals_row.csv": b"name;categoryId;status\nRex;3;sold\nMia;4;available\nSumme:;7;\n",
    "trailing_note.csv": b"name;categoryId;status\nRex;3;sold\nMia;4;available\n\nAs of March;;\n",
    "short_rows.csv": b"name,categoryId,status,note\nRex,3,sold,big\nMia,4\nBo,5,available\n",
    "short_row_without_category.csv": b"name,categoryId,status\nRex,3,sold\nMia\nBo,5,available\n",
    "long_row.csv": b"name,categoryId,status\nRex,3,sold\nMia,4,sold,9,9\nBo,5,available\n",
    "trailing_delimiters.csv": b"name;categoryId;status;;\nRex;3;sold;;\nMia;4;available;;\n",
    "no_header.csv": b"Rex,3,sold\nMia,4,available\n",
    "header_repeated.csv": b"name,categoryId,status\nRex,3,sold\nname,categoryId,status\nMia,4,sold\n",
    "blanks_in_names.csv": "name,categoryId,status\n Rex ,3,sold\n\xa0Mia\xa0,\xa04,sold\xa0\n".encode(),
    "emoji_and_rtl.csv": "name,categoryId,status\n🐶 Rex,3,sold\nكلب,4,available\nכלב,5,\n".encode(),
    "quoted_lines.csv": b'name,categoryId,status\n"Rex\nthe ""first""",3,sold\n"Mia, small",4,sold\n',
    "odd_names.csv": b"name,categoryId,status\nNA,3,sold\n007,4,sold\n=A1,5,sold\nNone,3,\n",
    "two_columns_one_title.csv": b"Name,Name,categoryId\n1001,Rex,3\n1002,Mia,4\n",
    "other_order.csv": b"price,STATUS,note,Category ID,Name\n12,sold,x,3,Rex\n13,available,y,4,Mia\n",
    "unknown_category.csv": b"name,categoryId,status\nRex,Dgos,sold\nMia,Cats,sold\nBo,99,\nUno,Horses,\n",
    "quote_never_closed.csv": b'name,categoryId,status\nRex,3,sold\n"Mia,4,sold\nBo,5,available\n',
    "empty_names.csv": b"name,categoryId,status\n,3,sold\nMia,4,sold\n",
    "pipe_export.txt": b"id|pet_name|category_id|status\n17|Rex|3|sold\n18|Mia|4|available\n",
    "unmarked.txt": text_of(GERMAN, "\t", "\r\n").encode("utf-16-le"),
    "unmarked_big_endian.csv": text_of(PLAIN, ";", "\r\n").encode("utf-16-be"),
    "czech.csv": "name;categoryId;status\r\nŤapka;3;sold\r\nKůň;4;available\r\n".encode("cp1250"),
    "french.csv": "name;categoryId;status;Prix\r\nMédor;1\u00a0003;vendu;1\u00a0234,50\r\n".encode(
        "cp1252"
    ),
    "google_total.csv": b"name,categoryId,status,price\nRex,3,sold,1\nMia,4,available,2\n,,,\nTOTAL,2,,3\n",
    "lines_in_titles.csv": b'"Pet\nname","Category\r\nID",Status\nRex,3,sold\nMia,4,available\n',
    "sep_caret.csv": b"sep=^\r\nname^categoryId^status\r\nRex, Max; Moritz^3^sold\r\n",
    "comments.csv": b"# exported by the shop\n# on Monday\nname,categoryId,status\nRex,3,sold\n",
    "table_name.csv": b"Table 1\nname,categoryId,status\nRex,3,sold\nMia,4,available\n",
    "letter_above.csv": b"Dear all,\n" * 15
    + b"name,categoryId,status\nRex,3,sold\nMia,4,available\n",
    "unknown_titles.csv": b"Stock of spring;;\nBez., kurz;Sorte;frei, seit\nRex, gross;3;2026\nMia;4;2025\n",
    "no_value.csv": b"name,categoryId,status\nRex,3,n/a\nMia,4,N/A \nBo,5,sold\n",
    "one_column.csv": b"name\nRex\nMia\n",
    "blank_lines.csv": b"name,categoryId,status\n\nRex,3,sold\n,,\n\nMia,4,available",
}


def write_rows(sheet: Any, rows: Rows, *, row: int = 0, column: int = 0, day: Any = None) -> None:
    """Write typed cells from a place on."""
    for down, cells in enumerate(rows, row):
        for across, cell in enumerate(cells, column):
            if isinstance(cell, date):
                sheet.write_datetime(down, across, datetime(cell.year, cell.month, cell.day), day)
            elif isinstance(cell, str):
                sheet.write_string(down, across, cell)
            else:
                sheet.write(down, across, cell)


def plain(book: Any) -> None:
    """Numbers are numbers."""
    write_rows(book.add_worksheet("animals"), PLAIN)


def formatted_numbers(book: Any) -> None:
    """Numbers that Excel shows as `3.00` and `1.000`: a format is no part of a value."""
    sheet = book.add_worksheet("animals")
    write_rows(sheet, PLAIN)
    sheet.write_number("B2", 3, book.add_format({"num_format": "0.00"}))
    sheet.write_number("B3", 4000, book.add_format({"num_format": "#,##0"}))


def numbers_as_text(book: Any) -> None:
    """What a green corner in Excel marks, beside names that are numbers."""
    rows = [PLAIN[0], ["Rex", "3", "sold"], [7, " 4 ", "available"], ["007", "5.0", ""]]
    write_rows(book.add_worksheet("animals"), rows)


def merged_header(book: Any) -> None:
    """A title across three columns above the header."""
    sheet = book.add_worksheet("animals")
    sheet.merge_range("A1:C1", "Animals of spring")
    write_rows(sheet, PLAIN, row=1)


def merged_titles(book: Any) -> None:
    """A title of the header that covers two columns: the second of them has none."""
    sheet = book.add_worksheet("animals")
    write_rows(
        sheet,
        [["", "", "categoryId", "status"], ["Rex", "brown", 3, "sold"], ["Mia", "white", 4, ""]],
    )
    sheet.merge_range("A1:B1", "name")


def hidden_rows(book: Any) -> None:
    """A filter hides what is sold."""
    sheet = book.add_worksheet("animals")
    write_rows(sheet, PLAIN)
    sheet.set_row(1, options={"hidden": True})


def formulas(book: Any) -> None:
    """Values as Excel saved them."""
    sheet = book.add_worksheet("animals")
    write_rows(sheet, PLAIN)
    sheet.write_formula("B2", "=1+2", None, 3)
    sheet.write_formula("A3", '=CONCATENATE("Mi","a")', None, "Mia")


def unsaved_formula(book: Any) -> None:
    """A program wrote the formula, and nobody opened the file since."""
    formulas(book)
    book.worksheets()[0].write_formula("B4", "=2+3", None, "")


def error_cells(book: Any) -> None:
    """A lookup that found nothing."""
    sheet = book.add_worksheet("animals")
    write_rows(sheet, PLAIN)
    sheet.write_formula("B2", "=NA()", None, "#N/A")
    sheet.write_formula("A4", "=#REF!", None, "#REF!")


def dates(book: Any) -> None:
    """Excel took `Mar 1` for a date, and TRUE for a boolean."""
    rows = [
        PLAIN[0],
        [date(2026, 3, 1), 3, "sold"],
        ["Mia", date(2026, 3, 4), "sold"],
        [True, 5, "sold"],
        ["Bo", 5, ""],
    ]
    write_rows(
        book.add_worksheet("animals"), rows, day=book.add_format({"num_format": "yyyy-mm-dd"})
    )


def fractions(book: Any) -> None:
    """Numbers that are not whole, or too large for a spreadsheet to keep."""
    write_rows(
        book.add_worksheet("animals"),
        [PLAIN[0], ["Rex", 3.5, "sold"], ["Mia", 1e17, ""], ["Bo", 5.0, ""]],
    )


def several_sheets(book: Any) -> None:
    """Two sheets of animals and one of notes."""
    write_rows(book.add_worksheet("Notes"), [["Call the vet"], ["on Monday"]])
    write_rows(book.add_worksheet("Spring"), PLAIN[:2])
    write_rows(book.add_worksheet("Autumn"), [PLAIN[0], *PLAIN[2:]])


def totals(book: Any) -> None:
    """A sum below the animals."""
    sheet = book.add_worksheet("animals")
    write_rows(sheet, [*PLAIN, ["Gesamt"]])
    sheet.write_formula("B5", "=COUNT(B2:B4)", None, 3)


def far_from_a1(book: Any) -> None:
    """The table begins in C4."""
    write_rows(book.add_worksheet("animals"), PLAIN, row=3, column=2)


def german(book: Any) -> None:
    """German titles, and names of categories."""
    write_rows(book.add_worksheet("Bestand"), GERMAN)


def two_titles(book: Any) -> None:
    """A running number and a name under one title."""
    write_rows(
        book.add_worksheet("animals"),
        [["Tier", "Tier", "categoryId"], [1, "Rex", 3], [2, "Mia", 4]],
    )


def hidden_sheet(book: Any) -> None:
    """A hidden sheet would pass for animals."""
    write_rows(book.add_worksheet("animals"), PLAIN)
    sheet = book.add_worksheet("archive")
    write_rows(sheet, [PLAIN[0], ["Old", 3, "sold"]])
    sheet.hide()


def title_rows(book: Any) -> None:
    """Two rows of merged titles above the header, and a merged name."""
    sheet = book.add_worksheet("Tiere")
    sheet.merge_range("A1:C1", "Animals of spring")
    sheet.merge_range("A2:B2", "Animal")
    write_rows(sheet, [*PLAIN, ["", 6, "sold"]], row=2)
    sheet.merge_range("A6:A7", "Bo")


def table_total(book: Any) -> None:
    """A table with a row of totals, from B2 on."""
    columns = [{"header": title} for title in PLAIN[0]]
    sheet = book.add_worksheet("animals")
    sheet.add_table("B2:D6", {"columns": columns, "data": PLAIN[1:], "total_row": True})
    sheet.write_string("B6", "Total")


def gaps(book: Any) -> None:
    """Hundreds of empty rows between the animals, and formats far below."""
    sheet = book.add_worksheet("animals")
    write_rows(sheet, PLAIN[:2])
    write_rows(sheet, PLAIN[2:], row=400)
    sheet.write_blank(5000, 2, None, book.add_format({"bg_color": "yellow"}))


def born(book: Any) -> None:
    """A column of dates that is not sent, and a date that was typed for an id."""
    rows = [[*PLAIN[0], "born"], [*PLAIN[1], date(2024, 1, 2)], ["Mia", date(2026, 4, 1), "", ""]]
    write_rows(
        book.add_worksheet("animals"), rows, day=book.add_format({"num_format": "dd.mm.yyyy"})
    )


WORKBOOKS: dict[str, Callable[[Any], None]] = {
    f"{make.__name__}.xlsx": make
    for make in (
        plain,
        formatted_numbers,
        numbers_as_text,
        merged_header,
        merged_titles,
        hidden_rows,
        formulas,
        unsaved_formula,
        error_cells,
        dates,
        fractions,
        several_sheets,
        totals,
        far_from_a1,
        german,
        two_titles,
        hidden_sheet,
        title_rows,
        table_total,
        gaps,
        born,
    )
} | {"plain.xlsm": plain}
CONVERTED = {
    "plain.xls": "plain.xlsx",
    "german.xls": "german.xlsx",
    "plain.ods": "plain.xlsx",
    "hidden_rows.ods": "hidden_rows.xlsx",
    "error_cells.ods": "error_cells.xlsx",
    "dates.xls": "dates.xlsx",
    "gaps.ods": "gaps.xlsx",
    "born.xls": "born.xlsx",
}
BINARY: dict[str, Rows] = {"plain.xlsb": PLAIN, "german.xlsb": GERMAN}


def write_texts(folder: Path) -> None:
    """Write what is made of bytes."""
    for name, content in TEXTS.items():
        (folder / name).write_bytes(content)


def write_workbooks(folder: Path) -> None:
    """Write what XlsxWriter makes, without a date, so that the bytes repeat."""
    for name, make in WORKBOOKS.items():
        with xlsxwriter.Workbook(folder / name) as book:
            book.set_properties({"created": datetime(2026, 1, 1)})
            make(book)


def convert(folder: Path) -> None:
    """Let LibreOffice write other formats."""
    soffice = shutil.which("soffice") or sys.exit("LibreOffice (soffice) is not installed")
    for name, source in CONVERTED.items():
        with tempfile.TemporaryDirectory() as there:
            profile = f"-env:UserInstallation={Path(there).as_uri()}/profile"
            command = [
                soffice,
                profile,
                "--headless",
                "--convert-to",
                name[-3:],
                "--outdir",
                there,
                folder / source,
            ]
            subprocess.run(command, check=True, capture_output=True)
            shutil.copy(Path(there) / f"{Path(source).stem}{Path(name).suffix}", folder / name)


def write_binary(folder: Path) -> None:
    """Write .xlsb: text and numbers is all that its writer knows."""
    from pyxlsbwriter import XlsbWriter

    for name, rows in BINARY.items():
        with XlsbWriter(str(folder / name)) as book:
            book.add_sheet("animals")
            book.write_sheet([list(row) for row in rows])


def main() -> None:
    """Write the files that come from here, with --all those of other programs, too."""
    FILES.mkdir(exist_ok=True)
    write_texts(FILES)
    write_workbooks(FILES)
    if "--all" in sys.argv:
        convert(FILES)
        write_binary(FILES)


if __name__ == "__main__":
    main()
