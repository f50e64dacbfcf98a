"""A few rows first: `first=5` sends five and stops, and the same call without it goes on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from inventories import ROWS, existing, expected, through
from proxy import FaultProxy, reply

from petstore_tools import Sandbox
from petstore_tools.cli import exits
from petstore_tools.errors import ArgumentError


def test_five_rows_go_first_and_the_others_later(fast: Sandbox, file: Path) -> None:
    """
    The preview says so; then all rows exist once; the baseline was listed once, for all of them.
    """
    store = fast.connect()
    preview = store.preview_import(file, first=5)
    assert (preview.to_send, preview.forecast.baseline) == (5, 10)
    assert f"5 of {ROWS} rows are sent now" in str(preview)
    assert existing(fast).total() == 0

    first = store.import_pets(file, first=5)
    assert (first.created, first.unsent, first.created_now) == (5, ROWS - 5, 5)
    assert "run it again without first=5 (--first 5) to send the rest" in str(first)
    assert exits.of_result(first) == exits.DONE
    assert [entry.number for entry in first.entries if entry.state == "created"] == [2, 3, 4, 5, 6]

    result = store.import_pets(file)
    assert (result.complete, result.created_now, result.requests) == (True, ROWS - 5, ROWS - 5)
    assert existing(fast) == expected()


def test_more_than_there_are_is_the_whole_import(fast: Sandbox, file: Path) -> None:
    """Nothing is left for later, and nothing is said of it."""
    result = fast.connect().import_pets(file, first=ROWS)

    assert (result.complete, result.stopped) == (True, None)


def test_a_first_row_that_is_refused_shows_in_the_exit_code(fast: Sandbox, file: Path) -> None:
    """No other row takes its place."""
    refuse = reply(400, b'{"code": "bad", "message": "no"}')
    with FaultProxy(
        fast.base_url, lambda method, n: refuse if (method, n) == ("POST", 2) else "pass"
    ) as proxy:
        store = through(fast, proxy)
        first = store.import_pets(file, first=5)
        result = store.import_pets(file)

    assert (first.created, first.rejected, first.unsent) == (4, 1, ROWS - 5)
    assert exits.of_result(first) == exits.PARTLY
    assert result.complete
    assert existing(fast) == expected()


@pytest.mark.case("P31")
@pytest.mark.parametrize("fate", ["drop before", "drop after"])
def test_lost_answers_among_the_first_rows_double_and_lose_nothing(
    fast: Sandbox, file: Path, fate: str
) -> None:
    """
    The third create is lost: it is found or sent again, no sixth row goes, and each row exists
    once.
    """
    with FaultProxy(
        fast.base_url, lambda method, n: fate if (method, n) == ("POST", 3) else "pass"
    ) as proxy:
        store = through(fast, proxy)
        first = store.import_pets(file, first=5)
        assert (first.created, first.unsent, existing(fast).total()) == (5, ROWS - 5, 5)
        result = store.import_pets(file)

    assert result.complete
    assert existing(fast) == expected()


def test_less_than_one_row_is_refused(fast: Sandbox, file: Path) -> None:
    """Before anything is read."""
    with pytest.raises(ArgumentError, match=re.escape("first must be at least 1, not 0")):
        fast.connect().import_pets(file, first=0)
