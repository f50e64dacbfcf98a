"""Why a run ended, where there are two reasons."""

from __future__ import annotations

import pytest

from petstore_tools.importing.send import Stopped

INTERRUPTED = Stopped.of(KeyboardInterrupt())
QUOTA = Stopped("quota", "used up", 60.0)
REFUSED = Stopped("key refused", "refused")
LOST = Stopped("service", "three rows", may_recover=True)


@pytest.mark.case("P78")
@pytest.mark.parametrize(
    ("first", "then", "expected"),
    [
        (QUOTA, INTERRUPTED, INTERRUPTED),
        (LOST, INTERRUPTED, INTERRUPTED),
        (INTERRUPTED, QUOTA, INTERRUPTED),
        (INTERRUPTED, LOST, INTERRUPTED),
        (LOST, REFUSED, REFUSED),
        (REFUSED, LOST, REFUSED),
        (QUOTA, REFUSED, QUOTA),
    ],
)
def test_an_interrupt_wins_and_hope_comes_last(
    first: Stopped, then: Stopped, expected: Stopped
) -> None:
    """Otherwise the first reason counts."""
    assert first.or_worse(then) is expected
