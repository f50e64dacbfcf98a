"""What is left of a key's minute and day, known without a request (§8.2, §8.3)."""

from dataclasses import dataclass, replace
from math import ceil, inf

from petstore_tools import spec
from petstore_tools.plans import WindowName
from petstore_tools.text import html_table, pluralize, text_table, utc_text
from petstore_tools.throttle.budget import WindowQuota
from petstore_tools.throttle.gate import Gate

_TITLES = ("window", "limit", "left", "for imports", "more is free by")


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

    __module__ = "petstore_tools"

    plan: str
    minute: WindowQuota
    day: WindowQuota
    blocked_until: float | None
    note: str
    as_of: float

    def __repr__(self) -> str:
        table = text_table(_TITLES, self._rows())
        return f"{self.plan}\n\n{table}\n\n{self.note}"

    def _repr_html_(self) -> str:
        return html_table(_TITLES, self._rows(), self.plan, self.note)

    def _rows(self) -> list[tuple[object, ...]]:
        return [
            (
                quota.window,
                quota.limit,
                quota.left,
                quota.left_for_imports,
                quota.frees_at and utc_text(quota.frees_at),
            )
            for quota in (self.minute, self.day)
        ]


def read_quota(gate: Gate) -> Quota:
    """
    Return what a key has left, as its gate counts; costs no request.

    >>> read_quota(store.client.gate)
    free (60 requests a minute, 1,000 a day)
    <BLANKLINE>
    window  limit   left  for imports  more is free by
    ------  -----  -----  -----------  ---------------
    minute     60     60           54                -
    day     1,000  1,000          980                -
    <BLANKLINE>
    Nothing was counted yet. ... Counted for ...
    """
    throttle = gate.read_budget()
    budget = throttle.budget
    now = gate.now()

    def read_window(name: WindowName) -> WindowQuota:
        quota = throttle.window_quota(name, now)
        left = quota.left and max(0, quota.left)
        frees_at = quota.frees_at and gate.local_time(quota.frees_at)
        return replace(quota, left=left, frees_at=frees_at)

    blocked_until = None
    note = ""
    if now < budget.blocked_until:
        blocked_until = gate.local_time(budget.blocked_until)
        note = f"Blocked until {utc_text(blocked_until)}: {budget.reason}. "
    if not budget.windows["minute"].requests:
        note += (
            "Nothing was counted yet. If this key sent requests today, they are not"
            " known here: name a smaller plan until tomorrow. "
        )
    if budget.in_flight:
        note += f"Requests that wait for an answer: {len(budget.in_flight):,}. "
    return Quota(
        plan=str(throttle.plan),
        minute=read_window("minute"),
        day=read_window("day"),
        blocked_until=blocked_until,
        note=f"{note}Counted {gate.ledger.scope}.",
        as_of=gate.local_time(now),
    )


MOST_CONNECTIONS = 16
WITHOUT_A_PLAN = 8  # connections where no number is known
LIKELY_S = 0.1  # what an answer takes, before the first one shows it
SLOW_S = 0.005  # a faster answer than this is not worth a second connection


@dataclass(frozen=True)
class Forecast:
    """
    What a bulk run will take.

    Attributes:
        requests: Requests it spends, if no answer is lost: then one listing more.
        baseline: Of these, about so many to list the animals that exist before the
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
        requests = pluralize(self.requests, "request")
        if self.baseline:
            requests += (
                f", about {self.baseline:,} of them for listing the animals that exist"
            )
        left = self.left_today
        left_text = "an unknown number" if left is None else f"{left:,}"
        ends_at = utc_text(self.ends_at)
        days = f"takes {self.days:,} days and " if self.days > 1 else ""
        ending = f"it {days}ends about {ends_at}"
        if utc_text(self.made_at)[:10] == ends_at[:10]:
            ending = f"it ends today at about {ends_at[11:16]} UTC"
        reserve = pluralize(self.reserve, "request")
        return (
            f"{requests}, on {self.plan}; {left_text} left today; an import leaves the"
            f" last tenth of each minute and {reserve} a day for other work; {ending},"
            " if nobody else uses the key"
        )


def forecast(
    creates: int, quota: Quota, *, baseline: int = 0, latency_s: float = 0.0
) -> Forecast:
    """
    Say what so many creates will take.

    >>> print(forecast(50, store.quota()))
    50 requests, on free (60 requests a minute, 1,000 a day); 1,000 left today; ...

    Args:
        creates: How many.
        quota: What is left when they begin.
        baseline: Requests before the first create.
        latency_s: What an answer takes.
    """
    minute, day = quota.minute, quota.day
    per_day = (day.limit or inf) - day.reserve
    per_minute = (minute.limit or inf) - minute.reserve
    day_rest, minute_rest = day.left_for_imports, minute.left_for_imports
    left_today = inf if day_rest is None else day_rest
    left_now = inf if minute_rest is None else minute_rest

    requests = creates + baseline
    sent_today = min(requests, left_today)
    later_requests = requests - sent_today
    later_days = ceil(later_requests / per_day)
    last_day_begins_at = quota.blocked_until or quota.as_of
    sent_last_day = sent_today
    if later_days:
        days_between = later_days - 1
        next_day = quota.as_of + spec.DAY_S - quota.as_of % spec.DAY_S  # by UTC
        if day.by_headers:
            next_day = day.frees_at or next_day
        last_day_begins_at = next_day + days_between * spec.DAY_S
        sent_last_day = later_requests - days_between * per_day
        left_now = per_minute

    # windows that fill one after the other: none is waited for while one is enough
    full_minutes = ceil(max(0, sent_last_day - left_now) / per_minute)
    answers_s = sent_last_day * latency_s / connections(minute.limit, latency_s)
    return Forecast(
        requests=requests,
        baseline=baseline,
        left_today=day.left,
        reserve=day.reserve,
        days=int(sent_today > 0) + later_days,
        ends_at=last_day_begins_at + max(full_minutes * spec.MINUTE_S, answers_s),
        plan=quota.plan,
        made_at=quota.as_of,
    )


def connections(per_minute: int | None, latency_s: float) -> int:
    """
    Return how many connections fill the plan at the measured latency, one spare
    included.

    >>> connections(60, latency_s=0.2), connections(60, latency_s=12.0)
    (1, 13)
    >>> connections(1_000, latency_s=0.2), connections(1_000, latency_s=30.0)
    (5, 16)
    >>> connections(None, latency_s=0.01)  # no plan is known
    8
    """
    if per_minute is None:
        return WITHOUT_A_PLAN
    needed = ceil(round(per_minute * latency_s / spec.MINUTE_S, 6))
    return min(MOST_CONNECTIONS, needed + 1 if needed > 1 else 1)
