"""
One client process of the benchmark: threads that want as many requests as they may have, until
told.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import requests
from requests.adapters import HTTPAdapter

from petstore_tools import PetStore, Plan
from petstore_tools.errors import TransportError
from petstore_tools.throttle.gate import CallOptions

Send = Callable[[], int]
PEERS = [
    "petstore_tools",
    "plain requests",
    "urllib3 Retry",
    "requests-ratelimiter, memory",
    "requests-ratelimiter, SQLite",
    "pyrate-limiter",
]


def adapter(peer: str, base_url: str, folder: Path, per_minute: int, per_day: int) -> HTTPAdapter:
    """Return what a peer mounts on a session; ImportError where it is not installed."""
    if peer == "urllib3 Retry":
        from urllib3.util import Retry

        every = Retry(total=1_000, status_forcelist=[429], backoff_factor=0.5)
        return HTTPAdapter(max_retries=every)
    if peer.startswith("requests-ratelimiter"):
        from requests_ratelimiter import LimiterAdapter, SQLiteBucket

        limits: dict[str, Any] = {"per_minute": per_minute, "per_day": per_day, "burst": per_minute}
        if peer.endswith("SQLite"):
            place = {"path": folder / "bucket.db", "use_file_lock": True}
            limits |= {"bucket_class": SQLiteBucket, "bucket_kwargs": place}
        return LimiterAdapter(**limits)
    return HTTPAdapter()


def sender(
    peer: str, base_url: str, folder: Path, name: str, per_minute: int, per_day: int
) -> Send:
    """Return a function that sends one request as the peer would, and returns the status."""
    session = requests.Session()
    session.headers["X-Process"] = name
    if peer == "petstore_tools":
        return our_sender(session, base_url, folder, Plan(per_minute, per_day))
    session.mount("http://", adapter(peer, base_url, folder, per_minute, per_day))

    def send() -> int:
        return session.get(f"{base_url}/pets", timeout=10).status_code

    if peer != "pyrate-limiter":
        return send
    from pyrate_limiter import Duration, Limiter, Rate

    limiter = Limiter([Rate(per_minute, Duration.MINUTE), Rate(per_day, Duration.DAY)])

    def limited() -> int:
        limiter.try_acquire("key")
        return send()

    return limited


def our_sender(session: requests.Session, base_url: str, folder: Path, plan: Plan) -> Send:
    """Return a function that sends one request through the client of a store."""
    store = PetStore(
        base_url=base_url, api_key="k", plan=plan, state_dir=folder, session=session, progress=False
    )

    def send() -> int:
        options = CallOptions(wait=True)
        try:
            reply = store.client.attempt("GET", f"{base_url}/pets", None, options, lambda: None)
        except TransportError as error:
            raise requests.ConnectionError(str(error)) from error
        return reply.status

    return send


def main() -> None:
    peer, base_url, folder, name, threads, begin, until, per_minute, per_day = sys.argv[1:]
    send = sender(peer, base_url, Path(folder), name, int(per_minute), int(per_day))
    sent = [0] * int(threads)

    time.sleep(max(0.0, float(begin) - time.time()))
    before_s = time.process_time()

    def work(me: int) -> None:
        while time.time() < float(until):
            try:
                status = send()
            except requests.RequestException:
                time.sleep(0.1)
                continue
            sent[me] += 1
            if status == 429:
                time.sleep(0.1)  # what a careless loop does, so that the machine is not the limit

    workers = [threading.Thread(target=work, args=(me,), daemon=True) for me in range(int(threads))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(max(0.0, float(until) + 2 - time.time()))
    print(json.dumps({"sent": sum(sent), "cpu_s": time.process_time() - before_s}), flush=True)


if __name__ == "__main__":
    main()
