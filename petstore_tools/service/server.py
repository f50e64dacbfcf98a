"""
The service on a socket: in a thread for notebooks and tests, or in the foreground for `serve`.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import socket
import tempfile
import threading
import time
from typing import Any, Self

import uvicorn
from uvicorn.supervisors.multiprocess import Multiprocess

from petstore_tools import spec
from petstore_tools.clock import SystemClock
from petstore_tools.errors import PetstoreError, SettingsError
from petstore_tools.service.app import Service
from petstore_tools.service.connection import BoundedConnection
from petstore_tools.service.database import Database
from petstore_tools.service.messages import App

STARTS_WITHIN_S = 10.0
DATABASE_URL = "PETSTORE_DATABASE_URL"
ACCESS_LOG, METRICS = (
    "PETSTORE_ACCESS_LOG",
    "PETSTORE_METRICS",
)  # "1": set by `serve`, read by its workers
DRAIN_S = (
    10  # at its end a service answers what is under way for so long: longer than any request waits
)


def config(app: App | str, *, trusted: str = "", **more: Any) -> uvicorn.Config:
    """
    Return uvicorn's settings for this service: bounded connections, its own `Date`, no lifespan.
    """
    return uvicorn.Config(
        app,
        http=BoundedConnection,
        ws="none",
        lifespan="off",
        log_level="error",  # a warning for each bad request would let anybody fill the log
        access_log=False,
        proxy_headers=bool(trusted),
        forwarded_allow_ips=trusted,
        date_header=False,
        server_header=False,
        timeout_graceful_shutdown=DRAIN_S,
        **more,
    )


def bind(host: str, port: int) -> socket.socket:
    """
    Bind a listening socket; port 0 picks a free one.

    Raises:
        SettingsError: The address is taken or not ours.
    """
    # proto named: asyncio turns Nagle's algorithm off only on sockets that say they are TCP
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if os.name == "posix":  # elsewhere it would share the port with another program
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise SettingsError(f"port {port} of {host} cannot be used: {error.strerror}") from error
    return listener


def application(database: Database) -> App:
    """Make the service as the variables above want it, with its logs on stderr."""
    _log("petstore_tools.service", "%(asctime)s %(levelname)s %(message)s", logging.WARNING)
    if os.environ.get(ACCESS_LOG):
        _log("petstore_tools.access", "%(message)s", logging.INFO)
    service = Service(database, SystemClock())
    if not os.environ.get(METRICS):
        return service
    from petstore_tools.service.metrics import Metrics

    return Metrics(service)


def worker() -> App:
    """
    Make the service of one of many worker processes, on the database that its environment names.
    """
    threading.Thread(target=_end_with_parent, daemon=True).start()
    return application(Database(os.environ[DATABASE_URL]))


def _end_with_parent() -> None:
    """
    End this process as soon as its supervisor is gone, however that ended; answer what is under
    way.
    """
    supervisor = multiprocessing.parent_process()
    if supervisor is not None:
        supervisor.join()
        signal.raise_signal(signal.SIGTERM)  # os.kill would end it at once on Windows


def _log(name: str, line: str, level: int) -> None:
    """Write what a logger says to stderr."""
    logger, lines = logging.getLogger(name), logging.StreamHandler()
    lines.setFormatter(logging.Formatter(line))
    logger.handlers, logger.propagate = [lines], False
    logger.setLevel(level)


def serve(app: App, listener: socket.socket, **more: Any) -> None:
    """
    Serve in this process until a signal stops it; what is under way is finished.

    Raises:
        KeyboardInterrupt: Ctrl-C came.
    """
    running = uvicorn.Server(config(app, **more))
    # from now on, and when uvicorn raises it again at its end; an exception could be swallowed by a
    # callback
    signal.signal(signal.SIGTERM, running.handle_exit)
    running.run(sockets=[listener])


def serve_many(database: str, listener: socket.socket, *, workers: int, **more: Any) -> None:
    """Serve in so many processes until a signal stops them; one that dies is replaced."""
    os.environ[DATABASE_URL] = database
    settings = config(f"{__name__}:worker", factory=True, workers=workers, **more)
    with tempfile.TemporaryDirectory(prefix="petstore-metrics-") as folder:
        if os.environ.get(METRICS):
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = (
                folder  # each counts there, and any of them shows all
            )
        _Supervisor(settings, sockets=[listener]).run()


class _Supervisor(Multiprocess):
    def terminate_all(self) -> None:
        """Close the port, too: whoever connected to it now would wait for nobody."""
        for listener in self.sockets:
            listener.close()
        super().terminate_all()


class ThreadedServer:
    """
    An ASGI application on a free local port, served from a thread.

    Args:
        app: What answers.
    """

    def __init__(self, app: App) -> None:
        self._socket = bind("127.0.0.1", 0)
        self._server = uvicorn.Server(config(app))
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True
        )

    @property
    def base_url(self) -> str:
        """The base address, with the version prefix (§9)."""
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}{spec.PATH_PREFIX}"

    def start(self) -> Self:
        """
        Serve until `stop`.

        Raises:
            PetstoreError: It did not come up.
        """
        self._thread.start()
        give_up_at = time.monotonic() + STARTS_WITHIN_S
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > give_up_at:
                raise PetstoreError("the embedded service did not start")
            time.sleep(0.001)
        return self

    def is_current(self) -> bool:
        """Say whether this is called in its thread."""
        return threading.current_thread() is self._thread

    def stop(self) -> None:
        """Finish what is under way and stop."""
        self._server.should_exit = True
        if self._thread.ident is not None:
            self._thread.join()
        self._socket.close()
