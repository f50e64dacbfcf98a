"""The service on a socket: in a thread for notebooks and tests, or in the foreground for `serve`."""

from __future__ import annotations

import os
import socket
import threading
import time
from typing import Self

import uvicorn
from starlette.types import ASGIApp

from petstore_tools import spec
from petstore_tools.errors import PetstoreError, SettingsError

STARTS_WITHIN_S = 10.0


def config(app: ASGIApp, *, access_log: bool = False) -> uvicorn.Config:
    """Return uvicorn's settings for this service: its own `Date`, no lifespan, one process."""
    return uvicorn.Config(
        app,
        lifespan="off",
        log_level="warning",
        access_log=access_log,
        date_header=False,
        server_header=False,
        timeout_graceful_shutdown=5,
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


class ThreadedServer:
    """
    An ASGI application on a free local port, served from a thread.

    Args:
        app: What answers.
    """

    def __init__(self, app: ASGIApp) -> None:
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

    def stop(self) -> None:
        """Finish what is under way and stop."""
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()
