"""The service's quotas and its ban."""

import pytest

from petstore_tools.plans import Window
from petstore_tools.service.limiter import Decision, Usage, consume

MINUTE = Window(3, 60)
DAY = Window(5, 86_400)
T0 = 1_800_000_000.0


def send(times: list[float], usage: Usage | None = None) -> tuple[Usage, list[Decision]]:
    usage = usage or Usage()
    decisions = []
    for at in times:
        usage, decision = consume(usage, MINUTE, DAY, at)
        decisions.append(decision)
    return usage, decisions


def test_exactly_the_plan_is_allowed_in_a_whole_minute() -> None:
    """Three of four; the next minute is fresh."""
    _, decisions = send([T0, T0 + 1, T0 + 2, T0 + 59, T0 + 60])

    assert [d.allowed for d in decisions] == [True, True, True, False, True]
    assert [d.remaining for d in decisions] == [2, 1, 0, 0, 1]


@pytest.mark.case("P59")
def test_headers_speak_of_the_window_with_fewer_left_and_on_a_tie_of_the_later() -> None:
    """Minute first; when both have two left, the day, which resets later."""
    _, decisions = send([T0, T0 + 60])

    assert (decisions[0].limit, decisions[0].reset) == (3, T0 + 60)
    day_end = DAY.end(T0)
    _, later = send([T0 + 60], Usage(T0, 0, DAY.start(T0), 2))
    assert (later[0].limit, later[0].remaining, later[0].reset) == (5, 2, day_end)


def test_a_refused_request_costs_nothing() -> None:
    """The day is not charged for what was refused."""
    usage, _ = send([T0] * 10)

    assert (usage.minute_used, usage.day_used) == (3, 3)


def test_ten_retries_during_a_block_are_a_ban_of_fifteen_minutes() -> None:
    """Requests two seconds and more after the 429 count; the tenth bans."""
    usage, decisions = send([T0] * 4 + [T0 + 2 + n for n in range(10)])

    assert [d.banned for d in decisions[4:]] == [False] * 9 + [True]
    assert usage.banned_until == T0 + 11 + 900
    _, after = send([T0 + 120, T0 + 912], usage)
    assert [d.allowed for d in after] == [False, True]


def test_what_was_in_flight_when_the_429_left_is_not_counted() -> None:
    """Fifty requests within two seconds earn 429s and no ban."""
    usage, _ = send([T0] * 3 + [T0 + 1.9] * 50)

    assert usage.retries_during_block == 0


def test_a_new_closed_window_begins_a_new_count_of_retries() -> None:
    """Five retries in each of two minutes are no ban."""
    times = [T0] * 4 + [T0 + 3] * 5 + [T0 + 60] * 2 + [T0 + 61] + [T0 + 64] * 5

    usage, _ = send(times)

    assert usage.banned_until == 0


def test_a_clock_set_back_over_a_border_grants_no_minute_twice() -> None:
    """
    Used up a second into a minute, the clock goes back two: no request until a minute has passed.
    """
    border = T0 + 60
    usage, _ = send([border + 1] * 3)

    usage, back = send([border - 1, border + 1], usage)
    assert [d.allowed for d in back] == [False, False]
    assert back[0].retry_after_s <= 60
    assert back[0].reset - (border - 1) <= 60

    _, after = send([border - 1 + back[0].retry_after_s], usage)
    assert after[0].allowed


def test_a_ban_names_the_end_of_the_day_where_the_day_is_used_up() -> None:
    """Who waits exactly as long as the 429 says is served, and earns no new ban."""
    usage, decisions = send([T0, T0 + 1, T0 + 60, T0 + 61, T0 + 62] + [T0 + 63] + [T0 + 66] * 10)
    assert decisions[-1].banned
    assert T0 + 66 + decisions[-1].retry_after_s == DAY.end(T0)

    _, after = send([T0 + 66 + decisions[-1].retry_after_s], usage)
    assert after[0].allowed


def test_who_comes_after_a_ban_into_a_window_that_is_still_closed_is_not_banned_at_once() -> None:
    """Nine more may come before the next ban."""
    usage, _ = send([T0, T0 + 1, T0 + 60, T0 + 61, T0 + 62] + [T0 + 63] + [T0 + 66] * 10)

    _, decisions = send([T0 + 970 + n for n in range(10)], usage)

    assert [d.banned for d in decisions] == [False] * 9 + [True]


def test_windows_are_whole_again_once_a_pause_has_passed() -> None:
    """
    After a clock was set back a minute ends within one; the next is whole where nobody came
    meanwhile.
    """
    usage, _ = send([T0 + 61])
    usage, _ = send([T0 + 59], usage)
    assert usage.minute_start == T0 + 59

    usage, _ = send([T0 + 180], usage)
    assert usage.minute_start == T0 + 180
