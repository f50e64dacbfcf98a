"""Bodies that the service does not read: the key comes first, and a mebibyte is the most."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
from serving import Answer, Serving, read_answer, serving

REX = b'{"name":"Rex","categoryId":1}'
WRONG = "psk_wrong"
MIB = 1 << 20


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("served") / "service.db") as found:
        yield found


@pytest.mark.parametrize("more", [(), ("Expect: 100-continue",)], ids=["at once", "expect"])
def test_the_key_is_judged_before_the_body_is_read(served: Serving, more: tuple[str, ...]) -> None:
    """With a body of which nothing has come: 401 at once."""
    head = served.head("POST /v1/pets", "Content-Length: 1000", *more, key=WRONG)

    answer = served.ask(head, timeout=3)

    assert (answer.status, answer.body["code"]) == (401, "unauthorized")
    assert answer.headers["x-ratelimit-limit"] == "60"


def test_a_body_without_an_end_is_refused_at_a_mebibyte_and_a_byte(served: Serving) -> None:
    """
    In chunks, with a valid key: 413, the connection closed, and no more is taken in than a
    moment's.
    """
    taken = 0
    with served.connect() as connection:
        connection.sendall(
            served.head(
                "POST /v1/pets", "Content-Type: application/json", "Transfer-Encoding: chunked"
            )
        )
        with suppress(ConnectionError):
            for _ in range(2_000):
                connection.sendall(b"10000\r\n" + b"x" * 65_536 + b"\r\n")
                taken += 65_536
        answer = read_answer(connection)

    assert (answer.status, answer.body["code"]) == (413, "body_too_large")
    assert MIB < taken < 20 * MIB


def test_a_body_of_a_mebibyte_is_read(served: Serving) -> None:
    """And judged for what it says: it is no animal."""
    head = served.head("POST /v1/pets", "Content-Type: application/json", f"Content-Length: {MIB}")

    assert served.ask(head + b"x" * MIB).status == 400


def test_a_create_in_two_parts_is_counted_once(served: Serving) -> None:
    """A key is looked at before the body comes, and the request is counted when it is answered."""
    head = served.head(
        "POST /v1/pets", "Content-Type: application/json", f"Content-Length: {len(REX)}"
    )
    with served.connect() as connection:
        left = []
        for _ in range(2):
            connection.sendall(head)
            time.sleep(0.05)
            connection.sendall(REX)
            answer = read_answer(connection)
            assert answer.status == 201
            left.append(int(answer.headers["x-ratelimit-remaining"]))

    assert left[0] - left[1] == 1


@pytest.mark.parametrize("first", [True, False], ids=["right, wrong", "wrong, right"])
def test_two_keys_in_one_request_are_none(served: Serving, first: bool) -> None:
    """Nobody knows which is meant: 401 in either order, also where both are right."""
    good = f"Authorization: Bearer {served.key}"
    wrong = f"Authorization: Bearer {WRONG}"
    ordered = (good, wrong) if first else (wrong, good)

    for pair in (ordered, (good, good)):
        sent = "\r\n".join(("GET /v1/pets HTTP/1.1", "Host: h", *pair, "", "")).encode()
        assert served.ask(sent).status == 401


def create(served: Serving, body: bytes) -> Answer:
    kind = "Content-Type: application/json"
    length = f"Content-Length: {len(body)}"
    return served.ask(served.head("POST /v1/pets", kind, length) + body)


def test_a_message_about_unknown_fields_is_short_however_many_there_are(served: Serving) -> None:
    """Nor is a list of their errors made: it would hold everybody up."""
    fields = {"name": "Rex", "categoryId": 1} | {f"{n:0100}": 1 for n in range(8_000)}

    answer = create(served, json.dumps(fields).encode())

    assert (answer.status, answer.body["code"]) == (400, "invalid_body")
    assert answer.body["message"].startswith("fields that an animal does not have: 000")
    assert len(answer.body["message"]) < 300


@pytest.mark.parametrize(
    "value", ["9007199254740993.0", "9007199254740992.0", "-9007199254740993.0", "1e16"]
)
def test_a_number_that_may_have_been_rounded_is_400(served: Serving, value: str) -> None:
    """From 2^53 on its neighbours cannot be distinguished; an integer without a point is exact."""
    assert create(served, b'{"name":"Rex","categoryId":%s}' % value.encode()).status == 400
    exact = create(served, b'{"name":"Rex","categoryId":9007199254740993}')
    assert exact.body["categoryId"] == 9007199254740993
