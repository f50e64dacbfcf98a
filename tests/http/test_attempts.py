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


def create(client: Client) -> tuple[list[str], int | TransportError]:
    """Create an animal; return what the hooks were told in order, and the status or the error."""
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
        return steps, error
    return steps, reply.status


def test_an_attempt_that_changed_nothing_is_reported_before_the_next_one(
    wire: responses.RequestsMock, client: Client
) -> None:
    """A refused connection and a 429 change nothing; the third attempt creates the animal."""
    wire.post(f"{BASE}/pets", body=REFUSED)
    wire.post(f"{BASE}/pets", status=429, headers={"Retry-After": "5"})
    wire.post(f"{BASE}/pets", status=201, json={})

    steps, status = create(client)

    assert (steps, status) == (["before", "no effect", "before", "no effect", "before"], 201)


@pytest.mark.case("P31")
def test_a_lost_answer_is_not_reported_as_without_effect(
    wire: responses.RequestsMock, client: Client
) -> None:
    """The request may have created the animal, so it is sent once."""
    wire.post(f"{BASE}/pets", body=requests.ConnectionError("the connection broke"))

    steps, error = create(client)

    assert steps == ["before"]
    assert isinstance(error, TransportError)
    assert error.may_have_left


def test_a_service_that_cannot_be_reached_is_reported_after_each_attempt(
    wire: responses.RequestsMock, client: Client
) -> None:
    """Five attempts, then the error; the last one is reported as well."""
    for _ in range(5):
        wire.post(f"{BASE}/pets", body=REFUSED)

    steps, error = create(client)

    assert steps == ["before", "no effect"] * 5
    assert isinstance(error, TransportError)
    assert not error.may_have_left


def test_an_exception_before_an_attempt_sends_and_spends_nothing(client: Client) -> None:
    """The caller could not record its intent: nothing left, and the request is given back."""

    def fail() -> None:
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="disk is full"):
        client.call("POST", f"{BASE}/pets", b"{}", before=fail)

    assert client.sent == 0
    assert len(client.ledger.update(lambda budget: budget.in_flight)) == 0
