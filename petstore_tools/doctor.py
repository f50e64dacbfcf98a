"""
What must be right before work begins: settings, folder, budget, service, key, clock, plan, extras.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from petstore_tools import plans, spec
from petstore_tools.errors import (
    KeyBannedError,
    LedgerError,
    OutputError,
    PetstoreError,
    ProtocolError,
    QuotaError,
    UnauthorizedError,
    install_line,
)
from petstore_tools.http.client import Client
from petstore_tools.http.responses import read_rows
from petstore_tools.plans import Plan
from petstore_tools.settings import Settings
from petstore_tools.tabular.atomic import check_writable
from petstore_tools.throttle import rate_headers

SKEW_S: Final = 5.0  # a greater difference of the clocks is reported
EXTRAS: Final = {
    "plot": "matplotlib",
    "server": "uvicorn",
    "postgres": "psycopg",
    "notebook": "jupyterlab",
}


@dataclass(frozen=True)
class Finding:
    """
    The outcome of one check.

    Attributes:
        what: What was checked.
        state: `ok`, `note` (work can begin) or `error`.
        text: What was found.
        advice: What to do, "" where nothing.
        error: The error behind it, None where there is none.
    """

    what: str
    state: Literal["ok", "note", "error"]
    text: str
    advice: str = ""
    error: PetstoreError | None = None


def examine(client: Client, settings: Settings) -> Iterator[Finding]:
    """Check everything, with one request; yields the findings as they come."""
    yield _folder(settings.state_dir)
    plan = settings.plan or "plan learnt from the service's answers"
    yield Finding("settings", "ok", f"{settings.environment} at {client.host}, {plan}")
    try:
        client.gate.read()
    except LedgerError as error:
        yield Finding("budget", "error", str(error), error=error)
        return
    yield Finding("budget", "ok", f"counted {client.ledger.shared}")
    yield from _service(client, settings.plan)
    missing = [
        extra for extra, module in EXTRAS.items() if importlib.util.find_spec(module) is None
    ]
    if missing:
        yield Finding("extras", "note", f"not installed: {', '.join(missing)}", install_line("all"))
    else:
        yield Finding("extras", "ok", "all are installed")


def _folder(folder: Path) -> Finding:
    """Check that journals, budget and snapshots can be written."""
    nearest = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    try:
        check_writable(nearest / "a file")
    except OutputError as error:
        return Finding(
            "state folder",
            "error",
            str(error),
            "Choose a lasting folder with PETSTORE_STATE_DIR.",
            error,
        )
    return Finding("state folder", "ok", str(folder))


def _service(client: Client, plan: Plan | None) -> Iterator[Finding]:
    url = f"{client.base_url}{spec.PETS_PATH}?limit=1"
    asked_at = client.clock.now()
    try:
        reply = client.call("GET", url)
        read_rows(reply)
    except UnauthorizedError as error:
        advice = "Copy the key again, or ask for a new one; then run petstore-tools configure."
        yield Finding("service", "ok", "it answers")
        yield Finding("key", "error", str(error), advice, error)
    except (QuotaError, KeyBannedError) as error:
        yield Finding(
            "service", "note", str(error), "The other checks are possible after that time.", error
        )
    except ProtocolError as error:
        advice = "No Animal Store Service answers at this address: correct the base address."
        yield Finding("service", "error", str(error), advice, error)
    except PetstoreError as error:
        advice = (
            "Check the base address, and that the service runs. petstore-tools serve "
            "starts one of your own."
        )
        yield Finding("service", "error", str(error), advice, error)
    else:
        yield Finding("service", "ok", "it answers as the interface document says")
        yield Finding("key", "ok", "the service accepts it")
        answer = rate_headers.read(reply.status, reply.headers, now=asked_at)
        yield _clock(answer.date, asked_at)
        yield _plan(answer.limit, plan)


def _clock(date: float | None, now: float) -> Finding:
    if date is None:
        advice = "Quotas are counted by this machine's clock."
        return Finding("clock", "note", "the service does not send its time", advice)
    ahead_s = date - now
    if abs(ahead_s) <= SKEW_S:
        return Finding("clock", "ok", f"within {SKEW_S:.0f} s of the service's clock")
    way = "ahead of" if ahead_s > 0 else "behind"
    text = f"the service's clock is {abs(ahead_s):,.0f} s {way} this machine's"
    advice = "Quotas are corrected for it. Set this machine's clock with a time server."
    return Finding("clock", "note", text, advice)


def _plan(limit: int | None, plan: Plan | None) -> Finding:
    if limit is None:
        advice = "Set the plan, such as PETSTORE_PLAN=pro."
        return Finding(
            "plan", "note", "the service does not say how many requests are left", advice
        )
    if plan is None:
        fits = [p.name for p in plans.DOCUMENTED if limit in (p.per_minute, p.per_day)]
        advice = f"Set it: PETSTORE_PLAN={fits[0] if fits else 'PER_MINUTE/PER_DAY'}."
        return Finding(
            "plan", "note", f"no plan is named; the service reports a limit of {limit:,}", advice
        )
    if limit in (plan.per_minute, plan.per_day):
        return Finding("plan", "ok", f"{plan}, as the service says")
    advice = "The stricter of the two is used. Is PETSTORE_PLAN the plan of this key?"
    return Finding("plan", "note", f"{plan}, but the service reports a limit of {limit:,}", advice)
