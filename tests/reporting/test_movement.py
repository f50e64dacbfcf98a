"""How long animals stay in a status, which wait longest, and who moved where."""

from __future__ import annotations

import pandas as pd
import pytest

from petstore_tools import Sandbox
from petstore_tools.reporting import movement
from petstore_tools.reporting.tables import for_people


def test_days_in_a_status_count_from_the_middle_of_the_listings_around_a_change() -> None:
    """
    Animal 2 was pending from the 2nd to the 5th listing: from day 0.5 to day 4.5, so four days.
    """
    with Sandbox(animals=10) as box:
        for status in ("available", "pending", "pending", "pending", "pending", "sold", "sold"):
            box.change(2, status=status)
            box.store.snapshot()
            box.advance(days=1)
        table = movement.time_in_status(box.store.kept.stays(now=box.clock.now()))

    assert table.to_dict("records") == [
        {
            "status": "pending",
            "animals": 1,
            "median_days": pytest.approx(4.0, abs=1e-3),
            "days_90": pytest.approx(4.0, abs=1e-3),
        }
    ]


def test_the_longest_available_are_those_first_seen_first() -> None:
    """At most as many as asked for; the days are at least so many."""
    with Sandbox(animals=30) as box:
        box.store.snapshot()
        box.advance(days=3)
        box.add([("Newcomer", 1, "available")])
        box.store.snapshot()
        now = box.clock.now()
        stays = box.store.kept.stays(now=now)
        table = movement.longest(stays, "available", now, most=200)
        first = movement.longest(stays, "available", now, most=2)

    assert table["id"].iloc[-1] == 31
    assert table["days"].iloc[-1] == pytest.approx(0.0, abs=1e-3)
    assert table["days"].iloc[0] == pytest.approx(3.0, abs=1e-3)
    assert len(first) == 2
    assert for_people(table)[0][-1] == "days, at least"


def test_the_flow_adds_up_to_the_animals_that_moved() -> None:
    """New in a row, gone in a column, totals at the end."""
    moved = pd.DataFrame(
        {
            "from": ["available", "available", "new", "pending", "unset"],
            "to": ["sold", "sold", "available", "gone", "sold"],
        }
    )

    table = movement.flow(moved)

    assert table.index.tolist() == ["available", "pending", "unset", "new", "total"]
    assert table.columns.tolist() == ["available", "sold", "gone", "total"]
    assert table.loc["available", "sold"] == 2
    assert table.loc["total"].tolist() == [1, 3, 1, 5]


def test_nothing_moved_is_a_table_of_nothing() -> None:
    """And no error."""
    moved = pd.DataFrame({"from": pd.Series([], dtype="str"), "to": pd.Series([], dtype="str")})

    assert movement.flow(moved).to_numpy().sum() == 0
