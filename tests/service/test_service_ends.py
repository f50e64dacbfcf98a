"""
How `serve` ends: what is under way is answered, the exit code is 0, and no process is left on the
port.
"""

from __future__ import annotations

import signal
import socket
import time
from contextlib import suppress
from pathlib import Path

import pytest
from postgres import Postgres
from services import locked
from serving import Serving, read_answer, serving, wait_until
from tcp_proxy import TcpProxy

from petstore_tools.service.database import Database
from petstore_tools.service.server import DRAIN_S

REX = b'{"name":"Rex","categoryId":1}'


def begin_create(served: Serving) -> socket.socket:
    """Send all of a create but the end of its body, and wait until the service has it."""
    connection = served.connect()
    kind, length = "Content-Type: application/json", f"Content-Length: {len(REX)}"
    connection.sendall(served.head("POST /v1/pets", kind, length) + REX[:5])
    time.sleep(0.3)
    return connection


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_answers_what_is_under_way_and_ends_with_0(
    tmp_path: Path, sign: signal.Signals
) -> None:
    """
    A create whose body is still coming is made and answered; nothing is said but the first line.
    """
    with serving(tmp_path / "service.db") as served, begin_create(served) as connection:
        served.process.send_signal(sign)
        time.sleep(0.5)
        connection.sendall(REX[5:])
        answer = read_answer(connection)
        _, said = served.process.communicate(timeout=10)

    assert (answer.status, answer.body["name"]) == (201, "Rex")
    assert served.process.returncode == 0
    assert len(said.splitlines()) == 1


def test_callers_that_never_finish_do_not_keep_it_from_ending(tmp_path: Path) -> None:
    """
    A head and a body that stop in the middle, one with a good key: gone in six seconds, no
    traceback.
    """
    with (
        serving(tmp_path / "service.db") as served,
        begin_create(served),
        served.connect() as other,
    ):
        other.sendall(b"GET /v1/pets HTTP/1.1\r\nHost")
        began_at = time.monotonic()
        served.process.terminate()
        _, said = served.process.communicate(timeout=20)

    assert time.monotonic() - began_at < 6
    assert served.process.returncode == 0
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("workers", [1, 2])
def test_a_request_that_the_database_holds_up_is_answered_before_the_service_ends(
    request: pytest.FixtureRequest, tmp_path: Path, workers: int
) -> None:
    """
    A whole create is under way at SIGTERM: nobody new is let in, it is answered, then all ends.
    """
    where = str(tmp_path / "service.db")
    if workers > 1:
        server: Postgres = request.getfixturevalue("postgres")
        where = server.database()
    kind, length = "Content-Type: application/json", f"Content-Length: {len(REX)}"
    with serving(where, *(["--workers", "2"] if workers > 1 else [])) as served:
        with served.connect() as connection:
            with locked(where):
                connection.sendall(served.head("POST /v1/pets", kind, length) + REX)
                time.sleep(0.3)
                began_at = time.monotonic()
                served.process.terminate()
                wait_until(lambda: _refuses(served.port), 2)
                time.sleep(1)
                assert served.process.poll() is None
            answer = read_answer(connection)
        served.process.wait(timeout=20)
        took_s = time.monotonic() - began_at
    database = Database(where)
    existing = database.page(after=0, limit=9, status=None)
    database.close()

    assert (answer.status, answer.headers["connection"]) == (201, "close")
    assert existing == [(answer.body["id"], "Rex", 1, None)]
    assert (served.process.returncode, took_s < DRAIN_S) == (0, True)


def test_a_silent_database_does_not_keep_a_service_from_ending(postgres: Postgres) -> None:
    """What waits for it gets its 503, within the ten seconds that the service takes at most."""
    kind, length = "Content-Type: application/json", f"Content-Length: {len(REX)}"
    with (
        TcpProxy(postgres.port) as proxy,
        serving(proxy.url(postgres.database())) as served,
        served.connect() as first,
        served.connect() as second,
    ):
        proxy.flowing.clear()
        for connection in (first, second):  # the second waits for what becomes of the first
            connection.sendall(served.head("POST /v1/pets", kind, length) + REX)
            time.sleep(0.3)
        began_at = time.monotonic()
        served.process.terminate()
        answers = [read_answer(connection) for connection in (first, second)]
        _, said = served.process.communicate(timeout=30)
        took_s = time.monotonic() - began_at

    assert [(answer.status, answer.body["code"]) for answer in answers] == [
        (503, "unavailable")
    ] * 2
    assert (served.process.returncode, took_s < DRAIN_S) == (0, True)
    assert "Traceback" not in said
    assert "ERROR POST '/v1/pets' failed" in said
    assert served.key not in said
    assert "a-secret-word" not in said


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGKILL])
def test_no_worker_outlives_its_supervisor(postgres: Postgres, sign: signal.Signals) -> None:
    """
    Ended or killed, `serve --workers 2` leaves nobody on the port; what is under way is answered.
    """
    with (
        serving(postgres.database(), "--workers", "2") as served,
        begin_create(served) as connection,
    ):
        served.process.send_signal(sign)
        time.sleep(1)
        connection.sendall(REX[5:])
        answer = read_answer(connection)
        served.process.wait(timeout=15)
        wait_until(lambda: _refuses(served.port), 15)

    assert answer.status == 201
    assert served.process.returncode == (0 if sign == signal.SIGTERM else -sign)


def _refuses(port: int) -> bool:
    with suppress(ConnectionError):
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
        return False
    return True
