"""`serve --metrics`: what Prometheus reads, by route and without keys, added up over workers."""

from __future__ import annotations

from pathlib import Path

import requests
from postgres import Postgres
from prometheus_client.parser import text_string_to_metric_families
from services import client, post
from serving import serving

PLAIN = "text/plain; version=0.0.4; charset=utf-8"
Samples = dict[tuple[str, ...], float]


def scrape(base_url: str) -> tuple[str, Samples]:
    """Return what is shown, as text and by name and labels."""
    answer = requests.get(f"{base_url}/metrics", timeout=10)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, PLAIN)
    samples = [
        one for family in text_string_to_metric_families(answer.text) for one in family.samples
    ]
    return answer.text, {(one.name, *sorted(one.labels.values())): one.value for one in samples}


def ask_all(base_url: str, key: str) -> None:
    session = client(key)
    for name in ("Rex", "Mia", ""):
        post(session, base_url, name)
    for path in ("/pets", "/pets?limit=0", "/pets/1", "/pets/99", f"/cats/{key}", "/store/orders"):
        session.get(base_url + path, timeout=10)
    requests.get(f"{base_url}/pets", timeout=10)
    session.patch(f"{base_url}/pets", timeout=10)


def test_requests_refusals_and_seconds_are_counted_by_route(tmp_path: Path) -> None:
    """
    Paths are named by their templates, others together: memory is bounded, and no key is shown.
    """
    with serving(tmp_path / "service.db", "--metrics") as served:
        ask_all(served.base_url, served.key)
        text, seen = scrape(served.base_url)
        wrong = requests.post(f"{served.base_url}/metrics", timeout=10)

    assert seen["petstore_requests_total", "/v1/pets", "201", "POST"] == 2
    assert seen["petstore_requests_total", "/v1/pets", "400", "POST"] == 1
    assert seen["petstore_requests_total", "/v1/pets", "405", "other"] == 1
    assert seen["petstore_requests_total", "/v1/pets/{petId}", "200", "GET"] == 1
    assert seen["petstore_requests_total", "/v1/pets/{petId}", "404", "GET"] == 1
    assert seen["petstore_requests_total", "404", "GET", "other"] == 1
    refused = {
        labels[1:]: n for labels, n in seen.items() if labels[0] == "petstore_refusals_total"
    }
    assert refused == {
        ("/v1/pets", "invalid_body"): 1,
        ("/v1/pets", "invalid_parameter"): 1,
        ("/v1/pets", "method_not_allowed"): 1,
        ("/v1/pets", "unauthorized"): 1,
        ("/v1/pets/{petId}", "not_found"): 1,
        ("/v1/store/orders", "not_implemented"): 1,
        ("not_found", "other"): 1,
    }
    assert seen["petstore_request_seconds_count", "/v1/pets"] == 7
    assert 0 < seen["petstore_request_seconds_sum", "/v1/pets"] < 10
    assert served.key not in text
    assert (wrong.status_code, wrong.headers["Allow"]) == (405, "GET")


def test_any_worker_shows_what_all_have_counted(postgres: Postgres) -> None:
    """
    Twenty creates on connections of their own, over two processes: each scrape shows all of them.
    """
    with serving(postgres.database(), "--workers", "2", "--metrics") as served:
        for _ in range(20):
            assert post(client(served.key), served.base_url).status_code == 201
        shown = [scrape(served.base_url)[1] for _ in range(6)]

    assert [seen["petstore_requests_total", "/v1/pets", "201", "POST"] for seen in shown] == [
        20.0
    ] * 6


def test_without_the_option_there_is_no_such_path(tmp_path: Path) -> None:
    """As any other path: a key is needed, and it is not there."""
    with serving(tmp_path / "service.db") as served:
        statuses = [
            requests.get(f"{served.base_url}/metrics", timeout=10).status_code,
            client(served.key).get(f"{served.base_url}/metrics", timeout=10).status_code,
        ]

    assert statuses == [401, 404]
