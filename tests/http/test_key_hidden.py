"""The key is in no attribute, no traceback with locals, and no chain of errors."""

from __future__ import annotations

import gc
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType

import click
import pytest
import requests
from click.testing import CliRunner
from leaks import shown
from pydantic import SecretStr
from raw import RawServer, answer
from services import free_port

from petstore_tools import PetStore
from petstore_tools.cli.configure import configure_
from petstore_tools.clock import ManualClock
from petstore_tools.errors import (
    ApiError,
    LedgerError,
    PetstoreError,
    ProtocolError,
    TransportError,
    UnauthorizedError,
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


ENDS: dict[str, tuple[Serve, type[BaseException]]] = {
    "nobody listens": (nothing, TransportError),
    "no TLS": (silence, TransportError),
    "Ctrl-C": (interrupt, KeyboardInterrupt),
    "closed": (nothing, TransportError),
    "silent": (silence, TransportError),
    "half": (half, TransportError),
    "401": (
        answer(401, f'{{"code": "unauthorized", "message": "{KEY}?", "status": 401}}'.encode()),
        UnauthorizedError,
    ),
    "500": (answer(500), ApiError),
    "redirect": (answer(302, Location="https://elsewhere.example/v1"), ProtocolError),
    "200 that echoes": (
        answer(200, f'{{"Authorization": "Bearer {KEY}"}}'.encode()),
        PetstoreError,
    ),
    "201 that echoes": (
        answer(201, f'{{"Authorization": "Bearer {KEY}"}}'.encode()),
        PetstoreError,
    ),
    "HTML": (answer(201, b"<html>"), PetstoreError),
    "bytes": (lambda connection, request: connection.sendall(b"\x00" * 99), TransportError),
    "gzip": (answer(200, b"not packed", Content_Encoding="gzip"), TransportError),
}


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., PetStore]]:
    """Opens a store whose key comes from a variable."""
    monkeypatch.setenv("PETSTORE_API_KEY", KEY)
    stores = []

    def open_store(base_url: str, **more: object) -> PetStore:
        if more:
            stores.append(PetStore(base_url=base_url, plan="1000/1000", **more))  # type: ignore[arg-type]
        else:
            settings = load(base_url=base_url, plan="1000/1000")
            stores.append(PetStore.from_settings(settings, clock=ManualClock(time.time())))
        return stores[-1]

    yield open_store
    for store in stores:
        store.close()


@pytest.mark.case("P27", "P56")
@pytest.mark.skipif(os.name != "posix", reason="needs a signal to a thread")
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("call", ["list_pets", "create_pet"])
def test_no_failure_shows_the_key(opened: Callable[..., PetStore], end: str, call: str) -> None:
    """Each kind of answer, or none: neither frames with their locals nor causes hold it."""
    serve, kind = ENDS[end]
    with RawServer(serve) as server:
        moved = {"nobody listens": f"http://127.0.0.1:{free_port()}/v1"}
        moved["no TLS"] = server.base_url.replace("http", "https")
        store = opened(moved.get(end, server.base_url))
        store.client.transport.timeout_s = (1.0, 0.2)
        with pytest.raises(kind) as raised:
            store.list_pets() if call == "list_pets" else store.create_pet("Rex", category_id=3)

    assert KEY not in shown(raised.value)


class Failing(requests.adapters.HTTPAdapter):
    """An adapter of a caller that has a mistake in it."""

    def send(
        self, request: requests.PreparedRequest, *args: object, **kwargs: object
    ) -> requests.Response:
        headers = dict(request.headers)
        raise KeyError(len(headers))


def test_a_mistake_in_an_adapter_of_the_caller_shows_no_key(
    opened: Callable[..., PetStore],
) -> None:
    """
    An adapter of their own may sign, log or tunnel; what it raises comes out as it is, without the
    frames that held the headers.
    """
    session = requests.Session()
    session.mount("http://", Failing())
    store = opened("http://127.0.0.1:9/v1", session=session)

    with pytest.raises(KeyError) as raised:
        store.create_pet("Rex", category_id=3)

    assert KEY not in shown(raised.value)


def test_what_configure_asks_for_is_not_shown_either(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the key from the keyboard, or from the file it kept."""
    monkeypatch.setenv("PETSTORE_RECONCILE_AFTER_S", "soon")
    for answers in (f"https://host/v1\n{KEY}\npro\n\n", "\n\n\n\n"):
        with CliRunner().isolation(input=answers), pytest.raises(click.UsageError) as raised:
            configure_.callback()  # type: ignore[misc]
        assert KEY not in shown(raised.value)
        Path(os.environ["PETSTORE_CONFIG"]).write_text(
            f'base_url = "https://host/v1"\napi_key = "{KEY}"\n'
        )


def test_no_attribute_of_a_store_holds_the_key(opened: Callable[..., PetStore]) -> None:
    """
    Store, settings, client, transport, the auth object, its adapters: before and after a request.
    """
    with RawServer(answer(200)) as server:
        store = opened(server.base_url)
        for _ in range(2):
            for thing in held_by(store):
                assert KEY not in repr(thing), type(thing)
            store.client.call("GET", f"{server.base_url}/pets")


def test_the_password_of_a_ledger_database_is_in_no_traceback() -> None:
    """The driver has the address in its frames."""
    ledger = PostgresLedger(SecretStr("postgresql://me:in-no-place@127.0.0.1:9/budgets"), "subject")

    with pytest.raises(LedgerError) as raised:
        ledger.update(lambda budget: None)

    assert "in-no-place" not in shown(raised.value)
