"""Pure: the forecast of a bulk run by the plan: requests, days and finishing time (§8.2)."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf
from typing import Final

from petstore_tools import spec
from petstore_tools.errors import SettingsError
from petstore_tools.plans import Plan, Window
from petstore_tools.text import pluralize, utc_text
from petstore_tools.throttle.throttle import WindowState

MOST_CONNECTIONS: Final = 16
WITHOUT_A_PLAN: Final = 8  # connections where no number is known
LIKELY_S: Final = 0.1  # what an answer takes, before the first one shows it
SLOW_S: Final = 0.005  # a faster answer than this is not worth a second connection
LEAST_RESERVE: Final = 20  # requests of a day that a bulk run leaves for others


@dataclass(frozen=True)
class Forecast:
    """
    What a bulk run will take.

    Attributes:
        requests: Requests it spends at most, if no answer is lost: then one listing more.
        baseline: Of these, at most so many to list the animals that exist before the first create.
        left_today: Requests of the day that are left now; None where the number is not known.
        reserve: Requests of each day that it leaves for others.
        days: Days it touches, from 1; 0 where there is nothing to send.
        ends_at: Unix seconds, None where it can never end.
        plan: The plan in force, in words.
        made_at: Unix seconds.
    """

    requests: int
    baseline: int
    left_today: int | None
    reserve: int
    days: int
    ends_at: float | None
    plan: str
    made_at: float

    def __str__(self) -> str:
        if not self.requests:
            return "nothing to send"
        if self.ends_at is None:
            return (
                f"{pluralize(self.requests, 'request')}, which can never end: the reserve "
                "leaves none to send"
            )
        baseline = (
            f", up to {self.baseline:,} of them to list what exists already"
            if self.baseline
            else ""
        )
        made, ends = utc_text(self.made_at), utc_text(self.ends_at)
        when = f"done about {ends}" if self.days < 2 else f"{self.days:,} days, done about {ends}"
        if made[:10] == ends[:10]:
            when = f"done today at about {ends[11:16]} UTC"
        left = "an unknown number" if self.left_today is None else f"{self.left_today:,}"
        return (
            f"{pluralize(self.requests, 'request')}{baseline}, on {self.plan}; {left} left today, "
            f"{self.reserve:,} a day reserved for others; {when}"
        )


def reserve_per_day(plan: Plan, wanted: int | None) -> int:
    """
    Return how much of a day a bulk run leaves; by default 20, or a tenth of a smaller day.

    Raises:
        SettingsError: It would leave the whole day.
    """
    if wanted is None:
        return LEAST_RESERVE if plan.per_day is None else min(LEAST_RESERVE, plan.per_day // 10)
    if not 0 <= wanted < (plan.per_day or inf):
        most = "" if plan.per_day is None else f" and {plan.per_day - 1:,}"
        raise SettingsError(
            f"reserve must be between 0{most}, not {wanted:,}: else no request is left to send"
        )
    return wanted


def forecast(
    creates: int,
    plan: Plan,
    *,
    minute: WindowState,
    day: WindowState,
    reserve: int,
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
        reserve: Requests of each day reserved for others.
        now: Unix seconds.
        baseline: Requests before the first create.
        latency_s: What an answer takes.
    """
    requests = creates + baseline
    per_minute = minute.limit or inf
    usable_a_day = max(0.0, (day.limit or inf) - reserve)
    today = min(float(requests), max(0.0, day.left - reserve))
    rest = requests - today
    days, ends_at = int(today > 0), None
    each_s = latency_s / connections(minute.limit, latency_s)
    if not rest:
        ends_at = now + max(_sending_s(today, minute.left, per_minute), today * each_s)
    elif usable_a_day:
        whole_days = ceil(rest / usable_a_day)
        last = rest - (whole_days - 1) * usable_a_day
        next_day = day.frees_at if day.by_headers else Window(1, spec.DAY_S).end(now)
        begins_at = next_day + (whole_days - 1) * spec.DAY_S
        days += whole_days
        ends_at = begins_at + max(_sending_s(last, per_minute, per_minute), last * each_s)
    left_today = None if day.left == inf else int(max(0.0, day.left))
    return Forecast(requests, baseline, left_today, reserve, days, ends_at, str(plan), now)


def _sending_s(requests: float, left_now: float, per_minute: float) -> float:
    """Return seconds that pass while windows fill: none as long as one is enough."""
    return ceil(max(0.0, requests - max(0.0, left_now)) / per_minute) * spec.MINUTE_S


def connections(per_minute: int | None, latency_s: float) -> int:
    """Return how many connections fill the plan at the measured latency, one spare included."""
    if per_minute is None:
        return WITHOUT_A_PLAN
    needed = ceil(round(per_minute * latency_s / spec.MINUTE_S, 6))
    return min(MOST_CONNECTIONS, needed + 1 if needed > 1 else 1)
