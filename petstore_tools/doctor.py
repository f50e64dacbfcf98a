"""A look at what has to be right before work begins: settings, state, budget, service, key, clock, plan."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from pathlib import Path
from typing import Final, Literal

from petstore_tools import plans, spec
from petstore_tools.errors import (
    KeyBannedError,
    LedgerError,
    PetstoreError,
    ProtocolError,
    QuotaError,
    UnauthorizedError,
)
from petstore_tools.extras import install_line
from petstore_tools.http.client import Client
from petstore_tools.http.responses import expect, read_rows
from petstore_tools.plans import Plan
from petstore_tools.tabular.atomic import check_writable

SKEW_S: Final = 5.0  # of the service's clock, from which on it is worth a word
EXTRAS: Final = {
    "plot": "matplotlib",
    "parquet": "pyarrow",
    "server": "uvicorn",
    "postgres": "psycopg",
    "notebook": "jupyterlab",
}


@dataclass(frozen=True)
class Finding:
    """
    One thing that was looked at.

    Attributes:
        what: Its name.
        state: `well`, `note` (work can begin) or `wrong`.
        said: What was found.
        advice: What to do, "" where nothing.
        error: What went wrong, None where nothing did.
    """

    what: str
    state: Literal["well", "note", "wrong"]
    said: str
    advice: str = ""
    error: PetstoreError | None = None


def examine(client: Client, plan: Plan | None) -> Iterator[Finding]:
    """Look at everything, with one request; yields findings as they come."""
    yield Finding(
        "settings", "well", f"{client.environment} at {client.host}, {plan or 'plan learnt from headers'}"
    )
    try:
        client.gate.read()
    except LedgerError as error:
        yield Finding("budget", "wrong", str(error), "see the message", error)
        return
    yield Finding("budget", "well", f"counted {client.ledger.shared}")
    yield from _service(client, plan)
    yield _extras()


def _service(client: Client, plan: Plan | None) -> Iterator[Finding]:
    url = f"{client.base_url}{spec.PETS_PATH}?limit=1"
    asked_at = client.clock.now()
    try:
        reply = client.call("GET", url)
        read_rows(expect(reply, HTTPStatus.OK, "GET", url), url)
    except UnauthorizedError as error:
        yield Finding("service", "well", "it answers")
        yield Finding(
            "key",
            "wrong",
            str(error),
            "copy the key again, or ask for a new one: petstore-tools configure",
            error,
        )
        return
    except (QuotaError, KeyBannedError) as error:
        yield Finding("service", "note", str(error), "all else can be looked at then", error)
        return
    except PetstoreError as error:
        advice = "is the base address right, and the service running? Ours: petstore-tools serve"
        if isinstance(error, ProtocolError):
            advice = "what answers there is no Animal Store Service: correct the base address"
        yield Finding("service", "wrong", str(error), advice, error)
        return
    yield Finding("service", "well", "it answers as the document says")
    yield Finding("key", "well", "the service knows it")
    yield _clock(reply.headers.get("Date", ""), asked_at)
    yield _plan(reply.headers.get(spec.HEADER_LIMIT, ""), plan)


def _clock(date: str, now: float) -> Finding:
    try:
        ahead_s = parsedate_to_datetime(date).timestamp() - now
    except (ValueError, OverflowError, TypeError):
        return Finding(
            "clock", "note", "the service does not tell its time", "limits are counted by this machine's"
        )
    if abs(ahead_s) <= SKEW_S:
        return Finding("clock", "well", f"within {SKEW_S:.0f} s of the service's")
    way = "ahead of" if ahead_s > 0 else "behind"
    said = f"the service's is {abs(ahead_s):,.0f} s {way} this machine's"
    return Finding("clock", "note", said, "the throttle corrects for it; set this machine's by a time server")


def _plan(limit: str, plan: Plan | None) -> Finding:
    if not limit.isdecimal() or len(limit) > 15:
        return Finding(
            "plan", "note", "the service sends no rate headers", "name the plan: PETSTORE_PLAN=pro"
        )
    told = int(limit)
    if plan is None:
        fits = [p.name for p in plans.DOCUMENTED if told in (p.per_minute, p.per_day)]
        advice = f"name it: PETSTORE_PLAN={fits[0]}" if fits else "name it: PETSTORE_PLAN=PER_MINUTE/PER_DAY"
        said = f"none named; the service speaks of a limit of {told:,}"
        return Finding("plan", "note", said, advice)
    if told in (plan.per_minute, plan.per_day):
        return Finding("plan", "well", f"{plan}, as the service says")
    advice = "the stricter of both is kept; is PETSTORE_PLAN that of this key?"
    return Finding("plan", "note", f"{plan}, and the service speaks of a limit of {told:,}", advice)


def _extras() -> Finding:
    missing = [extra for extra, module in EXTRAS.items() if importlib.util.find_spec(module) is None]
    if not missing:
        return Finding("extras", "well", "all installed")
    return Finding("extras", "note", f"not installed: {', '.join(missing)}", install_line("all"))


def folder_is_writable(folder: os.PathLike[str]) -> Finding:
    """Look whether state can be kept."""
    here = os.fspath(folder)
    while not os.path.exists(here) and os.path.dirname(here) != here:
        here = os.path.dirname(here)
    try:
        check_writable(Path(here) / "a file")
    except OSError as why:
        error = LedgerError(str(why))
        return Finding("state folder", "wrong", str(error), "PETSTORE_STATE_DIR names another one", error)
    return Finding("state folder", "well", os.fspath(folder))
