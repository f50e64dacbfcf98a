"""
The history of a sandbox that a script changes: every stay is true within the spacing of the
listings.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Literal

import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from petstore_tools import Sandbox, spec

Values = (
    tuple[str, int, str | None] | None
)  # name, categoryId, status; None: the animal is not there
Change = tuple[int, Literal["status", "add", "remove"], int, spec.Status | None, str, int]
DAY_MIN, DAYS, CHANGES = 1_440, 60, 200
MINUTES = st.integers(0, DAYS * DAY_MIN)
STATUSES = st.sampled_from([*spec.STATUSES, None])
SCRIPTS = st.lists(
    st.tuples(
        MINUTES,
        st.sampled_from(["status", "status", "status", "add", "remove"]),
        st.integers(0, 10_000),
        STATUSES,
        st.sampled_from(["Rex", "Mia", "NA"]),
        st.integers(1, 2),
    ),
    min_size=CHANGES,
    max_size=CHANGES,
)
LISTED = st.lists(MINUTES, min_size=1, max_size=25, unique=True).map(sorted)


class Truth:
    """What each animal was from which minute on."""

    def __init__(self) -> None:
        self.of: dict[int, list[tuple[int, Values]]] = {}

    def at(self, pet_id: int, minute: int) -> Values:
        """Return what an animal was at the end of a minute."""
        known = self.of[pet_id]
        place = bisect_right([since for since, _ in known], minute)
        return known[place - 1][1] if place else None

    def changed(self, pet_id: int, after: int, until: int) -> bool:
        """Whether an animal changed, came or went in this time."""
        return any(after < since <= until for since, _ in self.of[pet_id])


def play(box: Sandbox, script: Sequence[Change], listed: Sequence[int]) -> Truth:
    """Change the inventory and keep listings of it, each in its minute; changes come first."""
    truth, now, there = Truth(), 0, list[int]()

    def became(pet_id: int, values: Values) -> None:
        truth.of.setdefault(pet_id, []).append((now, values))

    def change(kind: str, pick: int, status: spec.Status | None, name: str, category: int) -> None:
        if kind == "add" or not there:
            there.extend(box.add([(name, category, status)]))
            became(there[-1], (name, category, status))
        elif kind == "remove":
            pet_id = there.pop(pick % len(there))
            box.remove(pet_id)
            became(pet_id, None)
        else:
            pet_id = there[pick % len(there)]
            values = truth.at(pet_id, now)
            assert values is not None
            box.change(pet_id, status=status)
            became(pet_id, (*values[:2], status))

    for n in range(30):
        change("add", n, spec.STATUSES[n % 3], "Rex", 1)
    for minute, _, what in sorted(
        [(at, 0, what) for at, *what in script] + [(at, 1, []) for at in listed],
        key=lambda step: step[:2],
    ):
        box.advance(minutes=minute - now)
        now = minute
        if what:
            change(*what)  # type: ignore[arg-type]
        else:
            box.store.snapshot()
    return truth


def check(script: Sequence[Change], listed: Sequence[int]) -> None:
    """Play a script and compare each stay with the truth."""
    with Sandbox(plan="business", animals=0) as box:
        began = box.clock.now()
        truth = play(box, script, listed)
        history = box.store.history()

    minutes = [round((at.timestamp() - began) / 60) for at in history["first_seen"]]
    shown: set[tuple[int, int]] = set()
    for first, stay in zip(minutes, history.itertuples(index=False), strict=True):
        pet_id, name, category, status, _, last_seen, ended = stay
        values = (name, category, None if pd.isna(status) else status)
        last = round((last_seen.timestamp() - began) / 60)
        showing = [at for at in listed if first <= at <= last]
        assert all(truth.at(pet_id, at) == values for at in showing)
        assert not shown & {(pet_id, at) for at in showing}
        shown |= {(pet_id, at) for at in showing}
        assert (showing[0], showing[-1]) == (first, last)
        before = [at for at in listed if at < first][-1:]
        assert not before or truth.changed(pet_id, before[0], first)
        assert not before or truth.at(pet_id, before[0]) != values
        if last == listed[-1]:
            assert pd.isna(ended)
        else:
            following = next(at for at in listed if at > last)
            assert [round((at.timestamp() - began) / 60) for at in (ended.left, ended.right)] == [
                last,
                following,
            ]
            assert truth.changed(pet_id, last, following)
    assert shown == {
        (pet_id, at) for pet_id in truth.of for at in listed if truth.at(pet_id, at) is not None
    }


SLOW = {"deadline": None, "suppress_health_check": list(HealthCheck), "print_blob": True}


@given(SCRIPTS, LISTED)
@settings(max_examples=12, phases=(Phase.explicit, Phase.generate), **SLOW)  # type: ignore[arg-type]
def test_every_stay_is_true_within_the_spacing_of_the_listings(
    script: list[Change], listed: list[int]
) -> None:
    """200 changes over 60 days: animals added, removed and changed, statuses unset, names equal."""
    check(script, listed)


@pytest.mark.soak
@pytest.mark.timeout(3_600)
@given(SCRIPTS, LISTED)
@settings(max_examples=200, phases=(Phase.explicit, Phase.generate), **SLOW)  # type: ignore[arg-type]
def test_every_stay_is_true_for_200_scripts(script: list[Change], listed: list[int]) -> None:
    """The same, long."""
    check(script, listed)
