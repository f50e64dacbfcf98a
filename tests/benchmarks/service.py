"""
The service beside what people run in its place: each on one core, `wrk` with 16 connections on the
    other.

    python tests/benchmarks/service.py [--node FOLDER] [--before FOLDER] [--animals 5000000] [--seconds
    4]

`--node` has the node_modules of @stoplight/prism-cli and json-server; `--before` is a checkout of
another version, with what it needs in its `.venv`, whose service is measured beside this one
(`--only before`: nothing else is). What is missing prints `not run`.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from petstore_tools.service.app import OPENAPI
from petstore_tools.service.messages import write_cursor

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "support"))
from services import free_port, refuses, until  # noqa: E402 - found by the line above
from tcp_proxy import TcpProxy  # noqa: E402

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
    return wrk.format("POST", "/v1/pets", wrk.headers, body)
  end
  return wrk.format("GET", nil, wrk.headers, nil)
end
"""


@contextmanager
def running(
    command: Sequence[str | Path],
    port: int,
    core: str = "0",
    *,
    cwd: Path = ROOT,
    **env: str,
) -> Iterator[None]:
    """Run a server on one core until it answers, and stop it."""
    server = subprocess.Popen(
        ["taskset", "-c", core, *map(str, command)],
        cwd=cwd,  # where Python looks first
        env={**os.environ, **env},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        until(lambda: not refuses(f"http://127.0.0.1:{port}"))
        time.sleep(0.5)
        yield
    finally:
        os.killpg(server.pid, 15)
        server.wait()


def wrk(
    url: str, key: str, script: str = "", *, connections: int = 16, seconds: int = 4
) -> tuple[float, float, int]:
    """Return requests a second, p99 in ms, and answers that were not 2xx."""
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as file:
        file.write(script)
        file.flush()
        command = f"taskset -c 1 wrk -t1 -c{connections} -d{seconds}s --latency -s {file.name}"
        done = subprocess.run(
            [*command.split(), "-H", f"Authorization: Bearer {key}", url],
            capture_output=True,
            text=True,
            check=True,
        )
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)[1])  # type: ignore[index]
    number, unit = re.search(r"99%\s+([\d.]+)(us|ms|s)", done.stdout).groups()  # type: ignore[union-attr]
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", done.stdout)
    return (
        rate,
        float(number) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[unit],
        int(bad[1]) if bad else 0,
    )


def filled(
    where: str | Path, animals: int = 1_000, *, checkout: Path = ROOT, python: str = sys.executable
) -> str:
    """Make a database with so many animals, by the code of a checkout, and return a key."""
    command = [python, "-c", FILLED, str(where), str(animals)]
    made = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=True)
    return made.stdout.strip()


def ours(folder: Path, port: int) -> tuple[list[str | Path], str, str]:
    """Return command, key and path of a page of 100, durable against power loss, quotas on."""
    key = filled(folder / "service.db")
    command = [sys.executable, "-m", "petstore_tools", "serve", "--port", str(port)]
    return [*command, "--database", folder / "service.db"], key, "/v1/pets?limit=100"


def plain(folder: Path, port: int) -> tuple[list[str | Path], str, str] | None:
    """Return FastAPI with SQLite."""
    if importlib.util.find_spec("fastapi") is None:
        return None
    return [sys.executable, HERE / "plain.py", str(port), folder], "k", "/v1/pets?limit=100"


def prism(folder: Path, port: int, node: Path) -> tuple[list[str | Path], str, str] | None:
    """
    Return prism, which answers from the document and keeps nothing; its example has 100 animals.
    """
    binary = node / "node_modules" / ".bin" / "prism"
    if not binary.exists():
        return None
    tree = json.loads(OPENAPI)
    page = [
        {"id": n + 1, "name": f"Pet {n}", "categoryId": n % 7, "status": "sold"} for n in range(100)
    ]
    tree["paths"]["/pets"]["get"]["responses"]["200"]["content"]["application/json"]["example"] = (
        page
    )
    tree["servers"] = [{"url": f"http://127.0.0.1:{port}/v1"}]
    (folder / "openapi.json").write_text(json.dumps(tree))
    return [binary, "mock", "-p", str(port), folder / "openapi.json"], "k", "/pets?limit=100"


def json_server(folder: Path, port: int, node: Path) -> tuple[list[str | Path], str, str] | None:
    """Return json-server, which keeps rows in a JSON file and knows no keys."""
    binary = node / "node_modules" / ".bin" / "json-server"
    if not binary.exists():
        return None
    rows = [
        {"id": n + 1, "name": f"Pet {n}", "categoryId": n % 7, "status": "sold"}
        for n in range(1_000)
    ]
    (folder / "db.json").write_text(json.dumps({"pets": rows}))
    return [binary, "--quiet", "--port", str(port), folder / "db.json"], "k", "/pets?_limit=100"


def beside_peers(node: Path, seconds: int) -> None:
    """Print requests a second and p99 of each."""
    print(
        "| one core, 16 connections | GET 100 | p99 ms | POST | p99 ms | 4 GET : 1 POST | p99 ms |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name in ("petstore_tools, durable, quotas on", "FastAPI + SQLite", "prism", "json-server"):
        port = free_port()
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            found = {
                "petstore_tools, durable, quotas on": lambda: ours(folder, port),  # noqa: B023
                "FastAPI + SQLite": lambda: plain(folder, port),  # noqa: B023
                "prism": lambda: prism(folder, port, node),  # noqa: B023
                "json-server": lambda: json_server(folder, port, node),  # noqa: B023
            }[name]()
            if found is None:
                print(f"| {name} | not run | | | | | |")
                continue
            command, key, path = found
            cells = []
            with running(command, port):
                base = f"http://127.0.0.1:{port}"
                bare = path.partition("?")[0]
                mixed = MIXED.replace('"/v1/pets"', f'"{bare}"')
                for url, script in ((base + path, ""), (base + bare, POST), (base + path, mixed)):
                    rate, p99, bad = wrk(url, key, script, seconds=seconds)
                    cells += [f"{rate:,.0f}" + (f" ({bad} refused)" if bad else ""), f"{p99:.1f}"]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


def growth(animals: int, seconds: int) -> None:
    """Print what a page costs at the head and at the end of small and large inventories."""
    print(
        "\n| animals | first page, us | last page, us | deep pages, each another, us | POST a second |"
    )
    print("|---:|---:|---:|---:|---:|")
    turn = "n = n + 1\n return wrk.format('GET', paths[n % #paths + 1])"
    deep = f"local n = 0\nrequest = function()\n {turn}\nend\n"
    for count in (1_000, 100_000, animals):
        port = free_port()
        with tempfile.TemporaryDirectory() as folder:
            key = filled(f"{folder}/service.db", count)
            command = [sys.executable, "-m", "petstore_tools", "serve", "--port", str(port)]
            with running([*command, "--database", f"{folder}/service.db"], port):
                base = f"http://127.0.0.1:{port}/v1/pets"
                last = f"{base}?limit=100&cursor={write_cursor(count - 100, None)}"
                first_us = 1e6 / wrk(f"{base}?limit=100", key, connections=1, seconds=seconds)[0]
                last_us = 1e6 / wrk(last, key, connections=1, seconds=seconds)[0]
                behind = range(0, count - 200, max(1, count // 20_000))
                paths = ",".join(
                    f"'/v1/pets?limit=100&cursor={write_cursor(n, None)}'" for n in behind
                )
                script = f"local paths = {{{paths}}}\n{deep}"
                deep_us = 1e6 / wrk(base, key, script, connections=1, seconds=seconds)[0]
                posts = wrk(base, key, POST, seconds=seconds)[0]
            print(
                f"| {count:,} | {first_us:.0f} | {last_us:.0f} | {deep_us:.0f} | {posts:,.0f} |",
                flush=True,
            )


def on_postgres(seconds: int) -> None:
    """Print what workers on PostgreSQL do; database, workers and load share two cores."""
    import postgres

    print("\n| PostgreSQL, both cores shared with database and load | GET 100 | POST | keys |")
    print("|---|---:|---:|---:|")
    if why := postgres.absent():
        print(f"| not run: {why} | | | |")
        return
    with postgres.running() as server:
        for workers in (1, 2):
            url = server.database()
            port = free_port()
            key = filled(url)
            command = [sys.executable, "-m", "petstore_tools", "serve", "--port", str(port)]
            with running(
                [*command, "--workers", str(workers)], port, "0,1", PETSTORE_DATABASE_URL=url
            ):
                base = f"http://127.0.0.1:{port}/v1/pets"
                gets = wrk(f"{base}?limit=100", key, seconds=seconds)[0]
                posts = wrk(base, key, POST, seconds=seconds)[0]
            print(
                f"| {workers} worker{'s' * (workers > 1)} | {gets:,.0f} | {posts:,.0f} | one |",
                flush=True,
            )


def rates(checkout: Path, where: str, far: str, seconds: int) -> list[float]:
    """Return what one worker of a checkout, on one core, answers a second: GET, POST, mixed."""
    own = checkout / ".venv" / "bin" / "python"
    python = own if own.exists() else sys.executable
    key = filled(where, checkout=checkout, python=str(python))
    port = free_port()
    base = f"http://127.0.0.1:{port}/v1/pets"
    page = f"{base}?limit=100"
    serve = [python, "-m", "petstore_tools", "serve", "--port", str(port)]
    with running(serve, port, cwd=checkout, PETSTORE_DATABASE_URL=far):
        measured = [
            wrk(url, key, script, seconds=seconds)
            for url, script in ((page, ""), (base, POST), (page, MIXED))
        ]
    assert not any(refused for _, _, refused in measured)
    return [rate for rate, _, _ in measured]


def beside_before(before: Path | None, seconds: int) -> None:
    """Print this version beside a checkout of another, in turns, the best of three each."""
    import postgres

    print("| requests a second of one worker, this version / before | GET 100 | POST | 4:1 |")
    print("|---|---:|---:|---:|")
    if why := "no --before" if before is None else postgres.absent():
        print(f"| not run: {why} | | | |")
        return
    checkouts = (ROOT, before)
    with postgres.running() as server, tempfile.TemporaryDirectory() as folder:
        for name, delay_s in (("SQLite", None), ("PostgreSQL", 0.0), ("PostgreSQL, 1 ms", 0.001)):
            best = [[0.0] * 3, [0.0] * 3]
            for turn in range(6):
                version = turn % 2
                where = f"{folder}/{name}{turn}.db" if delay_s is None else server.database()
                with TcpProxy(server.port, delay_s=delay_s or 0.0) as proxy:
                    far = proxy.url(where) if delay_s else where
                    found = rates(checkouts[version], where, far, seconds)
                best[version] = [max(pair) for pair in zip(best[version], found, strict=True)]
            cells = [
                f"{new:,.0f} / {old:,.0f} = {new / old:.2f}" for new, old in zip(*best, strict=True)
            ]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print all tables."""
    options = argparse.ArgumentParser()
    options.add_argument("--node", type=Path, default=Path())
    options.add_argument("--before", type=Path)
    options.add_argument("--only", choices=["before"])
    options.add_argument("--animals", type=int, default=5_000_000)
    options.add_argument("--seconds", type=int, default=4)
    told = options.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("wrk is not installed: nothing was measured")
    beside_before(told.before and told.before.resolve(), told.seconds)
    if told.only:
        return
    beside_peers(told.node.resolve(), told.seconds)
    growth(told.animals, told.seconds)
    on_postgres(told.seconds)


if __name__ == "__main__":
    main()
