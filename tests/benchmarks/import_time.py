"""
Print how long an import takes beside the import of requests and pydantic, which the
toolkit needs.

Each figure is the median processor time of many fresh processes, taken in turn, so that
other programs on the machine count little.

Run: python tests/benchmarks/import_time.py [ROUNDS]
"""

import resource
import subprocess
import sys
from statistics import median

from programs import head, row

CODES = [
    "pass",  # the interpreter's own start, which does not count
    "import requests, pydantic",
    "import petstore_tools",
    "from petstore_tools import PetStore",
    "from petstore_tools import PetStore; "
    "PetStore(base_url='https://host/v1', api_key='k')",
    "from petstore_tools.cli import cli; cli(['--help'])",
]


def seconds(code):
    """Return the processor time that a fresh interpreter takes for some code."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(rounds):
    """Print the table."""
    turns = [list(map(seconds, CODES)) for _ in range(rounds)]
    start, *times = [median(turn) for turn in zip(*turns, strict=True)]
    head("what runs", "ms", "ratio")
    for code, time in zip(CODES[1:], times, strict=True):
        duration = time - start
        row(
            f"`{code}`",
            f"{1_000 * duration:.0f}",
            f"{duration / (times[0] - start):.2f}",
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
