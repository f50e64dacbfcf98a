"""
The service over a real socket: documented bodies, codes and headers, whatever is sent.
"""

import json
from unittest.mock import ANY
from urllib.parse import urljoin

import pytest
from services import NOON, Caller, remaining, serve_in_thread
from tables import WIRE, read_cases, read_json

from petstore_tools import Sandbox, spec
from petstore_tools.clock import ManualClock
from petstore_tools.plans import Plan

JSON = {"Content-Type": "application/json"}
RATE = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")
POLICY = "RateLimit-Policy"


@pytest.fixture
def box():
    with Sandbox(plan=Plan(1_000, 100_000), animals=3) as sandbox:
        yield sandbox


@pytest.fixture
def caller(box):
    return Caller(box.base_url, box.api_key)


def is_error(response, status):
    """Check the Error body of §2.5 and the three headers of §8.3."""
    body = response.json()
    assert response.status_code == status, response.text
    assert set(body) == {"code", "message", "status"}
    assert len(response.content) < 500
    assert body["status"] == status
    assert all(
        isinstance(body[name], str) and body[name] for name in ("code", "message")
    )
    return has_rate_headers(response)


def has_rate_headers(response):
    assert all(response.headers[name].isdecimal() for name in RATE)
    return True


def with_any(pairs):
    return dict(pairs) | {name: ANY for name, value in pairs if value == "*"}


@pytest.mark.parametrize("path", WIRE, ids=lambda path: path.stem)
def test_the_service_answers_as_the_literal_replies_written_from_the_document(
    caller, path
):
    """
    Each file: a request, and status, body and headers of its answer; `*` stands for any
    text.
    """
    case = json.loads(path.read_text(), object_pairs_hook=with_any)
    request = case["request"]
    data = json.dumps(request["body"]) if "body" in request else None
    key = {"Authorization": None} if request.get("without_key") else {}

    response = caller.request(
        request["method"], request["path"], data=data, headers={**JSON, **key}
    )

    assert response.status_code == case["reply"]["status"]
    assert has_rate_headers(response)
    assert response.json() == case["reply"]["body"]


@pytest.mark.parametrize(
    "body",
    [
        *read_json(__file__, "bad_bodies.json"),
        b"\xff\xfe",
        b'{"name": "' + b"x" * 256 + b'", "categoryId": 1}',
        b'{"name": "R\\u0000x", "categoryId": 1}',
        pytest.param(
            json.dumps({"name": "Rex", "categoryId": 1, "x" * 8_000: 1}),
            id="an unknown field with a long name",
        ),
    ],
)
def test_a_bad_body_is_400_with_an_error_and_creates_nothing(caller, body):
    """
    Missing, malformed, of the wrong type, unknown, too long (§4.2): never 415, 422 or
    500.
    """
    assert is_error(caller.request("POST", data=body, headers=JSON), 400)
    assert len(caller.get().json()) == 3


@pytest.mark.parametrize(
    ("method", "path", "status"),
    read_cases(__file__, "failures.txt"),
)
def test_every_failure_is_an_error_body_with_rate_headers(caller, method, path, status):
    """Status equal to the HTTP status, on every path (§2.5, §8.3)."""
    assert is_error(caller.request(method, path), int(status))


@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Bearer ", "Bearer wrong", "Basic abc", "wrong"]
)
def test_a_missing_or_wrong_key_is_401(caller, header):
    """With `WWW-Authenticate`, an Error, and rate headers that are not a key's (§5)."""
    response = caller.request("GET", headers={"Authorization": header})

    assert is_error(response, 401)
    challenge = 'Bearer realm="Animal Store Service"'
    assert response.headers["WWW-Authenticate"] == challenge
    assert [response.headers[name] for name in RATE[:2]] == ["60", "60"]


def test_wrong_keys_cost_nobody_anything(tmp_path):
    """However many there are: a read each, no write, and no ban of the right one."""
    path = tmp_path / "service.db"
    with serve_in_thread(str(path)) as (_, caller):
        caller.get()
        log = path.with_name("service.db-wal")
        size = log.stat().st_size
        wrong = Caller(caller.base_url, "psk_wrong")
        refused = {wrong.get().status_code for _ in range(100)}
        assert log.stat().st_size == size
        right = caller.get().status_code

    assert refused == {401}
    assert right == 200


@pytest.mark.parametrize(
    ("plan", "policies"),
    [
        (Plan(3, 100), {'"minute";q=3;w=60'}),
        (Plan(100, 3), {'"day";q=3;w=86400'}),
        (Plan(3, 3), {'"day";q=3;w=86400'}),  # a tie: the one that resets later
    ],
)
def test_an_answer_names_the_window_of_its_rate_headers(plan, policies):
    """With its limit and its length, on a 429, too."""
    with Sandbox(plan=plan, animals=0) as box:
        caller = Caller(box.base_url, box.api_key)
        answers = [caller.get(path) for path in ("/pets", "/x", "/pets", "/pets")]

    assert [answer.status_code for answer in answers] == [200, 404, 200, 429]
    assert {answer.headers[POLICY] for answer in answers} == policies


class BrokenClock(ManualClock):
    """A clock with a defect when it is read for the second time."""

    readings = 0

    def now(self):
        self.readings += 1
        if self.readings == 2:
            raise ZeroDivisionError
        return super().now()


def test_a_defect_is_a_500_with_an_error_and_the_next_request_is_served(tmp_path):
    """Nothing of the request that failed is kept."""
    with serve_in_thread(str(tmp_path / "s.db"), clock=BrokenClock(NOON)) as (
        _,
        caller,
    ):
        well = caller.get()
        failed = caller.post()
        listed = caller.get()

    assert well.status_code == 200
    assert (failed.status_code, failed.json()["code"]) == (500, "internal_error")
    assert "nothing was changed" in failed.json()["message"]
    assert listed.json() == []


def test_a_429_names_its_seconds_and_the_tenth_retry_is_a_ban():
    """
    An Error, Remaining 0, and a Retry-After that agrees with the reset (§8.4.2,
    §8.4.3).
    """
    with Sandbox(plan="1/100", animals=0) as box:
        caller = Caller(box.base_url, box.api_key)
        box.advance(seconds=15)
        first, refused = (caller.get() for _ in range(2))
        box.advance(seconds=3)
        *_, banned = (caller.get() for _ in range(10))

    assert first.status_code == 200
    for answer, wait_s, code in (
        (refused, "45", "rate_limited"),
        (banned, "900", "key_banned"),
    ):
        assert is_error(answer, 429)
        assert (answer.headers["Retry-After"], answer.json()["code"]) == (wait_s, code)
    assert refused.headers["X-RateLimit-Remaining"] == "0"
    assert refused.headers["X-RateLimit-Reset"] == first.headers["X-RateLimit-Reset"]


def test_the_date_is_the_services_clock(caller):
    """One Date, from the clock that also makes the resets."""
    response = caller.get()

    assert response.raw.headers.getlist("Date") == ["Mon, 05 Jan 2026 09:00:00 GMT"]


def test_the_deprecated_operation_says_so_and_ends_on_its_day(box, caller):
    """
    Deprecation, Sunset and a successor until 5 December 2030; 410 from then on (§4.3,
    §9).
    """
    before = caller.get("/pets/1")
    assert before.status_code == 200
    assert before.headers["Sunset"] == "Thu, 05 Dec 2030 00:00:00 GMT"
    assert before.headers["Deprecation"].startswith("@")
    assert 'rel="successor-version"' in before.headers["Link"]

    box.advance(seconds=spec.REMOVAL_OF_GET_PET_AT - box.clock.now())

    assert is_error(caller.get("/pets/1"), 410)


def test_a_link_shows_the_last_id_of_its_page_and_is_bound_to_its_filter(caller):
    """
    So that a caller whose next request holds it knows that no animal was missed
    between.
    """
    link = caller.get("/pets?limit=2").links["next"]["url"]

    assert "cursor=id2." in link
    assert caller.get(f"/pets{link}").status_code == 200
    assert is_error(caller.get(f"/pets{link}&status=sold"), 400)


def test_head_is_answered_as_get_without_the_body(caller):
    """And costs as much (our choice)."""
    page, head, last = (caller.request(method) for method in ("GET", "HEAD", "GET"))

    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["Content-Length"] == str(len(page.content))
    assert remaining(page) - remaining(last) == 2


def test_unknown_query_parameters_are_ignored(caller):
    """Our choice: the document names two (§4.1)."""
    assert caller.get("/pets?colour=red&offset=2").json() == caller.get().json()


@pytest.mark.parametrize(
    ("kind", "status"),
    [("text/plain", 400), ("", 400), ("Application/JSON; charset=utf-8", 201)],
)
def test_a_body_of_another_content_type_is_400(caller, kind, status):
    """Bodies are application/json (§4); a charset may follow."""
    body = b'{"name": "Rex", "categoryId": 1}'

    answer = caller.request("POST", data=body, headers={"Content-Type": kind})

    assert answer.status_code == status


@pytest.mark.parametrize(
    "path", ["/pets", "/pets/0", "/nothing", "/health", "/live", "/openapi.json"]
)
def test_no_answer_is_stored_or_taken_for_another_type(caller, path):
    """Also a refusal, and what needs no key."""
    for key in (caller.key, "wrong"):
        headers = Caller(caller.base_url, key).get(path).headers
        assert headers["Cache-Control"] == "no-store"
        assert headers["X-Content-Type-Options"] == "nosniff"


def test_a_create_says_where_the_animal_is(caller):
    """The address is relative to that of the request."""
    created = caller.post()

    place = urljoin(created.url, created.headers["Location"])
    assert place == f"{caller.base_url}/pets/{created.json()['id']}"


def test_a_bad_query_or_body_without_a_key_is_401(caller):
    """The key is looked at before anything is parsed."""
    nobody = Caller(caller.base_url, "wrong")

    assert is_error(nobody.get("/pets?limit=x"), 401)
    assert is_error(nobody.request("POST", data=b"{", headers=JSON), 401)
    assert is_error(caller.get("/pets?limit=x"), 400)
    assert caller.get("/pets?limit=x").json()["code"] == "invalid_parameter"


def test_refused_keys_and_bans_are_lines_of_the_log_without_the_key(tmp_path, caplog):
    """A line for refused keys in ten seconds, and a line for each ban."""
    clock = ManualClock(NOON)
    with serve_in_thread(str(tmp_path / "s.db"), clock=clock) as (database, caller):
        wrong = Caller(caller.base_url, "psk_wrong")
        assert {wrong.get().status_code for _ in range(20)} == {401}
        key_id, key = database.create_key(Plan(1, 100), label="", now=NOON)
        greedy = Caller(caller.base_url, key)
        greedy.get(), greedy.get()
        clock.advance(3)
        codes = {greedy.get().json()["code"] for _ in range(15)}
    refused, banned = [record.getMessage() for record in caplog.records]

    assert "no valid key, from 127.0.0.1" in refused
    assert codes == {"rate_limited", "key_banned"}
    assert f"key {key_id} is banned until " in banned
    assert key not in caplog.text
    assert "psk_" not in caplog.text


def test_a_revoked_key_is_401_at_once(tmp_path):
    """And only once can it be revoked."""
    with serve_in_thread(str(tmp_path / "service.db")) as (database, caller):
        assert caller.get().status_code == 200
        ((key_id, *_),) = database.list_keys()

        assert database.revoke(key_id, 1.0)

        assert is_error(caller.get(), 401)
        assert not database.revoke(key_id, 2.0)


def test_an_outage_writes_a_line_of_each_kind_and_a_path_forges_none(tmp_path, caplog):
    """Once in ten seconds; line breaks are spelt out, and long paths are cut."""
    path = tmp_path / "service.db"
    with serve_in_thread(str(path)) as (_, caller):
        path.rename(tmp_path / "away.db")
        forged = f"/%0aERROR%20forged%0d%1b[2J{'x' * 5_000}"
        answers = {caller.get(forged).status_code for _ in range(50)}
    (line,) = [record.getMessage() for record in caplog.records]
    caplog.clear()

    assert answers == {503}
    assert "was removed or replaced" in line
    assert not set("\n\r\x1b") & set(line)
    assert len(line) < 500
