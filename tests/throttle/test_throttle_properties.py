"""The throttle against every strict service we can think of, in simulated time."""

from __future__ import annotations

import random
from functools import partial

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter
from service_model import StrictService, StrictWindow, Timeline, WindowKind, latency

from petstore_tools.plans import Plan
from petstore_tools.throttle.budget import Budget
from petstore_tools.throttle.throttle import Go, Throttle, Wait

BUDGET = TypeAdapter(Budget)
KINDS = st.sampled_from(["whole", "first use", "rolling"])
SPEAKS = st.sampled_from(["tight", "minute", "day", "alternate", "nothing"])


class Client:
    """Threads that ask one throttle and wait as it says."""

    def __init__(
        self,
        service: StrictService,
        throttle: Throttle,
        timeline: Timeline,
        rng: random.Random,
        *,
        latency_s: float,
        requests: int,
        processes: int = 1,
        deaths: float = 0.0,
    ) -> None:
        self.service = service
        self.throttle = throttle
        self.timeline = timeline
        self.rng = rng
        self.latency_s = latency_s
        self.left = requests
        self.processes = processes
        self.deaths = deaths
        self.died = 0
        self.asks = self.flying = self.unfounded = 0
        self.told: dict[int | float | None, int] = {}  # least Remaining that was read, by its reset
        self.closed_until = 0.0
        self.sent_while_closed = 0
        self.refused_in_a_row = self.most_in_a_row = 0

    def worker(self, process: int = 0) -> None:
        if not self.left:
            return
        now = self.timeline.now
        self.asks += 1
        match self.throttle.ask(now):
            case Go(token):
                self.left -= 1
                self.sent_while_closed += now < self.closed_until
                self.refused_in_a_row = 0
                founded = self.founded(now)
                self.flying += 1
                there_s, back_s = latency(self.rng, self.latency_s)
                self.timeline.at(
                    now + there_s, lambda: self._arrive(token, back_s, process, founded)
                )
            case Wait(until):
                assert until > now
                self.timeline.at(until, lambda: self.worker(process))

    def founded(self, now: float) -> bool:
        """
        Whether the answers read so far promise room for one more: else nobody had to be refused.
        """
        known = self.told.get(self.service.windows[0].reset(now + self.service.skew_s))
        return self.flying == 0 if known is None else known - self.flying >= 1

    def _arrive(self, token: str, back_s: float, process: int, founded: bool) -> None:
        answer = self.service.arrive(self.timeline.now)
        if self.rng.random() < self.deaths:
            self._die(process)
            return

        def read() -> None:
            self.flying -= 1
            self.throttle.answered(token, self.timeline.now, answer)
            if answer.status == 429:
                self.left += 1
                self.unfounded += not founded
                self.closed_until = max(
                    self.closed_until, self.timeline.now + (answer.retry_after_s or 0)
                )
                self.refused_in_a_row += 1
                self.most_in_a_row = max(self.most_in_a_row, self.refused_in_a_row)
            elif answer.remaining is not None:
                self.told[answer.reset] = min(answer.remaining, self.told.get(answer.reset, 10**9))
            self.worker(process)

        self.timeline.at(self.timeline.now + back_s, read)

    def _die(self, process: int) -> None:
        """
        Kill -9 with a request in flight: the ledger's file is all that stays, and another one
        starts.
        """
        self.died += 1
        self.throttle.budget = BUDGET.validate_json(BUDGET.dump_json(self.throttle.budget))
        self.timeline.at(self.timeline.now + 2, lambda: self.worker(process + self.processes))


def run(
    *,
    plan: tuple[int, int],
    kinds: tuple[WindowKind, WindowKind],
    speaks: str,
    latency_s: float,
    threads: int,
    requests: int,
    seed: int,
    skew_s: float,
    start: float,
    named: bool,
    other_program_s: float | None = None,
    processes: int = 1,
    deaths: float = 0.0,
) -> tuple[StrictService, Client, float]:
    rng = random.Random(seed)
    service = StrictService(
        (StrictWindow(kinds[0], plan[0], 60), StrictWindow(kinds[1], plan[1], 86_400)),
        speaks,  # type: ignore[arg-type]
        skew_s,
    )
    timeline = Timeline(start)
    throttle = Throttle(Plan(*plan) if named else None, Budget())
    client = Client(
        service,
        throttle,
        timeline,
        rng,
        latency_s=latency_s,
        requests=requests,
        processes=processes,
        deaths=deaths,
    )
    for thread in range(threads):
        timeline.at(start + rng.uniform(0, 2), partial(client.worker, thread % processes))

    def other_program() -> None:
        if min(w.remaining(timeline.now + skew_s) for w in service.windows) > 0:
            service.arrive(timeline.now)  # it keeps to the limits, but not to our count
        if other_program_s is not None and timeline.now < start + 600:
            timeline.at(timeline.now + rng.uniform(0, 2 * other_program_s), other_program)

    if other_program_s is not None:
        timeline.at(start, other_program)
    for _ in timeline.run(start + 40 * 86_400):
        pass
    return service, client, timeline.now - start


@given(
    per_minute=st.integers(1, 40),
    per_day=st.integers(1, 300),
    kinds=st.tuples(KINDS, KINDS),
    speaks=SPEAKS,
    latency_s=st.sampled_from([0.0, 0.01, 0.4, 3.0]),
    threads=st.integers(1, 12),
    requests=st.integers(1, 400),
    seed=st.integers(0, 2**16),
    skew_s=st.sampled_from([0.0, -0.4, 300.0, -300.0]),
    start=st.floats(1_800_000_000, 1_800_172_800),
)
@settings(
    max_examples=120, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
@pytest.mark.case("P13", "P18", "P19")
def test_a_strict_service_never_refuses_a_named_plan(
    per_minute: int,
    per_day: int,
    kinds: tuple[WindowKind, WindowKind],
    speaks: str,
    latency_s: float,
    threads: int,
    requests: int,
    seed: int,
    skew_s: float,
    start: float,
) -> None:
    """
    Over plans, window kinds, header windows, latencies, skews and threads: no 429, and all arrive.
    """
    service, client, took_s = run(
        plan=(per_minute, per_day),
        kinds=kinds,
        speaks=speaks,
        latency_s=latency_s,
        threads=threads,
        requests=min(requests, per_day * 5),
        seed=seed,
        skew_s=skew_s,
        start=start,
        named=True,
    )

    assert service.refused == 0
    assert client.left == 0
    sure = per_day if speaks != "alternate" else max(1, per_day - threads)  # order is not known
    days = -(-service.accepted // sure)
    minutes = -(-min(service.accepted, per_day) // per_minute)
    assert took_s <= days * (86_400 + 400) + (minutes + 1) * (60 + 2 * latency_s + 5)
    assert client.asks < 150 * service.accepted * threads + 1_000


@given(
    per_minute=st.integers(2, 40),
    kinds=st.tuples(KINDS, KINDS),
    latency_s=st.sampled_from([0.01, 0.4, 2.0]),
    threads=st.integers(1, 8),
    requests=st.integers(1, 120),
    other_program_s=st.sampled_from([0.2, 1.0, 5.0, 30.0]),
    seed=st.integers(0, 2**16),
    start=st.floats(1_800_000_000, 1_800_172_800),
)
@settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
@pytest.mark.case("P14")
def test_beside_another_program_only_requests_in_flight_are_refused(
    per_minute: int,
    kinds: tuple[WindowKind, WindowKind],
    latency_s: float,
    threads: int,
    requests: int,
    other_program_s: float,
    seed: int,
    start: float,
) -> None:
    """
    It may take what Remaining promised; then at most those in flight are refused, and all stop.
    """
    _, client, _ = run(
        plan=(per_minute, 100_000),
        kinds=kinds,
        speaks="tight",
        latency_s=latency_s,
        threads=threads,
        requests=requests,
        seed=seed,
        skew_s=0.0,
        start=start,
        named=True,
        other_program_s=other_program_s,
    )

    assert client.sent_while_closed == 0
    assert client.left == 0
    assert (
        client.most_in_a_row <= threads
    )  # without a request between them: all were in flight together
    assert kinds[0] != "whole" or client.unfounded == 0  # each was promised by what had been read


@given(
    per_minute=st.integers(1, 40),
    per_day=st.integers(20, 300),
    kinds=st.tuples(KINDS, KINDS),
    speaks=SPEAKS,
    latency_s=st.sampled_from([0.01, 0.4, 3.0]),
    threads=st.integers(1, 12),
    processes=st.integers(1, 6),
    deaths=st.sampled_from([0.01, 0.1, 0.3]),
    requests=st.integers(1, 300),
    seed=st.integers(0, 2**16),
    skew_s=st.sampled_from([0.0, 300.0, -300.0]),
    start=st.floats(1_800_000_000, 1_800_172_800),
)
@example(
    per_minute=1,
    per_day=20,
    kinds=("whole", "whole"),
    speaks="tight",
    latency_s=0.01,
    threads=1,
    processes=1,
    deaths=0.01,
    requests=63,
    seed=0,
    skew_s=0.0,
    start=1_800_000_000.0,
)
@example(
    per_minute=1,
    per_day=20,
    kinds=("whole", "whole"),
    speaks="alternate",
    latency_s=0.01,
    threads=11,
    processes=1,
    deaths=0.1,
    requests=68,
    seed=68,
    skew_s=0.0,
    start=1_800_000_004.0,
)
@settings(
    max_examples=15, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
@pytest.mark.case("P21", "P22", "P23")
def test_processes_that_die_and_start_again_earn_no_refusal(
    per_minute: int,
    per_day: int,
    kinds: tuple[WindowKind, WindowKind],
    speaks: str,
    latency_s: float,
    threads: int,
    processes: int,
    deaths: float,
    requests: int,
    seed: int,
    skew_s: float,
    start: float,
) -> None:
    """
    Killed with a request in flight, started again on the same ledger: what was spent stays spent.
    """
    service, client, took_s = run(
        plan=(per_minute, per_day),
        kinds=kinds,
        speaks=speaks,
        latency_s=latency_s,
        threads=threads,
        requests=min(requests, per_day * 5),
        seed=seed,
        skew_s=skew_s,
        start=start,
        named=True,
        processes=processes,
        deaths=deaths,
    )

    assert service.refused == 0
    assert client.left == 0
    sure = per_day if speaks != "alternate" else max(1, per_day - threads)
    days = -(-service.accepted // max(1, sure - client.died))
    minutes = -(-min(service.accepted, per_day) // per_minute)
    a_death_s = 62 + 2 * latency_s  # until its request is given up, and no probe takes longer
    assert (
        took_s
        <= days * (86_400 + 700)
        + (minutes + 1) * (60 + 2 * latency_s + 5)
        + client.died * a_death_s
    )


@given(
    plan=st.sampled_from([(60, 1_000), (300, 10_000), (1_000, 100_000)]),
    kinds=st.tuples(KINDS, KINDS),
    speaks=SPEAKS,
    latency_s=st.sampled_from([0.01, 0.4, 2.0]),
    threads=st.integers(1, 12),
    requests=st.integers(1, 500),
    seed=st.integers(0, 2**16),
    skew_s=st.sampled_from([0.0, 300.0, -300.0]),
    start=st.floats(1_800_000_000, 1_800_172_800),
)
@settings(
    max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
@pytest.mark.case("P18", "P28")
def test_a_plan_that_is_learnt_earns_no_refusal_either(
    plan: tuple[int, int],
    kinds: tuple[WindowKind, WindowKind],
    speaks: str,
    latency_s: float,
    threads: int,
    requests: int,
    seed: int,
    skew_s: float,
    start: float,
) -> None:
    """Nobody named the plan: one request goes first, then the strictest reading that fits."""
    service, client, _ = run(
        plan=plan,
        kinds=kinds,
        speaks=speaks,
        latency_s=latency_s,
        threads=threads,
        requests=requests,
        seed=seed,
        skew_s=skew_s,
        start=start,
        named=False,
    )

    assert service.refused == 0
    assert client.left == 0
