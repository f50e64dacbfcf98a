"""The three operations of the document, joined from gate, backoff, transport and clock (§4)."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from petstore_tools import spec
from petstore_tools.clock import Clock
from petstore_tools.errors import NotFoundError, TransportError
from petstore_tools.http import backoff as retry
from petstore_tools.http.responses import error_code, expect, read_pet, request_line
from petstore_tools.http.transport import Reply, Transport
from petstore_tools.models import NewPet, Pet
from petstore_tools.plans import Plan
from petstore_tools.throttle.gate import ALONE, MAX_WAIT_S, Admission, Manner
from petstore_tools.throttle.ledger import Ledger

SETTLE_AFTER_S: Final = 60.0


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
        settle_after_s: How late after a lost answer a look may call its row absent.
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
        settle_after_s: float = SETTLE_AFTER_S,
        chance: random.Random | None = None,
    ) -> None:
        self.base_url, self.environment, self.clock = base_url, environment, clock
        self.max_wait_s, self.settle_after_s = max_wait_s, settle_after_s
        self.transport, self.ledger = transport, ledger
        self.admission, self._plan = Admission(ledger, plan, clock, max_wait_s=max_wait_s), plan
        self.sent, self._counting = 0, threading.Lock()
        self._chance = chance or random.Random()
        self.needs: object = None  # what lives as long as this client: the sandbox whose service it asks

    @property
    def host(self) -> str:
        """Where requests go, as people name it."""
        return "on this machine" if self.environment == "sandbox" else urlsplit(self.base_url).netloc

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

    @property
    def plan(self) -> Plan:
        """The plan in force: what the headers show may rise."""
        return self._plan or self.admission.room()[0]

    def call(self, method: str, url: str, body: bytes | None = None, *, manner: Manner = ALONE) -> Reply:
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
                    safe = method == "GET" or not error.may_have_left
                    if not safe or failures >= retry.ATTEMPTS or not manner.may_retry():
                        raise
                else:
                    if reply.status == HTTPStatus.TOO_MANY_REQUESTS:
                        continue
                    failures += 1
                    sick = method == "GET" and reply.status >= HTTPStatus.INTERNAL_SERVER_ERROR
                    if not sick or failures >= retry.ATTEMPTS or not manner.may_retry():
                        return reply
                self.admission.pause(retry.backoff_s(failures, self._chance), manner)

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
        token = self.admission.enter(manner)
        try:
            before()
        except BaseException:
            self.admission.failed(token, may_have_left=False)
            raise
        try:
            reply = self.transport.send(method, url, body)
        except BaseException as error:
            left = not isinstance(error, TransportError) or error.may_have_left
            if left:
                self._count(manner)
            self.admission.failed(token, may_have_left=left)
            raise
        self._count(manner)
        code = error_code(reply.body) if reply.status == HTTPStatus.TOO_MANY_REQUESTS else ""
        self.admission.answered(token, reply.status, reply.headers, code)
        return reply

    def _count(self, manner: Manner) -> None:
        with self._counting:
            self.sent += 1
        manner.on_sent()
