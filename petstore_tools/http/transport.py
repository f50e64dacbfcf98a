"""
One request on the wire: sent by `requests` with the key, on a connection that has not
idled, and its answer read whole within a time.
"""

import re
import ssl
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse, parse_headers
from io import BufferedReader, RawIOBase
from math import inf
from queue import Empty, Full
from socket import socket
from typing import Any
from urllib.parse import SplitResult, urlsplit

import requests
from pydantic import SecretStr
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection
from urllib3.exceptions import (
    ClosedPoolError,
    ConnectTimeoutError,
    NameResolutionError,
    NewConnectionError,
    ReadTimeoutError,
)
from urllib3.exceptions import ProxyError as TunnelError

from petstore_tools import sqlite
from petstore_tools.errors import (
    ProtocolError,
    SettingsError,
    TransportError,
    drop_frames,
)
from petstore_tools.throttle.throttle import LOST_AFTER_S

TIMEOUT_S = (5.0, 30.0)  # to connect; of silence while an answer is awaited
# servers close idle connections, many after 5 s: no request goes on one
IDLE_S = 4.0
SHORTEST_KEY = 8  # a shorter one may stand in a name, and is no secret
# kept open; more threads than that open connections of their own
MOST_CONNECTIONS = 64


@dataclass(frozen=True)
class Reply:
    """
    An answer, read to its end.

    Attributes:
        status: HTTP status code.
        headers: Case-insensitive.
        body: Bytes.
        request_line: Method and path of the request, as messages name it.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    request_line: str = ""


class _DeadlineError(TimeoutError):
    """An answer was not whole in time."""


class _BoundedReader(RawIOBase):
    """Reads a socket up to a deadline: an answer that drips is never silent."""

    def __init__(self, sock: socket, raw: RawIOBase) -> None:
        self._sock = sock
        self._raw = raw
        self._silence_s = sock.gettimeout() or LOST_AFTER_S
        self._ends_at = time.monotonic() + LOST_AFTER_S

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """
        Read what has come.

        Raises:
            TimeoutError: Nothing came, or the deadline has passed.
        """
        left_s = self._ends_at - time.monotonic()
        if left_s <= 0:
            raise _DeadlineError
        self._sock.settimeout(min(left_s, self._silence_s))
        return self._raw.readinto(buffer)

    def close(self) -> None:
        """Close the socket's file, too."""
        self._raw.close()
        super().close()


class _BoundedResponse(HTTPResponse):
    """
    An answer that is whole in time, without those that only announce it (1xx): the next
    request would read it.
    """

    def __init__(self, sock: socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self.fp = BufferedReader(_BoundedReader(sock, self.fp.detach()))

    def _read_status(self) -> tuple[str, int, str]:
        while True:
            version, status, reason = super()._read_status()  # type: ignore[misc]
            if status >= 200:
                return version, status, reason
            parse_headers(self.fp)


class _FreshConnection(HTTPConnection):
    """A connection that is opened anew where it idled."""

    response_class = _BoundedResponse
    used_at = 0.0

    @property
    def is_connected(self) -> bool:
        """Say whether the pool may use the connection again."""
        return super().is_connected and time.monotonic() - self.used_at < IDLE_S

    def getresponse(self) -> Any:
        """Read status and headers."""
        response = super().getresponse()
        self.used_at = time.monotonic()
        return response


class _IdleConnections(deque[Any]):
    """
    The connections of a pool that no request uses, without the lock of `LifoQueue`: an
    interrupt that comes when that is taken leaves it locked.
    """

    qsize = deque.__len__

    def get(self, **_: object) -> Any:
        """Take the one that was used last."""
        try:
            return self.pop()
        except IndexError:
            raise Empty from None

    def put(self, connection: object, **_: object) -> None:
        """Keep one for the next request."""
        if len(self) == MOST_CONNECTIONS:
            raise Full
        self.append(connection)

    def __del__(self) -> None:
        """Close them with their pool, as urllib3 does with those of its own queue."""
        for connection in filter(None, self):
            connection.close()


class _Adapter(HTTPAdapter):
    """
    Connections as `requests` makes them, through any proxy and with any certificates,
    but with our connection class, and kept by us.
    """

    def get_connection_with_tls_context(self, *args: Any, **kwargs: Any) -> Any:
        """Return the pool of an address."""
        pool: Any = super().get_connection_with_tls_context(*args, **kwargs)
        if not issubclass(pool.ConnectionCls, _FreshConnection):
            pool.pool = _IdleConnections()
            pool.ConnectionCls = type(
                "Connection", (_FreshConnection, pool.ConnectionCls), {}
            )
        return pool


class Transport:
    """
    Sends requests; knows nothing of limits, retries or animals.

    Args:
        base_url: Address that all requests share; proxies and certificates are looked
            up for it once.
        key: The API key.

    Attributes:
        timeout_s: To connect, and of silence while an answer is awaited.

    Spec: §5; redirects are never followed.
    """

    def __init__(self, base_url: str, key: SecretStr) -> None:
        if not re.fullmatch(r"[!-~]+", key.get_secret_value()):
            raise SettingsError(
                "the API key has characters that cannot be sent; copy it again"
            )
        self._key = key
        self._session = requests.Session()
        self.timeout_s = TIMEOUT_S
        # from a request's first byte to its answer's last
        self.fastest_s: float | None = None
        self._adapter = sqlite.PerProcess(
            lambda: _Adapter(pool_maxsize=MOST_CONNECTIONS)
        )
        self._send_options = self._session.merge_environment_settings(
            base_url, {}, False, None, None
        )

    def send(self, method: str, url: str, body: bytes | None = None) -> Reply:
        """
        Send one request and read its answer, whatever the status.

        Raises:
            TransportError: No whole answer came; `may_have_left` says what is proven.
            ProtocolError: The answer is a redirect.
        """
        reply = self._exchange(method, url, body)
        if isinstance(reply, BaseException):
            raise reply
        target = reply.headers.get("Location", "").partition("?")[0]
        if target and 300 <= reply.status < 400:
            raise ProtocolError(
                f"{reply.request_line}: the service redirects ({reply.status}) to"
                f" {target}. Redirects are not followed; correct the base address"
            )
        return reply

    def _exchange(
        self, method: str, url: str, body: bytes | None
    ) -> Reply | BaseException:
        """Return the answer, or the error without the frames that hold the key."""
        parts = urlsplit(url)
        line = f"{method} {parts.path}"
        headers = {"Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        began_at = time.monotonic()
        try:
            request = requests.Request(
                method, url, headers, data=body, auth=self._add_key
            )
            # an adapter follows no redirect, and no .netrc file replaces what `auth` is
            response = self._adapter.get().send(
                self._session.prepare_request(request),
                timeout=self.timeout_s,
                **self._send_options,
            )
            masked_body = self._mask_key(response.content)
            reply = Reply(response.status_code, response.headers, masked_body, line)
        except (requests.RequestException, OSError) as error:
            return _translate(error, line, parts, never_answered=self.fastest_s is None)
        except BaseException as error:
            return drop_frames(error)
        self.fastest_s = min(time.monotonic() - began_at, self.fastest_s or inf)
        return reply

    def _add_key(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Add the key as a bearer token (§5)."""
        request.headers["Authorization"] = f"Bearer {self._key.get_secret_value()}"
        return request

    def _mask_key(self, body: bytes) -> bytes:
        """
        Return the body of an answer without the key: some say which one they refuse.
        """
        key = self._key.get_secret_value().encode()
        return body.replace(key, b"****") if len(key) >= SHORTEST_KEY else body

    def close(self) -> None:
        """Close the connections that are ours."""
        self._adapter.close()


_BEFORE_A_BYTE = (
    NewConnectionError,
    ConnectTimeoutError,
    ClosedPoolError,
    ssl.SSLCertVerificationError,
    requests.exceptions.InvalidURL,
    requests.exceptions.InvalidSchema,
)
_HANDSHAKE = {
    "WRONG_VERSION_NUMBER",
    "UNSUPPORTED_PROTOCOL",
    "NO_PROTOCOLS_AVAILABLE",
}


def _translate(
    error: Exception, line: str, url: SplitResult, *, never_answered: bool
) -> TransportError:
    """
    Say what happened; where no answer ever came, also what may be wrong in the address.
    """
    causes = list(_causes(error))
    # a plain OSError: there is no certificate bundle; the faults of a socket are
    # classes of it
    never_left = type(error) is OSError or any(map(_proves_unsent, causes))
    fault = _describe(causes, url, never_left=never_left, never_answered=never_answered)
    failure = TransportError(f"{line}: {fault}", may_have_left=not never_left)
    for cause in causes:
        # the root alone: what lies between holds the request, and so the key
        holds_request = isinstance(cause, requests.RequestException)
        if isinstance(cause, (OSError, HTTPException)) and not holds_request:
            failure.__cause__ = drop_frames(cause)
    return failure


def _proves_unsent(cause: BaseException) -> bool:
    """Say whether a cause proves that no byte of the request left."""
    if isinstance(cause, TunnelError):
        return "unnel" in str(cause.original_error)
    return isinstance(cause, _BEFORE_A_BYTE) or _is_plain_http(cause)


def _is_plain_http(cause: BaseException) -> bool:
    """Say whether a handshake failed because the other end speaks no TLS."""
    return isinstance(cause, ssl.SSLError) and cause.reason in _HANDSHAKE


def _describe(
    causes: list[BaseException],
    url: SplitResult,
    *,
    never_left: bool,
    never_answered: bool,
) -> str:
    """Name the fault, in the words of the first rule that fits."""

    def has(*kinds: type[Exception]) -> bool:
        return any(isinstance(cause, kinds) for cause in causes)

    if has(ssl.SSLCertVerificationError):
        return "the service's certificate is not trusted"
    if has(requests.exceptions.ProxyError):
        return "the proxy did not pass the request on"
    if has(NameResolutionError):
        return (
            f"the host name {url.hostname} is not known; correct the base address"
            " (PETSTORE_BASE_URL), or run petstore-tools doctor"
        )
    if any(map(_is_plain_http, causes)):
        return (
            f"{url.netloc} does not use https; if it uses http, write http:// in the"
            " base address"
        )
    if never_left:
        return f"no service answers at {url.netloc}; is the service running?"
    if has(_DeadlineError):
        return f"the answer was not whole after {LOST_AFTER_S:g} s"
    if has(requests.Timeout, ReadTimeoutError):
        return f"the service was silent for {TIMEOUT_S[1]:g} s"
    if has(requests.exceptions.ContentDecodingError):
        return "the answer is packed in a way that cannot be read (Content-Encoding)"
    fault = "the connection broke before the answer was complete"
    if never_answered and url.scheme == "http":
        fault += "; if the service uses https, write https:// in the base address"
    return fault


def _causes(error: BaseException) -> Iterator[BaseException]:
    """
    Walk to the roots of a wrapped network error, `MaxRetryError.reason` and the like
    included.
    """
    yield error
    # not __context__: it may hold a fault of the caller's, handled when this request
    # was made
    reason = getattr(error, "reason", None)
    tunnel_error = getattr(error, "original_error", None)
    for cause in (*error.args, error.__cause__, reason, tunnel_error):
        if isinstance(cause, BaseException):
            yield from _causes(cause)
