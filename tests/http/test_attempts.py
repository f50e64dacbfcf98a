"""
What a caller learns of each attempt of a call, so that it needs no retry loop of its
own.
"""

from __future__ import annotations

from contextlib import nullcontext

import pytest
import requests
import responses
from urllib3.exceptions import NewConnectionError
from wires import BASE

from petstore_tools.errors import QuotaError, TransportError
from petstore_tools.http.client import Client
from petstore_tools.throttle.gate import CallOptions

REFUSED = requests.ConnectionError(NewConnectionError(None, "refused"))  # type: ignore[arg-type]


def create(client: Client) -> tuple[list[str], int]:
    """
    Create an animal; return what the hooks were told in order, and the status, or
    whether the request may have left.
    """
    steps: list[str] = []
    try:
        reply = client.call(
            "POST",
            f"{BASE}/pets",
            b"{}",
            before=lambda: steps.append("before"),
            on_no_effect=lambda: steps.append("no effect"),
        )
    except TransportError as error:
        return steps, error.may_have_left
    return steps, reply.status


LOST = {"body": requests.ConnectionError("the connection broke")}
ENDS = {
    "a refused connection and a 429 change nothing": (
        [
            {"body": REFUSED},
            {"status": 429, "headers": {"Retry-After": "5"}},
            {"status": 201},
        ],
        ["before", "no effect", "before", "no effect", "before"],
        201,
    ),
    "it may have been created, so it is sent once": ([LOST], ["before"], True),
    "five attempts, then the error": (
        [{"body": REFUSED}] * 5,
        ["before", "no effect"] * 5,
        False,
    ),
}


@pytest.mark.case("P31")
@pytest.mark.parametrize(("answers", "told", "end"), ENDS.values(), ids=ENDS)
def test_each_attempt_that_changed_nothing_is_reported_before_the_next_one(
    wire: responses.RequestsMock,
    client: Client,
    answers: list[dict[str, object]],
    told: list[str],
    end: int,
) -> None:
    """The end is a status, or an error that says whether the request may have left."""
    for answer in answers:
        wire.post(f"{BASE}/pets", **answer)  # type: ignore[arg-type]

    assert create(client) == (told, end)


@pytest.mark.parametrize(("wait", "attempts"), [(False, 3), (True, 5)])
@pytest.mark.parametrize("lost", [True, False])
def test_no_further_attempt_begins_once_max_wait_s_has_passed(
    wire: responses.RequestsMock, client: Client, wait: bool, attempts: int, lost: bool
) -> None:
    """Each takes 40 s to fail, and 90 s may pass, unless the call waits."""

    def fail(_: requests.PreparedRequest) -> tuple[int, dict[str, str], str]:
        client.clock.advance(40)  # type: ignore[union-attr]
        if lost:
            raise requests.ConnectionError("the connection broke")
        return 503, {}, ""

    for _ in range(attempts):
        wire.add_callback("GET", f"{BASE}/pets", callback=fail)

    with pytest.raises(TransportError) if lost else nullcontext():
        client.call("GET", f"{BASE}/pets", call_options=CallOptions(wait=wait))

    assert client.sent == attempts


def test_refusals_end_a_call_once_max_wait_s_has_passed(
    wire: responses.RequestsMock, client: Client
) -> None:
    """Each wait alone is short enough: 1 s, doubled seven times."""
    for _ in range(7):
        wire.get(f"{BASE}/pets", status=429, headers={"Retry-After": "1"})

    with pytest.raises(QuotaError):
        client.call("GET", f"{BASE}/pets")


def test_an_exception_before_an_attempt_sends_and_spends_nothing(
    client: Client,
) -> None:
    """
    The caller could not record its intent: nothing left, and the request is given back.
    """

    def fail() -> None:
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="disk is full"):
        client.call("POST", f"{BASE}/pets", b"{}", before=fail)

    assert client.sent == 0
    assert len(client.ledger.update(lambda budget: budget.in_flight)) == 0
