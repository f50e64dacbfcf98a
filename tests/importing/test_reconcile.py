"""What became of a row: by its answer, and by a listing."""

import re

import pytest
from histories import values
from inventories import ROWS, connect_through, faulty_creates
from tables import read_cases

from petstore_tools.importing.entries import Entry
from petstore_tools.importing.reconcile import Animal, decide, judge
from petstore_tools.importing.values import PetValues

REX = PetValues("Rex", 3, "sold")


@pytest.mark.parametrize(
    ("status", "body", "state", "pet_id"), read_cases(__file__, "answers.txt")
)
def test_an_answer_says_what_became_of_a_row(status, body, state, pet_id):
    """A 201 is final, whatever its body says."""
    entry = Entry(2, REX, import_id="ours", state="sending")

    outcome = judge(int(status), body.encode(), entry)

    assert (outcome.state, str(outcome.pet_id or "")) == (state, pet_id)


def lost_rows(text):
    """
    Read rows, `Rex/3/sold@1` with the listing before; `!` in front: created, not
    unknown.
    """
    entries = []
    for number, word in enumerate(text.split(), 1):
        content, _, listing = word.lstrip("!").partition("@")
        state = "created" if word[0] == "!" else "unknown"
        facts = {"entry_id": number, "state": state, "sent_after": int(listing)}
        entries.append(Entry(number, values(content))._replace(**facts))
    return entries


def listed_animals(text):
    """Read animals, `7=Rex/3/sold@2` with the listing that showed it first."""
    parts = re.findall(r"(\d+)=([^@]+)@(\d+) *", text)
    return [
        Animal(int(pet_id), values(content), int(since))
        for pet_id, content, since in parts
    ]


@pytest.mark.parametrize(
    ("sent", "animals", "expected"), read_cases(__file__, "listings.txt")
)
def test_a_listing_says_what_became_of_lost_rows(sent, animals, expected):
    """Set by set; the rest is sent again when a second listing agrees."""
    rows = lost_rows(sent)

    outcomes = decide(rows, listed_animals(animals))

    said = []
    for row in rows:
        outcome = outcomes.get(row.entry_id)
        undecided = "ambiguous" if outcome and outcome.candidates else "absent"
        said.append("-" if outcome is None else str(outcome.pet_id or undecided))
    assert said == expected.split()
    absent = {
        key for key, o in outcomes.items() if o.state == "unknown" and not o.candidates
    }
    second = [row._replace(absent=row.entry_id in absent) for row in rows]
    second_outcomes = decide(second, listed_animals(animals))
    assert {key for key, o in second_outcomes.items() if o.state == "unsent"} == absent


def test_a_listing_that_lags_proves_no_row_absent():
    """In a first and in a second listing; what it shows is found all the same."""
    rows = lost_rows("Rex/3/sold@1 Mia/4/@1 Tom/5/@1")
    rows[2] = rows[2]._replace(absent=True)

    outcomes = decide(rows, listed_animals("7=Mia/4/@2"), lags=True)

    assert {key: o.pet_id for key, o in outcomes.items()} == {2: 7}


def test_a_wait_for_a_listing_is_logged_once(fast, file, log):
    """
    Two answers are lost, one animal exists.
    """
    lost = {5: "drop before", 10: "drop after"}
    with faulty_creates(fast, lambda n: lost.get(n, "pass")) as proxy:
        result = connect_through(fast, proxy).import_pets(file)

    (waits,) = log.messages
    assert result.created == ROWS
    assert re.fullmatch(
        r"Waiting until 20[0-9-]{8} [0-9:]{8} UTC: .* 2 rows whose answer was lost\.",
        waits,
    )
