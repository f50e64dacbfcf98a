"""CSV files as people have them."""

from pathlib import Path

import pytest

from petstore_tools.errors import SheetError
from petstore_tools.importing import sheet as sheets
from petstore_tools.importing.sheet import read_table
from petstore_tools.importing.values import BadRow, Row
from petstore_tools.tabular.atomic import replace_file
from petstore_tools.tabular.cells import MalformedLine, escape_formula, unescape_formula
from petstore_tools.tabular.text_files import CsvSource, read_csv, records, write_csv


def table(tmp_path: Path, content: bytes, name: str = "pets.csv") -> sheets.Table:
    path = tmp_path / name
    path.write_bytes(content)
    return read_table(path)


@pytest.mark.case("P44")
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_encoding_delimiter_and_line_ending_are_found(
    tmp_path: Path, encoding: str, ending: str, delimiter: str
) -> None:
    """Whatever program saved it: the same animal, with or without a last newline."""
    text = (
        delimiter.join(["name", "categoryId", "status"])
        + ending
        + delimiter.join(["Zoë", "3", "sold"])
    )

    found = table(tmp_path, text.encode(encoding))

    rows = list(found.rows())
    assert isinstance(rows[0], Row)
    assert rows[0].content == ("Zoë", 3, "sold")
    assert isinstance(found.source, CsvSource)
    assert (found.source.delimiter, found.source.line_ending) == (delimiter, ending)


@pytest.mark.parametrize(
    ("name", "text", "delimiter"),
    [
        ("pets.csv", "Bez., kurz;Sorte\nRex, gross;3\nMia;4\n", ";"),  # a comma is in fewer rows
        ("pets.csv", "Sorte;kurz, klein;x\n3;Rex, der;y\n", ";"),  # as many rows, but more cells
        ("pets.csv", "Sorte|Tier;alt\n3|Rex;1\n", ";"),  # the first of those that are as good
        ("pets.csv", "Sorte,Tier;alt\n3,Rex;1\n", ","),
        ("pets.csv", "Notes of spring\n,,\nTier;Sorte;Alter\nRex;3;1\nMia;4;2\n", ";"),
        ("pets.csv", "Tier\nRex\n", ","),  # no sign at all: the usual one
        ("pets.tsv", "Tier,Sorte\tx\nRex,3\ty\n", ","),  # whatever its name says
    ],
)
def test_the_delimiter_is_the_one_that_splits_most_rows_alike(
    tmp_path: Path, name: str, text: str, delimiter: str
) -> None:
    """No title is known, so the number of cells alone tells."""
    path = tmp_path / name
    path.write_text(text)

    assert read_csv(path, None)[0].delimiter == delimiter


def test_a_refusal_is_about_the_likeliest_header(tmp_path: Path) -> None:
    """The row with most known titles, or two of one title; of equal ones that with most cells."""
    known = "Stock list of 2026,a,b,c\nTier,Art,,\nRex,3,brown,2024\n"
    widest = "Stock list\nBez,Sorte,Alter\nRex,3,1\n"
    twice = "Stock\nName,Name,categoryId,\n1001,Rex,3,x\n"

    for text, said in (
        (known, "has 'Tier', 'Art'"),
        (widest, "has 'Bez', 'Sorte'"),
        (twice, "A 'Name' and B"),
    ):
        with pytest.raises(SheetError) as refused:
            table(tmp_path, text.encode())
        assert said in str(refused.value)


@pytest.mark.case("P50")
def test_what_was_found_and_may_surprise_is_told(tmp_path: Path) -> None:
    """
    A guess about encoding, a header further down, columns that are not sent, a missing status.
    """
    found = table(tmp_path, "Stock list\n\nname,categoryId,State\nZoë,3,sold\n".encode("cp1252"))

    assert found.notes == (
        "read as cp1252: it is not UTF-8",
        "the encoding was guessed, and names read so: 'Zoë'; if a letter is wrong, save the file as "
        'CSV UTF-8, or name its encoding: encoding="…"',
        "the header is in row 3",
        "not sent: C 'State'",
        '\'State\' may be status; if this is meant: columns={"State": "status"}',
        "no column for status: the animals will have none, and it cannot be added later",
    )


@pytest.mark.case("P44")
def test_mixed_encodings_are_read_line_by_line_and_told(tmp_path: Path) -> None:
    """Two files pasted together: both names are right, and the note names the lines."""
    content = "name,categoryId\nZoë,3\n".encode() + "Chloé,4\n".encode("cp1252")

    found = table(tmp_path, content)

    assert [row.content.name for row in found.rows() if isinstance(row, Row)] == ["Zoë", "Chloé"]
    assert "encodings are mixed: UTF-8, but cp1252 in line 3" in found.notes


@pytest.mark.case("P45")
def test_rows_are_numbered_as_the_spreadsheet_does(tmp_path: Path) -> None:
    """Blank lines and line breaks inside quotes count as the spreadsheet counts them."""
    found = table(tmp_path, b'\nname,categoryId\n"two\nlines",1\n\nRex,2\n')

    assert found.header_row == 2
    assert [row.number for row in found.rows() if isinstance(row, Row)] == [3, 5]


def test_line_separators_of_unicode_do_not_split_rows(tmp_path: Path) -> None:
    """U+2028 and a vertical tab are characters of a name."""
    found = table(tmp_path, "name,categoryId\nRex\u2028Max\x0b,2\n".encode())

    assert [row.content.name for row in found.rows() if isinstance(row, Row)] == [
        "Rex\u2028Max\x0b"
    ]


def test_a_quote_that_is_never_closed_costs_one_row() -> None:
    """The line is named, the lines behind it are read."""
    found = list(records('name,categoryId\n"Rex,1\nMia,2\n', ","))

    assert isinstance(found[1][1], MalformedLine)
    assert (found[1][0], found[1][1].line) == (2, '"Rex,1')
    assert found[1][1].why == "has a quotation mark that is never closed"
    assert found[2] == (3, ["Mia", "2"])


def test_text_behind_a_closing_quote_is_named_not_glued() -> None:
    """`"Rex" the dog` is no cell that can be read for sure."""
    found = list(records('"Rex" the dog,1\nMia,2\n', ","))

    assert isinstance(found[0][1], MalformedLine)
    assert found[1] == (2, ["Mia", "2"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"  \n\n", "is empty"),
        (b"animal,kind\nRex,1\n", "no column for name and categoryId"),
        (b"name,colour\nRex,1\n", "no column for categoryId"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path: Path, content: bytes, message: str) -> None:
    """One sentence, with the name of the file."""
    with pytest.raises(SheetError, match=message):
        table(tmp_path, content)


def test_other_formats_and_missing_files_are_refused(tmp_path: Path) -> None:
    """The message says what to do."""
    with pytest.raises(SheetError, match="save the sheet as one of these"):
        table(tmp_path, b"x", "pets.doc")
    with pytest.raises(SheetError, match="no file pets.csv"):
        read_table(tmp_path / "pets.csv")


@pytest.mark.case("P43")
@pytest.mark.parametrize("cell", ["=1+1", "+7", "-7", "@x", "\tx", "'=1", "'plain", "plain", ""])
def test_an_escaped_cell_runs_nothing_and_comes_back(cell: str) -> None:
    """Escaping is undone exactly."""
    assert not escape_formula(cell).startswith(("=", "+", "-", "@", "\t"))
    assert unescape_formula(escape_formula(cell)) == cell


@pytest.mark.case("P40")
def test_every_written_cell_reads_back_to_the_same_text(tmp_path: Path) -> None:
    """Newlines, quotes, delimiters, tabs and U+2028 included."""
    cells = ["a\nb", 'say "hi"', "x;y,z", "tab\t", "\u2028", " spaced ", "", "a\r\nb", "0012"]

    write_csv(
        tmp_path / "out.csv",
        [str(n) for n in range(len(cells))],
        [cells],
        delimiter=";",
        line_ending="\r\n",
    )

    text = (tmp_path / "out.csv").read_bytes().decode()
    assert list(records(text, ";"))[1][1] == cells


@pytest.mark.case("P54")
def test_a_file_is_replaced_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dying before the move leaves the old file and no other."""
    path = tmp_path / "report.html"
    replace_file(path, b"old")

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("petstore_tools.tabular.atomic.os.replace", die)
    with pytest.raises(KeyboardInterrupt):
        replace_file(path, b"new")

    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    assert path.read_bytes() == b"old"


GOOD = ("Rex", 3, "sold")
H = "name,categoryId,status\n"
HOSTILE: dict[str, tuple[bytes, list[object]]] = {
    "short row": (f"{H}Rex,3,sold\nMia\nRex,3,sold\n".encode(), [GOOD, "has 1 cell ", GOOD]),
    "short by a status": (
        f"{H}Rex,3,sold\nMia,4\nRex,3,sold\n".encode(),
        [GOOD, ("Mia", 4, None), GOOD],
    ),
    "long row": (
        f"{H}Rex,3,sold\nMia,4,sold,x\nRex,3,sold\n".encode(),
        [GOOD, "has 4 cells", GOOD],
    ),
    "trailing comma on every row": (
        b"name,categoryId,status,\nRex,3,sold,\nRex,3,sold,\n",
        [GOOD, GOOD],
    ),
    "blank line inside": (f"{H}Rex,3,sold\n\nRex,3,sold\n".encode(), [GOOD, None, GOOD]),
    "BOM": (f"{H}Rex,3,sold\n".encode("utf-8-sig"), [GOOD]),
    "CRLF": (f"{H}Rex,3,sold\n".replace("\n", "\r\n").encode(), [GOOD]),
    "CR only": (f"{H}Rex,3,sold\n".replace("\n", "\r").encode(), [GOOD]),
    "cp1252 name": (f"{H}Zoë,3,sold\n".encode("cp1252"), [("Zoë", 3, "sold")]),
    "semicolons": (f"{H}Rex,3,sold\n".replace(",", ";").encode(), [GOOD]),
    "UTF-16": (f"{H}Rex,3,sold\n".encode("utf-16"), [GOOD]),
    "quote never closed": (
        f'{H}Rex,3,sold\n"Mia,4,sold\nRex,3,sold\n'.encode(),
        [GOOD, "never closed", GOOD],
    ),
    "bare quote in a name": (f'{H}Re"x,3,sold\n'.encode(), [('Re"x', 3, "sold")]),
    "NUL byte": (f"{H}Re\0x,3,sold\nRex,3,sold\n".encode(), ["NUL", GOOD]),
    "newline inside quotes": (
        f'{H}"Re\nx",3,sold\nRex,3,sold\n'.encode(),
        [("Re\nx", 3, "sold"), GOOD],
    ),
    "names NA and None": (
        f"{H}NA,3,sold\nNone,3,sold\n".encode(),
        [("NA", 3, "sold"), ("None", 3, "sold")],
    ),
    "padded header": (b" name , categoryId , status \nRex,3,sold\n", [GOOD]),
    "columns in another order": (b"status,name,categoryId\nsold,Rex,3\n", [GOOD]),
    "header repeated in the middle": (
        f"{H}Rex,3,sold\n{H}Rex,3,sold\n".encode(),
        [GOOD, "header again", GOOD],
    ),
}


@pytest.mark.case("P44a")
@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_file_is_answered_row_by_row(tmp_path: Path, kind: str) -> None:
    """19 of them: none refused whole, none read wrongly, rows numbered from 2 on without a gap."""
    content, expected = HOSTILE[kind]

    rows = list(table(tmp_path, content).rows())

    for number, (row, wanted) in enumerate(zip(rows, expected, strict=True), start=2):
        if isinstance(wanted, str):
            assert isinstance(row, BadRow)
            assert (row.number, row.origin) == (number, number)
            assert wanted in row.why
        else:
            assert (row.content if isinstance(row, Row) else row) == wanted
            assert not isinstance(row, Row) or row.number == number


def test_a_file_that_is_missing_is_named_with_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it was looked for in the current one."""
    monkeypatch.chdir(tmp_path)

    with pytest.raises(SheetError) as raised:
        read_table(Path("none.csv"), None)

    assert str(raised.value) == f"there is no file none.csv in the folder {Path.cwd()}"
