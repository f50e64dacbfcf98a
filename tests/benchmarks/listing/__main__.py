"""
Listings beside what people use: time, CPU, memory, and whether all rows came, against one fast
    server.

    python tests/benchmarks/listing [--animals 1000000] [--quick]

Each peer runs in a process of its own, the server in another. A peer that is not installed prints
`not run`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
NAMES = {
    "session": "Session, json, DataFrame",
    "naive": "requests.get, json, DataFrame",
    "models": "Session, a pydantic model a pet",
    "httpx_client": "httpx, json, DataFrame",
    "dlt_client": "dlt RESTClient, DataFrame",
    "dlt_duckdb": "dlt rest_api to duckdb, DataFrame",
    "ours": "petstore_tools list_pets",
    "ours_again": "petstore_tools, size known",
    "floor": "floor: Session, bytes only",
}


@contextmanager
def serving(speaks: str, animals: int, latency_s: float, kind: str) -> Iterator[str]:
    """Run the server, and give its base address."""
    support = str(HERE.parents[1] / "support")
    paths = os.pathsep.join([support, str(HERE.parents[2])])
    command = [sys.executable, str(HERE / "server.py"), speaks, str(animals), str(latency_s), kind]
    pipe = subprocess.PIPE
    server = subprocess.Popen(
        command, stdin=pipe, stdout=pipe, text=True, env={**os.environ, "PYTHONPATH": paths}
    )
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        yield server.stdout.readline().strip()
    finally:
        server.stdin.close()
        server.wait()


def run(peer: str, url: str, how: str = "link") -> dict[str, Any] | None:
    """Run one peer, and return what it measured; None where it is not installed or failed."""
    done = subprocess.run(
        [sys.executable, str(HERE / "peers.py"), peer, url, how],
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "RUNTIME__DLTHUB_TELEMETRY": "false",
            "PYTHONPATH": str(HERE.parents[2]),
        },
    )
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        print(done.stderr[-300:], file=sys.stderr)
        return None
    result: dict[str, Any] | None = json.loads(lines[-1])
    return result


def speed(animals: int, latency_s: float, peers: list[str], speaks: str) -> None:
    """Print seconds and ratios to the session loop."""
    print(
        f"\n| {animals:,} animals, {latency_s * 1000:.0f} ms, {speaks} | s | ratio | CPU s | grows MB |"
    )
    print("|---|---:|---:|---:|---:|")
    with serving(speaks, animals, latency_s, "fixed") as url:
        base = None
        for peer in peers:
            got = run(peer, url, speaks)
            if got is None:
                print(f"| {NAMES[peer]} | not run | | | |")
                continue
            assert got["rows"] == animals or peer == "floor", (peer, got)
            base = base or got["s"]
            ratio = got["s"] / base
            print(
                f"| {NAMES[peer]} | {got['s']:.1f} | {ratio:.2f} | {got['cpu']:.1f} | {got['mb']:.0f} |"
            )


def honesty(peers: list[str]) -> None:
    """Print how many of the rows came, and what was said of it."""
    cases = {
        "bare array, no sign, `offset`": ("offset", "fixed"),
        "clamped to 30, `Link`": ("link", "clamped"),
        "clamped to 30, `offset`": ("offset", "clamped"),
        "deleted and inserted meanwhile, `offset`": ("offset", "moving"),
    }
    print(f"\n| rows of 450 | {' | '.join(cases)} |\n|---|{'---|' * len(cases)}")
    for peer in peers:
        cells = []
        for speaks, kind in cases.values():
            # the plain session was told how to page; the others have to find out
            how = speaks if peer == "session" else "link"
            with serving(speaks, 450, 0, kind) as url:
                got = run(peer, url, how)
            cells.append(
                "not run"
                if got is None
                else f"{got['rows']}{', ' + got['told'] if got['told'] else ''}"
            )
        print(f"| {NAMES[peer]} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print all tables."""
    options = argparse.ArgumentParser()
    options.add_argument("--animals", type=int, default=1_000_000)
    options.add_argument("--quick", action="store_true", help="without what takes minutes")
    told = options.parse_args()
    slow = [] if told.quick else ["dlt_duckdb"]
    speed(
        told.animals,
        0,
        ["session", "ours", "floor", "httpx_client", "dlt_client", "naive", "models", *slow],
        "link",
    )
    for latency_s in (0.02, 0.1):
        speed(told.animals // 10, latency_s, ["session", "ours", "ours_again"], "offset")
    honesty(["session", "httpx_client", "dlt_client", "ours"])


if __name__ == "__main__":
    main()
