"""What must be right before work begins: folder, budget, service, key, plan."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from petstore_tools import spec
from petstore_tools.errors import (
    ArgumentError,
    NotFoundError,
    OutputError,
    PetstoreError,
    ProtocolError,
    QuotaError,
    SheetError,
    TransportError,
    UnauthorizedError,
)
from petstore_tools.http.client import Client
from petstore_tools.http.responses import read_rows
from petstore_tools.settings import Settings, variable
from petstore_tools.tabular.atomic import check_writable
from petstore_tools.tabular.categories import read_categories
from petstore_tools.text import utc_text
from petstore_tools.throttle import rate_headers

_CORRECT_ADDRESS = (
    "No Animal Store Service answers at this address: correct the base address."
)
_ADVICE: dict[type[PetstoreError], str] = {
    OutputError: "Name another folder in PETSTORE_STATE_DIR.",
    UnauthorizedError: (
        "Copy key and address again, or get a new key; petstore-tools configure keeps"
        " both."
    ),
    NotFoundError: _CORRECT_ADDRESS,
    ProtocolError: _CORRECT_ADDRESS,
    TransportError: (
        "Check the base address. petstore-tools serve runs a service on this machine."
    ),
}


@dataclass(frozen=True)
class Finding:
    """
    The outcome of one check.

    Attributes:
        subject: What was checked.
        text: What was found.
        advice: What to do, "" where nothing.
        error: The error behind it, None where work can begin.
    """

    subject: str
    text: str
    advice: str = ""
    error: PetstoreError | None = None

    @property
    def state(self) -> str:
        """`ok`, `note` (work can begin) or `error`."""
        if self.error is not None:
            return "error"
        return "note" if self.advice else "ok"


def examine_categories(file: Path | None) -> Iterator[Finding]:
    """
    Yield an error where the file with the names of the categories cannot be used.

    It is no part of `examine`: `configure` asks for another file, and reads that.
    """
    try:
        read_categories(file)
    except (SheetError, ArgumentError) as error:
        advice = "Correct PETSTORE_CATEGORIES, or the file that it names."
        yield Finding("settings", str(error), advice, error)


def examine(client: Client, settings: Settings) -> Iterator[Finding]:
    """
    Check everything, with one request; yields the findings as they come, up to an
    error.

    >>> for finding in examine(store.client, store.settings):
    ...     print(finding.subject, finding.state)
    settings ok
    folder ok
    budget ok
    service ok
    plan ok
    """
    folder = settings.state_dir
    yield Finding("settings", f"{settings.environment} ({client.host})")
    subject = "folder"
    try:
        nearest = next(path for path in (folder, *folder.parents) if path.exists())
        check_writable(nearest / "a file")
        yield Finding(subject, f"{folder} can be written")
        subject = "budget"
        client.gate.read_budget()
        yield Finding(subject, f"counted {client.ledger.scope}")
        subject = "service"
        url = f"{client.base_url}{spec.PETS_PATH}?limit=1"
        reply = client.call("GET", url)
        read_rows(reply)
        yield Finding(
            subject, "it answers as the interface document says, and accepts the key"
        )
    except QuotaError as error:
        advice = f"Requests can go from {utc_text(error.resumes_at)} on."
        yield Finding(subject, error.reason, advice, error)
        return
    except PetstoreError as error:
        yield Finding(subject, str(error), _ADVICE.get(type(error), ""), error)
        return
    now = client.clock.now()
    limit = rate_headers.read_reply(reply.status, reply.headers, now=now).limit
    plan = settings.plan
    reported = "no limit" if limit is None else f"a limit of {limit:,}"
    text = f"{plan or 'none is named'}; the service reports {reported}"
    # a part of a plan that is shared is smaller; the limit may be the day's
    fits = plan and (
        limit is None or limit >= min(plan.per_minute or limit, plan.per_day or limit)
    )
    name = variable("plan", settings.environment)
    advice = f"Set {name} to the plan of this key, or to your part where you share it."
    yield Finding("plan", text, "" if fits else advice)
