"""The outcomes of rows: what an answer means, and which row is which when a file comes again."""

import pytest

from petstore_tools.importing.matching import is_another_file, merge
from petstore_tools.importing.row_states import Entry, Outcome, State, judge
from petstore_tools.importing.values import Row

REX = ("Rex", 3, "sold")
PET = b'{"id":17,"name":"Rex","categoryId":3,"status":"sold"}'
ERROR = b'{"code":"invalid_body","message":"no","status":400}'


@pytest.mark.parametrize(
    ("status", "body", "state"),
    [
        (201, PET, "created"),
        (400, ERROR, "rejected"),
        (413, b"", "rejected"),
        (422, b"{}", "rejected"),
        (404, ERROR, "unsent"),
        (405, b"<html>", "unsent"),
        (403, b"", "unsent"),
        (500, ERROR, "unknown"),
        (504, b"", "unknown"),
        (200, PET, "unknown"),
        (204, b"", "unknown"),
    ],
)
def test_each_answer_means_one_outcome(status: int, body: bytes, state: State) -> None:
    """400 is the row's fault, other 4xx are ours, and 5xx tells nothing (§4.2, §7)."""
    assert judge(status, body, REX).state == state


@pytest.mark.case("P42")
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"{}",
        b'{"name":"Rex","categoryId":3,"status":"sold"}',
        b'{"id":"17","name":"Rex","categoryId":3,"status":"sold"}',
        b'{"id":17,"name":"Max","categoryId":3,"status":"sold"}',
        b'{"id":17,"name":"Rex","categoryId":4,"status":"sold"}',
        b'{"id":17,"name":"Rex","categoryId":3,"status":"pending"}',
    ],
)
def test_a_201_that_does_not_show_the_animal_is_unknown(body: bytes) -> None:
    """Something was created; whether it is this row is not known."""
    assert judge(201, body, REX).state == "unknown"


def test_a_service_may_fill_in_a_status_that_was_not_sent() -> None:
    """The document states no default (§2.1), so any is accepted."""
    assert judge(201, PET, ("Rex", 3, None)) == Outcome("created", 17, shown_status="sold")


def row(number: int, name: str, category: int = 3, status: str | None = None) -> Row:
    return Row(number, (name, category, status), (name, str(category), status or ""))


def entry(
    number: int, name: str, state: State = "created", occurrence: int = 0, category: int = 3
) -> Entry:
    pet_id = 100 + number if state == "created" else None
    return Entry(
        (name, category, None), occurrence, number, state, (name, str(category), ""), pet_id
    )


@pytest.mark.case("P35")
def test_the_same_rows_in_another_order_are_the_same_rows() -> None:
    """Identity is content and occurrence, never position."""
    merged = merge([entry(2, "Rex"), entry(3, "Mia")], [row(2, "Mia"), row(3, "Rex")])

    assert [e.number for e, _ in merged.known] == [3, 2]
    assert (merged.new, merged.held, merged.removed) == ((), (), ())


@pytest.mark.case("P35")
def test_a_created_row_that_was_edited_is_held() -> None:
    """The service cannot change an animal, so the edit would be a second one."""
    merged = merge([entry(2, "Rex"), entry(3, "Mia")], [row(2, "Rexy"), row(3, "Mia")])

    assert merged.new == ()
    assert str(merged.held[0]).startswith("row 2 exists as id 102 with 'Rex', 3, no status")


@pytest.mark.case("P35")
def test_an_edit_below_a_deleted_row_is_held_too() -> None:
    """The place has moved by one; the name and one other value are kept."""
    merged = merge([entry(2, "Ace"), entry(3, "Rex")], [row(2, "Rex", 7)])

    assert merged.new == ()
    assert len(merged.held) == 1


@pytest.mark.case("P35")
def test_category_and_status_alone_make_no_edit() -> None:
    """Many animals share them: another name at another place is another animal."""
    merged = merge(
        [entry(2, "Ace"), entry(3, "Rex"), entry(4, "Mia")], [row(2, "Mia"), row(3, "Bella")]
    )

    assert [r.content[0] for r, _ in merged.new] == ["Bella"]
    assert merged.held == ()


@pytest.mark.case("P35")
@pytest.mark.parametrize("at", [0, 3, 9])
def test_rows_between_unchanged_neighbours_are_edits(at: int) -> None:
    """Two names are changed at once, at the head, in the middle or at the end: both are held."""
    names = [f"Old {n}" for n in range(11)]
    changed = [f"New {n}" if n in (at, at + 1) else name for n, name in enumerate(names)]

    merged = merge(
        [entry(n, name) for n, name in enumerate(names, start=2)],
        [
            row(n, name, 9 if name.startswith("New") else 3)
            for n, name in enumerate(changed, start=2)
        ],
    )

    assert [(h.exists_as.content[0], h.row.content[0]) for h in merged.held] == [
        (f"Old {n}", f"New {n}") for n in (at, at + 1)
    ]
    assert merged.new == ()


@pytest.mark.case("P63")
def test_the_same_cells_under_other_options_are_held() -> None:
    """The column of names is another one now: each created row keeps its outcome and is named."""
    created = [entry(n, f"Old {n}") for n in range(2, 40)]
    read_anew = [row(e.number, f"Other {e.number}", 5)._replace(cells=e.cells) for e in created]

    merged = merge(created, read_anew)

    assert (len(merged.held), merged.new, merged.removed) == (38, (), ())
    assert not is_another_file(created, read_anew)


@pytest.mark.case("P63")
@pytest.mark.parametrize(
    ("replaced", "another"), [(10, False), (50, False), (90, False), (95, True)]
)
def test_a_file_is_another_one_where_over_90_percent_is_gone_and_new(
    replaced: int, another: bool
) -> None:
    """As many rows are replaced by new ones; what is left says which file it is."""
    created = [entry(n, f"Old {n}") for n in range(100)]
    rows = [row(n, f"New {n}" if n < replaced else f"Old {n}") for n in range(100)]

    assert is_another_file(created, rows) is another
    assert not is_another_file([*created, entry(200, "Rex", "unknown")], rows)


@pytest.mark.case("P63")
def test_a_file_cut_down_or_grown_is_the_same_file() -> None:
    """The rows that are left, or the rows that were there before, are all known."""
    created = [entry(n, f"Old {n}") for n in range(100)]

    assert not is_another_file(created, [row(2, "Old 99")])
    assert not is_another_file(created[:2], [row(n, f"Old {n}") for n in range(100)])
    with_a_column = [
        row(n, f"Old {n}")._replace(cells=("", f"Old {n}", "3", "")) for n in range(100)
    ]
    assert not is_another_file(created, with_a_column)


def test_a_whole_new_file_under_an_old_name_is_compared_in_no_time() -> None:
    """50,000 rows against 50,000 created ones: none is an edit of another."""
    merged = merge(
        [entry(n, f"Old {n}") for n in range(50_000)], [row(n, f"New {n}") for n in range(50_000)]
    )

    assert (len(merged.held), len(merged.new), len(merged.removed)) == (0, 50_000, 50_000)


def test_new_rows_go_while_nothing_vanished() -> None:
    """A row appended to a file is new, however like another it is."""
    merged = merge([entry(2, "Rex")], [row(2, "Rex"), row(3, "Rex"), row(4, "Rexy")])

    assert [(r.number, occurrence) for r, occurrence in merged.new] == [(3, 1), (4, 0)]


def test_an_edited_row_goes_when_asked_for() -> None:
    """`send_edited` makes it a further animal."""
    merged = merge([entry(2, "Rex")], [row(2, "Rexy")], send_edited=True)

    assert len(merged.new) == 1


@pytest.mark.case("P35")
def test_a_row_fixed_in_the_original_and_in_the_rejects_file_is_one_row() -> None:
    """The rejects file carries the row's number; the same fix there is the row that exists."""
    created = [entry(5, "Rex")]

    assert merge(created, [row(5, "Rex")], partial=True).new == ()
    assert merge(created, [row(5, "Rexy")], partial=True).held != ()


def test_a_row_of_a_rejects_file_that_equals_another_created_row_is_another_animal() -> None:
    """Two animals may be called Mia: the fixed row 9 is not the created row 5."""
    merged = merge([entry(5, "Mia")], [row(9, "Mia")], partial=True)

    assert [(r.number, occurrence) for r, occurrence in merged.new] == [(9, 1)]


def test_a_removed_row_is_named() -> None:
    """It exists in the service all the same."""
    assert [
        e.number for e in merge([entry(2, "Rex"), entry(3, "Mia")], [row(2, "Mia")]).removed
    ] == [2]
