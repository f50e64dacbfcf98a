"""Requests on the wire: one seam over `requests`, which adds the key, a timeout, and nothing else."""

from __future__ import annotations

import os
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from math import inf
from typing import Final
from urllib.parse import SplitResult, urlsplit

import requests
from requests.adapters import BaseAdapter, HTTPAdapter
from requests.auth import AuthBase
from urllib3.exceptions import ClosedPoolError, ConnectTimeoutError, NewConnectionError
from urllib3.exceptions import ProxyError as TunnelError

from petstore_tools.errors import ProtocolError, SettingsError, TransportError

TIMEOUT_S: Final = (5.0, 30.0)  # to connect; between two bytes of the answer
IDLE_S: Final = 4.0  # servers close idle connections, many after 5 s: a create does not go on one


@dataclass(frozen=True, slots=True)
class Reply:
    """
    An answer, read to its end.

    Attributes:
        status: HTTP status code.
        headers: Case-insensitive.
        body: Bytes.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes


class KeyAuth(AuthBase):
    """The key as a bearer token (§5); an auth object, so that no `.netrc` entry replaces it."""

    def __init__(self, key: str) -> None:
        if not key.isascii() or not key.isprintable() or " " in key or not key:
            raise SettingsError("the API key has characters that no header can carry; copy it again")
        self._key = key

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Add the header."""
        request.headers["Authorization"] = f"Bearer {self._key}"
        return request

    def __repr__(self) -> str:
        return "KeyAuth(***)"


class Transport:
    """
    Sends requests; knows nothing of limits, retries or animals.

    Args:
        base_url: Address that all requests share; proxies and certificates are looked up for it once.
        key: The API key.
        session: A session of the caller's, for its proxies, certificates and adapters. Its adapters
            must not retry. Without one, each thread has a connection of its own.

    Spec: §5; redirects are never followed.
    """

    def __init__(self, base_url: str, key: str, *, session: requests.Session | None = None) -> None:
        self._session = session or requests.Session()
        self._own_adapters = session is None
        self._local = threading.local()
        self._adapters: list[BaseAdapter] = []
        self.fastest_s: float | None = None  # from a request's first byte to its answer's last
        if session is not None:
            self._make(base_url)  # a caller's adapter that retries is refused here, before anything is sent
        self._settings = self._session.merge_environment_settings(base_url, {}, False, None, None)
        blank = requests.Request("GET", base_url, headers={"Accept": "application/json"})
        blank.auth = KeyAuth(key)
        self._blank = self._session.prepare_request(blank)

    def send(self, method: str, url: str, body: bytes | None = None) -> Reply:
        """
        Send one request and read its answer, whatever the status.

        Raises:
            TransportError: No whole answer came; `may_have_left` says what is proven.
            ProtocolError: The answer is a redirect.
        """
        request = copy(self._blank)  # its headers are everybody's until there is a body
        request.method, request.url, request.body = method, url, body
        if body is not None:
            request.headers = self._blank.headers.copy()
            request.headers["Content-Type"] = "application/json"
            request.headers["Content-Length"] = str(len(body))
        adapter = self._adapter(url, fresh=body is not None)
        began_at = time.monotonic()
        try:
            response = adapter.send(request, timeout=TIMEOUT_S, **self._settings)  # type: ignore[arg-type]
            content = response.content
        except (requests.RequestException, OSError) as error:
            first = self.fastest_s is None
            raise _translate(error, f"{method} {urlsplit(url).path}", urlsplit(url), first=first) from error
        finally:
            self._local.used_at = ended_at = time.monotonic()
        self.fastest_s = min(ended_at - began_at, self.fastest_s or inf)
        if response.is_redirect or 300 <= response.status_code < 400:
            try:
                target = urlsplit(response.headers.get("Location", ""))
            except ValueError:
                target = urlsplit("")
            place = f"{target.scheme}://{target.hostname}{target.path}" if target.hostname else target.path
            raise ProtocolError(
                f"{method} {urlsplit(url).path}: the service redirects ({response.status_code}) to "
                f"{place or 'nowhere'}; redirects are not followed, so correct the base address"
            )
        return Reply(response.status_code, response.headers, content)

    def close(self) -> None:
        """Close the connections that are ours."""
        for adapter in self._adapters:
            adapter.close()

    def _adapter(self, url: str, *, fresh: bool) -> BaseAdapter:
        adapter: BaseAdapter | None = getattr(self._local, "adapter", None)
        if adapter is None or self._local.pid != os.getpid():  # a socket must not cross a fork
            self._local.pid = os.getpid()
            adapter = self._local.adapter = self._make(url)
        elif fresh and time.monotonic() - self._local.used_at > IDLE_S:
            adapter.close()
        return adapter

    def _make(self, url: str) -> BaseAdapter:
        if not self._own_adapters:
            mounted = self._session.get_adapter(url)
            if isinstance(mounted, HTTPAdapter) and mounted.max_retries.total:
                raise SettingsError(
                    "the session's adapter retries by itself, past the throttle; "
                    "mount HTTPAdapter(max_retries=0)"
                )
            return mounted
        adapter = HTTPAdapter(pool_connections=1, pool_maxsize=1, max_retries=0)
        self._adapters.append(adapter)
        return adapter


_BEFORE_A_BYTE: Final = (
    NewConnectionError,
    ConnectTimeoutError,
    ClosedPoolError,
    ssl.SSLCertVerificationError,
    requests.exceptions.InvalidURL,
    requests.exceptions.InvalidSchema,
)
_HANDSHAKE: Final = {"WRONG_VERSION_NUMBER", "UNSUPPORTED_PROTOCOL", "NO_PROTOCOLS_AVAILABLE"}


def _translate(error: Exception, line: str, url: SplitResult, *, first: bool) -> TransportError:
    """Say what happened; where no answer ever came (`first`), also what of the address may be wrong."""
    causes = list(_causes(error))
    names = {type(cause).__name__ for cause in causes}
    plain_http = any(isinstance(cause, ssl.SSLError) and cause.reason in _HANDSHAKE for cause in causes)
    never_left = (
        type(error) is OSError  # no certificate bundle: a socket's faults have classes of their own
        or any(isinstance(cause, _BEFORE_A_BYTE) for cause in causes)
        or plain_http
        or any(isinstance(cause, TunnelError) and "unnel" in str(cause.original_error) for cause in causes)
    )
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
        what = "the service's certificate is not trusted"
    elif "NameResolutionError" in names:
        what = "the host name is not known"
    elif isinstance(error, requests.exceptions.ProxyError):
        what = "the proxy does not let the request through"
    elif plain_http:
        what = f"{url.netloc} does not speak https; if it speaks http, write http:// in the base address"
    elif never_left:
        what = f"nobody answers at {url.netloc}; is the service running?"
    elif isinstance(error, requests.Timeout):
        what = f"no answer within {TIMEOUT_S[1]:.0f} s"
    else:
        what = "the connection broke before the whole answer came"
        if first and url.scheme == "http":
            what += "; if the service speaks https, write https:// in the base address"
    return TransportError(f"{line}: {what}", may_have_left=not never_left)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Walk to the roots of a wrapped network error, `MaxRetryError.reason` and the like included."""
    seen: set[int] = set()
    heap: list[object] = [error]
    while heap:
        cause = heap.pop()
        if not isinstance(cause, BaseException) or id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        # not __context__: it may hold a fault of the caller's, handled when this request was made
        heap += [*cause.args, cause.__cause__]
        heap += [getattr(cause, "reason", None), getattr(cause, "original_error", None)]
