"""
The main job beside what people would write by hand, in one run, as ratios.

Listing and creating go to the same embedded service on loopback, with quotas on and far away.
`floor` fetches the same bytes and does nothing else. A peer that is not installed prints `not run`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pandas as pd
import requests

from petstore_tools import Sandbox
from petstore_tools.plans import Plan
from petstore_tools.sandbox import samples

PETS = 20_000
ROWS = 1_000
REPEATS = 3
WIDE = Plan(10_000_000, 100_000_000)


def seconds(do: Callable[[], object]) -> float:
    """Return the median of a few runs."""
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        do()
        times.append(time.perf_counter() - started)
    return median(times)


def table(title: str, rows: list[tuple[str, float | None]]) -> None:
    """Print seconds and the ratio to the first row, in Markdown."""
    base = rows[0][1] or 1.0
    print(f"\n| {title} | s | ratio |\n|---|---:|---:|")
    for name, took in rows:
        print(
            f"| {name} | not run | |"
            if took is None
            else f"| {name} | {took:.3f} | {took / base:.2f} |"
        )


def session_of(box: Sandbox) -> requests.Session:
    """Return the session that people write."""
    session = requests.Session()
    session.headers["Authorization"] = f"Bearer {box.api_key}"
    return session


def listing(box: Sandbox) -> None:
    """Compare listings of the whole inventory as a frame."""
    session = session_of(box)
    url = f"{box.base_url}/pets?limit=100"

    def pages(get: Callable[[str], requests.Response], *, decode: bool) -> list[dict[str, object]]:
        rows: list[dict[str, object]] = []
        here: str | None = url
        while here:
            reply = get(here)
            if decode:
                rows += reply.json()
            onward = reply.links.get("next")
            here = onward and requests.compat.urljoin(here, onward["url"])  # type: ignore[attr-defined]
        return rows

    headers = dict(session.headers)

    def naive(here: str) -> requests.Response:
        return requests.get(here, headers=headers, timeout=9)

    table(
        f"list {PETS:,} animals",
        [
            (
                "Session, json, DataFrame",
                seconds(lambda: pd.DataFrame(pages(session.get, decode=True))),
            ),
            (
                "requests.get, json, DataFrame",
                seconds(lambda: pd.DataFrame(pages(naive, decode=True))),
            ),
            ("petstore_tools list_pets", seconds(box.store.list_pets)),
            ("floor: Session, bytes only", seconds(lambda: pages(session.get, decode=False))),
        ],
    )


def creating(box: Sandbox, folder: Path) -> None:
    """
    Compare creating animals one after another; ours keeps a journal that survives a power loss.
    """
    session = session_of(box)
    bodies = [{"name": name, "categoryId": category} for name, category, _ in samples.animals(ROWS)]
    runs = iter(range(100))

    def ours() -> None:
        path = folder / f"animals{next(runs)}.csv"
        path.write_text(samples.animals_csv(ROWS), encoding="utf-8")
        box.store.import_pets(path, wait=True, doubtful="send", progress=False)

    def loop() -> None:
        for body in bodies:
            session.post(f"{box.base_url}/pets", json=body)

    table(
        f"create {ROWS:,} animals",
        [("Session.post loop", seconds(loop)), ("petstore_tools import_pets", seconds(ours))],
    )


def starting() -> None:
    """Compare imports, in processes of their own, less the bare interpreter."""

    def importing(name: str) -> float:
        times = []
        for _ in range(7):
            started = time.perf_counter()
            subprocess.run([sys.executable, "-c", f"import {name}"], check=True)
            times.append(time.perf_counter() - started)
        return min(times)

    bare = importing("sys")
    names = ("pandas", "requests", "petstore_tools.store", "petstore_tools")
    print("\n| import, beyond the bare interpreter | ms |\n|---|---:|")
    for name in names:
        print(f"| {name} | {(importing(name) - bare) * 1_000:.0f} |")


def turned_clock(folder: Path) -> None:
    """Time the two-day import on the Free plan."""
    path = folder / "many.csv"
    path.write_text(samples.animals_csv(2_000), encoding="utf-8")
    with Sandbox(plan="free", animals=0) as box:
        started = time.perf_counter()
        before = box.clock.now()
        box.store.import_pets(path, wait=True, doubtful="send", progress=False)
        took = time.perf_counter() - started
        plan_s = box.clock.now() - before
    print(f"\n2,000 rows on Free: {plan_s / 3_600:.1f} hours of the plan in {took:.1f} s")


def main() -> None:
    """Run all and print the tables."""
    with tempfile.TemporaryDirectory() as name:
        with Sandbox(plan=WIDE, clock="system", animals=PETS) as box:
            listing(box)
            creating(box, Path(name))
        starting()
        turned_clock(Path(name))


main()
