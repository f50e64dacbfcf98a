"""The throttle against every strict service we can think of, in simulated time."""

import random
import sched
from dataclasses import dataclass, replace
from functools import partial

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter
from service_model import StrictService, StrictWindow, WindowKind

from petstore_tools.plans import Plan
from petstore_tools.throttle.budget import Budget
from petstore_tools.throttle.rate_headers import RateReply
from petstore_tools.throttle.throttle import LOST_AFTER_S, Go, Throttle, Wait

BUDGET = TypeAdapter(Budget)
DAY_S = 86_400


@dataclass(frozen=True)
class Case:
    """
    What a client asks of which service.

    Attributes:
        plan: Requests of the service's minute and day.
        kinds: How its two windows begin and end.
        speaks: Of which window its headers speak.
        latency_s: What a request takes at most there, and its answer back.
        deaths: Which part of the requests is in flight when its process is killed.
        other_program_s: How often another program uses the key, too; 0: never.
        named: The client is told the plan.
        day_begins_s: Seconds after midnight UTC at which a whole day begins there.
    """

    plan: tuple[int, int]
    kinds: tuple[WindowKind, WindowKind] = ("whole", "whole")
    speaks: str = "tight"
    latency_s: float = 0.01
    threads: int = 1
    requests: int = 1
    seed: int = 0
    skew_s: float = 0.0
    start: float = 1_800_000_000.0
    deaths: float = 0.0
    other_program_s: float = 0.0
    named: bool = True
    day_begins_s: float = 0.0

    def longest_s(self, accepted, died):
        """
        Return what so many requests may take: each window is filled, and little is
        idle.
        """
        per_minute, per_day = self.plan
        unsure = died + (self.threads if self.speaks == "alternate" else 0)
        days = -(-accepted // max(1, per_day - unsure)) + (self.day_begins_s > 0)
        minutes = -(-min(accepted, per_day) // per_minute)
        idle_s = 700 if died else 400
        # a lost request is given up after `LOST_AFTER_S`, and no answer takes 6 s
        return days * (DAY_S + idle_s) + (minutes + 1) * 71 + died * (LOST_AFTER_S + 8)


def cases(**drawn):
    """Draw cases; what is not named is drawn from everything."""
    kinds = st.sampled_from(["whole", "first use", "rolling"])
    every = {
        "plan": st.tuples(st.integers(1, 40), st.integers(1, 300)),
        "kinds": st.tuples(kinds, kinds),
        "speaks": st.sampled_from(["tight", "minute", "day", "alternate", "nothing"]),
        "latency_s": st.sampled_from([0.0, 0.01, 0.4, 3.0]),
        "threads": st.integers(1, 12),
        "requests": st.integers(1, 400),
        "seed": st.integers(0, 2**16),
        "skew_s": st.sampled_from([0.0, -0.4, 300.0, -300.0]),
        "start": st.floats(1_800_000_000, 1_800_172_800),
        "day_begins_s": st.sampled_from([0.0, 20_700.0, 25_200.0]),
    }
    made = st.builds(Case, **every | drawn)
    return made.map(
        lambda case: replace(case, requests=min(case.requests, case.plan[1] * 5))
    )


class Client:
    """Threads that ask one throttle and wait as it says."""

    def __init__(self, case):
        self.case = case
        minute, day = case.kinds
        self.windows = (
            StrictWindow(minute, case.plan[0], 60),
            StrictWindow(day, case.plan[1], DAY_S, case.day_begins_s),
        )
        self.service = StrictService(self.windows, case.speaks, case.skew_s)
        self.throttle = Throttle(Budget(), Plan(*case.plan) if case.named else None)
        self.now = case.start
        self.events = sched.scheduler(lambda: self.now, self.pass_time)
        self.rng = random.Random(case.seed)
        self.left = case.requests
        self.died = self.asks = 0
        self.closed_until = 0.0
        self.sent_while_closed = 0
        self.refused_in_a_row = self.most_in_a_row = 0

    def run(self):
        """Let it send all, and return the seconds that took."""
        for _ in range(self.case.threads):
            self.schedule(self.rng.uniform(0, 2), self.work)
        if self.case.other_program_s:
            self.schedule(0, self.use_elsewhere)
        self.events.run()
        return self.now - self.case.start

    def schedule(self, in_s, action):
        """Do something so many seconds from now."""
        self.events.enter(in_s, 0, action)

    def pass_time(self, seconds):
        """Let simulated time pass; nothing takes 40 days."""
        self.now += seconds
        assert self.now < self.case.start + 40 * DAY_S

    def use_elsewhere(self):
        """Be another program, which keeps to the limits, but not to our count."""
        now = self.now
        if min(w.remaining(now + self.case.skew_s) for w in self.windows) > 0:
            self.service.arrive(now)
        if now < self.case.start + 600:
            in_s = self.rng.uniform(0, 2 * self.case.other_program_s)
            self.schedule(in_s, self.use_elsewhere)

    def work(self):
        if not self.left:
            return
        now = self.now
        self.asks += 1
        match self.throttle.ask(now):
            case Go() as go:
                self.left -= 1
                self.sent_while_closed += now < self.closed_until
                self.refused_in_a_row = 0
                there_s = self.rng.uniform(0, self.case.latency_s)
                back_s = self.rng.uniform(0, self.case.latency_s)
                self.schedule(there_s, partial(self.arrive, go, back_s))
            case Wait() as wait:
                assert wait.until > now
                self.schedule(min(wait.until, wait.ask_at) - now, self.work)

    def arrive(self, go, back_s):
        answer = self.service.arrive(self.now)
        if self.rng.random() < self.case.deaths:
            # kill -9: the ledger's file is all that stays, and another process starts
            self.died += 1
            stored = BUDGET.dump_json(self.throttle.budget)
            self.throttle = replace(self.throttle, budget=BUDGET.validate_json(stored))
            self.schedule(2, self.work)
            return

        def read():
            now = self.now
            self.throttle.record_reply(go, now, answer)
            if answer.status == 429:
                self.left += 1
                self.closed_until = max(
                    self.closed_until, now + (answer.retry_after_s or 0)
                )
                self.refused_in_a_row += 1
                self.most_in_a_row = max(self.most_in_a_row, self.refused_in_a_row)
            self.work()

        self.schedule(back_s, read)


def slowly(examples):
    return settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )


LEARNT = cases(
    plan=st.sampled_from([(60, 1_000), (300, 10_000), (1_000, 100_000)]),
    latency_s=st.sampled_from([0.01, 0.4, 2.0]),
    requests=st.integers(1, 500),
    skew_s=st.sampled_from([0.0, 300.0, -300.0]),
    named=st.just(False),
)


@given(cases() | LEARNT)
@example(
    Case(  # what a Reset had freed went between it and the guard, before the probe
        (4, 37),
        ("rolling", "rolling"),
        "alternate",
        latency_s=3.0,
        threads=8,
        requests=71,
        seed=25_966,
        start=1_800_126_113.7310772,
    )
)
@example(
    Case(  # a Reset at midnight UTC, and then one that says otherwise
        (1, 11),
        ("whole", "rolling"),
        "alternate",
        latency_s=0.4,
        threads=3,
        requests=21,
        seed=7_072,
        start=1_800_057_600.0,
    )
)
@example(
    Case(  # a day that was seen to slide, with a request at midnight UTC
        (3, 20),
        ("whole", "rolling"),
        latency_s=0.4,
        threads=8,
        requests=67,
        seed=517,
        start=1_800_056_640.0,
    )
)
@example(
    Case(  # the Reset at midnight UTC is the one that shows that the day slides
        (3, 20),
        ("first use", "rolling"),
        latency_s=0.4,
        threads=4,
        requests=88,
        seed=4_029,
        start=1_800_057_540.0,
    )
)
@slowly(120)
def test_a_strict_service_never_refuses_a_plan_that_is_named_or_learnt(case):
    """
    Over plans, window kinds, header windows, latencies, skews and threads: no 429, and
    all arrive; in good time where the plan is named.
    """
    client = Client(case)

    took_s = client.run()

    assert client.service.refused == client.left == 0
    assert not case.named or took_s <= case.longest_s(client.service.accepted, 0)
    assert client.asks < 150 * client.service.accepted * case.threads + 1_000


@given(
    cases(
        plan=st.tuples(st.integers(2, 40), st.just(100_000)),
        speaks=st.just("tight"),
        latency_s=st.sampled_from([0.01, 0.4, 2.0]),
        threads=st.integers(1, 8),
        requests=st.integers(1, 120),
        other_program_s=st.sampled_from([0.2, 1.0, 5.0, 30.0]),
        skew_s=st.just(0.0),
    )
)
@slowly(60)
def test_beside_another_program_only_requests_in_flight_are_refused(case):
    """
    It may take what Remaining promised; then at most those in flight are refused, and
    all stop.
    """
    client = Client(case)

    client.run()

    assert client.sent_while_closed == client.left == 0
    assert client.most_in_a_row <= case.threads  # all were in flight together


@given(
    cases(
        plan=st.tuples(st.integers(1, 40), st.integers(20, 300)),
        latency_s=st.sampled_from([0.01, 0.4, 3.0]),
        deaths=st.sampled_from([0.01, 0.1, 0.3]),
        requests=st.integers(1, 300),
    )
)
@example(Case((1, 20), requests=63, deaths=0.01))
@example(
    Case((1, 20), speaks="alternate", threads=11, requests=68, seed=68, deaths=0.1)
)
@example(
    Case(  # a second probe followed a lost one, although this window was seen to slide
        (5, 39),
        ("rolling", "first use"),
        "minute",
        latency_s=3.0,
        threads=6,
        requests=39,
        seed=11_137,
        start=1_800_154_933.235329,
        deaths=0.1,
    )
)
@slowly(15)
def test_processes_that_die_and_start_again_earn_no_refusal(case):
    """
    Killed with a request in flight, started again on the same ledger: what was spent
    stays spent.

    A window that slides and has not shown it yet may refuse the probe behind a lost
    one, once.
    """
    client = Client(case)

    took_s = client.run()

    assert client.service.refused <= case.kinds.count("rolling")
    assert client.left == 0
    assert took_s <= case.longest_s(client.service.accepted, client.died)


@given(
    name=st.sampled_from(["minute", "day"]),
    limit=st.integers(7, 60),
    start=st.floats(1_800_000_000, 1_800_172_800),
    ends_in_s=st.floats(5, 60),
    lost=st.integers(1, 5),
    speaks=st.sampled_from(["reset", "429"]),
)
@settings(max_examples=100, deadline=None)
def test_a_lost_probe_costs_seconds(name, limit, start, ends_in_s, lost, speaks):
    """
    After a Reset of either window, at any time of the day, or after a 429: another
    within 5 s.
    """
    plan = Plan(limit, 10_000) if name == "minute" else Plan(10_000, limit)
    throttle = Throttle(Budget(), plan)
    end = start + ends_in_s * (1 if name == "minute" else 1_440)

    for left in reversed(range(limit)):
        go = throttle.ask(start)
        assert isinstance(go, Go)
        answer = RateReply(200, limit, left, end)
        if speaks == "429":
            refusal = RateReply(429, retry_after_s=end - start)
            answer = RateReply(200) if left else refusal
        throttle.record_reply(go, start, answer)

    now = end
    for _ in range(lost + 1):
        began_at = now
        while not isinstance(decision := throttle.ask(now), Go):
            now = decision.until
        assert decision.probe
        assert now <= began_at + 5
        throttle.record_loss(decision.token, now)
