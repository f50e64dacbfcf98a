"""The service on a socket: in a thread for notebooks and tests, or in the foreground for `serve`."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import socket
import threading
import time
from typing import Any, Self

import uvicorn
from uvicorn.supervisors.multiprocess import Multiprocess

from petstore_tools import spec
from petstore_tools.errors import PetstoreError, SettingsError
from petstore_tools.service.connection import BoundedConnection
from petstore_tools.service.messages import App

STARTS_WITHIN_S = 10.0
DATABASE_URL = "PETSTORE_DATABASE_URL"
ACCESS_LOG = "PETSTORE_ACCESS_LOG"


def config(app: App | str, *, trusted: str = "", **more: Any) -> uvicorn.Config:
    """Return uvicorn's settings for this service: bounded connections, its own `Date`, no lifespan."""
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
        timeout_graceful_shutdown=5,
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


def worker() -> App:
    """Make the service of one of many worker processes, on the database that its environment names."""
    from petstore_tools.clock import SystemClock
    from petstore_tools.service.app import Service
    from petstore_tools.service.database import Database

    log_errors()
    if os.environ.get(ACCESS_LOG):
        log_access()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    return Service(Database(os.environ[DATABASE_URL]), SystemClock())


def _end_with_parent() -> None:
    """End this process as soon as its supervisor is gone, however that ended; answer what is under way."""
    supervisor = multiprocessing.parent_process()
    if supervisor is not None:
        supervisor.join()
        os.kill(os.getpid(), signal.SIGTERM)


def log_errors() -> None:
    """Write the service's own faults to stderr: without this, no record of the package is shown."""
    assert logging.lastResort is not None
    logging.getLogger("petstore_tools").addHandler(logging.lastResort)


def log_access() -> None:
    """Write a line of JSON to stderr for each answer; no key is in it."""
    logger = logging.getLogger("petstore_tools.access")
    lines = logging.StreamHandler()
    lines.setFormatter(logging.Formatter("%(message)s"))
    logger.addHandler(lines)
    logger.setLevel(logging.INFO)
    logger.propagate = False


def serve(app: App, listener: socket.socket, **more: Any) -> None:
    """
    Serve in this process until a signal stops it; what is under way is finished.

    Raises:
        KeyboardInterrupt: Ctrl-C or SIGTERM came.
    """
    log_errors()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # uvicorn raises the signal again at its end
    uvicorn.Server(config(app, **more)).run(sockets=[listener])


def serve_many(database: str, listener: socket.socket, *, workers: int, **more: Any) -> None:
    """Serve in so many processes until a signal stops them; one that dies is replaced."""
    os.environ[DATABASE_URL] = database
    settings = config(f"{__name__}:worker", factory=True, workers=workers, **more)
    Multiprocess(settings, sockets=[listener]).run()


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
