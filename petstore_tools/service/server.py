"""
The service on a socket: in a thread for notebooks and tests, or in processes for
`serve`.

HTTP is granian's, pinned to a minor version, since two of its classes are subclassed
beyond its interface: `MPServer` starts and watches the processes of `serve`, but hands
Ctrl-C to workers that still load, and gives up one that dies twice (`_Supervisor`);
`Server`, for one event loop, neither takes a bound socket nor waits for its own thread
at the end (`ThreadedServer`). Its settings, access log, metrics and `X-Forwarded-For`
are used as they are.
"""

import asyncio
import atexit
import errno
import json
import logging
import multiprocessing
import os
import re
import signal
import socket
import sqlite3
import sys
import threading
import time
from contextlib import closing, suppress
from functools import partial
from multiprocessing import resource_tracker
from multiprocessing.sharedctypes import RawArray
from pathlib import Path
from typing import Any, Self

from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.net import SocketHolder  # type: ignore[attr-defined]
from granian.server.embed import Server
from granian.server.mp import MPServer
from granian.utils.proxies import wrap_asgi_with_proxy_headers

from petstore_tools import spec, sqlite
from petstore_tools.clock import SystemClock
from petstore_tools.errors import SettingsError
from petstore_tools.service.app import Service
from petstore_tools.service.database import IPV4_AS_IPV6, POSTGRES, Database
from petstore_tools.service.messages import Response, Scope

DRAIN_S = 9  # at its end a service answers what is under way for so long
BACKLOG = 1_024
MAX_CONNECTIONS = 900  # of a worker; further ones wait
MAX_WAITS = 5_000
# `psk_` and what follows; a letter may be percent-encoded, also more than once
_KEY = re.compile(
    r"(p|%(25)*70)(s|%(25)*73)(k|%(25)*6b)(_|%(25)*5f)[\w%-]+", re.IGNORECASE
)
_HTTP: Any = {
    "interface": Interfaces.ASGINL,
    "http": HTTPModes.http1,
    "http1_settings": HTTP1Settings(
        # ms; within it a head is complete, and an idle connection is used again
        header_read_timeout=3_000,
        max_buffer_size=64 << 10,  # bytes of a head
    ),
    "websockets": False,
}


class LineFormatter(logging.Formatter):
    """Writes lines without keys: an answer as JSON, anything else as text."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        is_access_line = record.name == "granian.access"
        return _KEY.sub(
            "psk_...",
            json.dumps(record.args) if is_access_line else super().format(record),
        )


LOGS = {
    "formatters": {
        "line": {"()": LineFormatter, "fmt": "%(asctime)s %(levelname)s %(message)s"}
    },
    "handlers": {"line": {"class": "logging.StreamHandler", "formatter": "line"}},
    "loggers": {"granian.access": {"level": "INFO"}},
    "root": {"handlers": ["line"], "level": "WARNING"},
}


class _Supervisor(MPServer):
    """Starts the workers, replaces them, and ends them."""

    def _spawn_worker(  # type: ignore[override]
        self, idx: int, target: Any, callback_loader: Any
    ) -> Any:
        """Let a worker count its answers by their status."""
        loader = partial(callback_loader, self.answers[idx])
        return super()._spawn_worker(idx, target, loader)

    async def show_answers(self, *channel: Any) -> None:
        """Show how many answers of which status all workers gave, for Prometheus."""
        text = "# TYPE petstore_answers counter\n"
        for status, count in enumerate(map(sum, zip(*self.answers, strict=True))):
            if count:
                text += f'petstore_answers{{status="{status}"}} {count}\n'
        await Response(200, text.encode(), content_type=b"text/plain").send(channel[-1])

    def _spawn_workers(self, *arguments: Any) -> None:
        """
        Start the workers, which Ctrl-C does not reach; it waits until they are started.
        """
        # a worker goes on where the one before it has counted
        self.answers = [RawArray("Q", 600) for _ in range(self.workers)]
        if sys.platform != "win32":
            resource_tracker.ensure_running()  # its start would let Ctrl-C through
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # they inherit it
        super()._spawn_workers(*arguments)  # type: ignore[no-untyped-call]
        if sys.platform != "win32":
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})

    def _respawn_workers(self, *arguments: Any) -> None:
        """Replace workers, however soon one dies again: granian would give it up."""
        super()._respawn_workers(*arguments)
        self.respawned_wrks.clear()


def serve(
    location: str,
    host: str,
    port: int,
    *,
    trusted_proxies: str | None,
    metrics: socket.socket | None = None,
    **options: Any,
) -> None:
    """
    Serve in worker processes until a signal stops them; one that dies is replaced.

    Args:
        location: The path or the address of the database.
        host: The IP address to listen on.
        port: A free port of it.
        trusted_proxies: Addresses of proxies whose X-Forwarded-For header is
            believed, if any.
        metrics: Where the counts of answers are shown, if they are.
        options: Further options of granian.
    """
    # a forked process may wait for ever for a lock that a thread of this one holds
    multiprocessing.set_start_method("spawn", force=True)
    supervisor = _Supervisor(
        "the service",
        host,
        port,
        log_level=LogLevels.error,
        log_dictconfig=LOGS,
        respawn_failed_workers=True,
        workers_kill_timeout=DRAIN_S,
        backpressure=MAX_CONNECTIONS,
        **_HTTP,
        **options,
    )
    if metrics:
        ThreadedServer(supervisor.show_answers, metrics).start()
    supervisor.serve(
        target_loader=partial(worker, location, trusted_proxies), wrap_loader=False
    )
    if not location.startswith(POSTGRES):
        # with what its log still holds, the file alone can be moved
        with (
            suppress(sqlite3.Error),
            closing(sqlite.read(Path(location), busy_s=1.0)) as database,
        ):
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    atexit.register(os._exit, 0)  # as in `worker`


def listen(option: str, host: str, port: int) -> socket.socket:
    """
    Listen at an IP address; at `::` for IPv4, too.

    Args:
        option: The one that names the port.
        host: The address.
        port: A port of it; 0 is a free one.

    Raises:
        SettingsError: The port is in use, or this machine does not have the address.
    """
    is_6 = ":" in host
    family = socket.AF_INET6 if is_6 else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, dualstack_ipv6=is_6)
    except OSError as error:
        subject = f"port {port} of {host}"
        if error.errno == errno.EADDRNOTAVAIL:
            subject = host
            option = option.replace("port", "host")
        reason = os.strerror(error.errno or 0)  # Python adds a tuple to its own
        raise SettingsError(
            f"{subject} cannot be used: {reason}. Name another one with {option}"
        ) from error


def worker(location: str, trusted_proxies: str | None, answers: Any) -> Any:
    """
    Return the service of a worker process, once its database can be used; it counts
    its answers by their status, in what the supervisor reads.
    """
    atexit.register(os._exit, 0)  # at the end of Python, granian's threads fail
    if sys.platform != "win32":  # Ctrl-C is for the supervisor, which ends it
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        try:
            service = Service(Database(location), SystemClock())
            service.answers = answers
            return (
                behind_proxies(service, trusted_proxies) if trusted_proxies else service
            )
        except SettingsError as error:
            logging.getLogger(__name__).error("%s", error)
            time.sleep(1)


def behind_proxies(service: Service, trusted_proxies: str) -> Any:
    """
    Count requests for the address that a trusted proxy names; the connection is the
    proxy's.
    """
    application = wrap_asgi_with_proxy_headers(service, trusted_proxies)

    def answer(scope: Scope, *channel: Any) -> Any:
        scope["connection"] = address, port = scope["client"]
        scope["client"] = address.removeprefix(IPV4_AS_IPV6), port
        return application(scope, *channel)

    return answer


def _end_with_parent() -> None:
    """
    End this process as soon as its supervisor has ended, in whatever way; requests
    under way are answered for a while.
    """
    supervisor = multiprocessing.parent_process()
    assert supervisor is not None
    supervisor.join()
    signal.raise_signal(signal.SIGTERM)  # os.kill would end it at once on Windows
    time.sleep(DRAIN_S)
    os._exit(1)


class ThreadedServer(Server):
    """
    An ASGI application, served from a thread.

    Args:
        app: The application.
        bound: Where it listens; a free local port.

    Attributes:
        base_url: The base address, with the version prefix (§9).
    """

    def __init__(self, app: Any, bound: socket.socket | None = None) -> None:
        super().__init__(
            app,
            log_enabled=False,
            # leaves alone how this process logs
            log_dictconfig={"incremental": True, "handlers": {}, "loggers": {}},
            **_HTTP,
        )
        # nobody else gets its port
        self._bound = bound or listen("", "127.0.0.1", 0)
        self.base_url = (
            f"http://127.0.0.1:{self._bound.getsockname()[1]}{spec.PATH_PREFIX}"
        )
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._run, name="petstore service", daemon=True
        )

    def _init_shared_socket(self) -> None:
        options = () if sys.platform == "win32" else (False, BACKLOG)
        self._shd: Any = SocketHolder(self._bound.detach(), *options)  # type: ignore[call-arg]

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self.serve())

    def start(self) -> Self:
        """Serve until `stop`; connections that come before it is up wait a moment."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """Finish what is under way and stop."""
        self._loop.call_soon_threadsafe(super().stop)
        self._thread.join()

    async def shutdown(self, exit_code: int = 0) -> None:
        """
        Stop, and wait until granian's own thread has let go: at the end of Python it
        fails.
        """
        worker_signal = self.wrks[0]._sig
        await super().shutdown(exit_code)  # type: ignore[no-untyped-call]
        for _ in range(MAX_WAITS):
            if sys.getrefcount(worker_signal) <= 2:  # ours, and that of this question
                break
            await asyncio.sleep(0.001)
