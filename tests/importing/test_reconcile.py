"""What became of a row: by its answer, and by a listing."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from petstore_tools.importing.doubtful import Entry, State
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
        (201, b"<html>", "created", None, ""),
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

    assert (outcome.state, outcome.pet_id, "".join(outcome.changed)) == (
        state,
        pet_id,
        changed,
    )


def values(text: str) -> PetValues:
    """Read `Rex/3/sold`."""
    name, category_id, status = text.split("/")
    return PetValues(name, int(category_id), status or None)


def lost_rows(text: str) -> list[Entry]:
    """
    Read rows, `Rex/3/sold@1` with the listing before; `!` in front: created, not
    unknown.
    """
    entries = []
    for number, word in enumerate(text.split(), 1):
        content, _, listing = word.lstrip("!").partition("@")
        state: State = "created" if word[0] == "!" else "unknown"
        entry = Entry(number, "ours", values(content), number, True, state)
        entries.append(replace(entry, sent_after=int(listing)))
    return entries


def listed_animals(text: str) -> list[Animal]:
    """Read animals, `7=Rex/3/sold@2` with the listing that showed it first."""
    parts = re.findall(r"(\d+)=([^@]+)@(\d+) *", text)
    return [
        Animal(int(pet_id), values(content), int(since))
        for pet_id, content, since in parts
    ]


CASES = {  # lost rows | animals | outcomes: an id, "absent", "ambiguous" or - for none
    "found": "Rex/3/sold@1 | 7=Rex/3/sold@2 | 7",
    "the row that was sent last first": (
        "Rex/3/sold@1 Rex/3/sold@2 | 7=Rex/3/sold@3 8=Rex/3/@2 | ambiguous 7"
    ),
    "existed before": "Rex/3/sold@1 | 7=Rex/3/sold@1 | absent",
    "no animal": "Rex/3/sold@1 | | absent",
    "two rows, one animal": "Rex/3/sold@1 Rex/3/sold@1 | 7=Rex/3/sold@2 | 7 absent",
    "two rows, three animals": (
        "Rex/3/sold@1 Rex/3/sold@1 | 7=Rex/3/sold@2 8=Rex/3/sold@2 9=Rex/3/sold@2"
        " | ambiguous ambiguous"
    ),
    "no earlier listing": "Rex/3/sold@0 | 7=Rex/3/sold@2 | ambiguous",
    "no earlier listing and no animal": "Rex/3/sold@0 | | absent",
    "another status": "Rex/3/sold@1 | 7=Rex/3/@2 | ambiguous",
    "another case and blanks": "Rex/3/sold@1 | 7= rEX/3/sold@2 | ambiguous",
    "another normal form": "Zoë/3/sold@1 | 7=Zoe\u0308/3/sold@2 | ambiguous",
    "another name": "Rex/3/sold@1 | 7=Re/3/sold@2 | absent",
    "another category": "Rex/3/sold@1 | 7=Rex/4/sold@2 | absent",
    "a created row first": "Rex/3/sold@1 !Rex/3/sold@1 | 7=Rex/3/sold@2 | absent 7",
    "without a status, any": "Rex/3/@1 | 7=Rex/3/sold@2 | 7",
    "exact rows first": "Rex/3/@1 Rex/3/sold@1 | 7=Rex/3/sold@2 | absent 7",
    "a created row without a status may own it": (
        "Rex/3/sold@1 !Rex/3/@1 | 7=Rex/3/sold@2 | ambiguous -"
    ),
    "a created row without a status has one of its own": (
        "Rex/3/sold@1 !Rex/3/@1 | 7=Rex/3/sold@2 8=Rex/3/pending@2 | 7 8"
    ),
}


@pytest.mark.case("P34", "P79")
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_listing_says_what_became_of_lost_rows(case: str) -> None:
    """Set by set; the rest is sent again when a second listing agrees."""
    sent, animals, expected = case.split("|")
    rows = lost_rows(sent)

    outcomes = decide(rows, listed_animals(animals))

    said = []
    for row in rows:
        outcome = outcomes.get(row.key)
        undecided = "ambiguous" if outcome and outcome.candidates else "absent"
        said.append("-" if outcome is None else str(outcome.pet_id or undecided))
    assert said == expected.split()
    absent = {
        key for key, o in outcomes.items() if o.state == "unknown" and not o.candidates
    }
    second = [replace(row, absent=row.key in absent) for row in rows]
    second_outcomes = decide(second, listed_animals(animals))
    assert {key for key, o in second_outcomes.items() if o.state == "unsent"} == absent
