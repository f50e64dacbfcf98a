"""What became of unknown rows, found out from one listing."""

import pytest

from petstore_tools.importing.reconcile import FOUND, find_outcomes
from petstore_tools.importing.row_states import Entry, Outcome

MIA, REX = ("Mia", 4, "sold"), ("Rex", 3, None)
UNSENT = Outcome("unsent")


def lost(content: tuple[str, int, str | None], occurrence: int = 0, number: int = 2) -> Entry:
    return Entry(content, occurrence, number, "unknown", ())


def created(pet_id: int) -> Outcome:
    return Outcome("created", pet_id, FOUND)


def one(outcomes: list[tuple[Entry, Outcome]]) -> Outcome:
    ((_, outcome),) = outcomes
    return outcome


def test_without_a_candidate_a_row_is_unsent_and_one_new_animal_is_the_row() -> None:
    """With a baseline, both are certain."""
    row = lost(MIA)

    assert one(find_outcomes([row], [(1, REX)], baseline={1}, owned=())) == UNSENT
    assert one(find_outcomes([row], [(1, MIA), (2, MIA)], baseline={1}, owned=())) == created(2)


def test_an_animal_that_answered_another_row_is_no_candidate() -> None:
    """An equal row was created as 5: 6 is this one's, and with 5 alone nothing of it exists."""
    row = lost(MIA, 1)

    assert one(find_outcomes([row], [(5, MIA), (6, MIA)], baseline=(), owned={5})) == created(6)
    assert one(find_outcomes([row], [(5, MIA)], baseline=(), owned={5})) == UNSENT


def test_as_many_animals_as_equal_unknown_rows_are_theirs() -> None:
    """Which is whose makes no difference, and none gets two."""
    rows = [lost(MIA, 0, 2), lost(MIA, 1, 3)]

    outcomes = find_outcomes(rows, [(8, MIA), (7, MIA)], baseline=(), owned=())

    assert outcomes == [(rows[0], created(7)), (rows[1], created(8))]


@pytest.mark.parametrize(
    ("listed", "more", "why"),
    [
        ([(7, MIA), (8, MIA)], {}, "got no answer, but there are 2 new animals"),
        ([(7, MIA)], {"baseline": None}, "the inventory was not listed before"),
        ([(7, MIA)], {"lost_elsewhere": {MIA}}, "another import has an equal row"),
        ([(7, MIA)], {"unreadable": ["0123456789ab"]}, "journal 0123456789ab of another import"),
        ([(7, ("Mia", 4, "available"))], {}, "another status"),
        ([(7, MIA), (8, ("Mia", 4, None))], {}, "another status"),
    ],
)
def test_any_doubt_is_ambiguous_with_its_candidates(
    listed: list[tuple[int, tuple[str, int, str | None]]], more: dict[str, object], why: str
) -> None:
    """A second animal, no baseline, another import's loss or journal, a status changed since."""
    options = {"baseline": (), "owned": (), **more}

    outcome = one(find_outcomes([lost(MIA)], listed, **options))  # type: ignore[arg-type]

    assert outcome.state == "unknown"
    assert outcome.candidates == tuple(pet_id for pet_id, _ in listed)
    assert why in outcome.detail


def test_an_animal_that_the_answer_named_is_the_candidate_whatever_its_values() -> None:
    """The service answered with 9, a Max: it may be the row; once it is gone, the row is unsent."""
    row = Entry(MIA, 0, 2, "unknown", (), candidates=(9,))

    assert one(find_outcomes([row], [(9, ("Max", 4, None))], baseline=(), owned=())).candidates == (
        9,
    )
    assert one(find_outcomes([row], [(1, REX)], baseline=(), owned=())) == UNSENT


def test_fewer_animals_than_equal_unknown_rows_are_ambiguous() -> None:
    """One of two exists: sending one again would be right only if nobody else has added one."""
    outcomes = find_outcomes([lost(MIA, 0), lost(MIA, 1)], [(7, MIA)], baseline=(), owned=())

    assert [(outcome.state, outcome.candidates) for _, outcome in outcomes] == [
        ("unknown", (7,))
    ] * 2


def test_without_a_baseline_a_row_that_is_not_there_is_still_unsent() -> None:
    """What does not exist now was not committed, whatever existed before."""
    assert one(find_outcomes([lost(MIA)], [(1, REX)], baseline=None, owned=())) == UNSENT
