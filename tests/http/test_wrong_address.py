"""
A base address behind which there is no service, or one that speaks otherwise: said in
words (item 17).
"""

from __future__ import annotations

import time

import pytest
from pydantic import SecretStr
from raw import RawServer, reply_bytes

from petstore_tools import PetStore, Sandbox
from petstore_tools.clock import ManualClock
from petstore_tools.errors import ApiError, PetstoreError, ProtocolError, TransportError
from petstore_tools.sandbox.faults import Fault
from petstore_tools.settings import load

PAGE = (
    b"<!DOCTYPE html><html><head><title>Welcome</title></head><body>Hello</body></html>"
)
TLS_ALERT = b"\x15\x03\x01\x00\x02\x02\x46"  # what a TLS server says to plain HTTP
GO = b"Client sent an HTTP request to an HTTPS server.\n"
NGINX = (
    b"<html><head><title>400 The plain HTTP request was sent to HTTPS"
    b" port</title></head></html>"
)


def sending(answer: bytes) -> RawServer:
    """Answer every connection with these bytes and close it."""
    return RawServer(lambda connection, request: connection.sendall(answer))


def refusal(address: str) -> PetstoreError:
    settings = load(base_url=address, api_key=SecretStr("k"), plan="pro")
    with PetStore.from_settings(settings, clock=ManualClock(time.time())) as store:
        with pytest.raises(PetstoreError) as caught:
            store.list_pets(first=1)
        return caught.value


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        TLS_ALERT,
        reply_bytes(400, GO, Content_Type="text/plain"),
        reply_bytes(400, NGINX),
    ],
)
def test_http_to_a_service_that_speaks_https_says_so(answer: bytes) -> None:
    """A closed connection, an alert, and what Go and nginx answer."""
    with sending(answer) as server:
        error = refusal(server.base_url)

    assert "https" in str(error)
    assert "write https:// in the base address" in str(error)


def test_https_to_a_service_that_speaks_http_says_so() -> None:
    """In place of: no service answers."""
    with Sandbox(animals=1) as box:
        error = refusal(box.base_url.replace("http://", "https://"))

    assert (
        "does not use https; if it uses http, write http:// in the base address"
        in str(error)
    )
    assert isinstance(error, TransportError)
    assert not error.may_have_left


@pytest.mark.parametrize(
    ("status", "kind"),
    [(200, ProtocolError), (404, ApiError), (502, ApiError)],
)
def test_a_web_page_behind_the_address_is_called_one(
    status: int, kind: type[PetstoreError]
) -> None:
    """
    And where it cannot be a proxy's word on a service that is down, the address is
    asked about.
    """
    with sending(reply_bytes(status, PAGE, Content_Type="text/html")) as server:
        error = refusal(server.base_url)

    assert isinstance(error, kind)
    assert "a web page came instead" in str(error)
    assert ("is the base address right?" in str(error)) == (status < 500)


def test_a_connection_that_breaks_later_is_no_matter_of_the_address() -> None:
    """Once the service has answered, nobody is sent to look at https."""
    drops = Fault("drop_before", method="GET", numbers=tuple(range(2, 9)))
    with (
        Sandbox(animals=150, faults=[drops]) as box,
        pytest.raises(TransportError) as caught,
    ):
        box.store.list_pets()

    assert "https" not in str(caught.value)
