"""The service behind nginx, with the settings that lie beside it."""

import shutil
import subprocess
from contextlib import ExitStack
from dataclasses import replace
from importlib.resources import files

import pytest
from services import free_port, is_port_closed, wait_until
from serving import run_serve

SETTINGS = (files("petstore_tools.service") / "nginx.conf").read_text()
MAIN = """
daemon off; pid pid; error_log error.log; events {{ worker_connections 4096; }}
http {{ access_log off; client_body_temp_path a; proxy_temp_path b;
fastcgi_temp_path c; uwsgi_temp_path d; scgi_temp_path e;
{} }}
"""
REFUSED = {
    "no HTTP": (b"GARBAGE\r\n\r\n", 400),
    "no host": (b"GET /v1/live HTTP/1.1\r\n\r\n", 400),
    "a long path": (b"GET /%s HTTP/1.1\r\nHost: h\r\n\r\n" % (b"a" * 9_000), 414),
    "a long header": (b"GET / HTTP/1.1\r\nX: %s\r\n\r\n" % (b"a" * 9_000), 400),
    "a long body": (
        b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 8193\r\n\r\n" + b"x" * 8_193,
        413,
    ),
    "its own page": (b"GET /petstore_error HTTP/1.1\r\nHost: h\r\n\r\n", 404),
}


@pytest.fixture(scope="module")
def proxy(tmp_path_factory):
    """Serve behind nginx: connections are made to nginx."""
    if shutil.which("nginx") is None:
        pytest.skip("nginx is not installed (Debian: apt-get install nginx-light)")
    folder = tmp_path_factory.mktemp("nginx")
    port = free_port()
    with run_serve(folder / "s.db") as served:
        ours = SETTINGS.replace(":8765", f":{served.port}")
        ours = ours.replace("443 ssl", f"127.0.0.1:{port}")
        (folder / "nginx.conf").write_text(MAIN.format(ours))
        command = ["nginx", "-p", folder, "-c", "nginx.conf", "-e", "error.log"]
        with subprocess.Popen(command) as nginx:
            wait_until(lambda: not is_port_closed(f"http://127.0.0.1:{port}"))
            yield replace(served, port=port)
            nginx.terminate()


@pytest.mark.parametrize("kind", REFUSED)
def test_what_nginx_refuses_is_an_error_body(proxy, kind):
    """With the status of the answer in it (§2.5)."""
    request, status = REFUSED[kind]

    answer = proxy.send(request)

    assert (answer.status, answer.body["status"]) == (status, status)
    assert set(answer.body) == {"code", "message", "status"}


def test_idle_callers_and_half_sent_bodies_hold_up_nobody(proxy):
    """
    Of an address that sends 40 bodies at once, nginx refuses some; of 1,500 idle
    connections the service sees none.
    """
    half = proxy.create_request()[:-1]
    with ExitStack() as crowd:
        for _ in range(1_500):
            crowd.enter_context(proxy.connect())
        assert proxy.measure_wait_s() < 2
        for _ in range(40):
            crowd.enter_context(proxy.connect()).sendall(half)
        refused = proxy.send(proxy.request_head("GET /v1/pets"))

    assert (refused.status, refused.body["code"]) == (503, "busy")
    assert refused.headers["retry-after"] == "1"


def test_a_service_that_has_ended_is_a_502_with_an_error_body(proxy):
    """And with a time to wait."""
    proxy.process.terminate()
    proxy.process.wait(30)

    answer = proxy.send(proxy.request_head("GET /v1/pets"))

    assert (answer.status, answer.body["code"]) == (502, "unavailable")
    assert answer.headers["retry-after"] == "5"
