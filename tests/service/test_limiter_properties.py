"""The service's limiter under a clock that is set forward and back, as it likes."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from petstore_tools.plans import Window
from petstore_tools.service.limiter import BAN_S, Usage, consume

MINUTE = Window(3, 60)
DAY = Window(7, 86_400)
T0 = 1_800_000_000.0

MONTH = 30 * 86_400.0

passed = st.sampled_from([0.0, 0.0, 0.0, 0.0, 0.5, 2.0, 30.0, 59.99, 60.0, 86_400.0])
set_back = st.sampled_from([0.0, 0.0, 0.0, 0.0, 0.0, 0.01, 2.0, 31.0, 60.0, 100_000.0])
set_either_way = st.one_of(set_back, st.sampled_from([-2.0, -60.0, -100_000.0, -MONTH, MONTH]))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(passed, set_back), max_size=60))
def test_whatever_is_set_back_no_stretch_shorter_than_a_window_has_more_than_two(
    steps: list[tuple[float, float]],
) -> None:
    """Two, since a border may lie in it; of real seconds, not of those that the clock showed."""
    usage = Usage()
    real = 0.0
    clock = T0
    accepted: list[float] = []
    for waited, back in steps:
        real = real + waited
        clock = clock + waited - back
        usage, decision = consume(usage, MINUTE, DAY, clock)
        accepted += [real] * decision.allowed

    for period_s, limit in ((60, 3), (86_400, 7)):
        for n, at in enumerate(accepted[2 * limit :]):
            assert at - accepted[n] > period_s - 1e-6


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(passed, set_either_way, st.sampled_from([1, 4, 15])), max_size=20))
def test_no_wait_is_longer_than_its_window_and_who_waits_as_told_is_served(
    bursts: list[tuple[float, float, int]],
) -> None:
    """
    Also right after the clock was set; and the headers' reset is where the wait leads, or before
    it.
    """
    usage = Usage()
    clock = T0
    for waited, back in (
        step for w, b, count in bursts for step in [(w, b)] + [(0.3, 0.0)] * (count - 1)
    ):
        clock += waited - back
        usage, decision = consume(usage, MINUTE, DAY, clock)
        assert decision.reset - clock <= 86_400
        if not decision.allowed:
            day_is_used_up = usage.day_used >= DAY.limit
            longest_s = max(86_400 if day_is_used_up else 60, BAN_S if decision.banned else 0)
            assert 0 < decision.retry_after_s <= longest_s
            assert consume(usage, MINUTE, DAY, clock + decision.retry_after_s)[1].allowed
