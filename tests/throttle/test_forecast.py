"""The forecast of a bulk run."""

from dataclasses import replace

import pytest
from tables import read_table

from petstore_tools.throttle.budget import WindowQuota
from petstore_tools.throttle.quota import Quota, forecast

NINE = 1_767_603_600.0  # 09:00 UTC
MIDNIGHT = NINE + 15 * 3_600


def free(minute_left, day_left, as_of=NINE):
    """Return what is left of a free plan, as the headers say."""
    minute = WindowQuota("minute", 60, minute_left, as_of + 60, True)
    day = WindowQuota("day", 1_000, day_left, MIDNIGHT, True)
    return Quota("free", minute, day, None, "", as_of)


@pytest.mark.parametrize(
    ("requests", "left", "latency_s", "days", "takes_s"),
    read_table(__file__, "forecasts.json"),
)
def test_days_are_counted_with_what_each_leaves_for_others(
    requests, left, latency_s, days, takes_s
):
    """
    By what is left of this minute and of this day; latency counts where the plan does
    not slow down.
    """
    expected = forecast(requests, free(*left), latency_s=latency_s)

    assert expected.days == days
    assert expected.ends_at == pytest.approx(NINE + takes_s, abs=1e-3)


NOON = NINE + 3 * 3_600


@pytest.mark.parametrize(
    ("day", "blocked_until", "ends_at"),
    [
        (WindowQuota("day", 1_000, 5, NOON, True), None, NOON),
        (WindowQuota("day", 1_000, 5, NOON, False), None, MIDNIGHT),
        (WindowQuota("day", 1_000, 1_000), NINE + 900, NINE + 900),
    ],
    ids=["by the headers", "by our own count", "blocked"],
)
def test_a_run_ends_when_what_it_waits_for_does(day, blocked_until, ends_at):
    """
    A day ends where the headers say so, by our own count at midnight UTC; a run begins
    behind a block, as long as that is known.
    """
    quota = replace(free(60, 5), day=day, blocked_until=blocked_until)

    assert forecast(54, quota).ends_at == ends_at


def test_without_numbers_the_headers_will_tell():
    """Enterprise without numbers: one day, as far as anyone knows."""
    minute, day = WindowQuota("minute"), WindowQuota("day")

    assert forecast(10_000, Quota("custom", minute, day, None, "", NINE)).days == 1


@pytest.mark.parametrize(
    ("creates", "quota", "ending"),
    [
        (50, free(60, 1_000), "it ends today at about 09:00 UTC"),
        (100, free(60, 1_000, MIDNIGHT - 30), "it ends about 2026-01-06 00:00:30 UTC"),
        (54, free(60, 5), "it ends about 2026-01-06 00:00:00 UTC"),
    ],
)
def test_a_job_that_ends_today_says_so_without_a_count_of_days(creates, quota, ending):
    """Days are told where there are more than one, or where it is not today."""
    text = str(forecast(creates, quota))

    assert text.endswith(f"20 requests a day for other work; {ending}")
