"""The throttle, asked and answered by hand."""

import pytest

from petstore_tools.plans import Plan
from petstore_tools.throttle.rate_headers import Answer, read
from petstore_tools.throttle.throttle import Decision, Go, Stop, Throttle, Wait, reserved

T0 = 1_800_000_000.0
FREE = Plan(60, 1_000, "free")


def minute(remaining: int, *, at: float = T0, status: int = 200, **more: float) -> Answer:
    """Return an answer that speaks of the whole minute that holds `at`."""
    return Answer(status, 60, remaining, at // 60 * 60 + 60, date=float(int(at)), **more)  # type: ignore[arg-type]


def go(decision: Decision) -> int:
    assert isinstance(decision, Go), decision
    return decision.token


def hear(throttle: Throttle, answer: Answer, at: float = T0) -> None:
    """Send one request and read its answer at once."""
    token = go(throttle.ask(at))
    throttle.answered(token, at, answer)


def granted(throttle: Throttle, at: float = T0, *, bulk: bool = False) -> int:
    """Count the requests that may go at once."""
    count = 0
    while isinstance(throttle.ask(at, bulk=bulk), Go):
        count += 1
    return count


def warm(plan: Plan | None = FREE, remaining: int = 59) -> Throttle:
    """Return a throttle whose probe has come back."""
    throttle = Throttle(plan)
    hear(throttle, minute(remaining))
    return throttle


def test_one_probe_goes_first_and_the_others_wait_for_its_answer() -> None:
    """Nothing is known at the start, so exactly one request goes."""
    throttle = Throttle(FREE)

    token = go(throttle.ask(T0))
    assert isinstance(throttle.ask(T0), Wait)

    throttle.answered(token, T0 + 0.2, minute(59))
    assert isinstance(throttle.ask(T0 + 0.2), Go)


@pytest.mark.parametrize(("took_s", "lost_after_s"), [(0.2, 4), (4, 12)])
def test_a_probe_is_lost_after_seconds(took_s: float, lost_after_s: float) -> None:
    """Where answers take long, after three times as long: it may still be under way."""
    throttle = Throttle(FREE)
    throttle.answered(go(throttle.ask(T0)), T0 + took_s, minute(0))
    assert go(throttle.ask(T0 + 70))

    assert isinstance(throttle.ask(T0 + 70 + lost_after_s - 0.5), Wait)
    assert isinstance(throttle.ask(T0 + 70 + lost_after_s), Go)


def test_requests_in_flight_are_spent() -> None:
    """Remaining 3 with 3 in flight is nothing left; without a header our own count tells."""
    throttle = warm(remaining=3)
    for _ in range(3):
        go(throttle.ask(T0))

    assert isinstance(throttle.ask(T0), Wait)
    states = throttle.state("minute", T0), Throttle(FREE).state("minute", T0)
    assert [(state.left, state.by_headers) for state in states] == [(0, True), (60, False)]


@pytest.mark.case("P19")
def test_remaining_zero_on_a_200_holds_the_next_request_until_the_reset() -> None:
    """The header may only lower: nothing goes before the reset and its guard, then one probe."""
    throttle = warm(remaining=0)

    decision = throttle.ask(T0 + 1)

    assert isinstance(decision, Wait)
    assert decision.until == T0 + 61
    assert decision.why == "all 60 requests of this minute are used"
    assert isinstance(throttle.ask(T0 + 61), Go)


def test_answers_that_come_in_another_order_cost_nothing() -> None:
    """Two in flight at once, the later one read first: each is taken off once."""
    throttle = warm(remaining=10)
    first, second = go(throttle.ask(T0)), go(throttle.ask(T0))

    throttle.answered(second, T0, minute(8))
    throttle.answered(first, T0, minute(9))

    assert throttle.state("minute", T0).left == 8


@pytest.mark.case("P19")
@pytest.mark.parametrize(
    ("plan", "limit", "ahead_s"), [((5, 1_000), 300, 60), ((60, 5), 100, 36_000)]
)
def test_a_remaining_above_the_plan_does_not_raise_the_rate(
    plan: tuple[int, int], limit: int, ahead_s: float
) -> None:
    """A named plan is a ceiling in each window, whatever the service says is left."""
    throttle = Throttle(Plan(*plan))
    hear(throttle, Answer(200, limit, limit - 1, T0 + ahead_s, date=T0))

    assert granted(throttle) == 4


@pytest.mark.parametrize("in_flight", [1, 3])
def test_a_second_429_doubles_the_wait(in_flight: int) -> None:
    """Requests during a block lengthen it (§8.4.3); those in flight together are one refusal."""
    throttle = warm()
    again = T0 + 10.5
    for at in (T0, again):
        tokens = [go(throttle.ask(at))]
        tokens += [go(throttle.ask(at)) for _ in range(in_flight - 1) if at == T0]
        for token in tokens:
            throttle.answered(token, at, Answer(429, retry_after_s=10))

    decision = throttle.ask(again)

    assert isinstance(decision, Wait)
    assert decision.until == again + 20.5


def test_a_lower_remaining_is_believed_at_once() -> None:
    """Another program on the same key shows as a lower Remaining."""
    throttle = warm(remaining=59)

    hear(throttle, minute(1))

    go(throttle.ask(T0))
    assert isinstance(throttle.ask(T0), Wait)


@pytest.mark.case("P14")
def test_after_a_429_nothing_goes_before_retry_after_and_then_one_probe() -> None:
    """The gate is shared by all who ask this budget."""
    throttle = warm()
    token = go(throttle.ask(T0))
    throttle.answered(token, T0, minute(0, status=429, retry_after_s=30))

    for at in (T0, T0 + 15, T0 + 29.9):
        decision = throttle.ask(at)
        assert isinstance(decision, Wait)
        assert decision.until >= T0 + 30
    go(throttle.ask(T0 + 61.5))
    assert isinstance(throttle.ask(T0 + 61.5), Wait)


@pytest.mark.case("P26")
def test_a_429_costs_the_day_nothing() -> None:
    """Requests that were refused or never sent are not taken off the day."""
    throttle = warm()
    before = throttle.state("day", T0).left

    hear(throttle, Answer(429, retry_after_s=1))

    assert throttle.state("day", T0).left == before


@pytest.mark.case("P29")
def test_a_ban_stops_with_its_time() -> None:
    """A banned key is told when to come back, and is not asked to wait."""
    throttle = warm()
    hear(throttle, Answer(429, retry_after_s=900, banned=True))

    decision = throttle.ask(T0 + 899)

    assert isinstance(decision, Stop)
    assert decision.resumes_at == T0 + 900.5
    assert "banned" in decision.why
    assert isinstance(throttle.ask(T0 + 901), Go)


@pytest.mark.case("P16")
@pytest.mark.parametrize("reset", [T0 - 10_000, T0 * 1_000, 30.0, T0 + 10 * 365 * 86_400, None])
def test_a_reset_that_cannot_be_believed_still_holds_a_remaining_of_zero(
    reset: float | None,
) -> None:
    """Past, milliseconds, relative, years ahead, none: held for a minute, then one goes."""
    throttle = Throttle(FREE)
    hear(throttle, Answer(200, 60, 0, reset, date=T0))

    assert isinstance(throttle.ask(T0 + 30), Wait)
    assert isinstance(throttle.ask(T0 + 61), Go)


@pytest.mark.case("P16")
def test_a_remaining_without_a_reset_is_kept_to_and_never_raises_our_own_count() -> None:
    """
    2 of 60 are left by the service's word; a minute later one request goes, and no second one.
    """
    throttle = Throttle(FREE)
    hear(throttle, Answer(200, 60, 2))
    hear(throttle, Answer(200, 60, 30), T0 + 1)

    go(throttle.ask(T0 + 2))
    assert isinstance(throttle.ask(T0 + 2), Wait)
    go(throttle.ask(T0 + 62))
    assert isinstance(throttle.ask(T0 + 62), Wait)


@pytest.mark.case("P16")
def test_a_reset_that_comes_later_replaces_the_minute_that_was_assumed() -> None:
    """First there is none; then one ends earlier, and says that less is left."""
    throttle = Throttle(FREE)
    hear(throttle, Answer(200, 60, 50))
    hear(throttle, Answer(200, 60, 0, T0 + 30))

    decision = throttle.ask(T0 + 1)

    assert isinstance(decision, Wait)
    assert decision.until == T0 + 31


@pytest.mark.case("P18")
def test_a_limit_that_neither_window_has_holds_both() -> None:
    """
    500 is neither number of the plan: 3 left until the reset are 3 for the minute and the day.
    """
    throttle = Throttle(FREE)
    hear(throttle, Answer(200, 50, 3, T0 + 30, date=T0))

    assert granted(throttle) == 3
    assert throttle.state("day", T0).left == 1_000 - 1 - 3


@pytest.mark.case("P18", "P28")
def test_without_a_plan_the_strictest_reading_that_fits_holds_first() -> None:
    """
    1,000 within a minute is Free's day or Business's minute: Free, until a later minute agrees.
    """
    throttle = Throttle(None)
    hear(throttle, Answer(200, 1_000, 999, T0 + 60, date=T0))
    assert throttle.plan.name == "free"

    later = T0 + 70
    hear(throttle, Answer(200, 1_000, 999, T0 + 120, date=later), later)

    assert throttle.plan.name == "business"


@pytest.mark.case("P28")
def test_a_lower_limit_teaches_the_plan_at_once() -> None:
    """The key was moved from Pro to Free: the next answer says so."""
    throttle = Throttle(None)
    hear(throttle, Answer(200, 300, 299, T0 + 60, date=T0))
    assert throttle.plan.name == "pro"

    hear(throttle, minute(50))

    assert throttle.plan.name == "free"


def test_an_answer_of_401_teaches_nothing_of_this_keys_windows() -> None:
    """Its headers are those of a caller without a key."""
    throttle = warm(remaining=50)

    hear(throttle, Answer(401, 60, 0, T0 + 60, date=T0))

    assert isinstance(throttle.ask(T0), Go)


def test_what_never_left_is_given_back() -> None:
    """A refused connection costs nothing."""
    throttle = warm(remaining=1)

    decision = throttle.ask(T0)
    assert isinstance(decision, Go)

    throttle.unsent(decision)

    assert isinstance(throttle.ask(T0), Go)


def test_a_late_answer_is_counted_when_it_came_and_only_once() -> None:
    """
    It was given up after a minute and counted then: its answer adds nothing, and still teaches.
    """
    throttle = warm(remaining=50)
    token = go(throttle.ask(T0))
    throttle.settle(T0 + 61)
    before = throttle.state("day", T0 + 61).left

    throttle.answered(token, T0 + 62, minute(7, at=T0 + 62))

    assert throttle.state("day", T0 + 62).left == before
    assert throttle.state("minute", T0 + 62).left == 7


@pytest.mark.case("P82")
@pytest.mark.parametrize(
    ("limit", "remaining"),
    [("0", "0"), ("-1", "-1"), ("10000000000000000000", "5"), ("60", "10000"), ("0", "59")],
)
@pytest.mark.parametrize("plan", [FREE, None])
def test_absurd_headers_are_no_plan(plan: Plan | None, limit: str, remaining: str) -> None:
    """No error, no wait for ever, and never more than the plan."""
    throttle = Throttle(plan)
    said = {
        "X-RateLimit-Limit": limit,
        "X-RateLimit-Remaining": remaining,
        "X-RateLimit-Reset": f"{T0 + 60:.0f}",
    }
    hear(throttle, read(200, said, now=T0))

    assert granted(throttle) == 59
    assert isinstance(throttle.ask(T0 + 200), Go)
    assert throttle.plan.per_minute == 60


@pytest.mark.case("P82")
def test_a_remaining_that_never_falls_does_not_raise_the_rate() -> None:
    """Each answer says 59 of 60, with a reset that is always near: 60 go in each minute."""
    throttle = Throttle(FREE)
    sent = []
    now = T0
    while now < T0 + 300:
        decision = throttle.ask(now)
        if isinstance(decision, Go):
            sent.append(now)
            throttle.answered(
                decision.token, now, Answer(200, 60, 59, T0 + 60 * (now // 60 - T0 // 60 + 1))
            )
        else:
            assert isinstance(decision, Wait)
            now = decision.until

    whole = [sum(T0 + n * 60 <= at < T0 + n * 60 + 60 for at in sent) for n in range(5)]
    assert max(whole) <= 60
    assert sum(whole) >= 240


@pytest.mark.case("P82")
def test_a_named_plan_that_is_too_high_is_lowered_for_the_day() -> None:
    """The service grants 60 a minute and says nothing; 300 are named: at most three 429s a day."""
    throttle = Throttle(Plan(300, 100_000))
    refused = []
    accepted = [0] * 30
    now = T0 + 7
    while now < T0 + 1_200:
        decision = throttle.ask(now)
        if isinstance(decision, Wait):
            now = decision.until
            continue
        minute_ = int((now - T0) // 60)
        if accepted[minute_] < 60:
            accepted[minute_] += 1
            throttle.answered(go(decision), now, Answer(200))
        else:
            refused.append(now)
            wait_s = T0 + 60 * (minute_ + 1) - now
            throttle.answered(go(decision), now, Answer(429, retry_after_s=wait_s))
        now += 0.05

    assert 2 <= len(refused) <= 3
    assert throttle.plan.per_minute == 60
    assert "the plan is lowered for this day to custom (60 requests" in throttle.reason
    assert sum(accepted[5:20]) >= 15 * 50
    throttle.settle(T0 + 86_400)
    assert throttle.plan.per_minute == 300


def test_a_429_that_the_headers_explain_lowers_no_plan() -> None:
    """Another program took the minute: Remaining is 0, and the plan stays."""
    throttle = warm()
    for n in range(4):
        at = T0 + n * 61
        hear(throttle, minute(0, at=at, status=429, retry_after_s=1.0), at)

    assert throttle.plan == FREE


def test_a_bulk_run_leaves_the_last_tenth_to_people() -> None:
    """Of each minute, and of a day 20 requests or a tenth."""
    throttle = warm()

    assert granted(throttle, bulk=True) == 59 - 6
    assert isinstance(throttle.ask(T0), Go)
    assert [reserved("day", limit) for limit in (1_000, 50, None)] == [20, 5, 0]
