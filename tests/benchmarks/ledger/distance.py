"""
Whether six machines fill a plan of 1,000 a minute when the database of their budget is far away.

Six processes want all they may have of a strict service, over two whole minutes, each with no more
threads than an import opens at that latency. The database is behind a TCP proxy that adds the given
time to each round trip. Columns: threads of a process, share of the plan in the whole minutes,
answers of 429, fewest and most requests of a process.

Run: python tests/benchmarks/ledger/distance.py [MILLISECONDS ...]
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import requests
from pydantic import SecretStr

from petstore_tools import Plan
from petstore_tools.clock import SystemClock
from petstore_tools.throttle.gate import CallOptions, Gate
from petstore_tools.throttle.ledger import PostgresLedger
from petstore_tools.throttle.quota import connections

BENCHMARKS = Path(__file__).parents[1]
PROCESSES = 6
MINUTES = 2
PER_MINUTE = 1_000
PER_DAY = 1_000_000
SERVICE_S = 0.05  # what the service takes at most


def serve() -> None:
    """Run the strict service of the other benchmark, with a larger plan."""
    sys.path.insert(0, str(BENCHMARKS / "throttle"))
    import service

    service.PER_MINUTE = PER_MINUTE
    service.PER_DAY = PER_DAY
    service.SCENARIOS = {name: {} for name in map(str, range(1_000))}
    service.serve(service.app)


def threads_at(milliseconds: int) -> int:
    """Return how many connections fill the plan at what the service and two transactions take."""
    return connections(PER_MINUTE, SERVICE_S + 4 * milliseconds / 1_000)


def send(base_url: str, url: str, me: str, threads: int, begin: float, end: float) -> None:
    """Be one machine: threads that want as many requests as they may have."""
    ledger = PostgresLedger(SecretStr(url), "key")
    gate = Gate(ledger, Plan(PER_MINUTE, PER_DAY), SystemClock(), max_wait_s=90)
    session = requests.Session()
    session.headers["X-Process"] = me
    time.sleep(max(0.0, begin - time.time()))

    def work() -> None:
        while time.time() < end:
            token = gate.acquire(CallOptions(wait=True))
            answer = session.get(f"{base_url}/pets", timeout=10)
            # as an import does: each answer is recorded with the next question
            gate.answered(token, answer.status_code, answer.headers, "", more_follow=True)

    workers = [threading.Thread(target=work, daemon=True) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(max(0.0, end + 2 - time.time()))


def compare(milliseconds: int, address: str, database: str) -> None:
    """Run the machines over some whole minutes, and print their row."""
    begin = (time.time() // 60 + 1) * 60
    if begin - time.time() < 8:
        begin += 60
    threads = threads_at(milliseconds)
    end = begin + MINUTES * 60
    place = f"{milliseconds}/0"
    base_url = f"{address}/{place}/v1"
    machines = [
        subprocess.Popen(
            [sys.executable, __file__, "send", base_url, database]
            + [str(number) for number in (me, threads, begin, end)]
        )
        for me in range(PROCESSES)
    ]
    for machine in machines:
        machine.wait(600)
    seen = requests.get(f"{address}/results", timeout=10).json()
    row = seen[place]
    whole = sum(row["minutes"].get(str(int(begin // 60) + minute), 0) for minute in range(MINUTES))
    share = 100 * whole / (PER_MINUTE * MINUTES)
    each = sorted(row["by_process"].values())
    refused = sum(row["refused"].values())
    fewest = each[0] if len(each) == PROCESSES else 0
    cells = f"{milliseconds} ms | {threads} | {share:.1f} %"
    print(f"| {cells} | {refused} | {fewest}-{each[-1]} |", flush=True)


def main() -> None:
    if sys.argv[1:2] == ["serve"]:
        return serve()
    if sys.argv[1:2] == ["send"]:
        *texts, threads, begin, end = sys.argv[2:]
        return send(*texts, int(threads), float(begin), float(end))
    sys.path.insert(0, str(BENCHMARKS.parent / "support"))
    from postgres import absent, running
    from tcp_proxy import TcpProxy

    print(
        "| round trip | threads | share | 429s | per process |\n|---:|---:|---:|---:|---:|",
        flush=True,
    )
    if absent():
        return print("| all | | not run | | |")
    service = subprocess.Popen(
        [sys.executable, __file__, "serve"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert service.stdout is not None
    address = service.stdout.readline().strip()
    try:
        with running() as postgres:
            for milliseconds in map(int, sys.argv[1:] or ("0", "20", "80")):
                with TcpProxy(postgres.port, delay_s=milliseconds / 1_000) as proxy:
                    compare(milliseconds, address, proxy.url(postgres.database()))
    finally:
        service.terminate()
    return None


if __name__ == "__main__":
    main()
