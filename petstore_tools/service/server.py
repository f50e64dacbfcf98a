"""
The service on a socket: in a thread for notebooks and tests, or in processes for
`serve`.

HTTP is granian's, pinned to a minor version, since `Server`, for one event loop,
neither takes a bound socket nor waits for its own thread at the end: `ThreadedServer`
does both, by two of its private names.
"""

import asyncio
import atexit
import json
import logging
import multiprocessing
import os
import re
import signal
import socket
import sys
import threading
import time
from functools import partial
from itertools import count
from multiprocessing import resource_tracker
from typing import Any, Self

from granian import Granian
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.net import SocketHolder  # type: ignore[attr-defined]
from granian.server.embed import Server

from petstore_tools import spec
from petstore_tools.clock import SystemClock
from petstore_tools.errors import SettingsError
from petstore_tools.service.app import REPORT_EVERY_S, Service
from petstore_tools.service.database import Database

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


class _Forgetful(dict[int, float]):
    """Keeps nothing: granian would give up a worker that dies twice in seconds."""

    def __setitem__(self, key: int, value: float) -> None:
        """Do nothing."""


def serve(location: str, host: str, port: int, **options: Any) -> None:
    """
    Serve in worker processes until a signal stops them; one that dies is replaced.

    Args:
        location: The path or the address of the database.
        host: The IP address to listen on.
        port: A free port of it.
        options: Further options of granian.
    """
    # a forked process may wait for ever for a lock that a thread of this one holds
    multiprocessing.set_start_method("spawn", force=True)
    supervisor = Granian(
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
    supervisor.respawned_wrks = _Forgetful()
    if sys.platform != "win32":
        resource_tracker.ensure_running()  # its start would let Ctrl-C through
        # workers inherit it: Ctrl-C is for the supervisor alone
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        threading.Thread(target=_end_at_ctrl_c, daemon=True).start()
    try:
        supervisor.serve(target_loader=partial(worker, location), wrap_loader=False)
    except SystemExit:
        if not supervisor.interrupt_signal:  # else a worker died at the end
            raise
    atexit.register(os._exit, 0)  # as in `worker`


def _end_at_ctrl_c() -> None:
    """Let Ctrl-C, which is blocked, end this process as SIGTERM does."""
    signal.sigwait({signal.SIGINT})
    main_thread = threading.main_thread().ident
    assert main_thread is not None
    signal.pthread_kill(main_thread, signal.SIGTERM)


def worker(location: str) -> Service:
    """Return the service of a worker process, once its database can be used."""
    atexit.register(os._exit, 0)  # at the end of Python, granian's threads fail
    threading.Thread(target=_end_with_parent, daemon=True).start()
    for attempt in count():
        try:
            database = Database(location)
            break
        except SettingsError as error:
            if attempt % REPORT_EVERY_S == 0:
                logging.getLogger(__name__).error("%s", error)
            time.sleep(1)
    atexit.register(database.close)  # then the file alone can be moved
    return Service(database, SystemClock())


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

    Attributes:
        base_url: The base address, at a free local port, with the version prefix (§9).
    """

    def __init__(self, app: Any) -> None:
        super().__init__(
            app,
            log_enabled=False,
            # leaves alone how this process logs
            log_dictconfig={"incremental": True, "handlers": {}, "loggers": {}},
            **_HTTP,
        )
        self._bound = socket.create_server(
            ("127.0.0.1", 0)
        )  # nobody else gets its port
        port = self._bound.getsockname()[1]
        self.base_url = f"http://127.0.0.1:{port}{spec.PATH_PREFIX}"
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
