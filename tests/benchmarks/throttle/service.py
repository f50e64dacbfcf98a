"""The strict service of the benchmark: one budget for each path, counted as the scenario says."""

from __future__ import annotations

import asyncio
import random
import sys
import threading
import time
from collections import Counter
from email.utils import formatdate
from pathlib import Path
from typing import Any

from petstore_tools.service.server import ThreadedServer

sys.path.insert(0, str(Path(__file__).parents[2] / "support"))
from service_model import StrictService, StrictWindow

PER_MINUTE = 300
PER_DAY = 100_000
PLAIN = {"kind": "whole", "speaks": "tight", "skew_s": 0.0, "jitter_s": 0.05, "outage": False}
SCENARIOS: dict[str, dict[str, Any]] = {
    "alone": {},
    "3 processes": {},
    "6 processes": {},
    "another program takes a third": {},
    "rolling window, 0 to 400 ms": {"kind": "rolling", "jitter_s": 0.4},
    "service 5 minutes ahead": {"skew_s": 300.0},
    "service 5 minutes behind": {"skew_s": -300.0},
    "the service restarts": {"outage": True},
    "headers speak of the day": {"speaks": "day"},
}
OUTAGE_S = (30.0, 33.0)  # in each minute, in the scenario that restarts


class Tenant:
    """One budget, and what was seen of it."""

    def __init__(self, scenario: str) -> None:
        self.rules = PLAIN | SCENARIOS[scenario]
        self.model = StrictService(
            (
                StrictWindow(self.rules["kind"], PER_MINUTE, 60),
                StrictWindow("whole", PER_DAY, 86_400),
            ),
            self.rules["speaks"],
            self.rules["skew_s"],
        )
        self.minutes: Counter[int] = Counter()
        self.refused: Counter[int] = Counter()
        self.by_process: Counter[str] = Counter()
        self.too_early = 0
        self.closed_from = self.closed_until = 0.0

    def arrive(self, who: str) -> tuple[int, dict[str, str]]:
        now = time.time()
        answer = self.model.arrive(now)
        minute = int(now // 60)
        if who != "another program":
            if answer.status == 429:
                self.refused[minute] += 1
                if self.closed_from + 2 < now < self.closed_until:
                    self.too_early += 1
                if now >= self.closed_until:
                    self.closed_from = now
                    self.closed_until = now + (answer.retry_after_s or 0)
            else:
                self.by_process[who] += 1
        if answer.status == 200:
            self.minutes[minute] += 1
        fields = {
            "X-RateLimit-Limit": answer.limit,
            "X-RateLimit-Remaining": answer.remaining,
            "X-RateLimit-Reset": answer.reset,
            "Retry-After": answer.retry_after_s,
        }
        said = {name: str(int(value)) for name, value in fields.items() if value is not None}
        return answer.status, said | {"Date": formatdate(now + self.rules["skew_s"], usegmt=True)}


TENANTS: dict[str, Tenant] = {}


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Answer `/SCENARIO/PEER/v1/pets`, and `/results` with what was counted."""
    if scope["type"] != "http":
        return
    parts = scope["path"].split("/")
    if parts[1] == "results":
        import json

        seen = {
            path: {
                "minutes": t.minutes,
                "refused": t.refused,
                "too_early": t.too_early,
                "by_process": t.by_process,
            }
            for path, t in TENANTS.items()
        }
        await answer(send, 200, {}, json.dumps(seen).encode())
        return
    tenant = TENANTS.setdefault("/".join(parts[1:3]), Tenant(parts[1]))
    who = dict(scope["headers"]).get(b"x-process", b"").decode()
    await asyncio.sleep(random.uniform(0, tenant.rules["jitter_s"] / 2))
    if tenant.rules["outage"] and OUTAGE_S[0] <= time.time() % 60 < OUTAGE_S[1]:
        raise ConnectionAbortedError
    status, fields = tenant.arrive(who)
    await asyncio.sleep(random.uniform(0, tenant.rules["jitter_s"] / 2))
    await answer(send, status, fields, b"[]")


async def answer(send: Any, status: int, fields: dict[str, str], body: bytes) -> None:
    headers = [(name.lower().encode(), value.encode()) for name, value in fields.items()]
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [*headers, (b"content-length", str(len(body)).encode())],
        }
    )
    await send({"type": "http.response.body", "body": body})


def serve(app: Any) -> None:
    """Serve until this process is ended; its first line is the address."""
    print(ThreadedServer(app).start().base_url.removesuffix("/v1"), flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    serve(app)
