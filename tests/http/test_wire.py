"""
What leaves on the wire, and what each reply does that a real server cannot be made to
show.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import responses
from wires import BASE, KEY, PET, T0, rate_headers

from petstore_tools import PetStore
from petstore_tools.clock import ManualClock
from petstore_tools.errors import (
    ApiError,
    BadRequestError,
    KeyBannedError,
    NotFoundError,
    ProtocolError,
    UnauthorizedError,
)
from petstore_tools.http.transport import TIMEOUT_S
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.export import ENDINGS, write


def test_a_listing_asks_for_the_documented_maximum_with_key_and_timeout(
    wire: responses.RequestsMock, store: PetStore
) -> None:
    """
    GET /pets?limit=100&status=sold, bearer key, JSON wanted, a timeout always (§4.1,
    §5).
    """
    wire.get(
        f"{BASE}/pets", json=[PET], headers=rate_headers(**{"X-Has-More": "false"})
    )

    frame = store.list_pets(status="sold")

    sent = wire.calls[0].request
    assert sent.url == f"{BASE}/pets?limit=100&status=sold"
    assert sent.headers["Authorization"] == f"Bearer {KEY}"
    assert sent.headers["Accept"] == "application/json"
    assert sent.req_kwargs["timeout"] == TIMEOUT_S  # type: ignore[attr-defined]
    assert frame["id"].tolist() == [17]


@pytest.mark.case("P39")
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (300, ApiError),  # no redirect, where it names no address
        (400, BadRequestError),
        (401, UnauthorizedError),
        (404, NotFoundError),
        (418, ApiError),
        (500, ApiError),
    ],
)
def test_errors_are_translated_into_the_tree(
    wire: responses.RequestsMock, store: PetStore, status: int, kind: type[ApiError]
) -> None:
    """
    Status, code, message and the request's line (§2.5, §7); no create is sent again.
    """
    wire.post(
        f"{BASE}/pets",
        json={"code": "c", "message": "m", "status": status},
        status=status,
    )

    with pytest.raises(kind) as raised:
        store.create_pet("Rex", category_id=3)

    error = raised.value
    assert (error.status, error.code, error.message) == (status, "c", "m")
    assert error.request_line == "POST /v1/pets"
    assert len(wire.calls) == 1


@pytest.mark.case("P6")
@pytest.mark.parametrize(
    "body", ["null", "{}", "<html>proxy</html>", '[{"id": 1}]', "[1, 2", ""]
)
def test_a_page_that_is_no_list_of_animals_is_an_error_not_a_short_frame(
    wire: responses.RequestsMock, store: PetStore, body: str
) -> None:
    """Page 2 is broken: page 1 is kept, labelled as cut."""
    wire.get(
        f"{BASE}/pets", json=[PET], headers=rate_headers(Link='<?cursor=b>; rel="next"')
    )
    wire.get(f"{BASE}/pets", body=body, headers=rate_headers())

    with pytest.raises(ProtocolError, match="not a list of animals"):
        store.list_pets()

    assert store.last_partial is not None
    assert len(store.last_partial) == 1
    assert Listing.of(store.last_partial).completeness == "cut"


@pytest.mark.case("P95")
@pytest.mark.parametrize("half", [rb"\uD83D", rb"\udc00", b"\xed\xa0\xbd"])
def test_half_a_character_costs_no_inventory(
    wire: responses.RequestsMock, store: PetStore, tmp_path: Path, half: bytes
) -> None:
    """
    U+FFFD stands for it, with a note; a whole pair stays; the frame can be written and
    read.
    """
    row = rb'{"id": %d, "name": "%s Rex \ud83d\ude00", "categoryId": 3}'
    page = b"[" + row % (1, half) + b"," + row % (2, b"") + b"]"
    wire.get(f"{BASE}/pets", body=page, headers=rate_headers(**{"X-Has-More": "false"}))
    wire.post(f"{BASE}/pets", body=row % (3, half), status=201, headers=rate_headers())

    with pytest.warns(
        UserWarning, match="a broken character in a name is shown as \ufffd"
    ):
        frame = store.list_pets()

    names = ["\ufffd Rex \U0001f600", " Rex \U0001f600"]
    assert frame["name"].tolist() == names
    assert (Listing.of(frame).completeness, len(Listing.of(frame).notes)) == (
        "complete",
        1,
    )
    for ending in ENDINGS:
        write(frame, tmp_path / f"pets{ending}")
    for read, ending in (
        (pd.read_csv, "csv"),
        (pd.read_json, "json"),
        (pd.read_parquet, "parquet"),
    ):
        assert read(tmp_path / f"pets.{ending}")["name"].tolist() == names
    assert store.create_pet("Rex", category_id=3).name == names[0]


@pytest.mark.case("P29")
def test_a_ban_is_named_with_its_time_and_nothing_more_is_sent(
    wire: responses.RequestsMock, store: PetStore
) -> None:
    """One request learns of it; the next call sends none."""
    body = {"code": "key_banned", "message": "banned", "status": 429}
    wire.get(f"{BASE}/pets", json=body, status=429, headers={"Retry-After": "900"})

    for _ in range(2):
        with pytest.raises(KeyBannedError, match="banned") as raised:
            store.list_pets(wait=True)

    assert raised.value.retry_at == pytest.approx(T0 + 900, abs=2)
    assert len(wire.calls) == 1


@pytest.mark.case("P20")
def test_an_answer_without_headers_still_costs_the_budget(
    wire: responses.RequestsMock, store: PetStore
) -> None:
    """A proxy's 502 has no rate headers: it is counted all the same."""
    wire.post(f"{BASE}/pets", status=502, body="<html>")

    with pytest.raises(ApiError, match="without an Error body"):
        store.create_pet("Rex", category_id=3)

    assert (store.quota().minute.left, store.quota().day.left) == (59, 999)


@pytest.mark.case("P12")
def test_unknown_fields_and_statuses_are_kept_and_told(
    wire: responses.RequestsMock, store: PetStore
) -> None:
    """A newer service is no crash: two warnings, and the values as they came."""
    newer = PET | {"status": "resting", "colour": "red"}
    wire.get(
        f"{BASE}/pets", json=[newer], headers=rate_headers(**{"X-Has-More": "false"})
    )

    with pytest.warns(UserWarning, match="does not name") as warned:
        frame = store.list_pets()

    assert {str(w.message) for w in warned} == {
        "the interface document does not name the status 'resting'",
        "the interface document does not name the field 'colour'",
    }
    assert frame["status"].tolist() == ["resting"]
    assert store.client.environment == "production"


def test_after_the_removal_a_404_says_removed_as_announced(
    wire: responses.RequestsMock, store: PetStore
) -> None:
    """
    From that day on a missing operation is no missing animal (§4.3); the call warns
    before.
    """
    clock = store.client.clock
    assert isinstance(clock, ManualClock)
    clock.advance(1_922_659_200 - T0)
    wire.get(f"{BASE}/pets/17", status=410)

    with (
        pytest.warns(
            DeprecationWarning, match=r"5 December 2030. Use list_pets\(status=...\)"
        ),
        pytest.raises(NotFoundError, match="removed as announced"),
    ):
        store.get_pet(17)


WIRE = sorted((Path(__file__).parents[1] / "wire").glob("*.json"))


@pytest.mark.parametrize("path", WIRE, ids=lambda path: path.stem)
def test_the_client_reads_the_literal_replies_written_from_the_document(
    wire: responses.RequestsMock, store: PetStore, path: Path
) -> None:
    """
    The same files that the service is held to; what is sent is their request (§4.2).
    """
    case = json.loads(path.read_text())
    sent = case["request"]
    answer = case["reply"]
    url = BASE + sent["path"].partition("?")[0]
    wire.add(
        sent["method"],
        url,
        json=answer["body"],
        status=answer["status"],
        headers=rate_headers(),
    )
    body = {"categoryId": 3, "status": None} | (sent.get("body") or {})

    def call() -> Any:
        if sent["method"] == "POST":
            more = {"category_id": body["categoryId"], "status": body["status"]}
            return store.create_pet(body["name"], **more)
        number = sent["path"].partition("/pets/")[2]
        return store.client.get(int(number)) if number else store.list_pets()

    if answer["status"] < 400:
        assert call().model_dump(by_alias=True, exclude_none=True) == answer["body"]
        request = wire.calls[0].request
        assert json.loads(request.body or b"") == sent["body"]
        assert request.headers["Content-Type"] == "application/json"
    else:
        with pytest.raises(ApiError) as raised:
            call()
        assert (raised.value.status, raised.value.code) == (
            answer["status"],
            answer["body"]["code"],
        )
