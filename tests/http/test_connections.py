"""Connections: redirects, .netrc files, idle connections, handshakes, sessions of the caller."""

from __future__ import annotations

import json
import netrc
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import requests
import responses
from requests.adapters import HTTPAdapter
from wires import BASE, KEY, PET

from petstore_tools import PetStore
from petstore_tools.errors import ProtocolError, SettingsError, TransportError
from petstore_tools.http import transport


@pytest.mark.case("P8a")
@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_redirect_is_not_followed_and_its_target_is_named(
    wire: responses.RequestsMock, store: PetStore, status: int, method: str
) -> None:
    """Neither GET nor POST: the key would go elsewhere, and a POST would become a GET."""
    wire.add(
        method,
        f"{BASE}/pets",
        status=status,
        headers={"Location": "https://new.example/v1/pets?k=1"},
    )

    with pytest.raises(ProtocolError, match=r"https://new\.example/v1/pets"):
        store.list_pets() if method == "GET" else store.create_pet("Rex", category_id=3)

    assert len(wire.calls) == 1


@pytest.mark.case("P8a")
def test_a_netrc_entry_does_not_replace_the_key(
    wire: responses.RequestsMock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`requests` would prefer it to a header; an auth object wins."""
    entry = tmp_path / "netrc"
    entry.write_text("machine pets.example login someone password else\n")
    entry.chmod(0o600)
    monkeypatch.setenv("NETRC", str(entry))
    assert netrc.netrc(str(entry)).authenticators("pets.example")
    wire.post(f"{BASE}/pets", json=PET, status=201)

    PetStore(base_url=BASE, api_key=KEY, ledger="memory").create_pet("Rex", category_id=3)

    assert wire.calls[0].request.headers["Authorization"] == f"Bearer {KEY}"


class Counting(BaseHTTPRequestHandler):
    """A server that keeps connections open and counts them."""

    protocol_version = "HTTP/1.1"
    connections = 0

    def setup(self) -> None:
        type(self).connections += 1
        super().setup()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps(PET).encode()
        self.send_response(201)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Stay quiet."""


@pytest.mark.case("P31")
def test_a_create_on_a_connection_that_idled_opens_a_fresh_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The service may be closing it: what is sent there is lost with nothing known."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Counting)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base_url = f"http://127.0.0.1:{server.server_port}/v1"
    with PetStore(base_url=base_url, api_key=KEY, ledger="memory") as store:
        store.create_pet("Rex", category_id=3, status="sold")
        store.create_pet("Rex", category_id=3, status="sold")
        assert Counting.connections == 1
        monkeypatch.setattr(transport, "IDLE_S", 0.0)
        store.create_pet("Rex", category_id=3, status="sold")
    server.shutdown()
    server.server_close()

    assert Counting.connections == 2


@pytest.mark.case("P39a")
@pytest.mark.parametrize("fault", ["tls", "bundle"])
def test_a_failed_handshake_or_a_missing_certificate_bundle_proves_that_nothing_left(
    fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Https to a port that speaks http; a bundle that is not there."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Counting)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    if fault == "bundle":
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", "nowhere.pem")
    base_url = f"https://127.0.0.1:{server.server_port}/v1"

    with (
        PetStore(base_url=base_url, api_key=KEY, ledger="memory") as store,
        pytest.raises(TransportError) as raised,
    ):
        store.client.transport.send("POST", f"{base_url}/pets", b"{}")
    server.shutdown()
    server.server_close()

    assert not raised.value.may_have_left


def test_a_callers_session_that_retries_is_refused_at_once() -> None:
    """Its retries would pass the throttle, and send a create again."""
    session = requests.Session()
    session.mount("https://", HTTPAdapter(max_retries=3))

    with pytest.raises(SettingsError, match="max_retries=0"):
        PetStore(base_url=BASE, api_key=KEY, session=session)
