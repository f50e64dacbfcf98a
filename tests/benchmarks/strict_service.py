"""
The strict service of `refusals.py`: one budget for each path, counted as the scenario
says.

It answers `/SCENARIO/PEER/v1/pets`, and `/results` with what was counted.
"""

import asyncio
import json
import random
import time
from collections import Counter
from contextlib import contextmanager
from email.utils import formatdate

from service_model import StrictService, StrictWindow
from starlette.responses import Response
from tables import read_json

from petstore_tools.service.server import ThreadedServer

PER_DAY = 1_000_000
OTHER = "another program"
SCENARIOS = read_json(__file__, "scenarios.json")
OUTAGE_S = (30.0, 33.0)  # in each minute, in the scenario that restarts


class Tenant:
    """One budget, and what was seen of it."""

    def __init__(self, scenario, per_minute):
        self.rules = SCENARIOS.get(scenario, SCENARIOS["alone"])
        windows = (
            StrictWindow(self.rules["kind"], per_minute, 60),
            StrictWindow("whole", PER_DAY, 86_400),
        )
        self.model = StrictService(windows, self.rules["speaks"], self.rules["skew_s"])
        self.counts = {
            "minutes": Counter(),
            "by_process": Counter(),
            "refused": 0,
            "too_early": 0,
        }
        self.closed_from = 0.0
        self.closed_until = 0.0

    def arrive(self, name):
        """Count a request, and answer it."""
        now = time.time()
        answer = self.model.arrive(now)
        if answer.status == 200:
            self.counts["minutes"][int(now // 60)] += 1
        if name != OTHER:
            self.look_at(name, answer, now)
        fields = {
            "X-RateLimit-Limit": answer.limit,
            "X-RateLimit-Remaining": answer.remaining,
            "X-RateLimit-Reset": answer.reset,
            "Retry-After": answer.retry_after_s,
        }
        headers = {
            field: str(int(value))
            for field, value in fields.items()
            if value is not None
        }
        headers["Date"] = formatdate(now + self.rules["skew_s"], usegmt=True)
        return Response(b"[]", answer.status, headers, "application/json")

    def look_at(self, name, answer, now):
        """Count what a client was answered, and whether it should have waited."""
        if answer.status == 200:
            self.counts["by_process"][name] += 1
            return
        self.counts["refused"] += 1
        if self.closed_from + 2 < now < self.closed_until:
            self.counts["too_early"] += 1
        if now >= self.closed_until:
            self.closed_from = now
            self.closed_until = now + (answer.retry_after_s or 0)


class App:
    """The service, for as many budgets as are asked for."""

    def __init__(self, per_minute):
        self.per_minute = per_minute
        self.tenants = {}

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return
        _, scenario, peer, *_ = [*scope["path"].split("/"), ""]
        if scenario == "results":
            counts = {path: tenant.counts for path, tenant in self.tenants.items()}
            response = Response(json.dumps(counts), media_type="application/json")
            await response(scope, receive, send)
            return
        new_tenant = Tenant(scenario, self.per_minute)
        tenant = self.tenants.setdefault(f"{scenario}/{peer}", new_tenant)
        name = dict(scope["headers"]).get(b"x-process", b"").decode()
        await asyncio.sleep(random.uniform(0, tenant.rules["jitter_s"] / 2))
        if tenant.rules["outage"] and OUTAGE_S[0] <= time.time() % 60 < OUTAGE_S[1]:
            raise ConnectionAbortedError
        response = tenant.arrive(name)
        await asyncio.sleep(random.uniform(0, tenant.rules["jitter_s"] / 2))
        await response(scope, receive, send)


@contextmanager
def serve(per_minute):
    """Run the service; give its address."""
    server = ThreadedServer(App(per_minute)).start()
    yield server.base_url.removesuffix("/v1")
    server.stop()
