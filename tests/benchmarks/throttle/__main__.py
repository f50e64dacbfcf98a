"""
Throttles side by side: the same clients want all they may have of a strict service, over sockets.

A run is a peer against every scenario at once, over two whole minutes of 300 requests; so all peers
take a quarter of an hour. Columns: share of the ceiling in the whole minutes (by all who used the
key), refusals of ours (429), requests sent more than 2 s inside a Retry-After, CPU of a request,
and the fewest and most requests of a process. A peer that is not installed prints `not run`.

Run: python tests/benchmarks/throttle [PEER ...]
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import requests

sys.path.insert(0, str(Path(__file__).parent))
from client import PEERS
from service import PER_DAY, PER_MINUTE, SCENARIOS

HERE = Path(__file__).parent
THREADS = 4
MINUTES = 2
NEEDS = {"requests-ratelimiter": "requests_ratelimiter", "pyrate-limiter": "pyrate_limiter"}


def run(peer: str, address: str) -> None:
    """Run a peer through every scenario and print its rows."""
    begin = (time.time() // 60 + 1) * 60
    if begin - time.time() < 12:
        begin += 60
    time.sleep(begin - 12 - time.time())
    end = begin + MINUTES * 60
    with tempfile.TemporaryDirectory() as folder:
        clients = {
            name: [
                start(peer, name, str(me), address, Path(folder), (begin, end))
                for me in range(processes(name))
            ]
            for name in SCENARIOS
        }
        other = threading.Thread(target=take_a_third, args=(peer, address, end))
        other.start()
        told = {
            name: [json.loads(p.communicate(timeout=600)[0] or "{}") for p in group]
            for name, group in clients.items()
        }
        other.join()
    seen = requests.get(f"{address}/results", timeout=10).json()
    for name in SCENARIOS:
        row = seen[f"{name}/{key(peer)}"]
        whole = sum(
            row["minutes"].get(str(int(begin // 60) + minute), 0) for minute in range(MINUTES)
        )
        share = 100 * whole / (PER_MINUTE * MINUTES)
        by_process = sorted(row["by_process"].values())
        sent = sum(one.get("sent", 0) for one in told[name])
        cpu_ms = 1_000 * sum(one.get("cpu_s", 0.0) for one in told[name]) / max(1, sent)
        refused = sum(row["refused"].values())
        print(
            f"| {name} | {peer} | {share:.1f} % | {refused:,} | {row['too_early']:,} | {cpu_ms:.1f} |"
            f" {by_process[0] if by_process else 0}-{by_process[-1] if by_process else 0} |",
            flush=True,
        )


def key(peer: str) -> str:
    """Return a peer's name as a part of a path."""
    return str(PEERS.index(peer))


def processes(scenario: str) -> int:
    """Return how many client processes a scenario has."""
    return int(scenario[0]) if scenario[0].isdigit() else 1


def start(
    peer: str, scenario: str, me: str, address: str, folder: Path, times: tuple[float, float]
) -> subprocess.Popen[bytes]:
    """Start one client process."""
    base_url = f"{address}/{scenario}/{key(peer)}/v1"
    state = folder / scenario.replace(" ", "_")
    state.mkdir(exist_ok=True)
    numbers = (str(THREADS), *map(str, times), str(PER_MINUTE), str(PER_DAY))
    return subprocess.Popen(
        [sys.executable, str(HERE / "client.py"), peer, base_url, str(state), me, *numbers],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def take_a_third(peer: str, address: str, end: float) -> None:
    """Use the same key without asking anybody: a hundred in the first seconds of each minute."""
    session = requests.Session()
    url = f"{address}/another program takes a third/{key(peer)}/v1/pets"
    taken = 0
    minute = 0
    while time.time() < end:
        if time.time() // 60 != minute:
            taken = 0
            minute = int(time.time() // 60)
        if taken < PER_MINUTE // 3:
            answer = session.get(url, headers={"X-Process": "another program"}, timeout=10)
            if answer.status_code == 200:
                taken += 1
            else:
                time.sleep(1.0)
        else:
            time.sleep(0.1)


def main() -> None:
    server = subprocess.Popen(
        [sys.executable, str(HERE / "service.py")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdout is not None
    address = server.stdout.readline().strip()
    print("| scenario | throttle | share | 429s | too early | CPU ms | per process |")
    print("|---|---|---:|---:|---:|---:|---:|", flush=True)
    try:
        for peer in sys.argv[1:] or PEERS:
            module = next((m for name, m in NEEDS.items() if peer.startswith(name)), "requests")
            if importlib.util.find_spec(module) is None:
                print(f"| all | {peer} | not run | | | | |")
            else:
                run(peer, address)
    finally:
        server.terminate()


if __name__ == "__main__":
    main()
