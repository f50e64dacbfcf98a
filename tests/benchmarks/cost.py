"""
What one request costs beside the same request through `requests`: CPU of the client,
and time.

The service runs in a process of its own. A read goes through the throttle and its
shared budget. An import checks, looks before, keeps its journal durable against power
loss, and writes its files; all of that is in its row.

Run: python tests/benchmarks/cost.py [ROWS]
"""

import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

from programs import costs, head, row, serving
from services import keyed_session

from petstore_tools import PetStore, Plan, Sandbox
from petstore_tools.sandbox import samples

WIDE = Plan(10_000_000, 100_000_000)
ROUNDS = 5


@contextmanager
def serve():
    """Run the embedded service; give its address and key."""
    with Sandbox(plan=WIDE, clock="system", animals=0) as box:
        yield box.base_url, box.api_key


def compare(title, number, ways):
    """Print the least of some rounds, taken in turns: CPU and time of one request."""
    rounds = [{name: costs(do) for name, do in ways.items()} for _ in range(ROUNDS)]
    head(title, "CPU us", "ratio", "a second")
    base = 0.0
    for name in ways:
        cpu = min(taken[name]["cpu"] for taken in rounds)
        wall = min(taken[name]["s"] for taken in rounds)
        base = base or cpu
        row(
            name,
            f"{1e6 * cpu / number:.0f}",
            f"{cpu / base:.2f}",
            f"{number / wall:,.0f}",
        )


def main(rows=1_000):
    """Print both tables."""
    with (
        serving(serve) as (base_url, key),
        tempfile.TemporaryDirectory() as folder,
    ):
        store = PetStore(
            base_url=base_url, api_key=key, plan=WIDE, state_dir=folder, progress=False
        )
        session = keyed_session(key)
        url = f"{base_url}/pets"
        page = f"{url}?limit=1"

        def read_by_session():
            for _ in range(rows):
                session.get(page, timeout=5)

        def read_by_store():
            for _ in range(rows):
                store.client.call("GET", page)

        reads = {"requests.Session.get": read_by_session, "PetStore": read_by_store}
        compare("read", rows, reads)
        seeds = iter(range(100, 200))

        def imported():
            seed = next(seeds)
            path = Path(folder, f"animals {seed}.csv")
            path.write_text(samples.animals_csv(rows, seed=seed), "utf-8")
            result = store.import_pets(path, doubtful="send")
            assert result.created == rows, result

        def posted():
            for name, category_id, status in samples.animals(rows, seed=next(seeds)):
                body = {"name": name, "categoryId": category_id}
                body |= {"status": status} if status else {}
                assert session.post(url, json=body, timeout=5).status_code == 201

        compare(
            "create", rows, {"requests.Session.post": posted, "import_pets": imported}
        )
        store.close()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
