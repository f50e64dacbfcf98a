"""Cells to animals, or to problems that can be fixed."""

import pytest

from petstore_tools.importing.titles import read_titles
from petstore_tools.importing.values import (
    BadRow,
    Match,
    Matcher,
    Row,
    RowProblem,
    ValueRules,
    count_matches,
    read_rows,
)
from petstore_tools.tabular.cells import column_letter

COLUMNS = read_titles(["name", "categoryId", "status"])


def read(name: str = "Rex", category: str = "3", status: str = "") -> Row | list[RowProblem]:
    row = read_cells(14, [name, category, status])
    assert row is not None
    return row


def read_cells(number: int, cells: list[str]) -> Row | list[RowProblem] | None:
    """Read a row twice, since cells that are known take a shorter way: both give the same."""
    first, second = read_rows([(number, cells)] * 2, COLUMNS, Matcher(ValueRules(delimiter=",")))
    assert first == second
    return first.problems if isinstance(first, BadRow) else first


@pytest.mark.case("P47")
@pytest.mark.parametrize(
    "name",
    [
        "NA",
        "null",
        "None",
        "nan",
        "TRUE",
        "007",
        "1e5",
        "=A1",
        "  Rex ",
        "\xa0Rex\xa0",
        "🐕",
        "x" * 10_000,
    ],
)
def test_a_name_is_sent_as_typed(name: str) -> None:
    """No name is a missing value, a number, a formula or too long; spaces stay."""
    row = read(name=name)

    assert isinstance(row, Row)
    assert row.content.name == name


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("7", 7),
        (" 7 ", 7),
        ("7.0", 7),
        ("-1", -1),
        ("007", 7),
        ("9007199254740993", 2**53 + 1),
        ("\xa07", 7),
    ],
)
@pytest.mark.case("P48")
def test_whole_numbers_are_read_exactly(cell: str, value: int) -> None:
    """Ids keep all digits of int64."""
    row = read(category=cell)

    assert isinstance(row, Row)
    assert row.content.category_id == value


@pytest.mark.parametrize(
    ("cell", "rule"),
    [
        ("", "is empty"),
        ("7,0", "is not a whole number"),
        ("1E+10", "is not a whole number"),
        ("1_000", "is not a whole number"),
        ("+7", "is not a whole number"),
        ("7a", "is not a whole number"),
        ("٣", "is not a whole number"),
        ("7.5", "is not a whole number"),
        ("9007199254740993.0", "may have been rounded"),
        (str(2**63), "is too large"),
        ("9" * 5_000, "is too large"),
    ],
)
@pytest.mark.case("P48")
def test_what_is_no_whole_number_is_named_and_never_rounded(cell: str, rule: str) -> None:
    """A problem says row, column, field, the cell as typed, and the rule."""
    problems = read(category=cell)

    assert isinstance(problems, list)
    assert [(p.row, p.column, p.field, p.value, p.rule) for p in problems] == [
        (14, "B", "categoryId", cell, rule)
    ]


@pytest.mark.parametrize(
    ("cell", "status"), [("", None), ("  ", None), ("SOLD ", "sold"), ("Available", "available")]
)
@pytest.mark.case("P49")
def test_a_status_is_matched_without_case_and_spaces_and_may_be_empty(
    cell: str, status: str | None
) -> None:
    """An empty cell means that the field is not sent (§2.1)."""
    row = read(status=cell)

    assert isinstance(row, Row)
    assert row.content.status == status


def test_a_status_read_differently_is_told() -> None:
    """It is counted, never silent."""
    matcher = Matcher(ValueRules())

    rows = [
        row
        for row in read_rows(
            [(number, ["Rex", "3", "SOLD "]) for number in (2, 3)], COLUMNS, matcher
        )
        if isinstance(row, Row)
    ]

    matches = count_matches(rows, COLUMNS, matcher)
    assert [str(match) for match in matches] == ["status: 'SOLD ' is read as 'sold' in 2 rows"]


def test_each_distinct_cell_is_listed_once_with_its_count() -> None:
    """
    The most frequent first; no cell that is read as typed, and none of a row that is not sent.
    """
    matcher = Matcher(
        ValueRules(categories={3: "Dogs", 8: "Fish", 9: "fish"}, defaults={"status": "sold"})
    )
    cells = [
        ("Dogs", "SOLD"),
        ("dogs", ""),
        ("Dogs", ""),
        ("3", ""),
        ("Fish", "SOLD"),
        ("none", ""),
    ]
    records = [(number, ["Rex", *typed]) for number, typed in enumerate(cells, start=2)]

    rows = [row for row in read_rows(records, COLUMNS, matcher) if isinstance(row, Row)]

    assert count_matches(rows, COLUMNS, matcher) == [
        Match("status", "", "sold", "default", 3),
        Match("categoryId", "Dogs", 3, "matched name", 2),
        Match("categoryId", "dogs", 3, "matched name", 1),
        Match("status", "SOLD", "sold", "matched word", 1),
    ]


@pytest.mark.case("P49")
def test_a_misspelt_status_gets_a_suggestion() -> None:
    """The message is fit to act on."""
    problems = read(status="avialable")

    assert isinstance(problems, list)
    assert str(problems[0]) == (
        "row 14, column C (status): 'avialable' is not a status; did you mean 'available'?"
    )


def test_all_problems_of_a_row_are_told_at_once() -> None:
    """Three bad cells are three problems."""
    problems = read(name=" ", category="cats", status="gone")

    assert isinstance(problems, list)
    assert [p.field for p in problems] == ["name", "categoryId", "status"]


@pytest.mark.parametrize("cells", [["Rex"], ["Rex", "3", "", "more"], [" "] * 3 + ["Rex"]])
@pytest.mark.case("P46")
def test_a_ragged_row_is_a_problem_of_its_own(cells: list[str]) -> None:
    """Too few for what is required, or too many cells: the row is reported, nothing is shifted."""
    problems = read_cells(2, cells)

    assert isinstance(problems, list)
    assert "where the header has 3" in problems[0].rule


def test_a_row_that_only_lacks_its_status_is_whole() -> None:
    """A spreadsheet program leaves empty cells at the end of a row out."""
    row = read_cells(2, ["Rex", "3"])

    assert isinstance(row, Row)
    assert (row.content, row.cells) == (("Rex", 3, None), ("Rex", "3", ""))


def test_trailing_empty_cells_do_no_harm() -> None:
    """A comma at the end of every row is common."""
    assert isinstance(read_cells(2, ["Rex", "3", "", "", ""]), Row)


@pytest.mark.case("P45")
def test_a_blank_row_is_nothing() -> None:
    """Blank rows are skipped, and are not the end of the file."""
    assert read_cells(2, ["", "  ", ""]) is None
    assert read_cells(2, []) is None


def test_a_header_in_the_middle_is_named() -> None:
    """Files pasted together repeat their header."""
    problems = read_cells(9, [" name", "categoryId", "status "])

    assert isinstance(problems, list)
    assert problems[0].rule == "is the header again"


def test_columns_are_lettered_as_spreadsheets_do() -> None:
    """A, Z, AA, AZ, BA."""
    assert [column_letter(at) for at in (0, 25, 26, 51, 52, 701, 702)] == [
        "A",
        "Z",
        "AA",
        "AZ",
        "BA",
        "ZZ",
        "AAA",
    ]
