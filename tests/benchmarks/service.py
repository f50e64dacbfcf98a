"""
The service beside what people run in its place: each on one core, `wrk` with 16
connections on the other. What is missing prints `not run`.

`--node` has the node_modules of @stoplight/prism-cli. Each is asked for 8 s before it
is measured. Cells: CPU a request of all processes of the server, and its ratio to
prism's.

Run: python tests/benchmarks/service.py [--node FOLDER] [--animals N] [--seconds 4]
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from programs import ROOT, head, row

# isort: split
from services import WIDE_PLAN, free_port, is_port_closed, wait_until
from serving import create_key

from petstore_tools.service.app import LIST_PATH, OPENAPI
from petstore_tools.service.database import Database
from petstore_tools.service.models import write_cursor

POST = """
wrk.method = "POST"
wrk.body = '{"name":"Rex","categoryId":3,"status":"sold"}'
wrk.headers["Content-Type"] = "application/json"
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
WARM_S = 8


@contextmanager
def running(command, port, **env):
    """Run a server on one core once it answers; give its process group."""
    server = subprocess.Popen(
        ["taskset", "-c", "0", *map(str, command)],
        cwd=ROOT,
        env={**os.environ, **env},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        wait_until(lambda: not is_port_closed(f"http://127.0.0.1:{port}"))
        time.sleep(0.5)
        yield server.pid
    finally:
        os.killpg(server.pid, 15)
        server.wait()


@contextmanager
def ours(where, *, animals=1_000):
    """
    Run the service, durable against power loss, on a database that it fills first.

    Args:
        where: Path or address of the database.
        animals: In it.

    Yields:
        Process group, port and key.
    """
    with closing(Database(where)) as database:
        database.add_many((f"Pet {n}", n % 7, "sold") for n in range(animals))
    port = free_port()
    command = [sys.executable, "-m", "petstore_tools", "serve", "--port", str(port)]
    with running(command, port, PETSTORE_DATABASE_URL=where) as group:
        yield group, port, create_key(where, WIDE_PLAN)


def cpu_s(group):
    """Return the CPU time that the processes of a group have taken."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[2]) == group:
                ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def wrk(url, key, seconds, script="", *, connections=16):
    """Return how many requests there were; none may fail."""
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
    requests, _, _ = done.stdout.partition(" requests in ")
    return int(requests.split()[-1])


def costs(group, port, key, seconds, path=LIST_PATH):
    """
    Return CPU us a request: of a page of 100, of a create, of four of those to one.
    """
    url = f"http://127.0.0.1:{port}{path}"
    page = f"{url}?limit=100"
    wrk(page, key, WARM_S)
    results = []
    mixed = MIXED.replace("PATH", path)
    for address, script in ((page, ""), (url, POST), (page, mixed)):
        before_s = cpu_s(group)
        requests = wrk(address, key, seconds, script)
        results.append((cpu_s(group) - before_s) / requests * 1e6)
    return results


def plain(folder, port, node):
    """Return FastAPI with SQLite."""
    if importlib.util.find_spec("fastapi") is None:
        return None
    script = Path(__file__).with_name("plain.py")
    return [sys.executable, script, str(port), folder], LIST_PATH


def prism(folder, port, node):
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
    pet = {"name": "Pet", "categoryId": 7, "status": "sold"}
    answer["example"] = [{"id": n, **pet} for n in range(1, 101)]
    tree["servers"] = [{"url": f"http://127.0.0.1:{port}/v1"}]
    document = folder / "openapi.json"
    document.write_text(json.dumps(tree))
    return [binary, "mock", "-p", str(port), document], "/pets"


PEERS = {"prism": prism, "FastAPI + SQLite": plain}


def beside_peers(node, seconds):
    """Print the CPU a request of each, and its ratio to prism's."""
    from postgres import run_postgres

    results = {}
    for name, peer in PEERS.items():
        port = free_port()
        with tempfile.TemporaryDirectory() as folder:
            launch = peer(Path(folder), port, node)
            if launch is None:
                results[name] = None
                continue
            command, path = launch
            with running(command, port) as group:
                results[name] = costs(group, port, "k", seconds, path)
    with run_postgres() as server, tempfile.TemporaryDirectory() as folder:
        databases = {"SQLite": f"{folder}/service.db", "PostgreSQL": server.database()}
        for database, where in databases.items():
            with ours(where) as (group, port, key):
                name = f"petstore_tools, {database}"
                results[name] = costs(group, port, key, seconds)
    head("CPU us a request / of prism's", "GET 100", "POST", "4 GET : 1 POST")
    floor = results["prism"] or [float("nan")] * 3
    for name, cpu_us in results.items():
        if cpu_us is None:
            row(name, "not run", "", "")
            continue
        pairs = zip(cpu_us, floor, strict=True)
        row(name, *(f"{cost:,.0f} / {cost / prism_us:.2f}" for cost, prism_us in pairs))


def growth(animals, seconds):
    """
    Print what a page costs at the head and at the end of a small and a large inventory.
    """
    head("page of 100, us", "first", "last")
    for count in (1_000, animals):
        last_page = f"limit=100&cursor={write_cursor(count - 100, None)}"
        cells = []
        with (
            tempfile.TemporaryDirectory() as folder,
            ours(f"{folder}/service.db", animals=count) as (_, port, key),
        ):
            for query in ("limit=100", last_page):
                url = f"http://127.0.0.1:{port}{LIST_PATH}?{query}"
                cells.append(
                    f"{1e6 * seconds / wrk(url, key, seconds, connections=1):.0f}"
                )
        row(f"{count:,} animals", *cells)


def main():
    """Print the tables."""
    options = argparse.ArgumentParser()
    options.add_argument("--node", type=Path, default=Path())
    options.add_argument("--animals", type=int, default=5_000_000)
    options.add_argument("--seconds", type=int, default=4)
    arguments = options.parse_args()
    beside_peers(arguments.node.resolve(), arguments.seconds)
    if arguments.animals:
        growth(arguments.animals, arguments.seconds)


if __name__ == "__main__":
    main()
