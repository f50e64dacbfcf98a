"""
What the ledger costs: an acquire under contention, and a request through the throttle.

An acquire asks for one request and records its answer, two transactions in all, on a plan that
never holds it back, as fast as the processes can; the bare lock beside it does nothing under the
lock. CPU is compared on one thread against a service in another process. A peer that is not
installed prints `not run`.

Run: python tests/benchmarks/ledger/contention.py
"""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from email.utils import formatdate
from pathlib import Path
from typing import Any

import requests

from petstore_tools import PetStore
from petstore_tools.clock import SystemClock
from petstore_tools.plans import Plan
from petstore_tools.throttle.gate import Gate
from petstore_tools.throttle.ledger import SqliteLedger

sys.path.insert(0, str(Path(__file__).parents[1] / "throttle"))
from service import serve

WIDE = Plan(10_000_000, 1_000_000_000)
SECONDS = 3.0
ROUNDS = 7
CALLS = 400
Acquire = Callable[[], object]


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Answer at once, with rate headers that never hold anybody back."""
    if scope["type"] == "http":
        headers = [
            (b"content-length", b"2"),
            (b"x-ratelimit-limit", b"10000000"),
            (b"x-ratelimit-remaining", b"9999999"),
            (b"x-ratelimit-reset", str(int(time.time() // 60 * 60 + 60)).encode()),
            (b"date", formatdate(time.time(), usegmt=True).encode()),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"[]"})


def ours(folder: Path) -> Acquire:
    """Ask and tell through a file, two transactions a request."""
    gate = Gate(SqliteLedger(folder / "budget.db", "key"), WIDE, SystemClock(), max_wait_s=90)

    def acquire() -> None:
        token = gate.acquire()
        now = time.time()
        said = {
            "X-RateLimit-Limit": "10000000",
            "X-RateLimit-Remaining": "9999999",
            "X-RateLimit-Reset": str(int(now // 60 * 60 + 60)),
            "Date": formatdate(now, usegmt=True),
        }
        gate.answered(token, 200, said, "")

    return acquire


def two_counters(folder: Path) -> Acquire:
    """Add one to a minute and a day in one transaction, and decide nothing."""
    db = sqlite3.connect(folder / "two.db", timeout=10, isolation_level=None)
    db.executescript("PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = OFF;")
    db.execute("CREATE TABLE IF NOT EXISTS n (window TEXT PRIMARY KEY, used INT)")
    db.execute("INSERT OR IGNORE INTO n VALUES ('minute', 0), ('day', 0)")

    def acquire() -> None:
        db.execute("BEGIN IMMEDIATE")
        db.execute("UPDATE n SET used = used + 1 WHERE window = 'minute'")
        db.execute("UPDATE n SET used = used + 1 WHERE window = 'day'")
        db.execute("COMMIT")

    return acquire


def bare_flock(folder: Path) -> Acquire:
    """Take the lock of a file and let it go."""
    import fcntl

    file = os.open(folder / "lock", os.O_CREAT | os.O_RDWR)

    def acquire() -> None:
        fcntl.flock(file, fcntl.LOCK_EX)
        fcntl.flock(file, fcntl.LOCK_UN)

    return acquire


def _hammer(
    make: Callable[[Path], Acquire], folder: Path, barrier: object, results: object
) -> None:
    acquire = make(folder)
    barrier.wait()  # type: ignore[attr-defined]
    times: list[int] = []
    end = time.perf_counter() + SECONDS
    while (before := time.perf_counter()) < end:
        acquire()
        times.append(int((time.perf_counter() - before) * 1e9))
    results.put(times)  # type: ignore[attr-defined]


def contention(name: str, make: Callable[[Path], Acquire]) -> None:
    """Print a row for 1, 4 and 8 processes."""
    context = multiprocessing.get_context("spawn")
    for processes in (1, 4, 8):
        with tempfile.TemporaryDirectory() as folder:
            barrier = context.Barrier(processes)
            results = context.Queue()
            workers = [
                context.Process(target=_hammer, args=(make, Path(folder), barrier, results))
                for _ in range(processes)
            ]
            for worker in workers:
                worker.start()
            each = [results.get(timeout=SECONDS + 60) for _ in workers]
            for worker in workers:
                worker.join()
        times = sorted(t for group in each for t in group)
        p50 = times[len(times) // 2]
        p99 = times[len(times) * 99 // 100]
        worst = times[-1]
        cells = f"{p50 / 1e3:,.0f} | {p99 / 1e3:,.0f} | {worst / 1e6:,.0f}"
        shares = [len(group) / len(times) * processes for group in each]
        print(
            f"| {name} | {processes} | {cells} | {SECONDS * 1e6 / len(times):,.0f} | {min(shares):.2f} |",
            flush=True,
        )


def cpu_of(call: Callable[[], object]) -> float:
    """Return CPU microseconds of a call, the least of some rounds."""
    call()
    best = float("inf")
    for _ in range(ROUNDS):
        before = time.process_time()
        for _ in range(CALLS):
            call()
        best = min(best, (time.process_time() - before) / CALLS * 1e6)
    return best


def cpu_of_session(url: str, adapter: requests.adapters.HTTPAdapter | None) -> float:
    """Return CPU microseconds of a GET through a session with an adapter."""
    with requests.Session() as session:
        if adapter is not None:
            session.mount("http://", adapter)
        return cpu_of(lambda: session.get(url, timeout=5))


def limiter(folder: Path | None) -> requests.adapters.HTTPAdapter | None:
    """Return the peer's adapter, None where it is not installed."""
    try:
        import filelock  # noqa: F401 - its SQLite bucket needs it to be exact
        from requests_ratelimiter import LimiterAdapter, SQLiteBucket
    except ImportError:
        return None
    if folder is None:
        return LimiterAdapter(per_minute=10_000_000)
    place = {"path": folder / "bucket.db", "use_file_lock": True}
    return LimiterAdapter(per_minute=10_000_000, bucket_class=SQLiteBucket, bucket_kwargs=place)


def main() -> None:
    if sys.argv[1:] == ["serve"]:
        return serve(app)
    print("| acquire | processes | p50 us | p99 us | worst ms | us each | least share |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    contention("petstore_tools", ours)
    contention("two counters in SQLite", two_counters)
    contention("bare flock", bare_flock)
    server = subprocess.Popen([sys.executable, __file__, "serve"], stdout=subprocess.PIPE)
    assert server.stdout is not None
    base_url = f"{server.stdout.readline().decode().strip()}/v1"
    url = f"{base_url}/pets"
    print("\n| GET on loopback | CPU us | ratio |\n|---|---:|---:|")
    try:
        with tempfile.TemporaryDirectory() as folder:
            store = PetStore(base_url=base_url, api_key="k", plan=WIDE, state_dir=folder)
            base = cpu_of_session(url, None)
            print(f"| requests.Session | {base:.0f} | 1.00 |")
            own = cpu_of(lambda: store.client.call("GET", url))
            print(f"| PetStore, SQLite ledger | {own:.0f} | {own / base:.2f} |")
            for name, place in (("memory", None), ("SQLite", Path(folder))):
                peer = limiter(place)
                took = cpu_of_session(url, peer) if peer is not None else None
                cells = "not run | |" if took is None else f"{took:.0f} | {took / base:.2f} |"
                print(f"| with requests-ratelimiter, {name} | {cells}")
    finally:
        server.terminate()
    return None


if __name__ == "__main__":
    main()
