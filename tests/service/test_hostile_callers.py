"""
Callers that send too much, too slowly or for ever, against the server as `serve` runs it: the key
comes first, and a mebibyte is the most.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from services import until
from serving import KIND, REX, Answer, Serving, read_answer, serving

WRONG = "psk_wrong"
MIB = 1 << 20
LONG = b"x" * 262_144
GET = b"GET /v1/pets HTTP/1.1\r\n"
CHUNKED = b"POST /v1/pets HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
HALF = b"POST /v1/pets HTTP/1.1\r\nContent-Length: 1048576\r\n\r\n"
ENDLESS = {  # what begins it, and what follows again and again
    "header": (GET + b"X-Long: ", LONG),
    "address": (b"GET /v1/pets?x=", LONG),
    "trailer": (CHUNKED + b"0\r\nX-Long: ", LONG),
    "extension": (CHUNKED + b"5;x=", LONG),
    "requests": (b"", (GET + b"\r\n") * 10_000),
    "body": (CHUNKED, b"40000\r\n" + LONG + b"\r\n"),
    "chunks of a byte": (CHUNKED, b"1\r\nx\r\n" * 20_000),
    "little in long chunks": (CHUNKED, b"1;" + b"x" * 60_000 + b"\r\nx\r\n"),
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("served") / "service.db") as found:
        yield found


def chunked(served: Serving, trailers: str = "", *, key: str | None = None) -> bytes:
    """Return a create whose body has no announced length."""
    head = served.head("POST /v1/pets", KIND, "Transfer-Encoding: chunked", key=key)
    return head + b"%x\r\n%s\r\n0\r\n%s\r\n" % (len(REX), REX, trailers.encode())


def pets(served: Serving) -> int:
    return len(served.ask(served.head("GET /v1/pets?limit=100")).body)


def test_a_header_section_of_60_kib_is_served(served: Serving) -> None:
    """Also behind another request on the same connection."""
    long = served.head("GET /v1/pets?limit=1", f"X-Long: {'x' * 61_000}")
    with served.connect() as connection:
        for sent in (long, served.head("GET /v1/pets?limit=1"), long):
            connection.sendall(sent)
            assert read_answer(connection).status == 200


def flood(served: Serving, begun: bytes, part: bytes) -> Answer:
    """Send what does not end; return the answer, once it is seen that little of it was taken in."""
    taken = 0
    with served.connect() as connection:
        with suppress(ConnectionError):
            connection.sendall(begun)
            for _ in range(250):
                connection.sendall(part)
                taken += len(part)
        answer = read_answer(connection)
    assert taken < 20 * MIB
    return answer


@pytest.mark.parametrize("what", ["header", "address", "trailer", "extension"])
def test_what_does_not_end_is_refused_at_64_kib(served: Serving, what: str) -> None:
    """A header, an address, a trailer, an extension of a chunk: cut off."""
    assert flood(served, *ENDLESS[what]).status in (400, 401, 414, 431, 0)
    assert served.memory_mb() < 200


def test_a_body_without_an_end_is_refused_at_a_mebibyte_and_a_byte(served: Serving) -> None:
    """In chunks, with a valid key: 413, and the connection closed; a mebibyte is read."""
    begun = served.head("POST /v1/pets", KIND, "Transfer-Encoding: chunked")

    answer = flood(served, begun, ENDLESS["body"][1])

    assert (answer.status, answer.body["code"]) == (413, "body_too_large")
    assert served.ask(served.create(b"x" * MIB)).status == 400


def test_trailers_are_no_headers(served: Serving) -> None:
    """
    A key behind the body does not count, nor does it take the place of the one in front of it.
    """
    before = pets(served)
    good = f"Authorization: Bearer {served.key}\r\n"
    wrong = f"Authorization: Bearer {WRONG}\r\n"

    assert served.ask(chunked(served, good, key=WRONG)).status == 401
    assert served.ask(chunked(served, wrong)).status == 201
    assert pets(served) == before + 1


def test_requests_sent_ahead_are_answered_in_order_and_garbage_takes_the_place_of_none(
    served: Serving,
) -> None:
    """Those before it are all answered; then the connection is closed."""
    ahead = [served.head("GET /v1/pets?limit=1"), served.create(), served.head("GET /v1/nothing")]
    with served.connect() as connection:
        connection.sendall(b"".join([*ahead, chunked(served)] * 9) + b"\x00\x01garbage\r\n\r\n")
        answers = b"".join(iter(lambda: connection.recv(65_536), b""))

    statuses = [int(status) for status in re.findall(rb"HTTP/1.1 (\d+)", answers)]
    assert statuses == [200, 201, 404, 201] * 9 + [400]


def test_a_websocket_upgrade_is_answered_as_any_request(served: Serving) -> None:
    """The service speaks HTTP only; it says so with an ordinary answer, and logs nothing."""
    upgrade = (
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: eA==",
    )

    assert served.ask(served.head("GET /v1/pets?limit=1", *upgrade)).status == 200
    assert served.ask(served.head("GET /v1/pets", *upgrade, key=WRONG)).status == 401


@pytest.mark.parametrize("more", [(), ("Expect: 100-continue",)], ids=["at once", "expect"])
def test_the_key_is_judged_before_the_body_is_read(served: Serving, more: tuple[str, ...]) -> None:
    """With a body of which nothing has come: 401 at once."""
    head = served.head("POST /v1/pets", "Content-Length: 1000", *more, key=WRONG)

    answer = served.ask(head, timeout=3)

    assert (answer.status, answer.body["code"]) == (401, "unauthorized")
    assert answer.headers["x-ratelimit-limit"] == "60"


def test_a_create_in_two_parts_is_counted_once(served: Serving) -> None:
    """A key is looked at before the body comes, and the request is counted when it is answered."""
    sent = served.create()
    with served.connect() as connection:
        left = []
        for _ in range(2):
            connection.sendall(sent[: -len(REX)])
            time.sleep(0.05)
            connection.sendall(REX)
            answer = read_answer(connection)
            assert answer.status == 201
            left.append(int(answer.headers["x-ratelimit-remaining"]))

    assert left[0] - left[1] == 1


def test_two_keys_in_one_request_are_none(served: Serving) -> None:
    """Nobody knows which is meant: 401 in either order, also where both are right."""
    good = f"Authorization: Bearer {served.key}"
    wrong = f"Authorization: Bearer {WRONG}"

    for pair in ((good, wrong), (wrong, good), (good, good)):
        sent = "\r\n".join(("GET /v1/pets HTTP/1.1", "Host: h", *pair, "", "")).encode()
        assert served.ask(sent).status == 401


def test_a_request_that_does_not_come_to_its_end_is_given_up_within_seconds(
    served: Serving,
) -> None:
    """
    408 where the body is missing; what is no whole head is closed without a word.
    """
    body = served.head("POST /v1/pets", "Content-Length: 9") + b"x"
    parts = (b"", b"GET /v1/pets HTTP/1.1\r\nHost:", body)

    with ThreadPoolExecutor() as pool:
        ends = pool.map(lambda part: served.ask(part, timeout=20).status, parts)

    assert list(ends) == [0, 0, 408]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("what", ENDLESS)
def test_twenty_hostile_callers_cost_the_others_a_tenth_of_a_second_at_most(
    served: Serving, what: str
) -> None:
    """A listing over a new connection each time, for three seconds; memory stays under 300 MB."""
    begun, part = ENDLESS[what]
    end = threading.Event()

    def annoy() -> None:
        while not end.wait(0.05):
            with suppress(OSError), served.connect(2) as connection:
                connection.sendall(begun)
                while not end.is_set():
                    connection.sendall(part)

    alone = sorted(served.wait_s() for _ in range(50))[45]
    with ThreadPoolExecutor(20) as pool:
        for _ in range(20):
            pool.submit(annoy)
        waited = []
        end_at = time.monotonic() + 3
        while time.monotonic() < end_at:
            waited.append(served.wait_s())
            time.sleep(0.02)
        end.set()
    waited.sort()

    assert waited[len(waited) * 19 // 20] < 3 * alone + 0.1  # alone, it takes some milliseconds
    assert served.memory_mb("VmHWM") < 300


def test_more_connections_than_the_limit_wait_until_one_is_closed(tmp_path: Path) -> None:
    """`--backpressure 3`: a new caller waits; idle ones are closed after ten seconds."""
    with serving(tmp_path / "service.db", "--backpressure", "3") as served:
        three = [served.connect() for _ in range(3)]
        answer = served.ask(served.head("GET /v1/pets?limit=1", "Connection: close"), timeout=30)
        for connection in three:
            connection.close()

    assert answer.status == 200


def test_half_open_requests_make_room_for_others(served: Serving) -> None:
    """Beside 600 of them a new caller is served."""
    with ExitStack() as crowd:
        for _ in range(600):
            crowd.enter_context(served.connect()).sendall(HALF + b"x")
        until(lambda: served.ask(served.head("GET /v1/pets?limit=1")).status == 200, 5)
        assert served.memory_mb("VmHWM") < 300
