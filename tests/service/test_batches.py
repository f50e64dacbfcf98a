"""
Requests that wait for the database: together, in its thread where it is slow, and not without end.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest

from petstore_tools.service import batches
from petstore_tools.service.batches import Batches
from petstore_tools.service.engine import UnavailableError
from petstore_tools.service.messages import Request, Response


def a_request(method: str = "GET") -> Request:
    future = asyncio.get_running_loop().create_future()
    return Request(method, "/v1/pets", b"", "key", "", b"", "h", future)


def refuse(request: Request, why: UnavailableError) -> Response:
    return Response(500 if why.unknown else 503, b"")


def without(request: Request) -> Response | None:
    return Response(401, b"") if request.method == "PUT" else None


def over(work: Work, *, local: bool) -> Batches:
    return Batches(work, refuse, without=without, local=local)


def run(made: Batches, *methods: str) -> list[int]:
    async def ask() -> list[int]:
        answers = [made.respond(a_request(method)) for method in methods]
        return [answer.status for answer in await asyncio.gather(*answers)]

    return asyncio.run(ask())


class Work:
    """
    Answers batches once `free` is set; notes their sizes and whether the thread answered them.
    """

    def __init__(self, *, busy: int = 0) -> None:
        self.sizes: list[tuple[int, bool]] = []
        self.free = threading.Event()
        self.free.set()
        self._busy = busy

    def __call__(self, batch: Sequence[Request], here: bool) -> list[Response] | None:
        if here and self._busy:
            self._busy -= 1
            return None
        assert self.free.wait(10)
        self.sizes.append((len(batch), threading.current_thread() is not threading.main_thread()))
        return [Response(200, b"") for _ in batch]


def test_what_comes_together_is_answered_together_and_at_most_so_many_at_once() -> None:
    """600 requests are three batches, in place."""
    work = Work()

    assert run(over(work, local=True), *["GET"] * 600) == [200] * 600
    assert work.sizes == [(256, False), (256, False), (88, False)]


@pytest.mark.parametrize("local", [True, False])
def test_a_database_that_is_held_up_is_waited_for_in_its_thread(local: bool) -> None:
    """Also where it is in this process, and another program has it."""
    work = Work(busy=1)

    assert run(over(work, local=local), "GET") == [200]
    assert work.sizes == [(1, True)]


def test_after_a_slow_batch_the_next_is_answered_in_the_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A slow disk holds up nothing but those who wait for it."""
    monkeypatch.setattr(batches, "QUICK_S", 0.0)
    work = Work()
    made = over(work, local=True)
    made._took_s = 1.0

    assert run(made, "GET") == [200]
    assert work.sizes == [(1, True)]


@pytest.mark.parametrize("local", [True, False])
def test_many_callers_of_a_far_database_are_gathered_again(
    monkeypatch: pytest.MonkeyPatch, local: bool
) -> None:
    """After a batch of three, the first to come back waits a moment for the others."""
    monkeypatch.setattr(batches, "GATHER_S", 0.2)
    work = Work()
    made = over(work, local=local)

    async def ask() -> None:
        for count in (3, 3, 1, 1):
            asked = []
            for _ in range(count):
                asked.append(asyncio.create_task(made.respond(a_request())))
                await asyncio.sleep(0.02)
            await asyncio.gather(*asked)
            made._took_s = 4.0

    made._size, made._took_s = 3, 4.0
    asyncio.run(ask())

    gathered = [size for size, _ in work.sizes]
    assert gathered == ([1] * 8 if local else [3, 3, 1, 1])


def test_who_waits_too_long_is_refused_and_only_a_create_under_way_is_not_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The rest was never begun, and never is."""
    monkeypatch.setattr(batches, "TICK_S", 0.02)
    monkeypatch.setattr(batches, "MAX_WAIT_S", 0.1)
    work = Work()
    work.free.clear()
    made = over(work, local=False)

    async def ask() -> list[int]:
        first = [asyncio.create_task(made.respond(a_request(method))) for method in ("GET", "POST")]
        await asyncio.sleep(0.02)
        rest = [asyncio.create_task(made.respond(a_request(method))) for method in ("GET", "POST")]
        statuses = [answer.status for answer in await asyncio.gather(*first, *rest)]
        work.free.set()
        statuses.append((await made.respond(a_request())).status)
        return statuses

    assert asyncio.run(ask()) == [503, 500, 503, 503, 200]
    assert [size for size, _ in work.sizes] == [2, 1]


def test_what_can_be_refused_without_the_database_is_refused_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It waits a moment; while the database is known to be slow, not even that."""
    monkeypatch.setattr(batches, "AT_ONCE_S", 0.05)
    monkeypatch.setattr(batches, "TICK_S", 0.02)
    work = Work()
    work.free.clear()
    made = over(work, local=False)

    async def ask() -> list[int]:
        patient = [
            asyncio.create_task(made.respond(a_request(method))) for method in ("GET", "PUT")
        ]
        statuses = [(await patient[1]).status]
        at_once = asyncio.create_task(made.respond(a_request("PUT")))
        await asyncio.sleep(0)
        assert at_once.done()  # it was not even asked
        assert not made._pending
        work.free.set()
        return [*statuses, at_once.result().status, (await patient[0]).status]

    assert asyncio.run(ask()) == [401, 401, 200]
    assert [size for size, _ in work.sizes] == [2]


def test_a_batch_that_fails_in_a_way_nobody_thought_of_is_answered(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """And the next one too."""
    failures = [RuntimeError("a fault of ours")]
    work = Work()

    def fails(batch: Sequence[Request], here: bool) -> list[Response] | None:
        if failures:
            raise failures.pop()
        return work(batch, here)

    made = Batches(fails, refuse, without=without, local=True)

    assert run(made, "GET", "POST") == [500, 500]
    assert run(made, "GET") == [200]
    assert "a fault of ours" in caplog.text
    caplog.clear()


def test_a_request_is_as_old_as_the_tick_before_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may have come while this process was stopped: so long ago its caller may have gone."""
    now = 100.0
    monkeypatch.setattr(batches, "elapsed", lambda: now)
    monkeypatch.setattr(batches, "TICK_S", 60.0)
    made = over(Work(), local=True)
    ages = []

    async def ask() -> None:
        nonlocal now
        for seconds in (0.0, 1.0, 76.0, 1.0, 1.0):
            now += seconds
            if seconds:
                made._tick()
            request = a_request()
            await made.respond(request)
            ages.append(now - request.since)

    asyncio.run(ask())

    assert ages == [0.0, 1.0, 76.0, 1.0, 1.0]
