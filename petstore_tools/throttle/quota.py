"""What is left of a key's minute and day, known without a request (§8.2, §8.3)."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from petstore_tools.plans import PERIODS, WindowName
from petstore_tools.text import cell_text, html_table, pluralize, text_table, utc_text
from petstore_tools.throttle.gate import Gate


@dataclass(frozen=True)
class WindowQuota:
    """
    One window of a quota.

    Attributes:
        window: `minute` or `day`.
        limit: Requests, None where the number is not known.
        left: Requests that may go now, None where the number is not known.
        here: Requests of this whole window that this process sent.
        others: Those that other processes on the same ledger sent.
        other_programs: Those that the service counted beyond: sent by programs without this
            toolkit; None while it did not say.
        frees_at: Unix seconds at which more is left, None while nothing is used or known.
        source: `headers`: the service's last answer; `ledger`: our own count.
    """

    window: str
    limit: int | None
    left: int | None
    here: int
    others: int
    other_programs: int | None
    frees_at: float | None
    source: str

    @property
    def _row(self) -> tuple[object, ...]:
        frees_at = None if self.frees_at is None else utc_text(self.frees_at)
        source = "the service" if self.source == "headers" else "our own count"
        counts = self.limit, self.left, self.here, self.others, self.other_programs
        return self.window, *counts, frees_at, source


@dataclass(frozen=True)
class Quota:
    """
    What a key has left.

    Attributes:
        plan: In words.
        minute, day: The two windows.
        blocked_until: Unix seconds until which nothing goes after a 429, a 503 or a ban; None where
            nothing is blocked.
        blocked_reason: Why, or "".
        in_flight: Requests without an answer yet; they count as spent.
        shared: Who shares the count, in words.
        as_of: Unix seconds.
    """

    plan: str
    minute: WindowQuota
    day: WindowQuota
    blocked_until: float | None
    blocked_reason: str
    in_flight: int
    shared: str
    as_of: float

    @property
    def note(self) -> str:
        """What else there is to know, in a sentence or two."""
        notes = []
        if self.blocked_until is not None:
            notes.append(f"Blocked until {utc_text(self.blocked_until)}: {self.blocked_reason}.")
        if self.in_flight:
            notes.append(f"{pluralize(self.in_flight, 'request')} waiting for an answer.")
        notes.append(f"Counted {self.shared}; other programs are those without this toolkit.")
        return " ".join(notes)

    def to_text(self) -> str:
        """Return the quota for a terminal."""
        table = text_table(_HEADER, [self.minute._row, self.day._row])
        return f"{self.plan}\n\n{table}\n\n{self.note}"

    def __repr__(self) -> str:
        parts = [
            f"{w.window} {cell_text(w.left)} of {cell_text(w.limit)} left"
            for w in (self.minute, self.day)
        ]
        blocked = (
            "" if self.blocked_until is None else f", blocked until {utc_text(self.blocked_until)}"
        )
        return f"Quota({self.plan}: {', '.join(parts)}{blocked})"

    def _repr_html_(self) -> str:
        return html_table(self.plan, _HEADER, [self.minute._row, self.day._row], note=self.note)


_HEADER = (
    "window",
    "limit",
    "left",
    "this process",
    "other processes",
    "other programs",
    "more is free at",
    "source",
)


def read_quota(gate: Gate) -> Quota:
    """Return what a key has left, as its gate counts; costs no request."""
    plan, throttle = gate.read()
    now, budget = gate.now(), throttle.budget
    in_flight = len(budget.in_flight)

    def window(name: WindowName) -> WindowQuota:
        state, known = throttle.state(name, now), budget.windows[name]
        ours, here = sum(known.spent_by.values()), known.spent_by.get(gate.name, 0)
        by_service = (
            None if known.reading is None else known.reading.limit - known.reading.remaining
        )
        return WindowQuota(
            window=name,
            limit=state.limit,
            left=None if state.left == inf else max(0, int(state.left)),
            here=here,
            others=ours - here,
            other_programs=None if by_service is None else max(0, by_service + in_flight - ours),
            frees_at=gate.local_time(state.frees_at) if now < state.frees_at < inf else None,
            source="headers" if state.by_headers else "ledger",
        )

    minute, day = (window(name) for name in PERIODS)
    blocked = now < budget.blocked_until
    return Quota(
        plan=str(plan),
        minute=minute,
        day=day,
        blocked_until=gate.local_time(budget.blocked_until) if blocked else None,
        blocked_reason=budget.reason if blocked else "",
        in_flight=in_flight,
        shared=gate.ledger.shared,
        as_of=gate.local_time(now),
    )
