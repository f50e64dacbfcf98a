"""
The service beside what people run in its place: each on one core, `wrk` with 16
connections on the other. What is missing prints `not run`.

`--node` has the node_modules of @stoplight/prism-cli and json-server. `--before`:
beside a checkout of another version alone, with what that needs in its `.venv`.

Run: python tests/benchmarks/service.py [--node FOLDER] [--animals N] [--seconds 4]
     python tests/benchmarks/service.py --before CHECKOUT [--seconds 4]
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from programs import ROOT, head, row
from services import free_port, is_port_closed, wait_until
from tcp_proxy import TcpProxy

from petstore_tools.service.app import OPENAPI
from petstore_tools.service.messages import LIST_PATH, write_cursor

POST = """
wrk.method = "POST"
wrk.body = '{"name":"Rex","categoryId":3,"status":"sold"}'
wrk.headers["Content-Type"] = "application/json"
"""
FILLED = """
import sys, time
from petstore_tools.plans import Plan
from petstore_tools.service.database import Database
database = Database(sys.argv[1])
print(database.create_key(Plan(10**9, 10**9), label="", now=time.time())[1])
statuses = ("available", "pending", "sold")
animals = int(sys.argv[2])
for start in range(0, animals, 100_000):
    numbers = range(start, min(start + 100_000, animals))
    database.add_many((f"Pet {n}", n % 7, statuses[n % 3]) for n in numbers)
database.close()
"""
MIXED = """
local body = '{"name":"Rex","categoryId":3,"status":"sold"}'
local count = 0
request = function()
  count = count + 1
  if count % 5 == 0 then
    wrk.headers["Content-Type"] = "application/json"
    return wrk.format("POST", "PATH", wrk.headers, body)
  end
  return wrk.format("GET", nil, wrk.headers, nil)
end
"""
# command, path of its list, name of its page size
Peer = tuple[list[str | Path], str, str]


@contextmanager
def running(
    command: Sequence[str | Path], port: int, *, cwd: Path = ROOT, **env: str
) -> Iterator[None]:
    """Run a server on one core until it answers, and stop it."""
    server = subprocess.Popen(
        ["taskset", "-c", "0", *map(str, command)],
        cwd=cwd,  # where Python looks first
        env={**os.environ, **env},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        wait_until(lambda: not is_port_closed(f"http://127.0.0.1:{port}"))
        time.sleep(0.5)
        yield
    finally:
        os.killpg(server.pid, 15)
        server.wait()


@contextmanager
def ours(
    where: str, *, animals: int = 1_000, checkout: Path = ROOT, far: str = ""
) -> Iterator[tuple[int, str]]:
    """
    Run a checkout's service, durable against power loss, on a database that it fills
    first.

    Args:
        where: Path or address of the database.
        animals: In it.
        checkout: Its `.venv` is used, where there is one.
        far: The address under which the service reaches the database, where that is
            another.

    Yields:
        Port and key.
    """
    venv_python = checkout / ".venv" / "bin" / "python"
    python = venv_python if venv_python.exists() else Path(sys.executable)
    filling = subprocess.run(
        [python, "-c", FILLED, where, str(animals)],
        cwd=checkout,
        capture_output=True,
        text=True,
        check=True,
    )
    port = free_port()
    command = [python, "-m", "petstore_tools", "serve", "--port", str(port)]
    with running(command, port, cwd=checkout, PETSTORE_DATABASE_URL=far or where):
        yield port, filling.stdout.strip()


def wrk(
    url: str, key: str, seconds: int, script: str = "", *, connections: int = 16
) -> float:
    """Return requests a second; none may fail."""
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as file:
        file.write(script)
        file.flush()
        command = f"taskset -c 1 wrk -t1 -c{connections} -d{seconds}s -s {file.name}"
        done = subprocess.run(
            [*command.split(), "-H", f"Authorization: Bearer {key}", url],
            capture_output=True,
            text=True,
            check=True,
        )
    assert "Non-2xx" not in done.stdout, done.stdout
    return float(done.stdout.partition("Requests/sec:")[2].split()[0])


def rates(
    port: int, key: str, seconds: int, path: str = LIST_PATH, limit: str = "limit"
) -> list[float]:
    """
    Return what a server answers a second: pages of 100, creates, four of those to one.
    """
    url = f"http://127.0.0.1:{port}{path}"
    page = f"{url}?{limit}=100"
    mixed = MIXED.replace("PATH", path)
    return [
        wrk(address, key, seconds, script)
        for address, script in ((page, ""), (url, POST), (page, mixed))
    ]


def plain(folder: Path, port: int, node: Path) -> Peer | None:
    """Return FastAPI with SQLite."""
    if importlib.util.find_spec("fastapi") is None:
        return None
    script = Path(__file__).with_name("plain.py")
    return [sys.executable, script, str(port), folder], LIST_PATH, "limit"


def pets(count: int) -> list[dict[str, object]]:
    """Return so many animals."""
    return [
        {"id": n + 1, "name": f"Pet {n}", "categoryId": n % 7, "status": "sold"}
        for n in range(count)
    ]


def prism(folder: Path, port: int, node: Path) -> Peer | None:
    """
    Return prism, which answers from the document and keeps nothing; its example has 100
    animals.
    """
    binary = node / "node_modules" / ".bin" / "prism"
    if not binary.exists():
        return None
    tree = json.loads(OPENAPI)
    answer = tree["paths"]["/pets"]["get"]["responses"]["200"]["content"][
        "application/json"
    ]
    answer["example"] = pets(100)
    tree["servers"] = [{"url": f"http://127.0.0.1:{port}/v1"}]
    document = folder / "openapi.json"
    document.write_text(json.dumps(tree))
    return [binary, "mock", "-p", str(port), document], "/pets", "limit"


def json_server(folder: Path, port: int, node: Path) -> Peer | None:
    """Return json-server, which keeps rows in a JSON file and knows no keys."""
    binary = node / "node_modules" / ".bin" / "json-server"
    if not binary.exists():
        return None
    file = folder / "db.json"
    file.write_text(json.dumps({"pets": pets(1_000)}))
    return [binary, "--port", str(port), file], "/pets", "_limit"


PEERS = {"FastAPI + SQLite": plain, "prism": prism, "json-server": json_server}


def beside_peers(node: Path, seconds: int) -> None:
    """Print requests a second of each."""
    head("one core, 16 connections", "GET 100", "POST", "4 GET : 1 POST")
    with (
        tempfile.TemporaryDirectory() as folder,
        ours(f"{folder}/service.db") as (port, key),
    ):
        results = rates(port, key, seconds)
    row("petstore_tools, durable, quotas on", *(f"{rate:,.0f}" for rate in results))
    for name, peer in PEERS.items():
        port = free_port()
        with tempfile.TemporaryDirectory() as folder:
            launch = peer(Path(folder), port, node)
            if launch is None:
                row(name, "not run", "", "")
                continue
            command, path, limit = launch
            with running(command, port):
                results = rates(port, "k", seconds, path, limit)
        row(name, *(f"{rate:,.0f}" for rate in results))


def growth(animals: int, seconds: int) -> None:
    """
    Print what a page costs at the head and at the end of a small and a large inventory.
    """
    head("page of 100, us", "first", "last", "deep, each another")
    turn = "n = n + 1\n return wrk.format('GET', paths[n % #paths + 1])"
    for count in (1_000, animals):
        starts = range(0, count - 200, max(1, count // 20_000))
        queries = [
            f"limit=100&cursor={write_cursor(n, None)}" for n in (count - 100, *starts)
        ]
        paths = ",".join(f"'{LIST_PATH}?{query}'" for query in queries[1:])
        script = (
            f"local paths = {{{paths}}}\nlocal n = 0\nrequest = function()\n"
            f" {turn}\nend\n"
        )
        with (
            tempfile.TemporaryDirectory() as folder,
            ours(f"{folder}/service.db", animals=count) as (port, key),
        ):
            base = f"http://127.0.0.1:{port}{LIST_PATH}?"
            results = [
                wrk(base + query, key, seconds, lua, connections=1)
                for query, lua in (("limit=100", ""), (queries[0], ""), ("", script))
            ]
        row(f"{count:,} animals", *(f"{1e6 / rate:.0f}" for rate in results))


def beside_before(before: Path, seconds: int) -> None:
    """
    Print this version beside a checkout of another, in turns, the best of three each.
    """
    import postgres

    head(
        "requests a second of one worker: now / before",
        "GET 100",
        "POST",
        "4 GET : 1 POST",
    )
    with postgres.run_postgres() as server, tempfile.TemporaryDirectory() as folder:
        for name, delay_s in (
            ("SQLite", None),
            ("PostgreSQL", 0.0),
            ("PostgreSQL, 1 ms", 0.001),
        ):
            best = [[0.0] * 3, [0.0] * 3]
            for turn in range(6):
                where = (
                    f"{folder}/{name}{turn}.db"
                    if delay_s is None
                    else server.database()
                )
                checkout = (ROOT, before)[turn % 2]
                with TcpProxy(server.port, delay_s=delay_s or 0.0) as proxy:
                    far = proxy.url(where) if delay_s else ""
                    with ours(where, checkout=checkout, far=far) as (port, key):
                        results = rates(port, key, seconds)
                best[turn % 2] = [
                    max(pair) for pair in zip(best[turn % 2], results, strict=True)
                ]
            pairs = zip(*best, strict=True)
            row(
                name,
                *(
                    f"{rate:,.0f} / {old_rate:,.0f} = {rate / old_rate:.2f}"
                    for rate, old_rate in pairs
                ),
            )


def main() -> None:
    """Print the tables."""
    options = argparse.ArgumentParser()
    options.add_argument("--node", type=Path, default=Path())
    options.add_argument("--before", type=Path)
    options.add_argument("--animals", type=int, default=5_000_000)
    options.add_argument("--seconds", type=int, default=4)
    arguments = options.parse_args()
    if arguments.before:
        beside_before(arguments.before.resolve(), arguments.seconds)
    else:
        beside_peers(arguments.node.resolve(), arguments.seconds)
        growth(arguments.animals, arguments.seconds)


if __name__ == "__main__":
    main()
