"""
Requests that wait for the database: together, in its thread, and not without end.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence

import pytest

from petstore_tools.service.app import HEALTH_WAIT_S, MAX_AT_ONCE, Batch, Batches
from petstore_tools.service.engine import UnavailableError
from petstore_tools.service.messages import Request, Response


def new_request(method: str = "GET", patience_s: float = 60.0) -> Request:
    pet = ("Rex", 1, None) if method == "POST" else None
    return Request(method, "/v1/pets", pet=pet, patience_s=patience_s)


def refuse(request: Request, error: UnavailableError) -> Response:
    return Response(500 if error.unknown else 503, b"")


class Work:
    """
    Answers batches once `free` is set; notes their sizes and in which thread it was.
    """

    def __init__(self, *, commits: bool = True) -> None:
        self.sizes: list[tuple[int, bool]] = []
        self.free = threading.Event()
        self.free.set()
        self._commits = commits

    def __call__(self, batch: Batch) -> Sequence[Response]:
        in_thread = threading.current_thread() is not threading.main_thread()
        self.sizes.append((len(batch.requests), in_thread))
        committed = self._commits and batch.decide("committed")
        assert self.free.wait(30)
        status = 200 if committed or batch.decide("committed") else 503
        return [Response(status, b"") for _ in batch.requests]


def test_what_comes_together_is_answered_together_and_at_most_so_many_at_once() -> None:
    """600 requests are three batches, none of them in the event loop."""
    work = Work()
    batches = Batches(work, refuse)

    async def ask() -> list[Response | None]:
        return await asyncio.gather(
            *(batches.respond(new_request()) for _ in range(600))
        )

    assert [answer and answer.status for answer in asyncio.run(ask())] == [200] * 600
    assert work.sizes == [(MAX_AT_ONCE, True), (MAX_AT_ONCE, True), (88, True)]


@pytest.mark.parametrize(
    ("commits", "statuses"), [(False, [503, 503, 503]), (True, [503, 500, 503])]
)
def test_who_waits_too_long_is_refused_and_only_a_begun_commit_is_unknown(
    commits: bool, statuses: list[int]
) -> None:
    """
    What was refused as unchanged is not committed any more, and what waits is never
    begun.
    """
    work = Work(commits=commits)
    work.free.clear()
    batches = Batches(work, refuse)

    async def ask() -> list[Response | None]:
        patient = [
            batches.respond(new_request(method, 0.1)) for method in ("GET", "POST")
        ]
        batch = asyncio.gather(*patient)
        while not work.sizes:
            await asyncio.sleep(0.01)
        waiting = await batches.respond(new_request("POST", 0.1))
        answers = [*await batch, waiting]
        work.free.set()
        answers.append(await batches.respond(new_request()))
        return answers

    *refused, well = [
        answer.status for answer in asyncio.run(ask()) if answer is not None
    ]

    assert (refused, well) == (statuses, 200)
    assert [size for size, _ in work.sizes] == [2, 1]


def test_health_is_not_refused_before_it_has_waited() -> None:
    """Whenever it comes: a batch that is under way at a tick is no outage."""
    work = Work()
    work.free.clear()
    batches = Batches(work, refuse)

    async def ask() -> float:
        asked_at = time.monotonic()
        answer = await batches.respond(new_request(patience_s=HEALTH_WAIT_S))
        assert answer is not None
        assert answer.status == 503
        return time.monotonic() - asked_at

    async def ask_often() -> float:
        # the first is known to be new
        longest_s = max([await ask() for _ in range(4)][1:])
        work.free.set()
        return longest_s

    assert asyncio.run(ask_often()) > 0.4
