"""
The service on a socket: in a thread for notebooks and tests, or in processes for `serve`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import multiprocessing
import re
import signal
import socket
import threading
import time
from functools import partial
from typing import Any, Final, Self

from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.net import SocketSpec  # type: ignore[attr-defined]
from granian.server import Server as Supervisor
from granian.server.embed import Server
from granian.utils.proxies import wrap_asgi_with_proxy_headers

from petstore_tools import spec
from petstore_tools.clock import SystemClock
from petstore_tools.errors import PetstoreError, SettingsError
from petstore_tools.service.app import Service
from petstore_tools.service.database import Database

STARTS_WITHIN_S: Final = 10.0
DRAIN_S: Final = 9  # at its end a service answers what is under way for so long
MAX_CONNECTIONS: Final = 900  # of a process: below the 1,024 files that many systems allow
HEAD_WITHIN_MS: Final = 10_000  # a head is complete, and an idle connection used again, within this
MAX_HEAD_BYTES: Final = 64 << 10
_KEY: Final = re.compile(r"psk_[\w-]+")
_HTTP: Final[Any] = {
    "interface": Interfaces.ASGINL,
    "http": HTTPModes.http1,
    "http1_settings": HTTP1Settings(
        header_read_timeout=HEAD_WITHIN_MS, max_buffer_size=MAX_HEAD_BYTES
    ),
    "websockets": False,
}


class AccessLine(logging.Formatter):
    """An answer as a line of JSON, without keys."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        return _KEY.sub("psk_...", json.dumps(record.args))


LOGS: Final = {
    "formatters": {
        "line": {"format": "%(asctime)s %(levelname)s %(message)s"},
        "access": {"()": AccessLine},
    },
    "handlers": {
        "line": {"class": "logging.StreamHandler", "formatter": "line"},
        "access": {"class": "logging.StreamHandler", "formatter": "access"},
    },
    "loggers": {
        "_granian": {"handlers": ["line"]},
        "granian.access": {"handlers": ["access"], "level": "INFO"},
        "petstore_tools.service": {"handlers": ["line"], "level": "WARNING"},
    },
}


class _Replaced(dict[int, float]):
    """When workers were replaced: never lately, so that one may die again and again."""

    def get(self, *_: object) -> float:
        return -float("inf")


def serve(where: str, host: str, port: int, *, trusted: str = "", **options: Any) -> None:
    """
    Serve in worker processes until a signal stops them; one that dies is replaced.

    Args:
        where: The database.
        host: An IP address.
        port: A free one.
        trusted: Addresses of proxies whose X-Forwarded-For header is believed.
        options: Of granian.

    Raises:
        SettingsError: The address is taken or not ours.
    """
    supervisor = Supervisor(
        "the service",
        host,
        port,
        backlog=1_024,
        log_level=LogLevels.error,
        log_dictconfig=LOGS,
        respawn_failed_workers=True,
        workers_kill_timeout=DRAIN_S,
        **_HTTP,
        **options,
    )
    supervisor.respawned_wrks = _Replaced()
    supervisor.serve(target_loader=partial(worker, where, trusted), wrap_loader=False)


def require_free(host: str, port: int) -> None:
    """
    Make sure that nobody listens there: workers would share the port with another program.

    Raises:
        SettingsError: The address is taken or not ours.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        raise SettingsError(f"port {port} of {host} cannot be used: {error.strerror}") from error


def worker(where: str, trusted: str) -> Any:
    """Make the service of a worker process; it waits for a database that cannot be used now."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        try:
            service = Service(Database(where), SystemClock())
        except SettingsError as error:
            logging.getLogger(__name__).error("%s", error)
            time.sleep(1)
        else:
            return wrap_asgi_with_proxy_headers(service, trusted.split(",")) if trusted else service


def _end_with_parent() -> None:
    """
    End this process as soon as its supervisor is gone, however that ended; answer what is under
    way.
    """
    supervisor = multiprocessing.parent_process()
    assert supervisor is not None
    supervisor.join()
    signal.raise_signal(signal.SIGTERM)  # os.kill would end it at once on Windows


class _Embedded(Server):
    def _init_shared_socket(self) -> None:
        """Leave out a socket of granian's that nobody would close."""
        self._ssp: Any = SocketSpec(self.bind_addr, self.bind_port, self.backlog)


class ThreadedServer:
    """
    An ASGI application on a free local port, served from a thread.

    Args:
        app: What answers.
    """

    def __init__(self, app: Any) -> None:
        self._socket = socket.socket()  # nobody else gets its port
        if hasattr(socket, "SO_REUSEPORT"):
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self._socket.bind(("127.0.0.1", 0))
        self._port: int = self._socket.getsockname()[1]
        self._server = _Embedded(
            app,
            port=self._port,
            log_enabled=False,
            # leaves alone how this process logs
            log_dictconfig={"incremental": True, "handlers": {}, "loggers": {}},
            **_HTTP,
        )
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self._server.serve()

    @property
    def base_url(self) -> str:
        """The base address, with the version prefix (§9)."""
        return f"http://127.0.0.1:{self._port}{spec.PATH_PREFIX}"

    def start(self) -> Self:
        """
        Serve until `stop`.

        Raises:
            PetstoreError: It did not come up.
        """
        self._thread.start()
        give_up_at = time.monotonic() + STARTS_WITHIN_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", self._port)).close()
            except OSError:
                if not self._thread.is_alive() or time.monotonic() > give_up_at:
                    raise PetstoreError("the embedded service did not start") from None
                time.sleep(0.001)
            else:
                return self

    def is_current(self) -> bool:
        """Say whether this is called in its thread."""
        return threading.current_thread() is self._thread

    def stop(self) -> None:
        """Finish what is under way and stop."""
        if self._thread.ident is not None:
            self._loop.call_soon_threadsafe(self._server.stop)
            self._thread.join()
            # granian's own thread still lets go of what it holds; at the end of Python that fails
            time.sleep(0.02)
        self._socket.close()
