"""
A whole answer has a deadline; proxies, certificates and sessions of a company work as with
`requests`.
"""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import requests
from raw import RawServer, answer
from requests.adapters import HTTPAdapter

from petstore_tools import PetStore, Sandbox
from petstore_tools.errors import SettingsError, TransportError
from petstore_tools.http import transport as http

LIMIT_S = 0.5
SLOW: dict[str, bytes] = {
    "status line": b"HTTP/1.1 200 O" + b"K" * 200,
    "headers": b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: y\r\n" % n for n in range(90)),
    "body": b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + b" " * 500,
    "chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\n \r\n" * 100,
    "no length": b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + b" " * 500,
    "continue": b"HTTP/1.1 100 Continue\r\n\r\n" * 20,
}


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "TIMEOUT_S", (5.0, LIMIT_S))


def drip(what: bytes) -> Callable[[socket.socket, bytes], None]:
    """Return what sends the first bytes at once, and then one every hundredth of a second."""

    def serve(connection: socket.socket, request: bytes) -> None:
        at_once = what.find(b"\r\n\r\n") + 4 if b"\r\n\r\n" in what[:100] else 10
        connection.sendall(what[:at_once])
        for byte in what[at_once:]:
            time.sleep(0.01)
            connection.sendall(bytes([byte]))

    return serve


def took_s(store: PetStore, method: str = "GET") -> float:
    """Return how long a request lasts that ends without a whole answer."""
    began_at = time.monotonic()
    with pytest.raises(TransportError, match=r"no complete answer came within 0\.5 s") as raised:
        store.client.transport.send(
            method, f"{store.client.base_url}/pets", b"{}" if method == "POST" else None
        )
    assert raised.value.may_have_left
    return time.monotonic() - began_at


@pytest.mark.parametrize("part", SLOW)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_answer_that_drips_ends_at_the_deadline(part: str, method: str) -> None:
    """
    A byte every hundredth of a second is never silence; the answer would take 2 to 10 times as
    long.
    """
    with (
        RawServer(drip(SLOW[part])) as server,
        PetStore(base_url=server.base_url, api_key="k", ledger="memory") as store,
    ):
        assert LIMIT_S <= took_s(store, method) < 2 * LIMIT_S


def test_the_deadline_is_that_of_one_answer() -> None:
    """The next one on the same connection has all of it again."""
    whole = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]"

    def serve(connection: socket.socket, request: bytes) -> None:
        for _ in range(3):
            time.sleep(0.6 * LIMIT_S)
            connection.sendall(whole)
            connection.recv(65_536)

    with (
        RawServer(serve) as server,
        PetStore(base_url=server.base_url, api_key="k", ledger="memory") as store,
    ):
        for _ in range(3):
            assert store.client.transport.send("GET", f"{server.base_url}/pets").body == b"[]"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """
    A certificate of this machine that no public authority signed, with its key in the same file.
    """
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make a certificate")
    path = tmp_path_factory.mktemp("tls") / "company.pem"
    made = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=company",
    ]
    names = ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(
        [*made, *names, "-keyout", path, "-out", f"{path}.cert"], check=True, capture_output=True
    )
    path.write_bytes(path.read_bytes() + Path(f"{path}.cert").read_bytes())
    return path


@pytest.fixture
def tls(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


class Proxy:
    """A proxy of a company: CONNECT for https, whole addresses for http; wants a password."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://me:secret@127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(
                    target=self._serve, args=(self._listener.accept()[0],), daemon=True
                ).start()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            head = client.recv(65_536)
            self.asked.append(head.partition(b"\r\n")[0].decode())
            assert b"Proxy-Authorization: Basic" in head
            connect = head.startswith(b"CONNECT")
            address = head.split(b" ")[1].removeprefix(b"http://").partition(b"/")[0].decode()
            with socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2]))) as server:
                client.sendall(b"HTTP/1.1 200 OK\r\n\r\n") if connect else server.sendall(head)
                back = threading.Thread(target=self._copy, args=(server, client), daemon=True)
                back.start()
                self._copy(client, server)
                back.join()

    @staticmethod
    def _copy(one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while chunk := one.recv(65_536):
                other.sendall(chunk)
            other.shutdown(socket.SHUT_WR)


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    found = Proxy()
    for name in ("NO_PROXY", "no_proxy", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    yield found
    found.close()


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("by", ["variables", "session"])
def test_a_proxy_and_a_certificate_of_a_company_work_and_keep_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
    proxy: Proxy,
    certificate: Path,
    tls: ssl.SSLContext,
    scheme: str,
    by: str,
) -> None:
    """By the usual variables or by a session; what drips through them ends in time as well."""
    session = None
    if by == "session":
        session = requests.Session()
        session.proxies = {"http": proxy.url, "https": proxy.url}
        session.verify = str(certificate)
    else:
        monkeypatch.setenv(f"{scheme}_proxy", proxy.url)
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    answers = [answer(200), drip(SLOW["headers"])]

    def serve(connection: socket.socket, request: bytes) -> None:
        answers.pop(0)(connection, request)

    with (
        RawServer(serve, tls=tls if scheme == "https" else None) as server,
        PetStore(base_url=server.base_url, api_key="k", ledger="memory", session=session) as store,
    ):
        assert store.client.transport.send("GET", f"{server.base_url}/pets").body == b"[]"
        assert took_s(store) < 2 * LIMIT_S

    assert len(proxy.asked) == 2
    assert all(
        line.startswith("CONNECT" if scheme == "https" else "GET http://") for line in proxy.asked
    )


def test_a_certificate_that_nobody_vouches_for_is_refused(tls: ssl.SSLContext) -> None:
    """As before: nothing has left."""
    with (
        RawServer(answer(200), tls=tls) as server,
        PetStore(base_url=server.base_url, api_key="k", ledger="memory") as store,
        pytest.raises(TransportError, match="certificate is not trusted") as raised,
    ):
        store.client.transport.send("POST", f"{server.base_url}/pets", b"{}")

    assert not raised.value.may_have_left


class Noting(HTTPAdapter):
    """An adapter of a caller's own."""

    sent = 0

    def send(self, *args: object, **kwargs: object) -> requests.Response:
        Noting.sent += 1
        return super().send(*args, **kwargs)  # type: ignore[arg-type]


def test_an_adapter_of_the_callers_own_sends() -> None:
    """It may sign, log or tunnel: what it does is done."""
    session = requests.Session()
    session.mount("http://", Noting(max_retries=0))
    with (
        Sandbox(animals=1) as box,
        PetStore(
            base_url=box.base_url, api_key=box.api_key, ledger="memory", session=session
        ) as store,
    ):
        assert len(store.list_pets()) == 1

    assert Noting.sent == 1


def test_what_is_no_session_is_refused_in_a_sentence() -> None:
    """Not an AttributeError later."""
    with pytest.raises(SettingsError, match=r"session must be a requests\.Session, not str"):
        PetStore(base_url="https://host/v1", api_key="k", session="mine")  # type: ignore[arg-type]
