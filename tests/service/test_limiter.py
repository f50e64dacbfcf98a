"""The service's quotas and its ban."""

from collections.abc import Sequence

import pytest

from petstore_tools.plans import Window
from petstore_tools.service.limiter import Decision, Usage, consume

MINUTE = Window(3, 60)
DAY = Window(5, 86_400)
T0 = 1_800_000_000.0


def send(times: Sequence[float], usage: Usage | None = None) -> tuple[Usage, list[Decision]]:
    usage = usage or Usage()
    decisions = []
    for at in times:
        usage, decision = consume(usage, MINUTE, DAY, at)
        decisions.append(decision)
    return usage, decisions


DAY_USED_UP = [0, 1, 60, 61, 62, 63, *[66] * 10]
CASES = {  # seconds; + allowed, - refused, ! banned
    "exactly the plan in a whole minute": ([30, 31, 32, 59, 60], "+++-+"),
    "what is refused costs nothing of the day": ([0] * 10 + [60] * 3, "+++-------++-"),
    "ten retries are a ban of fifteen minutes": (
        [0] * 4 + [*range(2, 12)] + [120, 912],
        "+++-" + "-" * 9 + "!" + "!+",
    ),
    "what was in flight at a 429 is no retry": ([0] * 3 + [1.9] * 50, "+++" + "-" * 50),
    "a new closed window begins a new count": (
        [0] * 4 + [3] * 5 + [60] * 2 + [61] + [64] * 5,
        "+++------++------",
    ),
    "after a ban nine more come before the next": (
        [*DAY_USED_UP, *range(970, 980)],
        "+++++-" + ("-" * 9 + "!") * 2,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_whole_minutes_days_and_bans(case: str) -> None:
    """A plan of three a minute and five a day."""
    times, wanted = CASES[case]

    _, decisions = send([T0 + at for at in times])

    shown = ("!" if d.banned else "+" if d.allowed else "-" for d in decisions)
    assert "".join(shown) == wanted


@pytest.mark.case("P59")
def test_headers_speak_of_the_window_with_fewer_left_and_on_a_tie_of_the_later() -> None:
    """Minute first; when both have two left, the day, which resets later."""
    _, decisions = send([T0, T0 + 60])

    assert (decisions[0].limit, decisions[0].reset) == (3, T0 + 60)
    day_end = DAY.end(T0)
    _, later = send([T0 + 60], Usage(T0, 0, DAY.start(T0), 2))
    assert (later[0].limit, later[0].remaining, later[0].reset) == (5, 2, day_end)


def test_after_a_clock_was_set_back_no_minute_begins_before_the_last_one_has_ended() -> None:
    """They are whole minutes again once nobody came in one of them."""
    begun = []
    usage = Usage()
    for at in (61, 59, 119.5, 180):
        usage, _ = send([T0 + at], usage)
        begun.append(usage.minute_start - T0)

    assert begun == [60, 59, 119, 180]
