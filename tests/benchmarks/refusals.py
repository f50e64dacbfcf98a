"""
Clients side by side that want all they may have of a strict service, for two whole
minutes.

A peer runs against every scenario at once, with four threads a process, on a plan of
300 requests a minute; `the loop` is the README's, with the one thread that it has, over
and over. `--distance`: six processes of ours fill 1,000 a minute, with no more threads
than an import opens, while the database of their budget is so many milliseconds away.
Columns: share of the plan in the whole minutes (by all who used the key), answers of
429 / requests sent more than 2 s inside a Retry-After, and the fewest and most requests
of a process. The last table has the refusals of all. A peer that is not installed
prints `not run`.

Run: python tests/benchmarks/refusals.py [PEER ...]
     python tests/benchmarks/refusals.py --distance 0 20 80
"""

import importlib.util
import os
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import requests
from programs import SPAWN, head, row, run_readme_loop, serving
from strict_service import OTHER, PER_DAY, SCENARIOS, serve

from petstore_tools import PetStore, Plan
from petstore_tools.errors import TransportError
from petstore_tools.throttle.gate import CallOptions
from petstore_tools.throttle.quota import connections

OURS = "petstore_tools"
LOOP = "the loop"
PEERS = {  # modules that each needs
    OURS: "requests",
    LOOP: "requests",
    "requests-ratelimiter": "requests_ratelimiter filelock",
}
MINUTES = 2
SERVICE_S = 0.05  # what the service takes at most


@dataclass(frozen=True)
class Client:
    """What one client process is told."""

    peer: str
    base_url: str
    folder: str
    name: str
    begin: float
    per_minute: int = 300
    threads: int = 4
    ledger_url: str = ""

    @property
    def end(self):
        return self.begin + MINUTES * 60

    def start(self):
        """Run it in a process of its own."""
        Path(self.folder).mkdir(exist_ok=True)
        process = SPAWN.Process(target=self.work)
        process.start()
        return process

    def work(self):
        """Be it: send from all threads until the end."""
        send = self.ours() if self.peer == OURS else self.theirs()
        time.sleep(max(0.0, self.begin - time.time()))

        def one_thread():
            while time.time() < self.end:
                status = 0
                with suppress(requests.RequestException, TransportError):
                    status = send()
                if status != 200:
                    time.sleep(0.1)  # so that the machine is not the limit

        workers = [
            threading.Thread(target=one_thread, daemon=True)
            for _ in range(self.threads)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(max(0.0, self.end + 2 - time.time()))

    def ours(self):
        """Return what sends one request as a store does."""
        if self.ledger_url:
            os.environ["PETSTORE_LEDGER_URL"] = self.ledger_url
        store = PetStore(
            base_url=self.base_url,
            api_key="k",
            plan=Plan(self.per_minute, PER_DAY),
            state_dir=self.folder,
            progress=False,
        )
        headers = store.client.transport._request.headers
        headers["X-Process"] = self.name
        # an import records each answer with the next question
        options = CallOptions(wait=True, more_follow=bool(self.ledger_url))
        url = f"{self.base_url}/pets"
        return lambda: (
            store.client.attempt("GET", url, None, options, lambda: None).status
        )

    def theirs(self):
        """Return what sends one request as a peer does."""
        session = requests.Session()
        session.headers["X-Process"] = self.name
        if self.peer == LOOP:

            def run_loop():
                run_readme_loop(session, self.base_url, Path(self.folder))
                return 200

            return run_loop
        from requests_ratelimiter import LimiterAdapter, SQLiteBucket

        adapter = LimiterAdapter(
            per_minute=self.per_minute,
            burst=self.per_minute,
            bucket_class=SQLiteBucket,
            bucket_kwargs={"path": f"{self.folder}/bucket.db", "use_file_lock": True},
        )
        session.mount("http://", adapter)
        return lambda: session.get(f"{self.base_url}/pets", timeout=10).status_code


def next_minute(ahead_s):
    """Return when the next whole minute begins that is at least so far away."""
    return ((time.time() + ahead_s) // 60 + 1) * 60


def service_counts(address, budget, begin, per_minute):
    """
    Return what the service saw: share, refusals, sent too early, and each process.
    """
    results = requests.get(f"{address}/results", timeout=10).json()[budget]
    first = int(begin // 60)
    whole = sum(
        results["minutes"].get(str(first + minute), 0) for minute in range(MINUTES)
    )
    counts = results["by_process"].values() or [0]
    return (
        f"{100 * whole / (per_minute * MINUTES):.1f} %",
        f"{results['refused']:,} / {results['too_early']:,}",
        f"{min(counts)}-{max(counts)}",
    )


def in_all_scenarios(peer, address):
    """
    Run a peer through every scenario and print its rows; return the refusals of each.
    """
    threads = 1 if peer == LOOP else 4
    refusals = {}
    begin = next_minute(12)
    key = peer.replace(" ", "_")
    with tempfile.TemporaryDirectory() as folder:
        clients = [
            Client(
                peer,
                f"{address}/{name}/{key}/v1",
                f"{folder}/{name}",
                str(me),
                begin,
                threads=threads,
            ).start()
            for name in SCENARIOS
            for me in range(int(name[0]) if name[0].isdigit() else 1)
        ]
        take_a_third(f"{address}/another program takes a third/{key}/v1/pets", begin)
        for client in clients:
            client.join(600)
    for name in SCENARIOS:
        share, refusals[name], per_process = service_counts(
            address, f"{name}/{key}", begin, 300
        )
        row(name, peer, share, refusals[name], per_process)
    return refusals


def take_a_third(url, begin):
    """
    Use the same key without asking anybody: a hundred in the first seconds of each
    minute.
    """
    with requests.Session() as session:
        session.headers["X-Process"] = OTHER
        for minute in range(-1, MINUTES):
            time.sleep(max(0.0, begin + minute * 60 - time.time()))
            count = 0
            while count < 100:
                if session.get(url, timeout=10).status_code == 200:
                    count += 1
                else:
                    time.sleep(1.0)


def at_a_distance(milliseconds, address, ledger_url):
    """Run six machines whose budget is so far away, and print their row."""
    begin = next_minute(8)
    budget = f"{milliseconds} ms/ours"
    threads = connections(1_000, SERVICE_S + 4 * milliseconds / 1_000)
    with tempfile.TemporaryDirectory() as folder:
        url = f"{address}/{budget}/v1"
        machines = [
            Client(
                OURS, url, folder, str(me), begin, 1_000, threads, ledger_url
            ).start()
            for me in range(6)
        ]
        for machine in machines:
            machine.join(600)
    row(
        f"{milliseconds} ms, {threads} threads",
        OURS,
        *service_counts(address, budget, begin, 1_000),
    )


def main(words):
    """Print the tables."""
    head("scenario", "throttle", "share", "429s / too early", "per process")
    if words[:1] == ["--distance"]:
        import postgres
        from tcp_proxy import TcpProxy

        with (
            serving(serve, 1_000) as address,
            postgres.run_postgres() as server,
        ):
            for milliseconds in map(int, words[1:]):
                with TcpProxy(server.port, delay_s=milliseconds / 1_000) as proxy:
                    at_a_distance(milliseconds, address, proxy.url(server.database()))
        return
    columns = {}
    with serving(serve, 300) as address:
        for peer in words or PEERS:
            modules = map(importlib.util.find_spec, PEERS[peer].split())
            if None in modules:
                columns[peer] = dict.fromkeys(SCENARIOS, "not run")
            else:
                columns[peer] = in_all_scenarios(peer, address)
    head("429s / too early", *columns)
    for name in SCENARIOS:
        row(name, *(column[name] for column in columns.values()))


if __name__ == "__main__":
    main(sys.argv[1:])
