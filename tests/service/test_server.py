"""
`serve`: how it ends, what it replaces, and what it writes down.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import requests
from commands import run_program
from services import (
    calling,
    database_lock,
    free_port,
    is_port_closed,
    stored_ids,
    wait_until,
)
from serving import REX_BODY, find_workers, read_answer, run_serve
from tcp_proxy import TcpProxy

END = REX_BODY[5:]
STUBBORN = Path(__file__).parents[1] / "support" / "stubborn"
needs_linux = pytest.mark.skipif(
    sys.platform != "linux", reason="finds the workers in /proc"
)
DELAYS_S = (0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5)


def delays(*played):
    """Return the seconds after which a signal comes: some each time, all under soak."""
    return [
        pytest.param(delay_s, marks=[pytest.mark.soak] * (delay_s not in played))
        for delay_s in DELAYS_S
    ]


def begin_create(served):
    """
    Send all of a create but the end of its body, on a connection that the service has.
    """
    connection = served.connect(30)
    # now a worker has it and the key
    connection.sendall(served.request_head("GET /v1/pets?limit=1"))
    assert read_answer(connection).status == 200
    connection.sendall(served.create_request()[: -len(END)])
    time.sleep(0.2)
    return connection


@contextmanager
def starting(*options):
    """Start `serve` as a terminal does."""
    command = f"{sys.executable} -m petstore_tools serve --port {free_port()}"
    with subprocess.Popen(
        [*command.split(), *options],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_serve_waits_for_a_database_that_is_not_there_yet(postgres):
    """It serves as soon as the database answers."""
    with TcpProxy(postgres.port) as proxy:
        proxy.flowing.clear()
        url = proxy.url(postgres.database())
        with starting("--database", url) as process:
            assert "Waiting for the database: " in process.stderr.readline()
            proxy.flowing.set()
            assert "Ctrl-C stops it" in process.stderr.readline()
            process.terminate()
            assert process.wait(30) == 0


def test_serve_says_once_that_it_waits(tmp_path):
    """However often it asks; SIGTERM ends the wait."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        url = f"postgresql://ann:secret@127.0.0.1:{port}/none"
        with starting("--database", url) as process:
            for _ in range(6):
                listener.accept()[0].close()
            process.terminate()
            assert process.wait(30) == 0
            assert process.stderr.read().count("Waiting for the database: ") == 1


@pytest.fixture
def silenceable(postgres):
    """A service, and the proxy through which it reaches its database."""
    with (
        TcpProxy(postgres.port) as proxy,
        run_serve(proxy.url(postgres.database())) as served,
    ):
        yield served, proxy


def replace_worker(served, proxy):
    """
    Silence the database and kill the only worker; return it when the one in its place
    waits for the database.
    """
    proxy.flowing.clear()
    (killed,) = served.workers()
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: "cannot be reached" in served.log_text())
    return killed


@pytest.mark.parametrize(("sign", "end"), [(signal.SIGTERM, b""), (signal.SIGINT, END)])
def test_a_signal_answers_what_is_under_way_and_ends_with_0(tmp_path, sign, end):
    """
    A create whose body is still coming is made; one whose body never comes does not
    matter.
    """
    with (
        run_serve(tmp_path / "service.db") as served,
        begin_create(served) as connection,
        begin_create(served) as other,
    ):
        served.process.send_signal(sign)
        wait_until(lambda: is_port_closed(served.base_url))
        other.sendall(end)
        connection.sendall(END)
        answer = read_answer(connection)
        served.process.wait(30)

    assert (answer.status, answer.body["name"]) == (201, "Rex")
    assert served.process.returncode == 0
    assert not (tmp_path / "service.db-wal").exists()  # the file alone can be moved
    assert len(served.log_text().splitlines()) == 1


def test_a_create_that_waits_for_a_lock_at_sigterm_is_made(where):
    """It is answered, not cut; the lock ends while the service does."""
    with run_serve(where) as served, served.connect(30) as connection:
        with database_lock(where):
            connection.sendall(served.create_request())
            time.sleep(0.5)
            served.process.terminate()
            wait_until(lambda: is_port_closed(served.base_url))
            time.sleep(1)
        answer = read_answer(connection)
        served.process.wait(30)

    assert answer.status == 201
    assert stored_ids(where) == {answer.body["id"]}


def test_a_silent_database_does_not_keep_a_service_from_ending(silenceable):
    """What waits for it gets its 503."""
    served, proxy = silenceable
    with served.connect(30) as connection:
        proxy.flowing.clear()
        connection.sendall(served.create_request())
        time.sleep(0.3)
        served.process.terminate()
        answer = read_answer(connection)
        served.process.wait(30)

    assert (answer.status, answer.body["code"]) == (503, "unavailable")
    assert served.process.returncode == 0
    log = served.log_text()
    assert "ERROR POST '/v1/pets' failed" in log
    assert not any(word in log for word in ("Traceback", served.key, "a-secret-word"))


def test_no_worker_outlives_its_supervisor(postgres):
    """Killed, it leaves nobody on the port; what is under way is answered."""
    with (
        run_serve(postgres.database(), "--workers", "2") as served,
        begin_create(served) as connection,
    ):
        served.process.kill()
        time.sleep(0.5)
        connection.sendall(END)
        answer = read_answer(connection)
        served.process.wait(30)
        wait_until(lambda: is_port_closed(served.base_url))

    assert answer.status == 201


@needs_linux
def test_no_worker_that_waits_for_its_database_outlives_its_supervisor(silenceable):
    """
    One that took the place of another while PostgreSQL is silent; the supervisor is
    killed.
    """
    served, proxy = silenceable
    killed = replace_worker(served, proxy)
    (waiting,) = set(served.workers()) - {killed}

    served.process.kill()
    served.process.wait(30)
    proxy.flowing.set()

    wait_until(lambda: not Path(f"/proc/{waiting}").exists())
    assert is_port_closed(served.base_url)


@needs_linux
def test_sigterm_of_which_a_library_makes_an_error_ends_it_with_0(tmp_path):
    """As some do of whatever comes while they load."""
    path = os.pathsep.join([str(STUBBORN), os.environ.get("PYTHONPATH", "")])
    database = str(tmp_path / "service.db")

    done = run_program("serve", "--database", database, PYTHONPATH=path)

    assert (done.returncode, done.stderr) == (0, "")


@needs_linux
@pytest.mark.parametrize("delay_s", delays(0.05, 0.5))
def test_sigterm_while_it_loads_ends_it_without_an_error(tmp_path, delay_s):
    """With 0, or, before it has begun, as the system ends a program."""
    with starting("--database", tmp_path / "service.db") as process:
        time.sleep(delay_s)
        process.terminate()
        assert process.wait(30) in (0, -signal.SIGTERM)
        lines = process.stderr.read().splitlines()

    assert all("Ctrl-C stops it" in line for line in lines)


@needs_linux
@pytest.mark.parametrize("delay_s", [None, 0.0, *delays(0.2)])
def test_ctrl_c_ends_a_service_with_0_also_while_it_starts(tmp_path, delay_s):
    """As a terminal sends it, to all processes at once: no traceback, and no wait."""
    with starting("--database", tmp_path / "service.db") as process:
        assert "Ctrl-C stops it" in process.stderr.readline()
        if delay_s is not None:  # since a worker began to load
            wait_until(lambda: find_workers(process.pid))
            time.sleep(delay_s)
        os.killpg(process.pid, signal.SIGINT)
        assert (process.wait(30), process.stderr.read()) == (0, "")


@needs_linux
@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGHUP])
def test_workers_are_replaced_and_nothing_acknowledged_is_lost(where, sign):
    """
    Each one that is killed, however often; and all by SIGHUP to the supervisor, as
    `systemctl reload` sends it. No id is given twice.
    """
    workers = 4 if where.startswith("postgresql") else 1
    kills = max(2, workers)
    acknowledged = []

    def create():
        with suppress(requests.RequestException):
            answer = served.caller.post()
            if answer.ok:
                acknowledged.append(answer.json()["id"])

    with (
        run_serve(where, "--workers", str(workers)) as served,
        calling(*[create] * 4),
    ):
        for turn in range(kills):
            before = len(acknowledged)
            wait_until(lambda: len(acknowledged) > before + 20)  # noqa: B023
            killed = served.workers()[turn % workers]
            os.kill(killed if sign == signal.SIGKILL else served.process.pid, sign)
            wait_until(lambda: killed not in served.workers())  # noqa: B023
            wait_until(lambda: len(served.workers()) == workers)

    assert len(acknowledged) == len(set(acknowledged)) > 20 * kills
    assert set(acknowledged) <= stored_ids(where)


def test_the_access_log_is_json_without_keys(tmp_path):
    """
    Each answer a line on stderr, with line breaks spelt out, and what looks like a key
    masked.
    """
    with run_serve(tmp_path / "service.db", "--access-log") as served:
        coded = f"%2570%73k%5F{served.key[4:]}"
        path = f"/pets/%0a{served.key}/{coded}?token={coded}"
        assert served.caller.get(path).status_code == 404
        wait_until(lambda: '"status": 404' in served.log_text())

    lines = [json.loads(line) for line in served.log_text().splitlines()[1:]]
    (logged,) = [line for line in lines if line["status"] == 404]
    assert (logged["method"], logged["path"]) == ("GET", "/v1/pets/\npsk_.../psk_...")
    assert served.key[4:] not in served.log_text()


def test_an_address_other_than_this_machines_is_warned_of(tmp_path):
    """`::` takes IPv4, too."""
    with run_serve(tmp_path / "service.db", "--host", "::") as served:
        assert served.caller.get().status_code == 200

    assert "plain http" in served.log_text()


def test_a_worker_that_waits_for_its_database_says_so_now_and_then(silenceable):
    """One line in ten seconds, not one a second."""
    served, proxy = silenceable
    replace_worker(served, proxy)
    time.sleep(4)
    lines = [line for line in served.log_text().splitlines() if "reached" in line]
    proxy.flowing.set()
    wait_until(lambda: not is_port_closed(served.base_url))

    assert served.caller.get().status_code == 200
    assert len(lines) == 1


@pytest.mark.parametrize(
    ("options", "remedy"),
    [("--port {used}", "--port"), ("--port {free} --host 192.0.2.1", "--host")],
)
def test_options_that_cannot_be_are_refused(tmp_path, options, remedy):
    """
    Before anything listens; two services would share a port, each with half of the
    callers.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ports = {"used": listener.getsockname()[1], "free": free_port()}
        completed = run_program(
            "serve",
            *options.format(**ports).split(),
            *("--database", str(tmp_path / "s.db")),
        )

    assert completed.returncode == 2
    assert remedy in completed.stderr
