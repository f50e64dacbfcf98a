"""The forecast of a bulk run."""

import pytest
from tables import read_table

from petstore_tools.throttle.budget import WindowQuota
from petstore_tools.throttle.quota import Quota, forecast

NINE = 1_767_603_600.0  # 09:00 UTC


@pytest.mark.parametrize(
    (
        *("creates", "options", "minute", "day", "blocked_until", "as_of"),
        *("days", "takes_s", "ending"),
    ),
    read_table(__file__, "forecasts.json"),
)
def test_days_are_counted_with_what_each_leaves_for_others(
    creates, options, minute, day, blocked_until, as_of, days, takes_s, ending
):
    """
    By what is left of this minute and of this day; latency counts where the plan does
    not slow down. A day ends where the headers say so, by our own count at midnight
    UTC. Days are told where there are more than one, or where it is not today.
    Of each case: creates, options; limit, rest, end, and whether the
    headers say so, of minute and day; until when nothing goes, and the time; days,
    seconds from 09:00 UTC until it ends, and the end of what is said.
    """
    windows = WindowQuota("minute", *minute), WindowQuota("day", *day)
    quota = Quota("free", *windows, blocked_until, "", as_of)

    expected = forecast(creates, quota, **options)

    assert expected.days == days
    assert expected.ends_at == pytest.approx(NINE + takes_s, abs=1e-3)
    ending += ", if nobody else uses the key"
    assert str(expected).endswith(f" each minute and {ending}")
