"""
One request on the wire: sent by `requests` with the key, on a connection of its thread
that has not idled, and its answer read whole within a time.
"""

import json
import os
import re
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPException
from math import inf
from typing import Any
from urllib.parse import SplitResult, urlsplit

import requests
from pydantic import SecretStr
from requests.adapters import HTTPAdapter
from urllib3.exceptions import (
    ClosedPoolError,
    ConnectTimeoutError,
    DecodeError,
    HTTPError,
    LocationValueError,
    NameResolutionError,
    NewConnectionError,
    ReadTimeoutError,
)
from urllib3.exceptions import ProxyError as TunnelError

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
PART_SIZE = 1 << 16
_LENGTHS = {"content-length", "transfer-encoding"}


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


class _OwnAdapter(threading.local):
    """
    The connection of one thread.

    Attributes:
        adapter: What `requests` keeps it in; None behind a failure.
        process: That opened it: one that crosses a fork would be shared.
        used_at: When its last answer was read.
    """

    adapter: HTTPAdapter | None = None
    process = 0
    used_at = 0.0

    def get(self) -> HTTPAdapter:
        """Return it, or a new one where it idled."""
        is_fresh = time.monotonic() - self.used_at < IDLE_S
        if self.adapter is None or not is_fresh or self.process != os.getpid():
            self.adapter = HTTPAdapter()
            self.process = os.getpid()
        return self.adapter


class Transport:
    """
    Sends requests; knows nothing of limits, retries or animals.

    Args:
        base_url: Address that all requests share; proxies and certificates are looked
            up for it once.
        key: The API key.

    Attributes:
        timeout_s: To connect, and of silence while an answer is awaited.
        fastest_s: The least that an answer took, None before the first one.

    Spec: §5; redirects are never followed.
    """

    def __init__(self, base_url: str, key: SecretStr) -> None:
        if not re.fullmatch(r"[!-~]+", key.get_secret_value()):
            raise SettingsError(
                "the API key has characters that cannot be sent; copy it again"
            )
        self._key = key
        self.timeout_s = TIMEOUT_S
        self.fastest_s: float | None = None
        self._own = _OwnAdapter()
        with requests.Session() as session:
            # an auth object, since a .netrc file replaces what is none
            self._request = session.prepare_request(
                requests.Request(
                    "GET",
                    "http://localhost",
                    headers={"Accept": "application/json"},
                    auth=lambda request: request,
                )
            )
            self._send_options: Any = session.merge_environment_settings(
                base_url, {}, True, None, None
            )

    def send(self, method: str, url: str, body: bytes | None = None) -> Reply:
        """
        Send one request and read its answer, whatever the status. A 201 is final
        whatever becomes of its body.

        Raises:
            TransportError: No whole answer came; `may_have_left` says what is proven.
            ProtocolError: The answer is a redirect.
        """
        parts = urlsplit(url)
        line = f"{method} {parts.path}"
        began_at = time.monotonic()
        failure: BaseException
        request = response = None
        try:
            # an adapter follows no redirect
            request = self._prepare(method, url, body)
            response = self._own.get().send(
                request, timeout=self.timeout_s, **self._send_options
            )
            content = _read_body(response, began_at + LOST_AFTER_S)
            self._own.used_at = time.monotonic()
            took_s = self._own.used_at - began_at
            self.fastest_s = min(took_s, self.fastest_s or inf)
            status, headers = response.status_code, response.headers
            target = headers.get("Location", "").partition("?")[0]
            if target and 300 <= status < 400:
                target = str(self._mask_key(target.encode()), "utf-8")
                raise ProtocolError(
                    f"{line}: the service redirects ({status}) to {target}. Redirects"
                    " are not followed; correct the base address"
                )
            if status >= HTTPStatus.BAD_REQUEST:
                content = _without_escapes(content)
            return Reply(status, headers, self._mask_key(content), line)
        except (requests.RequestException, HTTPError, OSError) as error:
            never_answered = self.fastest_s is None
            failure = _translate(error, line, parts, never_answered=never_answered)
        except ProtocolError as error:
            failure = error
        except BaseException as error:
            failure = drop_frames(error)
        if response is not None:
            response.close()
        self._own.adapter = None
        # nothing that holds the key stays in this frame, which the error shows
        request = response = None
        raise failure

    def _prepare(
        self, method: str, url: str, body: bytes | None
    ) -> requests.PreparedRequest:
        """Return a request with the key."""
        request = self._request.copy()
        request.method = method
        request.prepare_url(url, None)
        if body is not None:
            request.body = body
            request.headers["Content-Type"] = "application/json"
        request.prepare_auth(self._add_key)
        return request

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
        """Close the connections of all threads, but those of requests under way."""
        self._own = _OwnAdapter()


def _without_escapes(body: bytes) -> bytes:
    """Return JSON without the escapes that could hide a key in it; else the body."""
    with suppress(ValueError, RecursionError):
        return json.dumps(json.loads(body), ensure_ascii=False).encode(
            "utf-8", "replace"
        )
    return body


def _read_body(response: requests.Response, ends_at: float) -> bytes:
    """
    Read an answer to its end.

    Raises:
        TimeoutError: It is not whole in time.
        HTTPError, OSError: It is cut off.
    """
    parts: list[bytes] = []
    try:
        while part := response.raw.read1(PART_SIZE, decode_content=True):
            parts.append(part)
            if time.monotonic() > ends_at:
                raise _DeadlineError
        if response.status_code < HTTPStatus.OK:  # it only announces another one
            raise ConnectionError
        has_length = response.headers.keys() & _LENGTHS
        if response.status_code == HTTPStatus.OK and not (parts or has_length):
            raise ConnectionError  # its head was cut off
    except (HTTPError, OSError):
        if response.status_code != HTTPStatus.CREATED:
            raise
        response.close()
    return b"".join(parts)


_BEFORE_A_BYTE = (
    NewConnectionError,
    ConnectTimeoutError,
    ClosedPoolError,
    ssl.SSLCertVerificationError,
    requests.exceptions.InvalidURL,
    requests.exceptions.InvalidSchema,
)
_OTHER_HOST = {62, 64}  # X509_V_ERR_HOSTNAME_MISMATCH, ..._IP_ADDRESS_MISMATCH
_BASE_ADDRESS = "PETSTORE_BASE_URL, in staging PETSTORE_STAGING_BASE_URL"
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
        return _describe_certificate(causes, url)
    if type(causes[0]) is OSError:
        return f"{causes[0]}; correct REQUESTS_CA_BUNDLE or CURL_CA_BUNDLE"
    if fault := _describe_proxy(causes, f"{url.scheme.upper()}_PROXY or ALL_PROXY"):
        return fault
    if has(NameResolutionError):
        return (
            f"the host name {url.hostname} was not found. If this computer has no"
            " network, connect it. If it has a network, correct the base address"
            f" ({_BASE_ADDRESS}), or run petstore-tools doctor"
        )
    if any(map(_is_plain_http, causes)):
        return (
            f"{url.netloc} does not use https; if it uses http, write http:// in the"
            " base address"
        )
    if never_left:
        return (
            f"no service answers at {url.netloc}; is the service running, and does this"
            " computer have a network?"
        )
    if has(_DeadlineError):
        return f"the answer was not whole after {LOST_AFTER_S:g} s"
    if has(requests.Timeout, ReadTimeoutError):
        return f"the service was silent for {TIMEOUT_S[1]:g} s"
    if has(DecodeError):
        return "the answer is packed in a way that cannot be read (Content-Encoding)"
    fault = "the connection broke before the answer was complete"
    if never_answered and url.scheme == "http":
        fault += "; if the service uses https, write https:// in the base address"
    return fault


def _describe_certificate(causes: list[BaseException], url: SplitResult) -> str:
    """Say why a certificate was refused."""
    codes = {getattr(cause, "verify_code", None) for cause in causes}
    if codes & _OTHER_HOST:
        return (
            f"the service's certificate is for another host name than {url.hostname};"
            f" correct the base address ({_BASE_ADDRESS}), or ask who runs the service"
        )
    return (
        "the service's certificate is not trusted; ask who runs the service, and"
        " name its certificates in REQUESTS_CA_BUNDLE"
    )


def _describe_proxy(causes: list[BaseException], variable: str) -> str:
    """
    Say what is wrong with a proxy, "" if nothing is. Its address is not shown: it may
    hold a password.
    """
    error = causes[0]
    if isinstance(error, requests.exceptions.ProxyError):
        return f"the proxy did not pass the request on; check {variable}"
    if isinstance(error, requests.exceptions.InvalidSchema):
        return (
            "a SOCKS proxy needs the package PySocks: install it (pip install PySocks),"
            f" or name an http proxy in {variable}"
        )
    faults = (requests.exceptions.InvalidProxyURL, LocationValueError)
    if any(isinstance(cause, faults) for cause in causes):
        return (
            f"the address of the proxy cannot be used; correct {variable}, which must"
            " look like http://HOST:PORT"
        )
    return ""


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
