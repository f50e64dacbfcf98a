"""The service's quotas and its ban, also under a clock that is set forward and back."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import read_table

from petstore_tools.service.limiter import BAN_S, Usage, consume
from petstore_tools.spec import DAY_S, MINUTE_S

PER_MINUTE = 3
PER_DAY = 5
T0 = 1_800_000_000.0


def sign(decision):
    if decision.banned:
        return "!"
    return "+" if decision.allowed else "-"


@pytest.mark.parametrize(
    ("usage", "times", "signs", "window"), read_table(__file__, "quotas.json")
)
def test_whole_minutes_days_and_bans(usage, times, signs, window):
    """
    A plan of three a minute and five a day. Of each case: begin and use of the minute
    and the day, and the second of each request; what becomes of each: + allowed, -
    refused, ! banned; limit, remaining and reset in the headers of the last.
    """
    usage = Usage(*usage)
    decisions = []
    for time in times:
        usage, decision = consume(usage, PER_MINUTE, PER_DAY, T0 + time)
        decisions.append(decision)

    assert "".join(map(sign, decisions)) == signs
    assert [decision.limit, decision.remaining, decision.reset] == window


MONTH = 30 * 86_400.0
passed = st.sampled_from([0.0] * 4 + [0.5, 2.0, 30.0, 59.99, 60.0, 86_400.0])
set_back = st.sampled_from([0.0] * 5 + [0.01, 2.0, 31.0, 60.0, 100_000.0])
set_either_way = st.one_of(
    set_back, st.sampled_from([-2.0, -60.0, -100_000.0, -MONTH, MONTH])
)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(passed, set_back), max_size=60))
def test_whatever_is_set_back_no_stretch_shorter_than_a_window_has_more_than_two(steps):
    """
    Two, since a border may lie in it; of real seconds, not of those that the clock
    showed.
    """
    usage = Usage()
    real = 0.0
    clock = T0
    accepted = []
    for waited, back in steps:
        real = real + waited
        clock = clock + waited - back
        usage, decision = consume(usage, PER_MINUTE, PER_DAY, clock)
        accepted += [real] * decision.allowed

    for limit, period_s in ((PER_MINUTE, MINUTE_S), (PER_DAY, DAY_S)):
        for n, time in enumerate(accepted[2 * limit :]):
            assert time - accepted[n] > period_s - 1e-6


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(passed, set_either_way, st.sampled_from([1, 4, 15])), max_size=20
    )
)
def test_no_wait_is_longer_than_its_window_and_who_waits_as_told_is_served(bursts):
    """
    Also right after the clock was set; and the headers' reset is where the wait leads,
    or before it.
    """
    usage = Usage()
    clock = T0
    steps = []
    for waited, back, count in bursts:
        steps += [(waited, back)] + [(0.3, 0.0)] * (count - 1)
    for waited, back in steps:
        clock += waited - back
        usage, decision = consume(usage, PER_MINUTE, PER_DAY, clock)
        assert decision.reset - clock <= 86_400
        if not decision.allowed:
            period_s = 86_400 if usage.day_used >= PER_DAY else 60
            ban_s = BAN_S if decision.banned else 0
            wait_s = decision.retry_after_s
            assert 0 < wait_s <= max(period_s, ban_s)
            _, next_decision = consume(usage, PER_MINUTE, PER_DAY, clock + wait_s)
            assert next_decision.allowed
