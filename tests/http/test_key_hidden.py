"""The key is in no attribute, no traceback with locals, and no chain of errors."""

from __future__ import annotations

import gc
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FunctionType, ModuleType

import click
import pytest
import requests
from click.testing import CliRunner
from leaks import visible_text
from pydantic import SecretStr
from raw import RawServer, fixed_reply
from services import free_port

from petstore_tools import PetStore
from petstore_tools.cli.configure import configure_
from petstore_tools.clock import ManualClock
from petstore_tools.errors import (
    LedgerError,
    PetstoreError,
)
from petstore_tools.settings import load
from petstore_tools.throttle.ledger import PostgresLedger

KEY = "psk_in_no_place_at_all"
Serve = Callable[[socket.socket, bytes], None]


def held_by(thing: object) -> Iterable[object]:
    """Return all that can be reached from a thing; what masks itself is not opened."""
    seen: dict[int, object] = {}  # by `id`: most of it has no hash
    found = [thing]
    while found:
        one = found.pop()
        if id(one) not in seen:
            seen[id(one)] = one
            if not isinstance(one, (ModuleType, FunctionType, type, SecretStr)):
                found += gc.get_referents(one)
    return seen.values()


def nothing(connection: socket.socket, request: bytes) -> None:
    """Close without an answer."""


def silence(connection: socket.socket, request: bytes) -> None:
    connection.recv(1)


def half(connection: socket.socket, request: bytes) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n[")


def interrupt(connection: socket.socket, request: bytes) -> None:
    """Press Ctrl-C while the answer is awaited."""
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    connection.recv(1)


ECHO = f'{{"Authorization": "Bearer {KEY}"}}'.encode()
ENDS: dict[str, Serve] = {
    "nobody listens": nothing,
    "no TLS": silence,
    "Ctrl-C": interrupt,
    "closed": nothing,
    "silent": silence,
    "half": half,
    "401": fixed_reply(
        401, f'{{"code": "unauthorized", "message": "{KEY}?", "status": 401}}'.encode()
    ),
    "500": fixed_reply(500),
    "redirect": fixed_reply(302, Location="https://elsewhere.example/v1"),
    "200 that echoes": fixed_reply(200, ECHO),
    "201 that echoes": fixed_reply(201, ECHO),
    "HTML": fixed_reply(201, b"<html>"),
    "bytes": lambda connection, request: connection.sendall(b"\x00" * 99),
    "gzip": fixed_reply(200, b"not packed", Content_Encoding="gzip"),
}


def opened(base_url: str) -> PetStore:
    """Open a store whose clock moves by itself."""
    settings = load(base_url=base_url, api_key=SecretStr(KEY), plan="1000/1000")
    return PetStore.from_settings(settings, clock=ManualClock(time.time()))


@pytest.mark.case("P27", "P56")
@pytest.mark.skipif(os.name != "posix", reason="needs a signal to a thread")
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("call", ["list_pets", "create_pet"])
def test_no_failure_shows_the_key(end: str, call: str) -> None:
    """
    Each kind of answer, or none: neither frames with their locals nor causes hold it.
    """
    with RawServer(ENDS[end]) as server:
        moved = {"nobody listens": f"http://127.0.0.1:{free_port()}/v1"}
        moved["no TLS"] = server.base_url.replace("http", "https")
        with opened(moved.get(end, server.base_url)) as store:
            store.client.transport.timeout_s = (1.0, 0.2)
            with pytest.raises((PetstoreError, KeyboardInterrupt)) as raised:
                store.list_pets() if call == "list_pets" else store.create_pet(
                    "Rex", category_id=3
                )

    assert KEY not in visible_text(raised.value)


class Failing(requests.adapters.HTTPAdapter):
    """An adapter of a caller that has a mistake in it."""

    def send(
        self, request: requests.PreparedRequest, *args: object, **kwargs: object
    ) -> requests.Response:
        headers = dict(request.headers)
        raise KeyError(len(headers))


def test_a_mistake_in_an_adapter_of_the_caller_shows_no_key() -> None:
    """
    An adapter of their own may sign, log or tunnel; what it raises comes out as it is,
    without the frames that held the headers.
    """
    session = requests.Session()
    session.mount("http://", Failing())
    url = "http://127.0.0.1:9/v1"

    with (
        PetStore(base_url=url, api_key=KEY, ledger="memory", session=session) as store,
        pytest.raises(KeyError) as raised,
    ):
        store.create_pet("Rex", category_id=3)

    assert KEY not in visible_text(raised.value)


def test_what_configure_asks_for_is_not_shown_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It has the key from the keyboard, or from the file it kept."""
    monkeypatch.setenv("PETSTORE_RECONCILE_AFTER_S", "soon")
    for answers in (f"https://host/v1\n{KEY}\npro\n\n", "\n\n\n\n"):
        with (
            CliRunner().isolation(input=answers),
            pytest.raises(click.UsageError) as raised,
        ):
            configure_.callback()  # type: ignore[misc]
        assert KEY not in visible_text(raised.value)
        Path(os.environ["PETSTORE_CONFIG"]).write_text(
            f'base_url = "https://host/v1"\napi_key = "{KEY}"\n'
        )


def test_no_attribute_of_a_store_holds_the_key() -> None:
    """
    Store, settings, client, transport, the auth object, its adapters: before and after
    a request.
    """
    with RawServer(fixed_reply(200)) as server, opened(server.base_url) as store:
        for _ in range(2):
            for thing in held_by(store):
                assert KEY not in repr(thing), type(thing)
            store.client.call("GET", f"{server.base_url}/pets")


def test_the_password_of_a_ledger_database_is_in_no_traceback() -> None:
    """The driver has the address in its frames."""
    ledger = PostgresLedger(
        SecretStr("postgresql://me:in-no-place@127.0.0.1:9/budgets"), "subject"
    )

    with pytest.raises(LedgerError) as raised:
        ledger.update(lambda budget: None)

    assert "in-no-place" not in visible_text(raised.value)
