"""
What a reply says: animals, an error of the tree, or that another program answered.
"""

import json
from functools import partial

import pandas as pd
import pytest
from raw import RawServer, fixed_bytes, fixed_reply, reply_bytes
from tables import WIRE
from wires import BASE, NO_MORE, PET, rate_headers, store_at

from petstore_tools import Sandbox
from petstore_tools.errors import (
    ApiError,
    BadRequestError,
    NotFoundError,
    PetstoreError,
    ProtocolError,
    TransportError,
    UnauthorizedError,
)
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.frames import ENDINGS, write_frame
from petstore_tools.sandbox.faults import Fault

ONWARD = rate_headers(Link='<?cursor=b>; rel="next"')
AWAY = {"code": "db", "message": "away", "status": 500}


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (300, ApiError),  # no redirect, where it names no address
        (400, BadRequestError),
        (401, UnauthorizedError),
        (404, NotFoundError),
        (410, NotFoundError),
        (418, ApiError),
        (500, ApiError),
    ],
)
def test_errors_are_translated_into_the_tree(wire, store, status, kind):
    """
    Status, code, message and the request's line (§2.5, §7); no create is sent again.
    """
    body = {"code": "c", "message": "m", "status": status}
    wire.post(f"{BASE}/pets", json=body, status=status)

    with pytest.raises(kind) as raised:
        store.create_pet("Rex", category_id=3)

    assert vars(raised.value) == body | {"request_line": "POST /v1/pets"}
    assert len(wire.calls) == 1


def test_an_error_shows_no_key_and_no_control_character(wire):
    """Also a key that JSON escapes, as some services write it."""
    key = "psk_ab/cd+ef="
    text = json.dumps({"code": "c", "message": f"\x1b[2J{key} is bad", "status": 401})
    body = text.replace("/", "\\/").replace("+", "\\u002B")
    wire.get(f"{BASE}/pets", body=body, status=401)

    with (
        store_at(BASE, key) as store,
        pytest.raises(UnauthorizedError) as raised,
    ):
        store.list_pets()

    assert raised.value.message == "\\x1b[2J**** is bad"


@pytest.mark.parametrize("has_length", [True, False])
@pytest.mark.parametrize(
    "body",
    [
        *("0", "{}", "<html>proxy</html>", '[{"id": 1}]', "[1, 2", " "),
        json.dumps(AWAY),
        pytest.param("[" * 99_999, id="deep"),
    ],
)
def test_a_page_that_is_no_list_of_animals_is_an_error_not_a_short_frame(
    wire, store, body, has_length
):
    """
    Page 2 is broken, or breaks off: page 1 is kept, labelled as cut. An Error body is
    shown.
    """
    wire.get(f"{BASE}/pets", json=[PET], headers=ONWARD)
    length = {"Content-Length": str(len(body))} if has_length else {}
    wire.get(f"{BASE}/pets", body=body, headers=rate_headers(**length))

    says = "db: away" if "away" in body else "not a list of animals"
    with pytest.raises(ProtocolError, match=says):
        store.list_pets()

    part = Listing.of(store.last_partial)
    assert (part.rows, part.completeness) == (1, "cut")


def test_null_in_place_of_an_empty_list_is_an_empty_list(wire, store):
    """Some services write it where nothing is left."""
    for _ in range(2):  # an end needs two answers
        wire.get(f"{BASE}/pets", json=[PET], headers=ONWARD)
        wire.get(f"{BASE}/pets", body=" null\n", headers=rate_headers())

    listing = Listing.of(store.list_pets())

    assert (listing.rows, listing.completeness) == (1, "complete")


@pytest.mark.parametrize("half", [rb"\uD83D", rb"\udc00", b"\xed\xa0\xbd"])
def test_half_a_character_costs_no_inventory(wire, store, tmp_path, half):
    """
    U+FFFD stands for it, with a note; a whole pair stays; the frame can be written and
    read.
    """
    row = rb'{"id": %d, "name": "%s Rex \ud83d\ude00", "categoryId": 3}'
    page = b"[" + row % (1, half) + b"," + row % (2, b"") + b"]"
    wire.get(f"{BASE}/pets", body=page, headers=NO_MORE)
    wire.post(f"{BASE}/pets", body=row % (3, half), status=201, headers=rate_headers())

    with pytest.warns(
        UserWarning, match="a broken character in a name is shown as \ufffd"
    ):
        frame = store.list_pets()

    names = ["\ufffd Rex \U0001f600", " Rex \U0001f600"]
    assert frame["name"].tolist() == names
    listing = Listing.of(frame)
    assert listing.complete
    assert len(listing.notes) == 1
    read_workbook = partial(pd.read_excel, engine="calamine")
    readers = [pd.read_csv, read_workbook, pd.read_json, pd.read_parquet]
    for read, ending in zip(readers, ENDINGS, strict=True):
        path = tmp_path / f"pets{ending}"
        write_frame(frame, path)
        assert read(path)["name"].tolist() == names
    assert store.create_pet("Rex", category_id=3).name == names[0]


def test_unknown_fields_and_statuses_are_kept_and_told(wire, store):
    """A newer service is no crash: two warnings, and the values as they came."""
    newer = PET | {"status": "resting", "colour": "red"}
    wire.get(f"{BASE}/pets", json=[newer], headers=NO_MORE)

    with pytest.warns(UserWarning, match="does not name") as warned:
        frame = store.list_pets()

    assert {str(w.message) for w in warned} == {
        "the interface document does not name the status 'resting'",
        "the interface document does not name the field 'colour'",
    }
    assert frame["status"].tolist() == ["resting"]
    assert store.client.environment == "production"


@pytest.mark.parametrize("path", WIRE, ids=lambda path: path.stem)
def test_the_client_reads_the_literal_replies_written_from_the_document(
    wire, store, path
):
    """
    The same files that the service is held to; what is sent is their request (§4.2).
    """
    case = json.loads(path.read_text())
    sent = case["request"]
    status = case["reply"]["status"]
    answer = case["reply"]["body"]
    url = BASE + sent["path"].partition("?")[0]
    wire.add(sent["method"], url, json=answer, status=status, headers=rate_headers())

    def call():
        if sent["method"] == "POST":
            body = sent["body"]
            category_id = body.get("categoryId", 3)
            return store.create_pet(
                body["name"], category_id=category_id, status=body.get("status")
            )
        if sent["path"] == "/pets/99":
            return store.client.get(99)
        return store.list_pets()

    if status < 400:
        assert call().model_dump(by_alias=True, exclude_none=True) == answer
        request = wire.calls[0].request
        assert json.loads(request.body) == sent["body"]
        assert request.headers["Content-Type"] == "application/json"
    else:
        with pytest.raises(ApiError) as raised:
            call()
        assert (raised.value.status, raised.value.code) == (status, answer["code"])


PAGE = (
    b"<!DOCTYPE html><html><head><title>Welcome</title></head><body>Hello</body></html>"
)
TLS_ALERT = b"\x15\x03\x01\x00\x02\x02\x46"  # what a TLS server says to plain HTTP
GO = b"Client sent an HTTP request to an HTTPS server.\n"
NGINX = (
    b"<html><head><title>400 The plain HTTP request was sent to HTTPS"
    b" port</title></head></html>"
)


def refusal(address):
    with store_at(address) as store:
        with pytest.raises(PetstoreError) as caught:
            store.list_pets(first=1)
        return caught.value


@pytest.mark.parametrize(
    "answer",
    [b"", TLS_ALERT, reply_bytes(400, GO), reply_bytes(400, NGINX)],
)
def test_http_to_a_service_that_speaks_https_says_so(answer):
    """A closed connection, an alert, and what Go and nginx answer."""
    with RawServer(fixed_bytes(answer)) as server:
        error = refusal(server.base_url)

    assert "write https:// in the base address" in str(error)


def test_https_to_a_service_that_speaks_http_says_so():
    """In place of: no service answers."""
    with Sandbox(animals=1) as box:
        error = refusal(box.base_url.replace("http://", "https://"))

    advice = "does not use https; if it uses http, write http:// in the base address"
    assert advice in str(error)
    assert not error.may_have_left


@pytest.mark.parametrize(
    ("status", "kind"),
    [(200, ProtocolError), (404, ApiError), (502, ApiError)],
)
def test_a_web_page_behind_the_address_is_called_one(status, kind):
    """
    And where it cannot be a proxy's word on a service that is down, the address is
    asked about.
    """
    page = fixed_reply(status, PAGE, Content_Type="text/html")
    with RawServer(page) as server:
        error = refusal(server.base_url)

    assert isinstance(error, kind)
    assert "a web page came instead" in str(error)
    assert ("is the base address right?" in str(error)) == (status < 500)


@pytest.mark.parametrize(
    ("path", "call", "advises"),
    [
        ("/shop/v1", lambda store: store.list_pets(), True),
        ("/shop/v1", lambda store: store.create_pet("Rex", category_id=3), True),
        ("/v1", lambda store: store.client.get(999), False),
    ],
)
def test_a_wrong_path_below_an_address_says_what_an_address_looks_like(
    path, call, advises
):
    """A 404 of the animals; that of one animal is about its id."""
    with Sandbox(animals=1) as box:
        box.store.client.base_url = box.base_url.replace("/v1", path)
        with pytest.raises(NotFoundError) as caught:
            call(box.store)

    assert ("It must look like https://HOST/v1" in str(caught.value)) is advises


def test_a_host_name_that_nobody_knows_is_named_with_what_sets_it():
    """With the command that looks further."""
    message = str(refusal("https://shop.invalid/v1"))

    assert "the host name shop.invalid was not found" in message
    assert "PETSTORE_BASE_URL, in staging PETSTORE_STAGING_BASE_URL" in message
    assert "petstore-tools doctor" in message


def test_a_connection_that_breaks_later_is_no_matter_of_the_address():
    """Once the service has answered, nobody is sent to look at https."""
    drops = Fault("drop_before", method="GET", numbers=tuple(range(2, 9)))
    with (
        Sandbox(animals=150, faults=[drops]) as box,
        pytest.raises(TransportError) as caught,
    ):
        box.store.list_pets()

    assert "https" not in str(caught.value)
