"""
One way to list everything, in a process of its own: prints time, memory growth and rows as JSON.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

warnings.simplefilter("ignore")
KEY = {"Authorization": "Bearer k"}


def _pages(get: Callable[[str], Any], url: str) -> Iterator[Any]:
    """Follow `Link` as people write it."""
    here = f"{url}/pets?limit=100"
    while True:
        response = get(here)
        response.raise_for_status()
        yield response
        following = response.links.get("next")
        if following is None:
            return
        here = urljoin(here, following["url"])


def _typed(rows: list[Any]) -> Any:
    import pandas as pd

    frame = pd.DataFrame(rows)
    statuses = ["available", "pending", "sold"]
    return frame.assign(status=pd.Categorical(frame["status"], statuses, ordered=True))


def session(url: str, offset: bool) -> Callable[[], Any]:
    """Requests with a Session, json and a frame; by offset where there are no links."""
    import pandas as pd  # noqa: F401 - imports are not what is measured
    import requests

    made = requests.Session()
    made.headers.update(KEY)

    def listed() -> Any:
        if not offset:
            return _typed([row for page in _pages(made.get, url) for row in page.json()])
        rows: list[Any] = []
        while page := made.get(f"{url}/pets?limit=100&offset={len(rows)}").json():
            rows += page
        return _typed(rows)

    return listed


def naive(url: str, offset: bool) -> Callable[[], Any]:
    """Requests without a Session."""
    import pandas as pd  # noqa: F401
    import requests

    return lambda: _typed(
        [
            row
            for page in _pages(lambda here: requests.get(here, headers=KEY), url)
            for row in page.json()
        ]
    )


def models(url: str, offset: bool) -> Callable[[], Any]:
    """Requests with a Session and a pydantic model a pet."""
    import pandas as pd
    import requests

    from petstore_tools.models import Pet

    made = requests.Session()
    made.headers.update(KEY)

    def listed() -> Any:
        pets = [Pet.model_validate(row) for page in _pages(made.get, url) for row in page.json()]
        return pd.DataFrame([pet.model_dump() for pet in pets])

    return listed


def httpx_client(url: str, offset: bool) -> Callable[[], Any]:
    """Read with an httpx client, json and a frame."""
    import httpx
    import pandas as pd  # noqa: F401

    client = httpx.Client(headers=KEY)
    return lambda: _typed([row for page in _pages(client.get, url) for row in page.json()])


def dlt_client(url: str, offset: bool) -> Callable[[], Any]:
    """Read with dlt's RESTClient, which finds the paginator by itself, and a frame."""
    import pandas as pd  # noqa: F401
    from dlt.sources.helpers.rest_client import RESTClient

    client = RESTClient(base_url=f"{url}/", headers=KEY)
    return lambda: _typed(
        [row for page in client.paginate("pets", params={"limit": 100}) for row in page]
    )


def dlt_duckdb(url: str, offset: bool) -> Callable[[], Any]:
    """Load with dlt's rest_api into duckdb, and a frame from there."""
    import dlt
    import duckdb
    from dlt.sources.rest_api import rest_api_source

    folder = tempfile.mkdtemp()

    def listed() -> Any:
        source = rest_api_source(
            {
                "client": {"base_url": f"{url}/", "headers": KEY},
                "resources": [
                    {"name": "pets", "endpoint": {"path": "pets", "params": {"limit": 100}}}
                ],
            }
        )
        into = dlt.destinations.duckdb(str(Path(folder) / "pets.duckdb"))
        pipeline = dlt.pipeline("bench", destination=into, dataset_name="d", pipelines_dir=folder)
        pipeline.run(source)
        with duckdb.connect(str(Path(folder) / "pets.duckdb"), read_only=True) as db:
            return db.sql("FROM d.pets").df()

    return listed


def ours(url: str, offset: bool) -> Callable[[], Any]:
    """List with petstore_tools."""
    import pandas as pd  # noqa: F401
    import pyarrow as pa  # noqa: F401

    from petstore_tools import PetStore, Plan

    store = PetStore(
        base_url=url,
        api_key="k",
        plan=Plan(10_000_000, 1_000_000_000),
        state_dir=tempfile.mkdtemp(),
        progress=False,
    )
    return store.list_pets


def ours_again(url: str, offset: bool) -> Callable[[], Any]:
    """
    List with petstore_tools, a second time: it knows how the service pages, and how much there was.
    """
    listed = ours(url, offset)
    listed()
    return listed


def floor(url: str, offset: bool) -> Callable[[], Any]:
    """Fetch the bytes with a Session, and do nothing else."""
    import requests

    made = requests.Session()
    made.headers.update(KEY)
    return lambda: [None for page in _pages(made.get, url) if page.content]


def main() -> None:
    """Run one peer."""
    name = sys.argv[1]
    url = sys.argv[2]
    offset = sys.argv[3] == "offset"
    try:
        listed = globals()[name](url, offset)
    except ImportError:
        print(json.dumps(None))
        return
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    started = time.perf_counter()
    cpu = time.process_time()
    result = listed()
    told = getattr(result, "attrs", {}).get("listing", {}).get("completeness", "")
    print(
        json.dumps(
            {
                "s": time.perf_counter() - started,
                "cpu": time.process_time() - cpu,
                "mb": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - resident) / 1e6,
                "rows": len(result),
                "told": told,
            }
        )
    )


if __name__ == "__main__":
    main()
