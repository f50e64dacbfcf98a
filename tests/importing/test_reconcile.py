"""What became of a row: by its answer, and by a listing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from petstore_tools.importing.doubtful import Entry
from petstore_tools.importing.reconcile import Animal, decide, judge
from petstore_tools.importing.values import PetValues

REX = PetValues("Rex", 3, "sold")
BODY = b'{"id":7,"name":"%s","categoryId":3,"status":"sold"}'


@pytest.mark.case("P38", "P39", "P42")
@pytest.mark.parametrize(
    ("status", "body", "state", "pet_id", "changed"),
    [
        (201, BODY % b"Rex", "created", 7, ""),
        (201, BODY % b"rex", "created", 7, "name"),
        (201, BODY.replace(b"sold", b"available") % b"Rex", "created", 7, "status"),
        (201, b"", "created", None, ""),
        (201, b"[]", "created", None, ""),
        (201, b'{"name":"Rex","categoryId":3}', "created", None, ""),
        (400, b"", "rejected", None, ""),
        (413, b"", "rejected", None, ""),
        (422, b"", "rejected", None, ""),
        (401, b"", "unsent", None, ""),
        (404, b"", "unsent", None, ""),
        (500, b"", "unknown", None, ""),
        (504, b"", "unknown", None, ""),
        (200, BODY % b"Rex", "unknown", None, ""),
    ],
)
def test_an_answer_says_what_became_of_a_row(
    status: int, body: bytes, state: str, pet_id: int | None, changed: str
) -> None:
    """A 201 is final, whatever its body says."""
    outcome = judge(status, body, Entry(1, "ours", REX, 2, True, "sending"))

    assert (outcome.state, outcome.pet_id, "".join(outcome.changed)) == (state, pet_id, changed)


def lost(*rows: tuple[PetValues, int] | tuple[PetValues, int, str]) -> list[Entry]:
    """Give values, the listing before, and the state where it is not unknown."""
    return [
        Entry(
            at, "ours", row[0], at, True, row[2] if len(row) > 2 else "unknown", sent_after=row[1]
        )  # type: ignore[arg-type, misc]
        for at, row in enumerate(rows, 1)
    ]


NONE = REX._replace(status=None)
CASES = {  # lost rows, animals (id, values, since), outcomes: an id, "absent", "ambiguous" or nothing
    "found": ([(REX, 1)], [(7, REX, 2)], [7]),
    "the row that was sent last first": (
        [(REX, 1), (REX, 2)],
        [(7, REX, 3), (8, REX._replace(status=None), 2)],
        ["ambiguous", 7],
    ),
    "existed before": ([(REX, 1)], [(7, REX, 1)], ["absent"]),
    "no animal": ([(REX, 1)], [], ["absent"]),
    "two rows, one animal": ([(REX, 1), (REX, 1)], [(7, REX, 2)], [7, "absent"]),
    "two rows, three animals": (
        [(REX, 1), (REX, 1)],
        [(7, REX, 2), (8, REX, 2), (9, REX, 2)],
        ["ambiguous", "ambiguous"],
    ),
    "no earlier listing": ([(REX, 0)], [(7, REX, 2)], ["ambiguous"]),
    "no earlier listing and no animal": ([(REX, 0)], [], ["absent"]),
    "another status": ([(REX, 1)], [(7, NONE, 2)], ["ambiguous"]),
    "another case and blanks": ([(REX, 1)], [(7, REX._replace(name=" rEX"), 2)], ["ambiguous"]),
    "another normal form": (
        [(REX._replace(name="Zoë"), 1)],
        [(7, REX._replace(name="Zoe\u0308"), 2)],
        ["ambiguous"],
    ),
    "another name": ([(REX, 1)], [(7, REX._replace(name="Re"), 2)], ["absent"]),
    "another category": ([(REX, 1)], [(7, REX._replace(category_id=4), 2)], ["absent"]),
    "a created row first": ([(REX, 1), (REX, 1, "created")], [(7, REX, 2)], ["absent", 7]),
    "without a status, any": ([(NONE, 1)], [(7, REX, 2)], [7]),
    "exact rows first": ([(NONE, 1), (REX, 1)], [(7, REX, 2)], ["absent", 7]),
    "a created row without a status may own it": (
        [(REX, 1), (NONE, 1, "created")],
        [(7, REX, 2)],
        ["ambiguous", None],
    ),
    "a created row without a status has one of its own": (
        [(REX, 1), (NONE, 1, "created")],
        [(7, REX, 2), (8, REX._replace(status="pending"), 2)],
        [7, 8],
    ),
}


@pytest.mark.case("P34", "P79")
@pytest.mark.parametrize(("rows", "animals", "expected"), CASES.values(), ids=CASES)
def test_a_listing_says_what_became_of_lost_rows(
    rows: list[tuple[PetValues, int]],
    animals: list[tuple[int, PetValues, int]],
    expected: list[object],
) -> None:
    """Set by set; the rest is sent again when a second listing agrees."""
    listed = [Animal(*animal) for animal in animals]

    outcomes = decide(lost(*rows), listed)

    said = [
        None if o is None else o.pet_id or ("ambiguous" if o.candidates else "absent")
        for o in map(outcomes.get, range(1, len(rows) + 1))
    ]
    assert said == expected
    absent = {key for key, o in outcomes.items() if o.state == "unknown" and not o.candidates}
    second = [replace(row, absent=row.key in absent) for row in lost(*rows)]
    again = decide(second, listed)
    assert {key for key, o in again.items() if o.state == "unsent"} == absent
