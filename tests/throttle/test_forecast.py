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


def test_a_day_ends_where_the_headers_say_so():
    """Not at midnight UTC; by our own count it does."""
    quota = free(60, 5)
    noon = NINE + 3 * 3_600
    by_headers = replace(quota, day=replace(quota.day, frees_at=noon))
    counted = replace(quota, day=replace(by_headers.day, by_headers=False))

    assert forecast(54, by_headers).ends_at == noon
    assert forecast(54, counted).ends_at == MIDNIGHT


def test_a_run_begins_behind_a_block():
    """As long as that is known."""
    blocked_until = NINE + 900
    quota = replace(free(60, 1_000), blocked_until=blocked_until)

    assert forecast(50, quota).ends_at == blocked_until


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
