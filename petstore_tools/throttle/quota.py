"""What is left of a key's minute and day, known without a request (§8.2, §8.3)."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf
from typing import Final

from petstore_tools import spec
from petstore_tools.plans import Plan, WindowName
from petstore_tools.text import cell_text, html_table, pluralize, text_table, utc_text
from petstore_tools.throttle.gate import Gate
from petstore_tools.throttle.throttle import WindowState, bulk_reserve


@dataclass(frozen=True)
class WindowQuota:
    """
    One window of a quota.

    Attributes:
        window: `minute` or `day`.
        limit: Requests, None where the number is not known.
        left: Requests that may go now, None where the number is not known.
        frees_at: Unix seconds at which more is left, None while nothing is used or
            known.
    """

    window: str
    limit: int | None
    left: int | None
    frees_at: float | None

    @property
    def _row(self) -> tuple[object, ...]:
        frees_at = None if self.frees_at is None else utc_text(self.frees_at)
        return self.window, self.limit, self.left, frees_at


@dataclass(frozen=True)
class Quota:
    """
    What a key has left.

    Attributes:
        plan: In words.
        minute, day: The two windows.
        blocked_until: Unix seconds until which nothing goes after a 429, a 503 or a
            ban; None where nothing is blocked.
        note: What else there is to know, in a sentence or two.
        as_of: Unix seconds.
    """

    plan: str
    minute: WindowQuota
    day: WindowQuota
    blocked_until: float | None
    note: str
    as_of: float

    def to_text(self) -> str:
        """Return the quota for a terminal."""
        table = text_table(_TITLES, [self.minute._row, self.day._row])
        return f"{self.plan}\n\n{table}\n\n{self.note}"

    def __repr__(self) -> str:
        parts = [
            f"{w.window} {cell_text(w.left)} of {cell_text(w.limit)} left"
            for w in (self.minute, self.day)
        ]
        blocked = (
            ""
            if self.blocked_until is None
            else f", blocked until {utc_text(self.blocked_until)}"
        )
        return f"Quota({self.plan}: {', '.join(parts)}{blocked})"

    def _repr_html_(self) -> str:
        return html_table(
            self.plan, _TITLES, [self.minute._row, self.day._row], note=self.note
        )


_TITLES = ("window", "limit", "left", "more is free at")


def read_quota(gate: Gate) -> Quota:
    """Return what a key has left, as its gate counts; costs no request."""
    throttle = gate.read_budget()
    now = gate.now()

    def window(name: WindowName) -> WindowQuota:
        state = throttle.window_quota(name, now)
        return WindowQuota(
            window=name,
            limit=state.limit,
            left=None if state.left == inf else max(0, int(state.left)),
            frees_at=gate.local_time(state.frees_at) if state.frees_at > now else None,
        )

    blocked_until = None
    notes = []
    if now < throttle.blocked_until:
        blocked_until = gate.local_time(throttle.blocked_until)
        notes.append(f"Blocked until {utc_text(blocked_until)}: {throttle.reason}.")
    if throttle.in_flight:
        notes.append(f"Requests that wait for an answer: {len(throttle.in_flight):,}.")
    if throttle.lowered_plan is not None:
        until = utc_text(gate.local_time(throttle.doubted_until))
        notes.append(
            f"The plan is lowered until {until}, since the service refused more."
        )
    notes.append(f"Counted {gate.ledger.scope}.")
    return Quota(
        plan=str(throttle.plan),
        minute=window("minute"),
        day=window("day"),
        blocked_until=blocked_until,
        note=" ".join(notes),
        as_of=gate.local_time(now),
    )


MOST_CONNECTIONS: Final = 16
WITHOUT_A_PLAN: Final = 8  # connections where no number is known
LIKELY_S: Final = 0.1  # what an answer takes, before the first one shows it
SLOW_S: Final = 0.005  # a faster answer than this is not worth a second connection


@dataclass(frozen=True)
class Forecast:
    """
    What a bulk run will take.

    Attributes:
        requests: Requests it spends at most, if no answer is lost: then one listing
            more.
        baseline: Of these, at most so many to list the animals that exist before the
            first create.
        left_today: Requests of the day that are left now; None where the number is not
            known.
        reserve: Requests of each day that it leaves to people; of each minute it leaves
            a tenth.
        days: Days it touches, from 1; 0 where there is nothing to send.
        ends_at: Unix seconds.
        plan: The plan in force, in words.
        made_at: Unix seconds.
    """

    requests: int
    baseline: int
    left_today: int | None
    reserve: int
    days: int
    ends_at: float
    plan: str
    made_at: float

    def __str__(self) -> str:
        if not self.requests:
            return "nothing to send"
        baseline = (
            f", at most {self.baseline:,} of them for listing the animals that exist"
            if self.baseline
            else ""
        )
        made_at_text = utc_text(self.made_at)
        ends_at_text = utc_text(self.ends_at)
        takes = "" if self.days < 2 else f"takes {self.days:,} days and "
        when = f"it {takes}ends about {ends_at_text}"
        if made_at_text[:10] == ends_at_text[:10]:
            when = f"it ends today at about {ends_at_text[11:16]} UTC"
        left = (
            "an unknown number" if self.left_today is None else f"{self.left_today:,}"
        )
        return (
            f"{pluralize(self.requests, 'request')}{baseline}, on {self.plan}; {left}"
            " left today; an import leaves the last tenth of each minute and"
            f" {self.reserve:,} requests a day for other work; {when}"
        )


def forecast(
    creates: int,
    plan: Plan,
    *,
    minute: WindowState,
    day: WindowState,
    now: float,
    baseline: int = 0,
    latency_s: float = 0.0,
) -> Forecast:
    """
    Say what so many creates will take from `now` on.

    Args:
        creates: How many.
        plan: The plan in force.
        minute: What the throttle says is left of the minute.
        day: What it says is left of the day.
        now: Unix seconds.
        baseline: Requests before the first create.
        latency_s: What an answer takes.
    """
    requests = creates + baseline
    reserve = bulk_reserve("day", day.limit)
    minute_reserve = bulk_reserve("minute", minute.limit)
    per_minute = (minute.limit or inf) - minute_reserve
    usable_a_day = (day.limit or inf) - reserve
    today = min(float(requests), max(0.0, day.left - reserve))
    later_requests = requests - today
    days = int(today > 0)
    each_s = latency_s / connections(minute.limit, latency_s)
    begins_at = now
    last = today
    left_now = minute.left - minute_reserve
    if later_requests:
        whole_days = ceil(later_requests / usable_a_day)
        days += whole_days
        next_day = (
            day.frees_at if day.by_headers else now + spec.DAY_S - now % spec.DAY_S
        )
        begins_at = next_day + (whole_days - 1) * spec.DAY_S
        last = later_requests - (whole_days - 1) * usable_a_day
        left_now = per_minute
    ends_at = begins_at + max(_sending_s(last, left_now, per_minute), last * each_s)
    left_today = None if day.left == inf else int(max(0.0, day.left))
    return Forecast(
        requests, baseline, left_today, reserve, days, ends_at, str(plan), now
    )


def _sending_s(requests: float, left_now: float, per_minute: float) -> float:
    """Return seconds that pass while windows fill: none as long as one is enough."""
    return ceil(max(0.0, requests - max(0.0, left_now)) / per_minute) * spec.MINUTE_S


def connections(per_minute: int | None, latency_s: float) -> int:
    """
    Return how many connections fill the plan at the measured latency, one spare
    included.
    """
    if per_minute is None:
        return WITHOUT_A_PLAN
    needed = ceil(round(per_minute * latency_s / spec.MINUTE_S, 6))
    return min(MOST_CONNECTIONS, needed + 1 if needed > 1 else 1)
