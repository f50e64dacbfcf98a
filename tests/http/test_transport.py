"""
Redirects, .netrc files, idle connections, silence, handshakes; proxies, certificates
and sessions of a company work as with `requests`.
"""

import gc
import json
import netrc
import shutil
import signal
import ssl
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from types import FunctionType, ModuleType, SimpleNamespace

import pytest
from commands import needs_signals
from leaks import visible_text
from pydantic import SecretStr
from raw import RawServer, fixed_bytes, fixed_reply, read_request, reply_bytes
from requests.adapters import HTTPAdapter
from services import free_port
from tables import read_table
from wires import BASE, KEY, PET, T0, store_at

from petstore_tools import PetStore
from petstore_tools.clock import ManualClock
from petstore_tools.errors import (
    PetstoreError,
    ProtocolError,
    TransportError,
)
from petstore_tools.http import transport
from petstore_tools.http.transport import TIMEOUT_S


def create(store):
    """Create an animal."""
    return store.create_pet("Rex", category_id=3)


def send(base_url, method="POST", timeout_s=TIMEOUT_S):
    """Send a request to a service, and return the answer."""
    with store_at(base_url) as store:
        store.client.transport.timeout_s = timeout_s
        return store.client.transport.send(method, f"{base_url}/pets", b"{}")


def fail_to_send(base_url, fault=None, timeout_s=TIMEOUT_S):
    """Post to a service that gives no answer, and return the error."""
    with pytest.raises(TransportError, match=fault) as raised:
        send(base_url, timeout_s=timeout_s)
    return raised.value


def test_an_answer_that_announces_another_is_a_lost_one():
    """
    103 comes first: the next request of the connection would be given the 201 of this
    one, so it goes on another connection.
    """
    hints = [b"HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n", b""]
    created = fixed_reply(201, json.dumps(PET).encode())

    def announced(connection, request):
        connection.sendall(hints.pop(0))
        created(connection, request)

    with RawServer(announced) as server, store_at(server.base_url) as store:
        url = f"{server.base_url}/pets"
        with pytest.raises(TransportError, match="broke before") as raised:
            store.client.transport.send("POST", url, b"{}")
        assert raised.value.may_have_left

        assert b"17" in store.client.transport.send("POST", url, b"{}").body


HEAD = b"HTTP/1.1 201 Created\r\n"
FINAL = {
    "cut off": HEAD + b'Content-Length: 99\r\n\r\n{"id": 17',
    "cut off in a part": HEAD + b'Transfer-Encoding: chunked\r\n\r\n9\r\n{"id"',
    "without a length": HEAD + b'\r\n{"id": 17',
    "packed wrongly": HEAD + b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
    "empty": HEAD + b"Content-Length: 0\r\n\r\n",
}


@pytest.mark.parametrize("answer", FINAL.values(), ids=FINAL)
def test_a_201_is_final_whatever_its_body_is(answer):
    """The animal was made: nobody has to look for it, and it is not sent again."""
    with RawServer(fixed_bytes(answer)) as server:
        assert send(server.base_url).status == 201


def silent_behind(begin):
    """Return what sends the beginning of an answer, and falls silent."""

    def serve(connection, request):
        connection.sendall(begin)
        connection.recv(1)  # until the other end closes

    return serve


def test_a_201_is_final_where_its_body_is_never_whole():
    """The service falls silent behind the head."""
    begin = HEAD + b"Content-Length: 99\r\n\r\n{"
    with RawServer(silent_behind(begin)) as server:
        assert send(server.base_url, timeout_s=(5.0, 0.2)).status == 201


@pytest.mark.parametrize("status", [300, 301, 302, 307, 308])
@pytest.mark.parametrize(
    ("method", "call"), [("GET", PetStore.list_pets), ("POST", create)]
)
def test_a_redirect_is_not_followed_and_its_target_is_named(
    wire, store, status, method, call
):
    """
    Neither GET nor POST: the key would go elsewhere, and a POST would become a GET.
    Nor is a key shown that its path holds.
    """
    target = {"Location": f"https://new.example/{KEY}/v1/pets?k=1"}
    wire.add(method, f"{BASE}/pets", status=status, headers=target)

    with pytest.raises(ProtocolError, match=r"https://new\.example/\*+/v1/pets"):
        call(store)

    assert len(wire.calls) == 1


def test_a_netrc_entry_does_not_replace_the_key(wire, store, tmp_path, monkeypatch):
    """`requests` would prefer it to a header; an auth object wins."""
    entry = tmp_path / "netrc"
    entry.write_text("machine pets.example login someone password else\n")
    entry.chmod(0o600)
    monkeypatch.setenv("NETRC", str(entry))
    assert netrc.netrc(str(entry)).authenticators("pets.example")
    wire.post(f"{BASE}/pets", json=PET, status=201)

    create(store)

    assert wire.calls[0].request.headers["Authorization"] == f"Bearer {KEY}"


@pytest.fixture
def clock(monkeypatch):
    """The clock of the transport; that of a service in this process stays."""
    clock = ManualClock(T0)
    monkeypatch.setattr(transport, "time", SimpleNamespace(monotonic=clock.steady))
    return clock


def test_a_create_on_a_connection_that_idled_opens_a_fresh_one(clock):
    """
    The service may be closing it: what is sent there is lost with nothing known. Each
    thread has its own, so that others which send keep none of it fresh.
    """
    connections = []
    created = reply_bytes(201, json.dumps(PET).encode()).replace(
        b"Connection: close", b"X: y"
    )

    def keep_open(connection, request):
        connections.append(connection)
        while request:
            connection.sendall(created)
            request = connection.recv(65_536)

    with (
        RawServer(keep_open) as server,
        store_at(server.base_url) as store,
        ThreadPoolExecutor(1) as others,
    ):
        create(store)
        create(store)
        others.submit(create, store).result()
        assert len(connections) == 2
        for silence_s in (4.5, 10.0, 71.0):
            for _ in range(int(silence_s) // 3):
                clock.advance(3)
                others.submit(create, store).result()
            before = len(connections)
            clock.advance(silence_s % 3)
            create(store)
            assert len(connections) == before + 1


@pytest.mark.parametrize(
    "begin", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n["]
)
def test_a_service_that_falls_silent_is_given_up(begin):
    """Before its answer, and in the middle of it; the request may have left."""
    with RawServer(silent_behind(begin)) as server:
        error = fail_to_send(server.base_url, "the service was silent", (5.0, 0.2))

    assert error.may_have_left


@pytest.mark.parametrize(("begin", "drop"), read_table(__file__, "drips.json"))
def test_an_answer_that_drips_is_lost_after_two_minutes(clock, begin, drop):
    """A service that sends a bit of its body now and then is never silent."""

    def drip(connection, request):
        connection.sendall(begin.encode())
        while True:  # until the other end closes
            connection.sendall(drop.encode())
            clock.advance(10)

    with RawServer(drip) as server:
        error = fail_to_send(server.base_url, "not whole after 120 s")

    assert error.may_have_left


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """
    A certificate of this machine that no public authority signed, with its key in the
    same file.
    """
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make a certificate")
    path = tmp_path_factory.mktemp("tls") / "company.pem"
    make = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=company -addext"
    names = "subjectAltName=IP:127.0.0.1"
    files = ["-keyout", path, "-out", path]
    subprocess.run([*make.split(), names, *files], check=True, capture_output=True)
    return path


@pytest.fixture
def tls(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_and_a_certificate_of_a_company_work(
    monkeypatch, certificate, tls, scheme
):
    """By the usual variables: a tunnel for https, whole addresses for http."""
    is_https = scheme == "https"
    answer = fixed_reply(200)
    proxied = []

    def forward(connection, request):
        proxied.append(request)
        if is_https:
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            with tls.wrap_socket(connection, server_side=True) as tunnel:
                answer(tunnel, read_request(tunnel))
        else:
            answer(connection, request)

    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    with RawServer(forward) as proxy:
        address = f"http://me:secret@127.0.0.1:{proxy.port}"
        monkeypatch.setenv(f"{scheme}_proxy", address)
        assert send(f"{scheme}://127.0.0.1:9/v1", "GET").body == b"[]"

    (request,) = proxied
    assert request.startswith(b"CONNECT" if is_https else b"GET http://")
    assert b"Proxy-Authorization: Basic" in request


@pytest.mark.parametrize(
    "fault", ["no TLS", "no bundle", "no tunnel", "nobody vouches"]
)
def test_a_failed_handshake_proves_that_nothing_left(fault, tls, monkeypatch):
    """
    Https to a port that speaks http; a bundle that is not there; a proxy that opens no
    tunnel; a certificate of nobody.
    """
    if fault == "no bundle":
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", "nowhere.pem")
    with RawServer(
        fixed_reply(403), tls=tls if fault == "nobody vouches" else None
    ) as server:
        if fault == "no tunnel":
            monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{server.port}")
        error = fail_to_send(f"https://127.0.0.1:{server.port}/v1")

    assert not error.may_have_left
    assert isinstance(error.__cause__, OSError)  # the root is still named
    assert ("certificate is not trusted" in str(error)) is (fault == "nobody vouches")
    assert ("correct REQUESTS_CA_BUNDLE" in str(error)) is (fault == "no bundle")


PROXIES = {
    "http://": "address of the proxy cannot be used",
    "http://me:secret@x:abc": "address of the proxy cannot be used",
    "foo://x:1": "address of the proxy cannot be used",
    "socks5://127.0.0.1:9": "needs the package PySocks",
}


@pytest.mark.parametrize("proxy", PROXIES)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_cannot_be_used_is_named(proxy, scheme, monkeypatch):
    """
    Nothing has left. The message names the variable, and not the address, which may
    hold a password.
    """
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(f"{scheme}_proxy", proxy)

    error = fail_to_send(f"{scheme}://127.0.0.1:9/v1", PROXIES[proxy])

    assert not error.may_have_left
    assert f"{scheme.upper()}_PROXY" in str(error)
    assert "secret" not in str(error)


def test_a_certificate_for_another_host_is_not_called_untrusted(
    certificate, tls, monkeypatch
):
    """The name in the base address is wrong, not the certificate."""
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    fault = "for another host name than localhost"
    with RawServer(fixed_reply(200), tls=tls) as server:
        error = fail_to_send(f"https://localhost:{server.port}/v1", fault)

    assert not error.may_have_left


HEADS = ["", "Content-Type: appl", "Content-Type: application/json\r\n"]


@pytest.mark.parametrize("head", HEADS)
def test_an_answer_whose_head_is_cut_off_is_asked_for_again(head):
    """It is no empty page: the service was about to send animals."""
    answers = [fixed_bytes(f"HTTP/1.1 200 OK\r\n{head}".encode())]
    page = fixed_reply(200, json.dumps([PET]).encode(), X_Next_Cursor="")

    def answer(connection, request):
        (answers.pop() if answers else page)(connection, request)

    with RawServer(answer) as server, store_at(server.base_url) as store:
        assert len(store.list_pets()) == 1
    with RawServer(fixed_bytes(b"HTTP/1.1 200 OK\r\n")) as server:
        assert fail_to_send(server.base_url, "broke before").may_have_left


def held_by(thing):
    """Return all that can be reached from a thing; what masks itself is not opened."""
    reachable = {}  # by `id`: most of it has no hash
    queue = [thing]
    while queue:
        member = queue.pop()
        if id(member) not in reachable:
            reachable[id(member)] = member
            if not isinstance(member, (ModuleType, FunctionType, type, SecretStr)):
                queue += gc.get_referents(member)
    return reachable.values()


def interrupt(connection, request):
    """Press Ctrl-C while the answer is awaited."""
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
    connection.recv(1)


ECHO = f'{{"Authorization": "Bearer {KEY}"}}'.encode()


ENDS = {
    "nobody listens": fixed_bytes(b""),
    "no TLS": silent_behind(b""),
    "Ctrl-C": interrupt,
    "closed": fixed_bytes(b""),
    "silent": silent_behind(b""),
    "half": fixed_bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n["),
    "401": fixed_reply(
        401, f'{{"code": "unauthorized", "message": "{KEY}?", "status": 401}}'.encode()
    ),
    "500": fixed_reply(500),
    "redirect": fixed_reply(302, Location="https://elsewhere.example/v1"),
    "200 that echoes": fixed_reply(200, ECHO),
    "201 that echoes": fixed_reply(201, ECHO),
    "HTML": fixed_reply(201, b"<html>"),
    "bytes": fixed_bytes(b"\x00" * 99),
    "gzip": fixed_reply(200, b"not packed", Content_Encoding="gzip"),
}


@needs_signals
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("call", [PetStore.list_pets, create])
def test_no_failure_shows_the_key(end, call):
    """
    Each kind of answer, or none: neither frames with their locals nor causes hold it.
    """
    with RawServer(ENDS[end]) as server:
        moved = {"nobody listens": f"http://127.0.0.1:{free_port()}/v1"}
        moved["no TLS"] = server.base_url.replace("http", "https")
        with store_at(moved.get(end, server.base_url)) as store:
            store.client.transport.timeout_s = (0.2, 0.2)
            with pytest.raises((PetstoreError, KeyboardInterrupt)) as raised:
                call(store)

    assert KEY not in visible_text(raised.value)


def break_adapter(adapter, request, **options):
    """Stand for a mistake in `requests`, or in what patches it."""
    headers = dict(request.headers)
    raise KeyError(len(headers))


def test_a_mistake_below_the_transport_shows_no_key(monkeypatch):
    """What it raises comes out as it is, without the frames that held the headers."""
    monkeypatch.setattr(HTTPAdapter, "send", break_adapter)

    with store_at("http://127.0.0.1:9/v1") as store, pytest.raises(KeyError) as raised:
        create(store)

    assert KEY not in visible_text(raised.value)


def test_no_attribute_of_a_store_holds_the_key():
    """
    Store, settings, client, transport, the auth object, its adapters: before and after
    a request.
    """
    with RawServer(fixed_reply(200)) as server, store_at(server.base_url) as store:
        for _ in range(2):
            for thing in held_by(store):
                assert KEY not in repr(thing), type(thing)
            store.client.call("GET", f"{server.base_url}/pets")
