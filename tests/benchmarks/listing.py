"""
Listings beside what people use: time, CPU, memory, and whether all rows came, from one
fast server.

Each peer runs in a process of its own, the server in another. A peer that is not
installed prints `not run`. `--rows`: only whether all rows came.

Run: python tests/benchmarks/listing.py [ANIMALS | --rows]
"""

import sys
import tempfile
import time
import warnings
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urljoin

import pandas as pd
from programs import costs, head, measured, row, run_readme_loop, serving
from services import keyed_session

from petstore_tools import spec

PER_MINUTE = 10_000_000  # requests, which no peer reaches
KEY = {"Authorization": "Bearer k"}


def typed(pets):
    """Return a frame with the statuses in their order."""
    frame = pd.DataFrame(pets)
    statuses = ["available", "pending", "sold"]
    return frame.assign(status=pd.Categorical(frame["status"], statuses, ordered=True))


def follow_links(get, url):
    """Return what lists by `Link`, as people write it."""

    def list_pets():
        pets = []
        address = f"{url}/pets?limit=100"
        while address:
            response = get(address)
            response.raise_for_status()
            pets += response.json()
            link = response.links.get("next")
            address = link and urljoin(address, link["url"])
        return typed(pets)

    return list_pets


def by_links(url):
    """List with a Session."""
    return follow_links(keyed_session("k").get, url)


def httpx_client(url):
    """List with an httpx client."""
    import httpx

    return follow_links(httpx.Client(headers=KEY).get, url)


def by_offset(url):
    """List with a Session that was told how the service pages."""
    session = keyed_session("k")

    def list_pets():
        pets = []
        while page := session.get(f"{url}/pets?limit=100&offset={len(pets)}").json():
            pets += page
        return typed(pets)

    return list_pets


def the_loop(url):
    """List with the loop that the README prints."""
    return lambda: run_readme_loop(keyed_session("k"), url, Path(tempfile.mkdtemp()))


def dlt_client(url):
    """List with dlt's RESTClient, which finds the paginator by itself."""
    from dlt.sources.helpers.rest_client import RESTClient

    client = RESTClient(base_url=f"{url}/", headers=KEY)
    answers = client.paginate("pets", params={"limit": 100})
    return lambda: typed([pet for page in answers for pet in page])


def ours(url):
    """List with petstore_tools."""
    from petstore_tools import PetStore, Plan

    store = PetStore(
        base_url=url,
        api_key="k",
        plan=Plan(PER_MINUTE, 1_000_000_000),
        state_dir=tempfile.mkdtemp(),
        progress=False,
    )
    return store.list_pets


def ours_again(url):
    """List a second time: it is known how the service pages, and how much there was."""
    list_pets = ours(url)
    list_pets()
    return list_pets


NAMES = {
    by_links: "Session, json, DataFrame",
    by_offset: "Session that was told `offset`",
    httpx_client: "httpx, json, DataFrame",
    dlt_client: "dlt RESTClient, DataFrame",
    the_loop: "the loop",
    ours: "petstore_tools",
    ours_again: "petstore_tools, size known",
}
SERVERS = {  # and how each pages
    "no sign, `offset`": "offset",
    "clamped to 30, `Link`": "link cap=30",
    "clamped to 30, `offset`": "offset cap=30",
}


@contextmanager
def serve(way, animals, latency_s):
    """Run the paging service of the tests, with the rate headers of §8.3."""
    from paging_server import PagingService

    from petstore_tools.service.server import ThreadedServer

    service = PagingService(animals, way, latency_s=latency_s)
    answer = service.answer
    used = Counter()

    def answer_with_rate(query):
        status, headers, page = answer(query)
        minute = int(time.time()) // spec.MINUTE_S
        used[minute] += 1
        rate = {
            spec.HEADER_LIMIT: PER_MINUTE,
            spec.HEADER_REMAINING: PER_MINUTE - used[minute],
            spec.HEADER_RESET: (minute + 1) * spec.MINUTE_S,
        }
        return status, headers | rate, page

    service.answer = answer_with_rate
    server = ThreadedServer(service).start()
    yield server.base_url
    server.stop()


def measure(peer, url):
    """Return what one listing takes, and what came."""
    warnings.simplefilter("ignore")
    figures = costs(peer(url))
    frame = figures.pop("result")
    said = frame.attrs.get("listing", {}).get("completeness", "")
    return {**figures, "rows": len(frame), "said": said}


def speed(animals, latency_s, way, peers):
    """Print seconds, and ratios to the first."""
    title = f"{animals:,} animals, {latency_s * 1_000:.0f} ms, {way}"
    head(title, "s", "ratio", "CPU s", "grows MB")
    with serving(serve, way, animals, latency_s) as url:
        base = 0.0
        for peer in peers:
            got = measured(measure, peer, url)
            if got is None:
                row(NAMES[peer], "not run", "", "", "")
                continue
            assert got["rows"] == animals, (peer, got)
            base = base or got["s"]
            ratio = got["s"] / base
            row(
                NAMES[peer],
                f"{got['s']:.1f}",
                f"{ratio:.2f}",
                f"{got['cpu']:.1f}",
                f"{got['mb']:.0f}",
            )


def what_came():
    """Print how many of the rows came, and what was said of it."""
    head("rows that came", *SERVERS)
    for peer in (the_loop, dlt_client, ours):
        cells = []
        for way in SERVERS.values():
            with serving(serve, way, 450, 0.0) as url:
                got = measured(measure, peer, url)
            cells.append(
                f"{got['rows']} of 450 {got['said']}".strip() if got else "not run"
            )
        row(NAMES[peer], *cells)


def main(words):
    """Print all tables."""
    if words != ["--rows"]:
        animals = int(words[0]) if words else 1_000_000
        speed(animals, 0, "link", [by_links, ours, httpx_client, dlt_client])
        for latency_s in (0.02, 0.1):
            speed(animals // 10, latency_s, "offset", [by_offset, ours, ours_again])
    what_came()


if __name__ == "__main__":
    main(sys.argv[1:])
