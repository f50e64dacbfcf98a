"""The throttle for any other project's `requests.Session`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import requests
from pydantic import SecretStr
from requests.adapters import HTTPAdapter

from petstore_tools import plans
from petstore_tools.clock import Clock, SystemClock
from petstore_tools.http.responses import error_body
from petstore_tools.http.transport import Reply
from petstore_tools.plans import MAX_WAIT_S, Plan
from petstore_tools.settings import check_texts, hidden, ledger_url, state_folder
from petstore_tools.throttle.gate import CallOptions, Gate
from petstore_tools.throttle.ledger import open_ledger


class ThrottleAdapter(HTTPAdapter):
    """
    An adapter that lets a session's requests go only as the plan and the rate headers allow.

    Mount it on the service's address. It shares its budget with all that use the same key and
    address on this machine, `PetStore` included; a PetStore on such a session counts each request
    once. It never
    retries, so that every attempt asks: a 429 comes back to the caller, and the next request waits
    until the service allows it.

    Args:
        base_url: The service's base address.
        api_key: Names the budget; the session itself sends it.
        plan: As in `PetStore`; None to learn it from the headers.
        ledger: `shared`: one budget for all processes of this user, or of all machines that name
            the same
            `PETSTORE_LEDGER_URL`; `memory`: this process alone.
        state_dir: Folder of the budget; default: as the settings say, else the user's state folder.
        wait: Wait as long as the plan requires, instead of raising QuotaError.
        max_wait_s: Longest wait in seconds otherwise.
        clock: Tells time and sleeps; default: the machine's.

    Raises:
        QuotaError: On sending, the plan would make it wait too long; nothing was sent.
        KeyBannedError: On sending, the service has banned the key; nothing was sent.
        LedgerError: On sending, the budget cannot be used; nothing was sent.

    Spec: §8.2 to §8.4.
    """

    counts_requests = True  # PetStore counts by itself, so it does not send through such an adapter

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str | SecretStr,
        plan: Plan | str | None = None,
        ledger: Literal["shared", "memory"] = "shared",
        state_dir: str | Path | None = None,
        wait: bool = False,
        max_wait_s: float = MAX_WAIT_S,
        clock: Clock | None = None,
    ) -> None:
        api_key = hidden(api_key)
        check_texts({"base_url": base_url, "api_key": api_key})
        super().__init__(max_retries=0)
        address, key = base_url.strip().rstrip("/"), SecretStr(api_key.get_secret_value().strip())
        kept = open_ledger(ledger, state_folder(state_dir), address, key, url=ledger_url())
        self._gate = Gate(kept, plans.parse(plan), clock or SystemClock(), max_wait_s=max_wait_s)
        self._call_options = CallOptions(wait=wait)

    def send(
        self, request: requests.PreparedRequest, *args: Any, **kwargs: Any
    ) -> requests.Response:
        """Wait for the throttle, send once, and record what came back."""
        token = self._gate.acquire(self._call_options)
        try:
            response = super().send(request, *args, **kwargs)
            answer = response.content if response.status_code == requests.codes.too_many else b""
        except BaseException:
            self._gate.failed(token, may_have_left=True)
            raise
        reply = Reply(response.status_code, response.headers, answer)
        self._gate.answered(token, reply.status, reply.headers, error_body(reply).code)
        return response

    def close(self) -> None:
        """Close connections and the budget file."""
        super().close()
        self._gate.close()
