"""What became of lost rows, told from one look."""

import pytest

from petstore_tools.importing.reconcile import Absent, Ambiguous, Found, Verdict, find_outcomes
from petstore_tools.importing.row_states import Entry

MIA, REX = ("Mia", 4, "sold"), ("Rex", 3, None)


def lost(content: tuple[str, int, str | None], occurrence: int = 0, number: int = 2) -> Entry:
    return Entry(content, occurrence, number, "unknown", ())


def one(verdicts: list[Verdict]) -> Verdict:
    (verdict,) = verdicts
    return verdict


def test_no_candidate_is_absent_and_one_new_animal_is_the_row() -> None:
    """With a baseline, both are certain."""
    row = lost(MIA)

    assert one(find_outcomes([row], [(1, REX)], baseline={1}, owned=())) == Absent(row)
    assert one(find_outcomes([row], [(1, MIA), (2, MIA)], baseline={1}, owned=())) == Found(row, 2)


def test_an_animal_that_answered_another_row_is_no_candidate() -> None:
    """Its twin was created as 5: 6 is this one's, and with 5 alone it is absent."""
    row = lost(MIA, 1)

    assert one(find_outcomes([row], [(5, MIA), (6, MIA)], baseline=(), owned={5})) == Found(row, 6)
    assert one(find_outcomes([row], [(5, MIA)], baseline=(), owned={5})) == Absent(row)


def test_as_many_animals_as_lost_twins_are_theirs() -> None:
    """Equal rows: which is whose makes no difference, and none gets two."""
    rows = [lost(MIA, 0, 2), lost(MIA, 1, 3)]

    verdicts = find_outcomes(rows, [(8, MIA), (7, MIA)], baseline=(), owned=())

    assert verdicts == [Found(rows[0], 7), Found(rows[1], 8)]


@pytest.mark.parametrize(
    ("look", "more", "why"),
    [
        ([(7, MIA), (8, MIA)], {}, "1 row with these values, 2 animals"),
        ([(7, MIA)], {"baseline": None}, "nobody looked before"),
        ([(7, MIA)], {"lost_elsewhere": {MIA}}, "another import has an equal row"),
        ([(7, ("Mia", 4, "available"))], {}, "another status"),
        ([(7, MIA), (8, ("Mia", 4, None))], {}, "another status"),
    ],
)
def test_any_doubt_is_ambiguous_with_its_candidates(
    look: list[tuple[int, tuple[str, int, str | None]]], more: dict[str, object], why: str
) -> None:
    """A second animal, no baseline, another import's loss, a status changed since."""
    row = lost(MIA)

    verdict = one(find_outcomes([row], look, **{"baseline": (), "owned": (), **more}))  # type: ignore[arg-type]

    assert isinstance(verdict, Ambiguous)
    assert verdict.candidates == tuple(pet_id for pet_id, _ in look)
    assert why in verdict.why


def test_fewer_animals_than_lost_twins_are_ambiguous() -> None:
    """One of two stands: sending one again would be right only if nobody else has added one."""
    verdicts = find_outcomes([lost(MIA, 0), lost(MIA, 1)], [(7, MIA)], baseline=(), owned=())

    assert [type(verdict) for verdict in verdicts] == [Ambiguous, Ambiguous]


def test_without_a_baseline_nothing_there_is_still_absent() -> None:
    """What does not stand now was not committed, whatever stood before."""
    row = lost(MIA)

    assert one(find_outcomes([row], [(1, REX)], baseline=None, owned=())) == Absent(row)
