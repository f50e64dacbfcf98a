"""
What Prometheus reads at `/v1/metrics`: requests, refusals and seconds by route (`serve --metrics`).
"""

from __future__ import annotations

import json
import os
from time import perf_counter
from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from petstore_tools import spec
from petstore_tools.service.messages import App, Receive, Response, Scope, Send, wrong_method
from petstore_tools.service.operations import LIST_PATH, PET_PATH

SHARED_FOLDER: Final = (
    "PROMETHEUS_MULTIPROC_DIR"  # the library's variable: where workers add up their counts
)
METRICS_PATH: Final = spec.PATH_PREFIX + "/metrics"
_PATHS: Final = ("/health", "/openapi.json", spec.PETS_PATH, spec.ORDERS_PATH)
_ROUTES: Final = {spec.PATH_PREFIX + path for path in _PATHS}


class Metrics:
    """
    An application that counts what another one answers: by route, never by path, and without keys.

    Args:
        app: Answers.
    """

    def __init__(self, app: App) -> None:
        self._app, self._registry = app, CollectorRegistry()
        kept = self._registry
        labels = ["method", "route", "status"]
        self._requests = Counter("petstore_requests", "Requests answered.", labels, registry=kept)
        labels = ["route", "code"]
        self._refusals = Counter(
            "petstore_refusals", "Requests refused, by code.", labels, registry=kept
        )
        text = "From the head of a request to its answer."
        self._seconds = Histogram("petstore_request_seconds", text, ["route"], registry=kept)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, and count it; the scrape itself is not counted."""
        if scope["path"] == METRICS_PATH:
            await self._scraped(scope["method"]).send(send)
            return
        route, begun_at, status = _route(scope["path"]), perf_counter(), 0

        async def count(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                method = scope["method"] if scope["method"] in ("GET", "POST") else "other"
                self._requests.labels(method, route, status).inc()
                self._seconds.labels(route).observe(perf_counter() - begun_at)
            elif status >= 400 and message["body"]:
                self._refusals.labels(route, json.loads(message["body"])["code"]).inc()
            await send(message)

        await self._app(scope, receive, count)

    def _scraped(self, method: str) -> Response:
        if method != "GET":
            return wrong_method("GET")
        registry = self._registry
        if SHARED_FOLDER in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return Response(
            200, generate_latest(registry), content_type="text/plain; version=0.0.4; charset=utf-8"
        )


def _route(path: str) -> str:
    if PET_PATH.fullmatch(path):
        return LIST_PATH + "/{petId}"
    return path if path in _ROUTES else "other"
