"""
Whatever is sent: the service stays up, and what parses as HTTP gets an answer of the document.
"""

from __future__ import annotations

import http.client
import json
import random
import socket
from collections import Counter

import pytest

A_PART, PARTS = 20_000, 50
DOCUMENTED = {200, 201, 400, 401, 404, 405, 410, 413, 429, 501}
METHODS = ("GET", "POST", "GET", "POST", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW")
PATHS = (
    "/v1/pets",
    "/v1/pets",
    "/v1/pets",
    "/v1/pets",
    "/v1/pets/",
    "/v1/pets/1",
    "/v1/store/orders",
    "/v1",
    "/",
)
TEXTS = (
    "Rex",
    "",
    " ",
    "名前",
    "\x00",
    "\ud800",
    "'; DROP TABLE pet",
    "x" * 10_001,
    "%s",
    "?",
    "\u2028",
)
NUMBERS = (0, -1, 7.0, 7.5, 2**63 - 1, 2**63, -(2**63), 10**400, float("nan"), float("inf"), True)


def value(chance: random.Random, depth: int = 0) -> object:
    """Return any JSON value."""
    kind = chance.randrange(8 if depth < 2 else 6)
    if kind == 6:
        return [value(chance, depth + 1) for _ in range(chance.randrange(3))]
    if kind == 7:
        return {chance.choice(TEXTS): value(chance, depth + 1) for _ in range(chance.randrange(3))}
    return (
        chance.choice((*NUMBERS, None))
        if kind % 2
        else chance.choice((*TEXTS, "available", "sold"))
    )


def body(chance: random.Random) -> bytes:
    """Return a body: near to a good one, any JSON, cut JSON, or any bytes."""
    kind = chance.randrange(5)
    if kind == 0:
        return chance.randbytes(chance.randrange(60))
    if kind == 1:
        return json.dumps(value(chance)).encode()
    pet: dict[str, object] = {"name": "Rex", "categoryId": 3, "status": "sold"}
    for _ in range(chance.choice((0, 0, 1, 2))):
        pet[chance.choice(("name", "categoryId", "status", "id", "extra"))] = value(chance)
    made = json.dumps(pet, ensure_ascii=chance.random() < 0.5).encode(errors="surrogatepass")
    return made[: chance.randrange(len(made))] if kind == 2 else made


def request(chance: random.Random, key: str) -> bytes:
    """Return a request that parses as HTTP, whatever it says."""
    path = chance.choice(PATHS)
    if chance.random() < 0.3:
        path += "".join(chance.choice("/abc%20%00%ff~-1.") for _ in range(chance.randrange(8)))
    if chance.random() < 0.5:
        names = ("limit", "status", "cursor", "page", "")
        values = (
            "1",
            "100",
            "0",
            "101",
            "-5",
            "abc",
            "sold",
            "SOLD",
            "%00",
            "MQ",
            "%ff",
            "9" * 30,
            "",
        )
        pairs = [
            f"{chance.choice(names)}={chance.choice(values)}" for _ in range(chance.randrange(1, 4))
        ]
        path += "?" + "&".join(pairs)
    token = chance.choice((*[key] * 16, "wrong", "", "\xff", key + " ", key.upper()))
    scheme = chance.choice(("Bearer", "bearer", "Bearer", "Basic"))
    headers = [("Host", "h"), ("Authorization", f"{scheme} {token}")]
    if chance.random() < 0.1:
        headers.pop()
    content = body(chance)
    headers.append(("Content-Length", str(len(content))))
    kinds = (
        "application/json",
        "application/json",
        "application/JSON; a=b",
        "text/plain",
        "\xe9",
        "",
    )
    headers.append(("Content-Type", chance.choice(kinds)))
    if chance.random() < 0.2:
        headers.append((chance.choice(("X-Any", "Accept", "Cookie")), "v" * chance.randrange(200)))
    method = chance.choice(METHODS)
    head = f"{method} {path} HTTP/1.1\r\n" + "".join(
        f"{name}: {text}\r\n" for name, text in headers
    )
    return head.encode("latin-1") + b"\r\n" + content


def check(method: str, answer: http.client.HTTPResponse, got: bytes) -> None:
    """Check one answer: documented, JSON, an Error where it is none, with the rate headers."""
    assert answer.status in DOCUMENTED, (method, answer.status, got[:200])
    body = json.loads(got)
    if answer.status >= 400:
        assert set(body) == {"code", "message", "status"}
        assert body["status"] == answer.status
    if body not in ({"status": "ok"},) and "openapi" not in body:
        for name in ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"):
            assert (answer.getheader(name) or "").isdecimal()


@pytest.mark.case("P58", "P59")
@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", range(PARTS), ids=lambda part: f"part{part:03}")
def test_fuzzed_requests_get_documented_answers_only(
    ample_service: tuple[str, str], part: int
) -> None:
    """
    Twenty thousand a part, one in a hundred of them any bytes at all: up to the end, no 5xx but
    501.
    """
    base_url, key = ample_service
    port = int(base_url.split(":")[2].partition("/")[0])
    chance = random.Random(part)
    answers: Counter[int] = Counter()
    connection = socket.create_connection(("127.0.0.1", port), timeout=20)
    for _ in range(A_PART):
        if chance.random() < 0.01:
            with socket.create_connection(("127.0.0.1", port), timeout=20) as other:
                other.sendall(
                    chance.choice((b"", b"GET ", b"POST /v1/pets HTTP/1.1\r\n"))
                    + chance.randbytes(80)
                )
                other.shutdown(socket.SHUT_WR)
                while other.recv(4_096):
                    pass
            continue
        sent = request(chance, key)
        connection.sendall(sent)
        method = sent.partition(b" ")[0].decode()
        answer = http.client.HTTPResponse(connection, method=method)
        answer.begin()
        got = answer.read()
        answer_is_ours = answer.getheader("content-type") == "application/json"
        if answer_is_ours:
            check(method, answer, got)
        else:
            assert (answer.status, got) == (400, b""), (sent[:300], got[:200])
        answers[answer.status if answer_is_ours else 0] += 1
        if answer.will_close or not answer_is_ours:
            connection.close()
            connection = socket.create_connection(("127.0.0.1", port), timeout=20)
    connection.close()

    assert answers[200] > 50
    assert answers[201] > 50
    assert answers[400] > 500
    assert answers[0] < A_PART * 0.2
