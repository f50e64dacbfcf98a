"""Pure: what is known of one key's budget; plain, serialisable, shared by all who use the key."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import floor, inf
from typing import Any, Final

from petstore_tools.plans import PERIODS, Plan, Window, WindowName

SEEN_S: Final = 2.0  # a waiter that lives asks every half second
SET_BACK_S: Final = 0.1  # a clock that shows so much less than before was set back
_BY_WINDOW: Final = "by window"
PEOPLE_S: Final = 600.0  # how long a person counts as present after asking


@dataclass(slots=True)
class InFlight:
    """
    A request that was allowed and is not answered yet.

    Attributes:
        by: The process that sends it.
        sent_at: Client's Unix seconds of the grant.
        probe: It is the one request that shows what is left.
        unreported: `WindowBudget.unreported` of each window at the grant.
    """

    by: str
    sent_at: float
    probe: bool
    unreported: dict[str, int]


@dataclass(slots=True)
class Waiter:
    """
    A process that has to wait.

    Attributes:
        since: When it began to wait.
        seen: When it asked last.
        until: When it will ask again.
        bulk: It lets people go first.
    """

    since: float
    seen: float
    until: float
    bulk: bool

    def is_due(self, now: float) -> bool:
        """Say whether it has just asked, or is just about to ask again."""
        return 0 <= now - self.seen < SEEN_S or 0 <= now - self.until < SEEN_S


@dataclass(slots=True)
class Budget:
    """
    The shared state of a throttle; times are the client's Unix seconds unless said otherwise.

    Attributes:
        windows: Minute and day.
        in_flight: Requests allowed and not answered, by token: the number of the grant, as text.
        needs_probe: Nothing is known of the windows now, so one request goes first.
        blocked_until, reason: After a 429, or a 503 that names a time, nothing goes before this
            time.
        banned: The block is a ban of the key.
        consecutive_429s: Answers of 429 in a row, those in flight together counted once.
        refused_at: When the last one was read.
        skew: The service's clock less ours lies between these; None until known.
        utc_day: A reset at midnight UTC proved that days are whole UTC days.
        learned: The plan that the headers showed.
        hint: A limit that would raise the learned plan, and when it was first seen.
        people: Interactive callers by name, and when each asked last.
        waiting: Processes that wait, by name.
        granted: How many requests were allowed so far.
        seen_at: The latest time that was seen.
        steady: Machine that used the budget last, and its steady clock then.
        spent: No fact: version 0.1 expects another type here, so it refuses the file. Else it would
            find no requests in it and send too many.
    """

    windows: dict[WindowName, WindowBudget] = field(
        default_factory=lambda: {name: WindowBudget(period_s) for name, period_s in PERIODS.items()}
    )
    in_flight: dict[str, InFlight] = field(default_factory=dict)
    needs_probe: bool = True
    blocked_until: float = 0.0
    reason: str = ""
    banned: bool = False
    consecutive_429s: int = 0
    refused_at: float = 0.0
    skew: tuple[float, float] | None = None
    utc_day: bool = False
    learned: Plan | None = None
    hint: tuple[int, float] | None = None
    people: dict[str, float] = field(default_factory=dict)
    waiting: dict[str, Waiter] = field(default_factory=dict)
    granted: int = 0
    seen_at: float = 0.0
    steady: tuple[str, float] | None = None
    spent: str = _BY_WINDOW

    def follow(self, now: float, steady: tuple[str, float] | None = None) -> None:
        """
        Move blocks along with a clock that was set back, so that none lasts longer.

        Args:
            now: Client's Unix seconds.
            steady: Name of the machine, and seconds of a clock of it that nobody sets: it shows how
                much time has passed since that machine used the budget. Without it none is assumed.
        """
        latest = max(self.seen_at, self.refused_at)  # 0.1 noted only when it was refused
        if steady is not None:
            if self.steady is not None and self.steady[0] == steady[0]:
                latest += max(
                    0.0, steady[1] - self.steady[1]
                )  # at least: a restart sets it to zero
            self.steady = steady
        back_s = latest - now
        if back_s <= SET_BACK_S:
            self.seen_at = max(self.seen_at, self.refused_at, now)
            return
        self.seen_at = now
        self.blocked_until -= back_s
        self.refused_at = min(self.refused_at, now)
        for request in self.in_flight.values():
            request.sent_at = min(request.sent_at, now)
        self.people, self.waiting, self.hint = {}, {}, None
        if self.skew is not None:
            self.skew = self.skew[0] + back_s, self.skew[1] + back_s

    def note_person(self, name: str, now: float) -> None:
        """Remember who asked last; nobody needs to know of more than one other."""
        others = [(who, at) for who, at in self.people.items() if who != name]
        self.people = dict([*others[-1:], (name, now)])

    def forget(self, now: float) -> None:
        """Drop people and waiters that are gone."""
        self.people = {who: at for who, at in self.people.items() if now - at < PEOPLE_S}
        self.waiting = {
            name: w for name, w in self.waiting.items() if now - max(w.seen, w.until) < SEEN_S
        }

    def service_time(self, now: float) -> float:
        """Return the earliest that the service's clock can show at our `now`."""
        return now + (self.skew[0] if self.skew else 0.0)

    def client_time(self, at: float) -> float:
        """Return the latest that our clock can show when the service's shows `at`."""
        return at - (self.skew[0] if self.skew else 0.0)

    def learn_skew(self, date: float | None, *, sent_at: float, now: float) -> None:
        """
        Narrow the skew by an answer's `Date`, whole seconds rounded down.

        The service wrote it between `sent_at` and `now`; where that contradicts what was believed,
        a clock was set, and only the new answer counts.
        """
        if date is None:
            return
        low, high = new = date - now, date + 1 - sent_at
        if self.skew is not None:
            low, high = max(low, self.skew[0]), min(high, self.skew[1])
        self.skew = (low, high) if low <= high else new


def from_0_1(old: dict[str, Any]) -> dict[str, Any]:
    """Return the budget that version 0.1 wrote as this version writes it."""
    windows, spent = {}, old["spent"]
    in_flight = old[
        "in_flight"
    ].items()  # their answers never come here: 0.1 refuses the file from now on
    for name, period_s in PERIODS.items():
        start = max((process[f"{name}_start"] for process in spent.values()), default=0)
        windows[name] = {
            "period_s": period_s,
            "counts": {old[name]["first"] + at: n for at, n in enumerate(old[name]["counts"]) if n},
            "reading": old["readings"].get(name)
            or (old["readings"].get("either") if name == "minute" else None),
            "started_at": start,
            "spent_by": {who: p[name] for who, p in spent.items() if p[f"{name}_start"] == start},
        }
    numbers = old["learned"] or ()
    return old | {
        "spent": _BY_WINDOW,
        "windows": windows,
        "in_flight": {
            n: sent | {"probe": sent["scout"], "unreported": {}} for n, sent in in_flight
        },
        "blocked_until": old["gate_until"],
        "reason": old["gate_why"],
        "banned": old["banned_until"] >= old["gate_until"] > 0,
        "consecutive_429s": old["refusals"],
        "skew": None if old["skew_low"] is None else (old["skew_low"], old["skew_high"]),
        "learned": dict(zip(("per_minute", "per_day", "name"), numbers, strict=False)) or None,
        "granted": old["tokens"],
    }


GUARD_S: Final = 1.0  # headers carry whole seconds: a reset may be up to one later than written
MOST_PROCESSES: Final = 20  # whose requests are counted apart
FINISHED: Final = "finished processes"
_BUCKETS: Final = 144  # of a day: ten minutes each; those of a minute are one second


@dataclass(slots=True)
class Reading:
    """
    What the headers said of a window (§8.3).

    Attributes:
        limit: The limit in force.
        remaining: Least Remaining of this window, less the answers since that did not report on it.
        reset: The service's Unix seconds at which the window ends.
        as_of: Grants until the last answer that shaped it: the answer to a later grant is newer.
        assumed: No believable Reset came, so the reading holds for a minute.
    """

    limit: int
    remaining: int
    reset: float
    as_of: int
    assumed: bool = False

    def under(self, ceiling: int | None) -> tuple[int, int]:
        """Return limit and remaining where the plan allows no more than `ceiling`."""
        over = 0 if ceiling is None else max(0, self.limit - ceiling)
        return self.limit - over, self.remaining - over


@dataclass(slots=True)
class WindowBudget:
    """
    What is known of one window; times are the client's Unix seconds unless said otherwise.

    A request is counted at the last moment at which it may have arrived, and until a whole period
    after its bucket ends. So any period that the service may choose holds at most what is counted
    here, whatever the latency was.

    Attributes:
        period_s: Seconds of the window.
        counts: Requests by bucket; a bucket's number is its start since 1970 in bucket widths.
        reading: What the headers said, None where they have said nothing that still holds.
        unreported: How many answers so far did not report on this window.
        probe_allowance: Requests that a probe may send although our own count is full, since the
            service said that something of the window is free again.
        started_at: Start of the whole window in which `spent_by` was counted, the service's Unix
            seconds.
        spent_by: Requests by process in that window, the last to send at the end; no decision rests
            on it.
    """

    period_s: int
    counts: dict[int, int] = field(default_factory=dict)
    reading: Reading | None = None
    unreported: int = 0
    probe_allowance: int = 0
    started_at: int = 0
    spent_by: dict[str, int] = field(default_factory=dict)

    @property
    def width_s(self) -> int:
        """Seconds of a bucket."""
        return max(1, self.period_s // _BUCKETS)

    @property
    def used(self) -> int:
        """Requests of the last period."""
        return sum(self.counts.values())

    def believe(self, new: Reading, *, number: int) -> None:
        """
        Take in the reading of the answer to grant `number`; of two in unknown order the least
        counts.
        """
        known = self.reading
        if known is None or known.assumed or new.reset > known.reset + GUARD_S:
            self.reading = new
        elif new.reset >= known.reset - GUARD_S:
            if number <= known.as_of:
                new.remaining = min(known.remaining, new.remaining)
            new.reset = max(known.reset, new.reset)
            self.reading = new

    def add(self, at: float) -> None:
        """Count a request that arrived no later than `at`."""
        bucket = floor(at / self.width_s)
        self.counts[bucket] = self.counts.get(bucket, 0) + 1

    def settle(self, now: float, service_now: float) -> None:
        """
        Drop what no longer counts; what a clock set backwards left in the future counts as of now.
        """
        latest = floor(now / self.width_s)
        oldest = latest - self.period_s // self.width_s
        for bucket in [at for at in self.counts if not oldest <= at <= latest]:
            n = self.counts.pop(bucket)
            if bucket > latest:
                self.counts[latest] = self.counts.get(latest, 0) + n
        start = Window(1, self.period_s).start(service_now)
        if start != self.started_at:
            self.started_at, self.spent_by = start, {}

    def since(self, at: float) -> int:
        """Count the requests that may have arrived at or after `at`."""
        return sum(n for bucket, n in self.counts.items() if bucket >= floor(at / self.width_s))

    def frees_at(self, needed: int = 1) -> float:
        """
        Return when `needed` of the counted requests stop counting, `inf` where there are fewer.
        """
        for bucket in sorted(self.counts):
            needed -= self.counts[bucket]
            if needed <= 0:
                return (bucket + 1) * self.width_s + self.period_s
        return inf

    def spend(self, name: str, n: int) -> None:
        """
        Count `n` requests of a process; of many processes only those that sent last are counted
        apart.
        """
        self.spent_by[name] = max(0, self.spent_by.pop(name, 0) + n)
        if len(self.spent_by) > MOST_PROCESSES:
            older = list(self.spent_by)[: -MOST_PROCESSES // 2]
            self.spent_by[FINISHED] = sum(self.spent_by.pop(name) for name in older)
