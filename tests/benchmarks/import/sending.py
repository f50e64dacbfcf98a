"""
What sending costs: CPU of the client for 1,000 creates, beside the same POSTs by requests alone.

The service runs in a process of its own. The import checks, looks before, keeps its journal durable
against power loss, asks the shared ledger, and writes its files; all of that is in its row.

Run: python tests/benchmarks/import/sending.py
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import requests

from petstore_tools import PetStore
from petstore_tools.sandbox import samples

ROWS = 1_000
ROUNDS = 3
PLAN = "10000000/100000000"

SERVICE = """
import json, sys
from petstore_tools import Plan, Sandbox
with Sandbox(plan=Plan(10_000_000, 100_000_000), clock="system", animals=0) as box:
    print(json.dumps([box.base_url, box.api_key]), flush=True)
    sys.stdin.readline()
"""


def by_requests(base_url: str, key: str, animals: list[samples.Animal]) -> None:
    """Post each animal on one session."""
    session = requests.Session()
    session.headers["Authorization"] = f"Bearer {key}"
    for name, category, status in animals:
        body = {"name": name, "categoryId": category} | ({"status": status} if status else {})
        assert session.post(f"{base_url}/pets", json=body, timeout=5).status_code == 201
    session.close()


def main() -> None:
    service = subprocess.Popen(
        [sys.executable, "-c", SERVICE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert service.stdout is not None
    base_url, key = json.loads(service.stdout.readline())
    best: dict[str, tuple[float, float]] = {}
    try:
        by_requests(base_url, key, samples.animals(20, seed=99))
        for seed in range(ROUNDS):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "animals.csv"
                path.write_text(samples.animals_csv(ROWS, seed=seed + 100), encoding="utf-8")
                store = PetStore(
                    base_url=base_url,
                    api_key=key,
                    plan="10000000/100000000",
                    state_dir=folder,
                    progress=False,
                )
                store.list_pets(first=1)
                for name in ("requests.Session.post", "import_pets"):
                    wall = time.perf_counter()
                    cpu = time.process_time()
                    if name == "import_pets":
                        assert store.import_pets(path, doubtful="send").complete
                    else:
                        by_requests(base_url, key, samples.animals(ROWS, seed=seed + 200))
                    took = time.process_time() - cpu, time.perf_counter() - wall
                    best[name] = min(best.get(name, took), took)
                store.close()
    finally:
        service.communicate("\n", timeout=20)
    base = best["requests.Session.post"]
    print("| create 1,000 animals | CPU s | ratio | s | rows a second |\n|---|---:|---:|---:|---:|")
    for name, (cpu, wall) in best.items():
        print(f"| {name} | {cpu:.2f} | {cpu / base[0]:.2f} | {wall:.2f} | {ROWS / wall:,.0f} |")


if __name__ == "__main__":
    main()
