"""Problems by what fixes them."""

from __future__ import annotations

from petstore_tools.importing.preview import LINES, group, lines
from petstore_tools.importing.values import RowProblem
from petstore_tools.tabular.cells import FrameRow


def problem(
    row: int, value: str, rule: str = "is a name, not an id", help_: str = "--categories FILE"
) -> RowProblem:
    """Return a problem in column B."""
    return RowProblem(row, "B", "categoryId", value, rule, help_)


def test_a_thousand_problems_with_one_fix_are_one_line() -> None:
    """The largest group first; values by how often they are met, rows as ranges."""
    names = [
        problem(row, ["Dogs", "Cats", "Dogs", "Fish", "Cats", "Birds", "Mice"][row % 7])
        for row in range(100, 1000)
    ]
    typos = [
        RowProblem(row, "C", "status", "avialable", "is not a status", "did you mean 'available'?")
        for row in (14, *range(29, 58))
    ]

    assert lines(group(typos + names)) == [
        "900 rows (100\u2013999): column B 'Dogs', 'Cats', 3 more are names, not ids → --categories FILE",
        "30 rows (14, 29\u201357): column C 'avialable' → 'available'?",
    ]


def test_each_bad_row_counts_under_its_first_problem() -> None:
    """So the counts add up to the bad rows."""
    problems = [
        problem(2, "Dogs"),
        RowProblem(2, "C", "status", "x", "is not a status", "use sold"),
        problem(3, "Cats"),
    ]

    fixes = group(problems)

    assert [(fix.rule, fix.rows) for fix in fixes] == [("is a name, not an id", [2, 3])]


def test_whole_rows_and_empty_cells_read_well() -> None:
    """One row is singular, a blank cell is not shown, and a long one is cut."""
    whole = [
        RowProblem(row, "", "", "Rex,3", "has 2 cells where the header has 3", "check it")
        for row in (4, 9)
    ]
    fixes = group(
        [
            *whole,
            problem(11, " ", "is empty", "give one"),
            problem(15, "", "is empty", "give one"),
            problem(12, "x" * 50, "is not a known category", "add it"),
        ]
    )

    assert lines(fixes) == [
        "2 rows (4, 9): have 2 cells where the header has 3 → check it",
        "2 rows (11, 15): column B is empty → give one",
        f"1 row (12): column B '{'x' * 40}…' is not a known category → add it",
    ]


def test_a_million_bad_rows_print_at_most_fifteen_lines() -> None:
    """The last line holds the rest, and every row counts in one of them."""
    problems = [problem(row, "x", help_=f"help {row % 100}") for row in range(0, 20_000, 2)]

    shown = lines(group(problems))

    assert len(shown) == LINES
    assert shown[0].startswith("200 rows (0, 100, 200, 300, 400, …): column B 'x' ")
    assert shown[-1] == "7,200 rows: 36 more problems → --dry-run --json shows each row"
    assert len(lines(group(problems)[:LINES])) == LINES


def test_rows_of_a_frame_are_named_by_their_labels() -> None:
    """As everywhere else."""
    problems = [problem(FrameRow(2, "x1"), "Dogs"), problem(FrameRow(3, "x2"), "Dogs")]

    assert "2 rows ('x1'\u2013'x2')" in lines(group(problems))[0]


def test_a_group_is_a_row_of_a_table() -> None:
    """With up to ten values."""
    record = group([problem(7, "Dogs"), problem(8, "Cats"), problem(9, "Dogs")])[0].record()

    assert record == {
        "rows": 3,
        "row": 7,
        "column": "B",
        "field": "categoryId",
        "values": "'Dogs', 'Cats'",
        "rule": "is a name, not an id",
        "help": "--categories FILE",
    }
