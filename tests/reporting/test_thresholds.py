"""Thresholds: what fails a report, and what is said about it."""

from __future__ import annotations

import pytest

from petstore_tools.errors import ArgumentError
from petstore_tools.reporting.thresholds import failure, parse

NOW = {"available": 60, "pending": 20, "sold": 10, "unset": 10, "total": 100, "new": 4, "gone": 2}
BEFORE = {"available": 50, "pending": 25, "sold": 10, "unset": 0, "total": 85}


@pytest.mark.parametrize(
    ("text", "fails"),
    [
        ("unset > 5%", True),
        ("unset > 10%", False),
        ("unset>=10%", True),
        ("available < 60", False),
        ("available <= 60", True),
        ("pending.change < 0", True),
        ("pending.change < -20%", False),
        ("pending.change <= -20%", True),
        ("sold.change == 0", True),
        ("unset.change > 1000%", True),
        ("total.change > 17%", True),
        ("gone != 2", False),
        ("new > 4.5 %", True),
    ],
)
def test_a_number_is_compared_as_it_stands(text: str, fails: bool) -> None:
    """
    Percent of all animals; a change, of the number before; what is new or gone, of all animals
    before.
    """
    assert bool(failure(text, NOW, BEFORE)) is fails


def test_each_threshold_that_fails_is_named_with_its_number() -> None:
    """In the order in which they were given."""
    given = ("unset > 5%", "sold > 99", " pending.change < -4")

    assert [failure(text, NOW, BEFORE) for text in given] == [
        "unset > 5%: unset is 10.0 %",
        "",
        "pending.change < -4: the change of pending is -5",
    ]


@pytest.mark.parametrize("text", ["sold.change > 1000", "new > 1000", "gone < 0"])
def test_a_change_without_an_earlier_listing_fails(text: str) -> None:
    """A check that cannot be made is not a check that passed."""
    assert failure(text, NOW, None) == f"{text}: there is no earlier listing to compare with"


@pytest.mark.parametrize(
    "text", ["", "unset", "unset > ", "> 5", "unset => 5", "unset > five", "unset > 5 %%"]
)
def test_what_is_no_threshold_is_refused_with_an_example(text: str) -> None:
    """Before anything is asked."""
    with pytest.raises(ArgumentError, match="unset > 5%"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "helps"),
    [
        ("avialable > 5", "did you mean 'available'"),
        ("Available.change > 5", "did you mean 'available'"),
        ("quarantined > 5", "use one of available, pending, sold, unset, total, new, gone"),
    ],
)
def test_a_name_that_no_report_has_is_refused_before_a_request_is_spent(
    text: str, helps: str
) -> None:
    """With the names that there are, and the nearest one."""
    with pytest.raises(ArgumentError, match=helps):
        parse(text)


def test_a_name_that_the_report_does_not_have_is_refused() -> None:
    """A report on one status may have no number of another."""
    with pytest.raises(ArgumentError, match="'pending': use one of sold, total"):
        failure("pending > 5", {"sold": 3, "total": 3}, None)
