"""What a caller learns of each attempt of a call, so that it needs no retry loop of its own."""

from __future__ import annotations

import pytest
import requests
import responses
from urllib3.exceptions import NewConnectionError
from wires import BASE

from petstore_tools.errors import TransportError
from petstore_tools.http.client import Client

REFUSED = requests.ConnectionError(NewConnectionError(None, "refused"))  # type: ignore[arg-type]


def create(client: Client) -> tuple[list[str], int]:
    """
    Create an animal; return what the hooks were told in order, and the status, or whether the
    request may have left.
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
        [{"body": REFUSED}, {"status": 429, "headers": {"Retry-After": "5"}}, {"status": 201}],
        ["before", "no effect", "before", "no effect", "before"],
        201,
    ),
    "it may have been created, so it is sent once": ([LOST], ["before"], True),
    "five attempts, then the error": ([{"body": REFUSED}] * 5, ["before", "no effect"] * 5, False),
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


def test_an_exception_before_an_attempt_sends_and_spends_nothing(client: Client) -> None:
    """The caller could not record its intent: nothing left, and the request is given back."""

    def fail() -> None:
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="disk is full"):
        client.call("POST", f"{BASE}/pets", b"{}", before=fail)

    assert client.sent == 0
    assert len(client.ledger.update(lambda budget: budget.in_flight)) == 0
