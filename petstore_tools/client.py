"""The three operations of the document, joined from pager, throttle, retry, transport and clock (§4)."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final
from urllib.parse import urlencode, urlsplit

from pydantic import ValidationError

from petstore_tools import spec
from petstore_tools.adapters.http import Reply, Transport
from petstore_tools.adapters.ledger import Ledger
from petstore_tools.clock import Clock
from petstore_tools.core import headers, retry
from petstore_tools.core.listing import Listing, digest
from petstore_tools.core.paging import Ask, End, Page, Pager
from petstore_tools.core.plan import Plan
from petstore_tools.core.throttle import Asker, Go, Stop, Throttle, Wait
from petstore_tools.errors import (
    ApiError,
    BadRequestError,
    KeyBannedError,
    NotFoundError,
    ProtocolError,
    QuotaError,
    TransportError,
    UnauthorizedError,
)
from petstore_tools.models import PET_ROWS, ErrorBody, NewPet, Pet, PetRow

MAX_WAIT_S: Final = 90.0


class CallCancelled(Exception):  # noqa: N818 - no fault: the caller no longer wants the answer
    """The caller withdrew a call that was still waiting; nothing was sent."""


@dataclass(frozen=True)
class Manner:
    """
    How a call behaves while it has to wait.

    Attributes:
        bulk: People on the same key go first.
        leave_per_day: Requests of the day that a bulk run leaves.
        wait: Wait as long as the plan says; else no longer than the client's `max_wait_s`.
        cancelled: Asked before each attempt; True ends the call.
    """

    bulk: bool = False
    leave_per_day: int = 0
    wait: bool = False
    cancelled: Callable[[], bool] = lambda: False


ALONE: Final = Manner()


@dataclass(frozen=True)
class PageOfPets:
    """
    One page of a listing, doubles left out.

    Attributes:
        number: From 1.
        rows: Animals as plain dicts with the document's names.
    """

    number: int
    rows: tuple[PetRow, ...]

    @property
    def pets(self) -> tuple[Pet, ...]:
        """The animals as models."""
        return tuple(Pet.model_validate(row) for row in self.rows)

    def __len__(self) -> int:
        return len(self.rows)


class Client:
    """
    One key at one service.

    Args:
        base_url: Ends in `/v1`.
        environment: `production`, `staging` or `sandbox`; names what listings are of.
        transport: Sends.
        ledger: Keeps the budget.
        plan: The named plan, None to learn it.
        clock: Tells time and sleeps.
        max_wait_s: Longest wait of a call that was not told to wait.
        chance: Jitter of backoff.
    """

    def __init__(
        self,
        *,
        base_url: str,
        environment: str,
        transport: Transport,
        ledger: Ledger,
        plan: Plan | None,
        clock: Clock,
        max_wait_s: float = MAX_WAIT_S,
        chance: random.Random | None = None,
    ) -> None:
        self.base_url, self.environment, self.clock = base_url, environment, clock
        self.transport, self.ledger, self.plan = transport, ledger, plan
        self.max_wait_s = max_wait_s
        self.sent = 0
        self.on_wait: Callable[[Wait | None], None] = lambda wait: None  # noqa: ARG005
        self._chance = chance or random.Random()

    def create(self, pet: NewPet) -> Pet:
        """
        Add one animal (§4.2).

        Raises:
            BadRequestError: The service refuses it; nothing was created.
            TransportError: With `may_have_left`: it may stand or not; look for it before trying again.
            ApiError: With a status of 500 or more: likewise.
        """
        url = self.base_url + spec.PETS_PATH
        reply = expect(self.call("POST", url, pet.wire()), HTTPStatus.CREATED, "POST", url)
        return read_pet(reply, request_line("POST", url))

    def get(self, pet_id: int) -> Pet:
        """Fetch one animal by the deprecated operation (§4.3)."""
        url = f"{self.base_url}{spec.PETS_PATH}/{pet_id}"
        reply = self.call("GET", url)
        gone = reply.status in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE)
        if gone and self.clock.now() >= spec.REMOVAL_OF_GET_PET_AT:
            raise NotFoundError(
                reply.status,
                "",
                f"the operation was removed as announced for {spec.REMOVAL_OF_GET_PET}; "
                "use list_pets(status=...) in its place",
                request_line("GET", url),
            )
        return read_pet(expect(reply, HTTPStatus.OK, "GET", url), request_line("GET", url))

    def pages(
        self,
        *,
        status: str | None = None,
        limit: int = spec.LIMIT_MAX,
        first: int | None = None,
        manner: Manner = ALONE,
    ) -> Listed:
        """Begin a listing (§4.1); it asks as it is iterated."""
        return Listed(self, status=status, limit=limit, first=first, manner=manner)

    def call(
        self, method: str, url: str, body: bytes | None = None, *, manner: Manner = ALONE
    ) -> Reply:
        """
        Send a request when the throttle lets it go, and again where that cannot do harm.

        A GET is sent again after a lost answer or a 5xx; a POST only where it is proven that nothing
        left, or after a 429, which creates nothing (§8.4).

        Raises:
            QuotaError: The plan would make it wait too long.
            KeyBannedError: The service has banned the key.
            TransportError: No answer came.
            ProtocolError: The answer is a redirect.
        """
        failures = 0
        with self.clock.working():
            while True:
                try:
                    reply = self.attempt(method, url, body, manner=manner)
                except TransportError as error:
                    failures += 1
                    if failures >= retry.ATTEMPTS or (method != "GET" and error.may_have_left):
                        raise
                else:
                    if reply.status == HTTPStatus.TOO_MANY_REQUESTS:
                        continue
                    failures += 1
                    sick = method == "GET" and reply.status >= HTTPStatus.INTERNAL_SERVER_ERROR
                    if not sick or failures >= retry.ATTEMPTS:
                        return reply
                self.pause(retry.backoff_s(failures, self._chance), manner)

    def attempt(
        self,
        method: str,
        url: str,
        body: bytes | None = None,
        *,
        manner: Manner = ALONE,
        before: Callable[[], None] = lambda: None,
    ) -> Reply:
        """
        Wait for the throttle and send once; the answer comes back whatever it says, 429 included.

        Args:
            method: HTTP method.
            url: Whole address.
            body: JSON in UTF-8.
            manner: How it waits.
            before: Called when the throttle has let the request go, before a byte leaves.
        """
        token = self._admitted(manner)
        try:
            before()
        except BaseException:
            self._tell(token, "unsent")
            raise
        try:
            reply = self.transport.send(method, url, body)
        except TransportError as error:
            self._tell(token, None if error.may_have_left else "unsent")
            raise
        except BaseException:
            self._tell(token, None)
            raise
        now = self.clock.now()
        refused = reply.status == HTTPStatus.TOO_MANY_REQUESTS
        code = error_body(reply).code if refused else ""
        answer = headers.read(reply.status, reply.headers, now=now, banned="ban" in code.casefold())
        self._tell(token, answer)
        self.sent += 1
        return reply

    def room(self) -> tuple[Plan, Throttle]:
        """Return the plan in force and a throttle over a copy of the budget; costs no request."""
        now = self.clock.now()

        def look(throttle: Throttle) -> tuple[Plan, Throttle]:
            throttle.settle(now)
            return throttle.plan, Throttle(self.plan, deepcopy(throttle.budget))

        return self.ledger.update(lambda budget: look(Throttle(self.plan, budget)))

    def _tell(self, token: str, answer: headers.Answer | str | None) -> None:
        now = self.clock.now()

        def tell(throttle: Throttle) -> None:
            if isinstance(answer, headers.Answer):
                throttle.answered(token, now, answer)
            elif answer is None:
                throttle.lost(token, now)
            else:
                throttle.unsent(token)

        self.ledger.update(lambda budget: tell(Throttle(self.plan, budget)))
        self.clock.poke()

    def _admitted(self, manner: Manner) -> str:
        """Ask until the throttle lets a request go; the one loop that sleeps for a limit."""
        asker = Asker(f"process {os.getpid()}", manner.bulk, manner.leave_per_day)
        waited = False
        while True:
            if manner.cancelled():
                raise CallCancelled
            now = self.clock.now()
            decision = self.ledger.update(
                lambda budget, now=now: Throttle(self.plan, budget).ask(now, asker)  # type: ignore[misc]
            )
            match decision:
                case Go(token):
                    if waited:
                        self.on_wait(None)
                    return token
                case Stop(resumes_at, why):
                    raise KeyBannedError(
                        HTTPStatus.TOO_MANY_REQUESTS, "", f"{why}.", "not sent", retry_at=resumes_at
                    )
                case Wait(until, why):
                    if not manner.wait and until - now > self.max_wait_s:
                        plan = str(self.room()[0])
                        raise QuotaError(why, plan=plan, resumes_at=until)
                    waited = True
                    self.on_wait(decision)
                    self.clock.sleep_until(until)

    def pause(self, seconds: float, manner: Manner) -> None:
        """Sleep, unless the call is withdrawn."""
        until = self.clock.now() + seconds
        while self.clock.now() < until:
            if manner.cancelled():
                raise CallCancelled
            self.clock.sleep_until(until)


class Listed:
    """
    A listing under way: iterate it for pages, then read `listing`.

    Raises:
        UnauthorizedError: The key is refused (§5).
        ProtocolError, PagingError, TransportError, QuotaError: While iterating; what was read until
            then stays in `listing`, labelled as cut.

    Spec: §4.1.
    """

    def __init__(
        self, client: Client, *, status: str | None, limit: int, first: int | None, manner: Manner
    ) -> None:
        self._client, self._manner = client, manner
        self._status = status
        self._limit = limit if first is None else min(limit, first)
        self._pager = Pager(limit=self._limit, first=first)
        self._first = first
        self._ids: list[int] = []
        self._end = End("cut", "the listing was not read to its end")
        self._sent_before = client.sent
        self._started_at = self._ended_at = client.clock.now()
        self._notes: dict[str, None] = {}

    def __iter__(self) -> Iterator[PageOfPets]:
        query = {"limit": str(self._limit)}
        if self._status is not None:
            query["status"] = self._status
        step: Ask | End = Ask(f"{self._client.base_url}{spec.PETS_PATH}?{urlencode(query)}")
        with self._reasons():
            while isinstance(step, Ask):
                rows, link = self._read(step.url)
                new = self._new(rows)
                step = self._pager.feed(Page(step.url, tuple(row["id"] for row in rows), link))
                self._ids += [row["id"] for row in new]
                self._ended_at = self._client.clock.now()
                if isinstance(step, End):
                    self._end = step
                yield PageOfPets(self._pager.pages, tuple(new))

    @property
    def listing(self) -> Listing:
        """The verdict so far; cut until the last page is read."""
        return Listing(
            verdict=self._end.verdict,
            reason=self._end.reason,
            status=self._status,
            rows=len(self._ids),
            digest=digest(self._ids),
            requests=self._client.sent - self._sent_before,
            pages=self._pager.pages,
            doubles=self._pager.doubles,
            started_at=self._started_at,
            ended_at=self._ended_at,
            environment=self._client.environment,
            notes=tuple(self._notes),
        )

    def _read(self, url: str) -> tuple[list[PetRow], str | None]:
        reply = expect(self._client.call("GET", url, manner=self._manner), 200, "GET", url)
        try:
            return PET_ROWS.validate_json(reply.body), reply.headers.get("Link")
        except ValidationError as error:
            raise ProtocolError(
                f"{request_line('GET', url)}: the answer is no list of animals: {first_fault(error)}"
            ) from error

    def _new(self, rows: list[PetRow]) -> list[PetRow]:
        new: dict[int, PetRow] = {}
        for row in rows:
            if not self._pager.knows(row["id"]):
                new.setdefault(row["id"], row)
            status = row.get("status")
            if status is not None and status not in spec.STATUSES:
                self._notes[f"a status the document does not name: {status[:40]!r}"] = None
            for name in row.keys() - _KNOWN:
                self._notes[f"a field the document does not name: {name[:40]!r}"] = None
        kept = list(new.values())
        if self._first is not None:
            kept = kept[: self._first - len(self._ids)]
        return kept

    @contextmanager
    def _reasons(self) -> Iterator[None]:
        try:
            yield
        except GeneratorExit:
            raise
        except BaseException as error:
            what = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
            self._end = End("cut", what)
            raise


_KNOWN: Final = frozenset(spec.COLUMNS)


def request_line(method: str, url: str) -> str:
    """Return method and path, as messages name a request."""
    return f"{method} {urlsplit(url).path}"


def error_body(reply: Reply) -> ErrorBody:
    """Read an Error body (§2.5); an answer without one is described in its place."""
    try:
        return ErrorBody.model_validate_json(reply.body)
    except ValidationError:
        kind = reply.headers.get("Content-Type", "no content type").partition(";")[0]
        message = f"an answer without an Error body ({kind}, {len(reply.body):,} bytes)"
        return ErrorBody(code="", message=message, status=reply.status)


def expect(reply: Reply, status: int, method: str, url: str) -> Reply:
    """
    Return the reply if it has the documented status.

    Raises:
        ApiError: The branch of the tree that the status names (§7).
    """
    if reply.status == status:
        return reply
    body = error_body(reply)
    kinds: dict[int, type[ApiError]] = {
        400: BadRequestError,
        401: UnauthorizedError,
        404: NotFoundError,
        410: NotFoundError,
    }
    kind = kinds.get(reply.status, ApiError)
    raise kind(reply.status, body.code, body.message, request_line(method, url))


def read_pet(reply: Reply, line: str) -> Pet:
    """
    Read an animal.

    Raises:
        ProtocolError: The body is none (§2.2).
    """
    try:
        return Pet.model_validate_json(reply.body)
    except ValidationError as error:
        raise ProtocolError(f"{line}: the answer is no animal: {first_fault(error)}") from error


def first_fault(error: ValidationError) -> str:
    """Describe the first fault of a reply by its place, not its content."""
    fault = error.errors(include_input=False, include_url=False)[0]
    place = ".".join(str(part) for part in fault["loc"]) or "body"
    return f"{place}: {fault['msg']}"
