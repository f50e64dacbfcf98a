"""
The service as `petstore-tools serve` runs it, a process of its own, and raw connections
to it.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

from services import WIDE_PLAN, Caller, free_port, wait_until

from petstore_tools.service.database import Database

REX_BODY = b'{"name":"Rex","categoryId":1}'
JSON_TYPE = "Content-Type: application/json"


@dataclass
class ServeProcess:
    """
    A running `serve`.

    Attributes:
        where: The path or the address of its database.
        port: Of this machine.
        key: With a plan that nobody uses up.
        process: Its supervisor.
        log_path: The file of its stderr, while it runs.
        final_log: What it had written at its end.
    """

    where: str | Path
    port: int
    key: str
    process: subprocess.Popen[bytes]
    log_path: Path
    final_log: str = ""

    def log_text(self):
        """Return what it has written to stderr."""
        return self.log_path.read_text() if self.log_path.exists() else self.final_log

    @property
    def base_url(self):
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def caller(self):
        return Caller(self.base_url, self.key)

    def connect(self, timeout=15):
        """Open a connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=timeout)

    def request_head(self, line, *headers, key=None):
        """Return a request's head; without `key`, with the valid one."""
        key = self.key if key is None else key
        authorization = f"Authorization: Bearer {key}"
        lines = f"{line} HTTP/1.1", "Host: h", authorization, *headers, "", ""
        return "\r\n".join(lines).encode()

    def create_request(self, body=REX_BODY, key=None):
        """Return a create with this body."""
        length = f"Content-Length: {len(body)}"
        return self.request_head("POST /v1/pets", JSON_TYPE, length, key=key) + body

    def send(self, request, *, timeout=15):
        """Send bytes on a connection of their own, and return the first answer."""
        with self.connect(timeout) as connection:
            with suppress(ConnectionError):  # it may be closed while we send
                connection.sendall(request)
            return read_answer(connection)

    def measure_wait_s(self):
        """Return how long a caller with a key and a new connection waits for a page."""
        began_at = time.monotonic()
        answer = self.send(
            self.request_head("GET /v1/pets?limit=1", "Connection: close")
        )
        assert answer.status == 200, answer
        return time.monotonic() - began_at

    def workers(self):
        """Return the processes that serve."""
        return find_workers(self.process.pid)

    def memory_mb(self, field="VmRSS"):
        """
        Return what the processes hold in memory; `VmHWM`: the most they ever held.
        """
        size_kb = 0
        for pid in (self.process.pid, *self.workers()):
            status = Path(f"/proc/{pid}/status").read_text()
            (size,) = re.findall(rf"{field}:\s+(\d+) kB", status)
            size_kb += int(size)
        return size_kb / 1024


@dataclass(frozen=True)
class Answer:
    """
    An answer as it came.

    Attributes:
        status: HTTP status code; 0: the connection was closed without an answer.
        headers: Names in lower case.
        body: Read as JSON; None where it is none.
        closed: Nothing came behind it, and the connection was closed.
    """

    status: int
    headers: dict[str, str]
    body: Any
    closed: bool = False


def read_answer(connection):
    """Read one answer, and wait for the end of the connection where it is announced."""
    with HTTPResponse(connection) as response:
        try:
            response.begin()
        except ConnectionError:
            return Answer(0, {}, None, closed=True)
        headers = {name.lower(): value for name, value in response.getheaders()}
        body = response.read()
    closed = False
    if headers.get("connection") == "close":
        with suppress(ConnectionError):
            closed = connection.recv(1) == b""
    is_json = headers.get("content-type") == "application/json"
    return Answer(
        response.status, headers, json.loads(body) if is_json else None, closed
    )


def create_key(where, plan):
    """Return a key of a service."""
    with closing(Database(where)) as database:
        return database.create_key(plan, label="", now=time.time())[1]


@contextmanager
def run_serve(where, *options, **env):
    """
    Run `petstore-tools serve` on a database until the block ends; nothing is left of
    it.

    Args:
        where: The path or the address of the database.
        options: Of `serve`.
        env: Further environment variables.
    """
    key = create_key(where, WIDE_PLAN)
    port = free_port()
    command = [sys.executable, *"-m petstore_tools serve --port".split(), str(port)]
    env = {**os.environ, "PETSTORE_DATABASE_URL": str(where), **env}
    log_path = Path(tempfile.mkstemp(prefix="serving-")[1])
    with log_path.open("wb") as stderr:
        process = subprocess.Popen(
            [*command, *options], env=env, stderr=stderr, start_new_session=True
        )
    serve_process = ServeProcess(where, port, key, process, log_path)
    try:
        wait_until(lambda: _is_ready(serve_process))
        yield serve_process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # workers, too
        process.wait()
        serve_process.final_log = serve_process.log_text()
        log_path.unlink()


def find_workers(supervisor):
    """
    Return the processes that serve, children of the supervisor; one child cleans up.
    """
    children = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text()
    return [int(pid) for pid in children.split() if _is_worker(pid)]


def _is_worker(pid):
    with suppress(OSError):  # it has ended
        return b"resource_tracker" not in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def _is_ready(serve_process):
    assert serve_process.process.poll() is None, "serve ended"
    with suppress(OSError, AssertionError):  # one that starts may close a connection
        return serve_process.measure_wait_s() < 5
    return False
