"""
Pure: plans and their windows: how many requests a key has, by the minute and by the day
(§8.2).
"""

import re
from dataclasses import dataclass
from typing import Literal

from petstore_tools import spec
from petstore_tools.errors import SettingsError
from petstore_tools.text import pluralize

MAX_WAIT_S = 90.0  # of a call that was not asked to wait
MOST_REQUESTS = 10**15  # in a window: more is a slip

WindowName = Literal["minute", "day"]
PERIODS: dict[WindowName, int] = {"minute": spec.MINUTE_S, "day": spec.DAY_S}


@dataclass(frozen=True)
class Plan:
    """
    The quotas of a key.

    Args:
        per_minute: Requests in a minute, or None where only the service's headers show
            it.
        per_day: Requests in a day, or None where only the service's headers show it.
        name: `free`, `pro`, `business`, or a name of yours for an Enterprise plan.

    Raises:
        SettingsError: A number is below 1, or beyond reason.

    Spec: §8.2. Enterprise is custom there, so its numbers are given.
    """

    __module__ = "petstore_tools"

    per_minute: int | None = None
    per_day: int | None = None
    name: str = "custom"

    def __post_init__(self) -> None:
        for number in (self.per_minute, self.per_day):
            if number is not None and (
                type(number) is not int or not 1 <= number <= MOST_REQUESTS
            ):
                raise SettingsError(
                    "a plan's numbers must be whole numbers between 1 and"
                    f" {MOST_REQUESTS:,}"
                )

    def limit(self, window: WindowName) -> int | None:
        """
        Return the number of a window, None where only the service's headers show it.
        """
        return self.per_minute if window == "minute" else self.per_day

    def __str__(self) -> str:
        minute = "unknown requests"
        if self.per_minute is not None:
            minute = pluralize(self.per_minute, "request")
        day = "unknown" if self.per_day is None else f"{self.per_day:,}"
        return f"{self.name} ({minute} a minute, {day} a day)"


DOCUMENTED = {name: Plan(*requests, name) for name, requests in spec.PLANS.items()}


def parse(plan: Plan | str | None, name: str = "plan") -> Plan | None:
    """
    Read a plan as people give it.

    Args:
        plan: A documented name in any case, `"PER_MINUTE/PER_DAY"`, a Plan, or None:
            learn it.
        name: Where it was given.

    Raises:
        SettingsError: It is none of these.

    Spec: §8.2.

    >>> print(parse("600/50000"))
    custom (600 requests a minute, 50,000 a day)
    """
    if plan is None or isinstance(plan, Plan):
        return plan
    text = plan.strip().casefold() if isinstance(plan, str) else ""
    if text in DOCUMENTED:
        return DOCUMENTED[text]
    if numbers := re.fullmatch(r"(\d{1,16})/(\d{1,16})", text.replace(" ", "")):
        return Plan(int(numbers[1]), int(numbers[2]))
    # what was given is not shown: it may be a key, pasted in the wrong place
    raise SettingsError(
        f"unknown plan: {name} must be free, pro, business, or PER_MINUTE/PER_DAY such"
        " as 600/50000"
    )


def strictest_plan(requests: int, *, minute: bool, day: bool) -> Plan:
    """
    Return the strictest plan in which `requests` is the number of one of the windows
    named.

    A number no documented plan has is an Enterprise plan (§8.2: custom). Where it is
    the day's, the smallest documented minute holds until a header speaks of the minute.

    >>> # Free's day, Business's minute
    >>> print(strictest_plan(1_000, minute=True, day=True))
    free (60 requests a minute, 1,000 a day)
    >>> print(strictest_plan(1_000, minute=True, day=False))
    business (1,000 requests a minute, 100,000 a day)
    >>> print(strictest_plan(300, minute=False, day=True))
    enterprise (60 requests a minute, 300 a day)
    >>> print(strictest_plan(70, minute=True, day=True))
    enterprise (70 requests a minute, unknown a day)
    """
    for plan in DOCUMENTED.values():
        if (minute and plan.per_minute == requests) or (
            day and plan.per_day == requests
        ):
            return plan
    if minute:
        return Plan(requests, None, "enterprise")
    return Plan(DOCUMENTED["free"].per_minute, requests, "enterprise")
