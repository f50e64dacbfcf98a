"""
Print how long an import takes beside the import of requests and pydantic, which the toolkit needs.

Each figure is the median processor time of many fresh processes, taken in turn, so that other
programs on the machine count little.

Run: python tests/benchmarks/import_time.py [ROUNDS]
"""

from __future__ import annotations

import resource
import subprocess
import sys
from statistics import median

PEER = "import requests, pydantic"
OPEN = "PetStore(base_url='https://host/v1', api_key='k', ledger='memory')"
CODE = {
    PEER: PEER,
    "from petstore_tools import PetStore": "from petstore_tools import PetStore",
    "... and open a store": f"from petstore_tools import PetStore; {OPEN}",
    "petstore-tools --help": "from petstore_tools.cli import main; main(['--help'])",
    "import petstore_tools": "import petstore_tools",
}
BARE = "pass"


def seconds(code: str) -> float:
    """Return the processor time that a fresh interpreter takes for some code."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(rounds: int) -> None:
    """Print the table, without the interpreter's own start."""
    taken: dict[str, list[float]] = {name: [] for name in [*CODE, BARE]}
    for _ in range(rounds):
        for name, code in {**CODE, BARE: BARE}.items():
            taken[name].append(seconds(code))
    start = median(taken.pop(BARE))
    peer = median(taken[PEER]) - start
    print("| import | ms | ratio |\n|---|---:|---:|")
    for name, times in taken.items():
        own = median(times) - start
        print(f"| {name} | {1_000 * own:.0f} | {own / peer:.2f} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
