"""
The three operations of the document, joined from gate, backoff, transport and clock
(§4).
"""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable
from http import HTTPStatus
from urllib.parse import urlsplit

from petstore_tools import spec
from petstore_tools.clock import Clock, SystemClock
from petstore_tools.errors import NotFoundError, TransportError
from petstore_tools.http.responses import error_body, read_pet
from petstore_tools.http.transport import Reply, Transport
from petstore_tools.models import NewPet, Pet, check_id
from petstore_tools.plans import MAX_WAIT_S, Plan
from petstore_tools.settings import Settings
from petstore_tools.throttle.gate import ALONE, CallOptions, Gate
from petstore_tools.throttle.ledger import open_ledger

ATTEMPTS = 5
BASE_S = 0.5
_log = logging.getLogger(__name__)


class Client:
    """
    One key at one service.

    Args:
        settings: Address, key, plan and state folder.
        clock: Tells time and sleeps; None for the machine's.
        max_wait_s: Longest wait of a call that was not asked to wait.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        clock: Clock | None = None,
        max_wait_s: float = MAX_WAIT_S,
    ) -> None:
        self.base_url = settings.base_url
        self.service_id = settings.service_id
        self.environment = settings.environment
        self.clock = clock or SystemClock()
        self.max_wait_s = max_wait_s
        self.reconcile_after_s = settings.reconcile_after_s
        self._plan = settings.plan
        self.transport = Transport(settings.base_url, settings.api_key)
        self.ledger = open_ledger(settings)
        self.gate = Gate(self.ledger, settings.plan, self.clock, max_wait_s=max_wait_s)
        self.sent = 0
        self._counting = threading.Lock()
        # a sandbox whose service it asks lives as long as it
        self.owner: object = None

    @property
    def host(self) -> str:
        """Where requests go, as people name it."""
        if self.environment == "sandbox":
            return "on this machine"
        return urlsplit(self.base_url).netloc

    def create(self, pet: NewPet, call_options: CallOptions = ALONE) -> Pet:
        """
        Add one animal (§4.2).

        >>> store.client.create(NewPet(name="Rex", category_id=3))
        Pet(id=251, name='Rex', category_id=3, status=None)

        Raises:
            BadRequestError: The service refuses it; nothing was created.
            TransportError: With `may_have_left`: the animal may exist; list the animals
                before trying again.
            ApiError: With a status such as 408 or 500: likewise.
        """
        url = self.base_url + spec.PETS_PATH
        reply = self.call("POST", url, pet.wire(), call_options=call_options)
        return read_pet(reply, HTTPStatus.CREATED)

    def get(self, pet_id: int, call_options: CallOptions = ALONE) -> Pet:
        """
        Fetch one animal by the deprecated operation (§4.3); an id that is no int64 is
        refused.

        >>> store.client.get(17)
        Pet(id=17, name=..., category_id=..., status=...)
        """
        url = f"{self.base_url}{spec.PETS_PATH}/{check_id(pet_id)}"
        reply = self.call("GET", url, call_options=call_options)
        is_removed = self.clock.now() >= spec.REMOVAL_OF_GET_PET_AT
        if is_removed and reply.status in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
            raise NotFoundError(
                reply.status,
                "",
                f"the operation was removed as announced for {spec.REMOVAL_OF_GET_PET};"
                " use list_pets(status=...) in its place",
                reply.request_line,
            )
        return read_pet(reply, HTTPStatus.OK)

    @property
    def plan(self) -> Plan:
        """The plan in force: what the headers show may rise."""
        return self._plan or self.gate.read_budget().plan

    def call(
        self,
        method: str,
        url: str,
        body: bytes | None = None,
        *,
        call_options: CallOptions = ALONE,
        before: Callable[[], None] = lambda: None,
        on_no_effect: Callable[[], None] = lambda: None,
        retry_5xx: bool = True,
    ) -> Reply:
        """
        Send a request when the throttle allows it, and again where that cannot do harm.

        A GET is sent again after a lost answer or a 5xx; a POST only where it is proven
        that nothing left, or after a 429, which creates nothing (§8.4). Unless the call
        waits, none goes later than `max_wait_s` after the call began. A caller that
        keeps a record of each create needs no loop of its own: between two calls of
        `before` there is always one of `on_no_effect`.

        Args:
            method: HTTP method.
            url: Whole address.
            body: JSON in UTF-8.
            call_options: How the call waits.
            before: Called before each attempt, when the throttle has allowed it and no
                byte has left. An exception ends the call; nothing was sent, and the
                request is not counted.
            on_no_effect: Called after each attempt that is proven to have changed
                nothing: no byte left, or the answer was a 429. It is called before any
                wait, and also where no further attempt follows.
            retry_5xx: Send a GET again after a 5xx.

        Raises:
            QuotaError: The plan would make it wait too long.
            KeyBannedError: The service has banned the key.
            TransportError: No answer came. Where `may_have_left` is False,
                `on_no_effect` was called.
            ProtocolError: The answer is a redirect.
            CallCancelled: The caller withdrew while the call waited.
        """
        is_safe = method == "GET"
        failures = 0
        began_at = self.clock.steady()
        with self.clock.working():
            while True:
                waited_s = self.clock.steady() - began_at
                try:
                    reply = self.attempt(
                        method, url, body, call_options, before, waited_s=waited_s
                    )
                except TransportError as error:
                    if not error.may_have_left:
                        on_no_effect()
                    elif not is_safe:
                        raise
                    failures += 1
                    if self._pause(failures, str(error), call_options, began_at):
                        continue
                    raise
                if reply.status == HTTPStatus.TOO_MANY_REQUESTS:
                    on_no_effect()
                    continue
                is_5xx = reply.status >= HTTPStatus.INTERNAL_SERVER_ERROR
                if not (is_safe and is_5xx and retry_5xx):
                    return reply
                failures += 1
                fault = f"{reply.request_line}: the service answered {reply.status}"
                if not self._pause(failures, fault, call_options, began_at):
                    return reply

    def _pause(
        self, failures: int, reason: str, call_options: CallOptions, began_at: float
    ) -> bool:
        """
        Pause before the next attempt, with jitter; return False where no further one
        may begin.
        """
        pause_s = BASE_S * 2.0 ** (failures - 1) * random.uniform(0.5, 1.0)
        waited_s = self.clock.steady() + pause_s - began_at
        is_late = waited_s > self.max_wait_s and not call_options.wait
        if failures >= ATTEMPTS or is_late:
            return False
        attempt = f"attempt {failures + 1} of {ATTEMPTS} follows"
        _log.info("%s. %s in %.1f s.", reason, attempt.capitalize(), pause_s)
        self.gate.pause(pause_s, f"{reason}; {attempt}", call_options)
        return True

    def attempt(
        self,
        method: str,
        url: str,
        body: bytes | None,
        call_options: CallOptions,
        before: Callable[[], None],
        *,
        waited_s: float = 0.0,
    ) -> Reply:
        """
        Wait for the throttle and send once; the answer is returned whatever its status,
        429 included.
        """
        go = self.gate.acquire(call_options, waited_s=waited_s)
        may_have_left = False
        try:
            before()
            may_have_left = True
            reply = self.transport.send(method, url, body)
        except BaseException as error:
            may_have_left = getattr(error, "may_have_left", may_have_left)
            self.gate.record_failure(go, may_have_left=may_have_left)
            raise
        finally:
            if may_have_left:
                with self._counting:
                    self.sent += 1
                call_options.on_sent()
            call_options.on_wait(None)
        _log.debug("%s: the service answered %d.", reply.request_line, reply.status)
        is_refusal = reply.status == HTTPStatus.TOO_MANY_REQUESTS
        self.gate.record_reply(
            go,
            reply.status,
            reply.headers,
            error_body(reply).code if is_refusal else "",
            more_follow=call_options.more_follow,
        )
        return reply
