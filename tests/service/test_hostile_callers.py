"""
Callers that send too much, too slowly or for ever, against the server as `serve` runs
it: the key comes first, and 8 KiB are the most.
"""

import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress

import pytest
from services import calling
from serving import (
    JSON_TYPE,
    REX_BODY,
    create_key,
    read_answer,
    run_serve,
)

from petstore_tools.plans import Plan
from petstore_tools.service.database import Database

WRONG = "psk_wrong"
MIB = 1 << 20
LONG = b"x" * 262_144
GET = b"GET /v1/pets HTTP/1.1\r\n"
CHUNKED = b"POST /v1/pets HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
CHUNK = b"40000\r\n" + LONG + b"\r\n"
LARGEST = 8_192
ENDLESS = {  # what begins it, and what follows again and again
    "header": (GET + b"X-Long: ", LONG),
    "requests": (b"", (GET + b"\r\n") * 10_000),
    "body": (CHUNKED, CHUNK),
    "chunks of a byte": (CHUNKED, b"1\r\nx\r\n" * 20_000),
}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with run_serve(tmp_path_factory.mktemp("served") / "service.db") as service:
        yield service


def flood(served, head, part):
    """
    Send what does not end; return the answer, once it is seen that little of it was
    read.
    """
    sent_bytes = 0
    with served.connect() as connection:
        with suppress(ConnectionError):
            connection.sendall(head)
            for _ in range(250):
                connection.sendall(part)
                sent_bytes += len(part)
        answer = read_answer(connection)
    assert sent_bytes < 20 * MIB
    return answer


def test_a_head_of_60_kib_is_served_and_one_without_an_end_is_cut_off(served):
    """At 64 KiB, which is our setting."""
    long = served.request_head("GET /v1/pets?limit=1", f"X-Long: {'x' * 61_000}")

    assert served.send(long).status == 200
    assert flood(served, *ENDLESS["header"]).status in (431, 0)
    assert served.memory_mb() < 200


def test_a_body_without_an_end_is_refused_at_8_kib_and_a_byte(served):
    """In chunks, with a valid key: 413, and the connection closed; 8 KiB are read."""
    head = served.request_head("POST /v1/pets", JSON_TYPE, "Transfer-Encoding: chunked")

    answer = flood(served, head, CHUNK)

    assert (answer.status, answer.body["code"]) == (413, "body_too_large")
    assert served.send(served.create_request(b"x" * LARGEST)).status == 400
    assert served.send(served.create_request(b"x" * (LARGEST + 1))).status == 413


def test_a_websocket_upgrade_is_answered_as_any_request(served):
    """The service speaks HTTP only: it says so with an ordinary answer."""
    upgrade = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13")
    head = served.request_head(
        "GET /v1/pets?limit=1", *upgrade, "Sec-WebSocket-Key: eA=="
    )

    assert served.send(head).status == 200


@pytest.mark.parametrize(
    ("line", "body", "status"),
    [
        ("POST /v1/pets", b"x" * 20_000, 413),
        ("POST /v1/pets", b"x", 408),
        ("POST /v1/pets", b"{" * 1_000, 400),
        ("POST /v1/nothing", b"", 404),
        ("PUT /v1/pets", b"", 405),
        ("POST /v1/store/orders", b"", 501),
    ],
)
def test_the_key_and_its_quota_are_judged_whatever_is_sent(served, line, body, status):
    """
    401 for a wrong key, 429 for one that is used up; other refusals cost one. What has
    no operation is refused before its body comes.
    """
    key = create_key(served.where, Plan(100, 2))
    head = (line, JSON_TYPE, f"Content-Length: {max(len(body), 1_000)}")

    def send(used):
        return served.send(served.request_head(*head, key=used) + body, timeout=20)

    with ThreadPoolExecutor(3) as pool:
        answers = [*pool.map(send, (WRONG, key, key)), send(key)]

    assert [answer.status for answer in answers] == [401, status, status, 429]
    wrong, *left = [answer.headers["x-ratelimit-remaining"] for answer in answers]
    assert (wrong, sorted(left)) == ("60", ["0", "0", "1"])


def test_bodies_of_many_small_values_cost_other_callers_nothing(tmp_path):
    """All that a free key may send in a minute at once: others wait at most 2 s."""
    body = (b'{"x":[' + b",".join([b"[]"] * 2_700) + b"]}").ljust(LARGEST)
    waits = []
    with run_serve(tmp_path / "service.db") as served, ThreadPoolExecutor(60) as pool:
        key = create_key(served.where, Plan(60, 1_000))
        request = served.create_request(body, key)
        creates = [pool.submit(served.send, request, timeout=60) for _ in range(60)]
        while not all(create.done() for create in creates):
            waits.append(served.measure_wait_s())

    assert {create.result().status for create in creates} == {400}
    assert max(waits) < 2


def test_a_create_in_two_parts_is_counted_once(served):
    """When it is answered."""
    sent = served.create_request()
    with served.connect() as connection:
        left = []
        for _ in range(2):
            connection.sendall(sent[: -len(REX_BODY)])
            time.sleep(0.05)
            connection.sendall(REX_BODY)
            answer = read_answer(connection)
            assert answer.status == 201
            left.append(int(answer.headers["x-ratelimit-remaining"]))

    assert left[0] - left[1] == 1


def test_two_keys_in_one_request_are_none(served):
    """Nobody knows which is meant: 401 in either order, also where both are right."""
    good = served.key

    for first, second in ((good, WRONG), (WRONG, good), (good, good)):
        header = f"Authorization: Bearer {second}"
        head = served.request_head("GET /v1/pets", header, key=first)
        assert served.send(head).status == 401


def test_a_request_that_does_not_come_to_its_end_is_given_up_within_seconds(served):
    """
    408 where the body is missing; what is no whole head is closed without a word. A
    long page waits longer for who reads slowly.
    """
    with closing(Database(served.where)) as database:
        database.add_many([("\1" * 255, 1, "sold")] * 100)
    body = served.request_head("POST /v1/pets", "Content-Length: 9") + b"x"
    parts = (body, b"", b"GET /v1/pets HTTP/1.1\r\nHost:")

    def send(part):
        return served.send(part, timeout=20).status

    with served.connect() as slow, ThreadPoolExecutor() as pool:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 12)
        slow.sendall(served.request_head("GET /v1/pets?limit=100&status=sold"))
        ends = list(pool.map(send, parts))
        page = read_answer(slow).body

    assert ends == [408, 0, 0]
    assert len(page) == 100


@pytest.mark.parametrize("kind", ENDLESS)
def test_twenty_hostile_callers_keep_nobody_out(served, kind):
    """
    Fifty listings beside them, over a new connection each time, are answered; memory
    stays under 300 MB.
    """
    head, part = ENDLESS[kind]
    waits = []

    def annoy():
        with suppress(OSError), served.connect(2) as connection:
            connection.sendall(head)
            while len(waits) < 50:
                connection.sendall(part)
        time.sleep(0.05)

    with calling(*[annoy] * 20):
        while len(waits) < 50:
            waits.append(served.measure_wait_s())
            time.sleep(0.02)

    assert max(waits) < 8  # some milliseconds on an idle machine
    assert served.memory_mb("VmHWM") < 300


@pytest.mark.parametrize("kind", ["heads", "bodies"])
def test_a_crowd_of_half_sent_requests_holds_others_up_for_seconds(tmp_path, kind):
    """Behind 900 of them a further caller is served, and memory is bounded."""
    with run_serve(tmp_path / "service.db") as served, ExitStack() as crowd:
        half = served.create_request(b"x" * LARGEST)[:-1]
        if kind == "heads":
            half = half[:50]
        for _ in range(900):
            connection = crowd.enter_context(served.connect())
            connection.sendall(half)
        wait_s = served.measure_wait_s()
        memory_mb = served.memory_mb("VmHWM")

    assert wait_s < 8  # 3 on an idle machine
    assert memory_mb < 300
