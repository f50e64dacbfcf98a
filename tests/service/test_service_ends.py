"""How `serve` ends: what is under way is answered, the exit code is 0, and no process is left on the port."""

from __future__ import annotations

import signal
import socket
import time
from contextlib import suppress
from pathlib import Path

import pytest
from postgres import Postgres
from serving import Serving, read_answer, serving, wait_until

REX = b'{"name":"Rex","categoryId":1}'


def begin_create(served: Serving) -> socket.socket:
    """Send all of a create but the end of its body, and wait until the service has it."""
    connection = served.connect()
    kind, length = "Content-Type: application/json", f"Content-Length: {len(REX)}"
    connection.sendall(served.head("POST /v1/pets", kind, length) + REX[:5])
    time.sleep(0.3)
    return connection


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_answers_what_is_under_way_and_ends_with_0(tmp_path: Path, sign: signal.Signals) -> None:
    """A create whose body is still coming is made and answered; nothing is said but the first line."""
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
    """A head and a body that stop in the middle, one with a good key: gone in six seconds, no traceback."""
    with serving(tmp_path / "service.db") as served, begin_create(served), served.connect() as other:
        other.sendall(b"GET /v1/pets HTTP/1.1\r\nHost")
        began_at = time.monotonic()
        served.process.terminate()
        _, said = served.process.communicate(timeout=20)

    assert time.monotonic() - began_at < 6
    assert served.process.returncode == 0
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGKILL])
def test_no_worker_outlives_its_supervisor(postgres: Postgres, sign: signal.Signals) -> None:
    """Ended or killed, `serve --workers 2` leaves nobody on the port; what is under way is answered."""
    with serving(postgres.database(), "--workers", "2") as served, begin_create(served) as connection:
        served.process.send_signal(sign)
        time.sleep(1)
        connection.sendall(REX[5:])
        answer = read_answer(connection)
        served.process.wait(timeout=15)
        wait_until(lambda: _refuses(served.port), 15)

    assert answer.status == 201
    assert served.process.returncode == (0 if sign == signal.SIGTERM else -sign)


def _refuses(port: int) -> bool:
    with suppress(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
        return False
    return True
