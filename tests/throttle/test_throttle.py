"""The throttle, asked and answered by hand."""

import pytest
from tables import read_table

from petstore_tools.plans import Plan
from petstore_tools.throttle.budget import Budget
from petstore_tools.throttle.rate_headers import RateReply
from petstore_tools.throttle.throttle import Go, Throttle, Wait

T0 = 1_800_000_000.0
FREE = Plan(60, 1_000, "free")


def minute(remaining, *, at=T0, status=200, **more):
    """Return an answer that speaks of the whole minute that holds `at`."""
    return RateReply(
        status, 60, remaining, at // 60 * 60 + 60, date=float(int(at)), **more
    )


def go(throttle, at=T0):
    decision = throttle.ask(at)
    assert isinstance(decision, Go), decision
    return decision


def wait(throttle, at=T0):
    decision = throttle.ask(at)
    assert isinstance(decision, Wait), decision
    return decision


def hear(throttle, answer, at=T0):
    """Send one request and read its answer at once."""
    throttle.record_reply(go(throttle, at), at, answer)


def granted(throttle, at=T0, *, bulk=False):
    """Count the requests that may go at once."""
    count = 0
    while isinstance(throttle.ask(at, bulk=bulk), Go):
        count += 1
    return count


def left(throttle, window, at=T0):
    """Return what is left of a window."""
    return throttle.window_quota(window, at).left


def warm(plan=FREE, remaining=59):
    """Return a throttle whose probe has come back."""
    throttle = Throttle(Budget(), plan)
    hear(throttle, minute(remaining))
    return throttle


def test_a_late_answer_tells_no_time():
    """
    Its process was stopped while others went on: `Date` says when it was written, long
    ago.
    """
    throttle = warm()
    late = go(throttle)
    hear(throttle, minute(0, at=T0 + 600), T0 + 600)

    throttle.record_reply(late, T0 + 601, minute(58))

    assert wait(throttle, T0 + 601).until == T0 + 661


def test_a_minute_whose_requests_are_all_in_flight_is_waited_for_as_a_whole():
    """Once their answers are late: until then these may show that one more is left."""
    throttle = Throttle(Budget(), FREE)
    hear(throttle, RateReply(200))

    assert granted(throttle, T0 + 70) == 60

    answers = wait(throttle, T0 + 70)
    assert (answers.until, answers.ask_at) == (T0 + 74, T0 + 70.05)
    assert throttle.ask(T0 + 74) == Wait(
        T0 + 134, "all 60 requests of this minute are used"
    )


def test_what_remaining_counted_already_is_not_waited_for_until_the_minute_ends():
    """
    Two in flight, and the first answer holds both: the second shows that one is left.
    """
    throttle = warm(remaining=4)
    first, second = go(throttle), go(throttle)
    throttle.record_reply(first, T0, minute(1))
    assert wait(throttle).until == T0 + 4

    throttle.record_reply(second, T0, minute(1))

    assert granted(throttle) == 1


@pytest.mark.parametrize(
    ("numbers", "answers", "expected"), read_table(__file__, "granted.json")
)
def test_so_many_requests_may_go_at_once(numbers, answers, expected):
    """
    Headers only lower what our own count of the plan allows; after a reset one probe
    goes. Of each case: the plan, answers with the second at which they came and how
    often, and how many may go at which second.
    """
    plan = numbers and Plan(*numbers)
    throttle = Throttle(Budget(), plan)
    for at_s, times, answer in answers:
        for _ in range(times):
            hear(throttle, RateReply(**answer), T0 + at_s)

    assert [[at_s, granted(throttle, T0 + at_s)] for at_s, _ in expected] == expected
    assert throttle.plan == (plan or FREE)


@pytest.mark.parametrize(("read_s", "again_s"), [(3.0, 61.0), (0.4, 59.6)])
def test_what_may_have_come_after_a_reset_counts_in_the_new_window(read_s, again_s):
    """
    Its time is only known as well as `Date` tells: to a second, and what the answer
    took.
    """
    throttle = Throttle(Budget(), Plan(4, 1_000))
    throttle.record_reply(
        go(throttle), T0 + read_s, RateReply(200, 4, 3, T0 + 60, date=T0)
    )
    for _ in range(3):
        hear(throttle, RateReply(200), T0 + again_s)

    throttle.advance_to(T0 + 65)
    assert left(throttle, "minute", T0 + 65) == 1


def test_a_fresh_minute_is_seen_behind_a_lost_probe():
    """Its answer shows that no more was used than was sent since the Reset."""
    throttle = Throttle(Budget(), FREE)
    hear(throttle, minute(59, at=T0 - 10), T0 - 10)  # whole minutes do not slide
    for remaining in reversed(range(60)):
        hear(throttle, minute(remaining, at=T0 + 50), T0 + 50)
    throttle.record_loss(go(throttle, T0 + 62).token, T0 + 62)

    hear(throttle, minute(59, at=T0 + 70), T0 + 70)

    assert granted(throttle, T0 + 70) == 58


@pytest.mark.parametrize(
    ("resets", "are_utc_days"), read_table(__file__, "resets.json")
)
def test_resets_of_the_day_prove_that_days_are_utc_days(resets, are_utc_days):
    """Then the next day is open although its first answer speaks of the minute."""
    throttle = Throttle(Budget(), Plan(60, 50))
    for number, reset in enumerate(resets):
        at = reset - 7_200 + 900 * number
        for _ in range(43):
            hear(throttle, RateReply(200), at)
        for remaining in (6, 5):
            hear(throttle, RateReply(200, 50, remaining, reset), at)

    day_after = resets[-1] + 2
    hear(throttle, minute(59, at=day_after), day_after)

    assert left(throttle, "day", day_after) == (49 if are_utc_days else 4)


@pytest.mark.parametrize(
    ("early", "late"),
    [
        (minute(8), minute(9)),
        (RateReply(200), minute(9)),  # which may not know of the other one
    ],
)
def test_two_that_are_answered_in_another_order_are_each_taken_off_once(early, late):
    """Of 10 left 8 are, also where the answer to the second names no Remaining."""
    throttle = warm(remaining=10)
    first, second = go(throttle), go(throttle)

    throttle.record_reply(second, T0, early)
    throttle.record_reply(first, T0, late)

    assert left(throttle, "minute") == 8


@pytest.mark.parametrize("in_flight", [1, 3])
def test_a_second_429_doubles_the_wait(in_flight):
    """
    Requests during a block lengthen it (§8.4.3); those in flight together are one
    refusal.
    """
    throttle = warm()
    refusal = RateReply(429, retry_after_s=10)
    for grant in [go(throttle) for _ in range(in_flight)]:
        throttle.record_reply(grant, T0, refusal)

    again = T0 + 10.5
    hear(throttle, refusal, again)
    assert wait(throttle, again).until == again + 20.5


@pytest.mark.parametrize("came_s", [1, 700])
def test_a_late_answer_does_not_reset_the_backoff(came_s):
    """
    It was sent before the 429, so it does not say that the service accepts more again.
    """
    throttle = warm()
    late = go(throttle)
    hear(throttle, RateReply(429, retry_after_s=10))
    throttle.advance_to(T0 + came_s)

    throttle.record_reply(late, T0 + came_s, RateReply(200))

    again = T0 + came_s + 10
    hear(throttle, RateReply(429, retry_after_s=10), again)
    assert wait(throttle, again).until == again + 20.5


def test_a_429_costs_the_day_nothing_and_what_never_left_costs_nothing():
    """A refused connection is given back whole."""
    throttle = warm()
    before = left(throttle, "day")

    throttle.cancel_grant(go(throttle))
    hear(throttle, RateReply(429, retry_after_s=1))

    assert left(throttle, "day") == before


@pytest.mark.parametrize(("answers", "names"), read_table(__file__, "learnt.json"))
def test_a_plan_is_learnt_from_the_headers(answers, names):
    """
    The strictest that fits, until a later minute agrees with another; a lower one at
    once.
    """
    throttle = Throttle(Budget(), None)
    learnt = []
    for at, answer in answers:
        hear(throttle, RateReply(**answer), T0 + at)
        learnt.append(throttle.plan.name)

    assert learnt == names


@pytest.mark.parametrize(
    ("window", "other", "name"),
    [("minute", "day", "business"), ("day", "minute", "free")],
)
def test_a_policy_tells_the_window_at_once(window, other, name):
    """
    A thousand is Free's day and Business's minute; a Reset in 30 s fits both at the end
    of a day.
    """
    end = T0 // 86_400 * 86_400 + 86_400
    now = end - 30
    answer = RateReply(200, 1_000, 7, end, policy_window=window, date=now)
    for plan in (None, Plan(1_000, 1_000)):
        throttle = Throttle(Budget(), plan)
        hear(throttle, answer, now)

        assert throttle.plan.name == (plan.name if plan else name)
        assert left(throttle, window, now) == 7
        assert left(throttle, other, now) != 7


def test_a_minute_that_ends_in_an_hour_is_none():
    """Whatever the policy says: then it is as without one."""
    throttle = Throttle(Budget(), FREE)
    hear(throttle, RateReply(200, 60, 7, T0 + 3_600, policy_window="minute"))

    assert left(throttle, "day") == 7


def test_a_late_answer_is_counted_when_it_came_and_only_once():
    """
    It was given up after two minutes and counted then: its answer adds nothing, and
    still teaches.
    """
    throttle = warm(remaining=50)
    token = go(throttle)
    throttle.advance_to(T0 + 121)
    before = left(throttle, "day", T0 + 121)

    throttle.record_reply(token, T0 + 122, minute(7, at=T0 + 122))

    assert left(throttle, "day", T0 + 122) == before
    assert left(throttle, "minute", T0 + 122) == 7


def send_for(throttle, begin, minutes, per_minute):
    """
    Send all that may go to a service that grants so many a minute and says nothing;
    count by the minute what it accepts, and what it refuses.
    """
    accepted = [0] * minutes
    refused = 0
    now = begin + 7
    while now < begin + 60 * minutes:
        decision = throttle.ask(now)
        if isinstance(decision, Wait):
            now = decision.until
            continue
        minute_ = int((now - begin) // 60)
        answer = RateReply(200)
        if accepted[minute_] == per_minute:
            refused += 1
            wait_s = begin + 60 * (minute_ + 1) - now
            answer = RateReply(429, retry_after_s=wait_s)
        else:
            accepted[minute_] += 1
        throttle.record_reply(decision, now, answer)
        now += 0.05
    return accepted, refused


def test_a_named_plan_that_is_too_high_waits_as_told_and_is_asked_about():
    """
    The service grants 60 a minute and says nothing; 300 are named: it is refused once a
    minute, loses nothing of the 60, and the reason says how to share a budget and names
    `plan=`.
    """
    throttle = Throttle(Budget(), Plan(300, 100_000))

    accepted, refused = send_for(throttle, T0, 20, per_minute=60)

    assert accepted == [60] * 20
    assert refused == 20
    assert throttle.plan.per_minute == 300
    reason = throttle.budget.reason
    assert "another program uses this key" in reason
    assert "PETSTORE_LEDGER_URL" in reason
    assert 'such as plan="30/500" (PETSTORE_PLAN=30/500, in' in reason


@pytest.mark.parametrize("retry_after_s", [1, 120])
def test_429s_that_nothing_explains_lower_no_plan(retry_after_s):
    """
    Two of a limit on bursts, in a row: it waits as told, then twice as long; the next
    ten minutes have the whole plan.
    """
    throttle = Throttle(Budget(), Plan(300, 10_000))
    refused_at = T0
    for wait_s in (retry_after_s, 2 * retry_after_s):
        hear(throttle, RateReply(429, retry_after_s=retry_after_s), refused_at)
        refused_at += wait_s + 0.5
        assert throttle.budget.blocked_until == refused_at

    accepted, refused = send_for(throttle, refused_at, 10, per_minute=300)

    assert sum(accepted) >= 3_000 - 2  # our own count holds the two that were refused
    assert refused == 0


def test_429s_in_a_row_block_no_more_than_15_minutes_longer():
    """However many; else a service that answers nothing but 429 stopped for days."""
    throttle = Throttle(Budget(), FREE)
    now = T0
    for _ in range(14):
        hear(throttle, RateReply(429, retry_after_s=60), now)
        assert throttle.budget.blocked_until - now <= 60 + 900 + 0.5
        now = throttle.budget.blocked_until


def test_a_bulk_run_leaves_the_last_tenth_to_people():
    """
    Of each minute, and of each day (`WindowQuota.reserve`): 4 of a part of 40.
    """
    throttle = warm()

    assert granted(throttle, bulk=True) == 59 - 6
    assert isinstance(throttle.ask(T0), Go)
    assert granted(warm(Plan(40, 1_000), 29), bulk=True) == 25


def test_of_two_waits_the_longer_is_told():
    """In a minute the day is still used up."""
    throttle = Throttle(Budget(), Plan(1, 1))
    hear(throttle, RateReply(200))

    assert wait(throttle).reason == "the one request of this day is used"
