"""A 503 that names a time: all who share the budget keep it."""

from __future__ import annotations

import json
import socket
import threading
import time
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

import pandas as pd
import pytest
import responses
from raw import RawServer, reply_bytes
from requests import PreparedRequest
from wires import BASE, KEY, PET, T0, rate_headers

from petstore_tools import PetStore
from petstore_tools.errors import ApiError, QuotaError
from petstore_tools.throttle.gate import CallOptions
from petstore_tools.throttle.throttle import Wait


def date(at: float) -> str:
    return format_datetime(datetime.fromtimestamp(at, UTC), usegmt=True)


@pytest.mark.case("P72")
@pytest.mark.parametrize(
    ("said", "least_s", "most_s"),
    [
        ("20", 20, 22),
        (date(T0 + 40), 40, 42),
        ("1000000000", 300, 302),
        (date(4_102_444_800), 300, 302),
        ("soon", 0, 2),
    ],
)
def test_a_503_is_asked_again_when_it_said(
    wire: responses.RequestsMock,
    store: PetStore,
    said: str,
    least_s: float,
    most_s: float,
) -> None:
    """
    Seconds, a date, or at most five minutes; nonsense is a failure like any other,
    under backoff.
    """
    wire.get(
        f"{BASE}/pets", status=503, headers={"Retry-After": said, "Date": date(T0)}
    )
    wire.get(f"{BASE}/pets", json=[])

    assert len(store.list_pets(wait=True)) == 0

    assert least_s <= store.client.clock.now() - T0 <= most_s


@pytest.mark.case("P72")
def test_whoever_shares_the_budget_keeps_the_pause(
    wire: responses.RequestsMock, store: PetStore
) -> None:
    """
    A create of one process is answered 503: a listing of another waits, and says until
    when.
    """
    wire.post(f"{BASE}/pets", status=503, headers={"Retry-After": "200"})
    wire.get(f"{BASE}/pets", json=[])
    with pytest.raises(ApiError, match="503"):
        store.create_pet("Rex", category_id=3)

    with PetStore.from_settings(store.settings, clock=store.client.clock) as other:
        why = r"the service asked for a pause \(503\)\. Run the same call"
        with pytest.raises(QuotaError, match=why) as caught:
            other.list_pets()
        assert caught.value.resumes_at == pytest.approx(T0 + 200, abs=1)
        assert other.quota().blocked_until == caught.value.resumes_at
        assert len(other.list_pets(wait=True)) == 0

    assert store.client.clock.now() >= T0 + 200


@pytest.mark.case("P95")
@pytest.mark.parametrize("progress", [True, False])
def test_what_shows_progress_shows_what_it_waits_for(
    wire: responses.RequestsMock,
    store: PetStore,
    capsys: pytest.CaptureFixture[str],
    progress: bool,
) -> None:
    """
    A create waits for the minute, and the fetch of an animal for its second attempt.
    """
    store.progress = progress
    wire.get(f"{BASE}/pets/17", status=503)
    wire.get(f"{BASE}/pets/17", json=PET, headers=rate_headers(0))
    wire.post(f"{BASE}/pets", json=PET, status=201)

    with pytest.warns(DeprecationWarning, match="get_pet is deprecated"):
        store.get_pet(17)
    store.create_pet("Rex", category_id=3)

    shown = capsys.readouterr().err
    assert (
        "/v1/pets/17: the service answered 503; attempt 2 of 5 follows" in shown
    ) is progress
    assert ("all 60 requests of this minute are used" in shown) is progress


@pytest.mark.case("P95")
def test_a_service_that_says_nothing_is_shown_while_it_is_waited_for(
    tmp_path: Path,
) -> None:
    """
    It answers when that was told: to a call alone, and to an import that lists and
    creates.
    """
    told = threading.Event()
    reasons = list[str | None]()

    def tell(wait: Wait | None) -> None:
        reasons.append(wait and wait.reason)
        if wait:
            told.set()

    def serve(connection: socket.socket, request: bytes) -> None:
        if told.wait(20):
            told.clear()
            is_list = request.startswith(b"GET /v1/pets?")
            body = b"[]" if is_list else json.dumps(PET).encode()
            connection.sendall(
                reply_bytes(200 if request.startswith(b"GET") else 201, body)
            )

    with (
        RawServer(serve) as server,
        PetStore(base_url=server.base_url, api_key=KEY, state_dir=tmp_path) as store,
    ):
        url = f"{server.base_url}/pets/17"
        store.client.call("GET", url, call_options=CallOptions(on_wait=tell))
        animals = pd.DataFrame({"name": ["Rex"], "categoryId": [3], "status": ["sold"]})
        result = store.import_pets(
            animals, name="a", progress=lambda now: tell(now.wait)
        )

    assert result.created == 1
    assert reasons[:2] == ["the answer to GET /v1/pets/17", None]
    assert {"the answer to GET /v1/pets", "the answer to POST /v1/pets"} <= {*reasons}


@pytest.mark.parametrize("shown", [False, True])
def test_an_answer_is_watched_only_where_waits_are_shown(
    wire: responses.RequestsMock, store: PetStore, shown: bool
) -> None:
    """A request that nobody watches starts no thread."""
    names = list[str]()

    def serve(_: PreparedRequest) -> tuple[int, dict[str, str], str]:
        names.extend(thread.name for thread in threading.enumerate())
        return 200, {}, "[]"

    wire.add_callback("GET", f"{BASE}/pets", callback=serve)
    options = CallOptions(on_wait=lambda wait: None) if shown else CallOptions()
    store.client.call("GET", f"{BASE}/pets", call_options=options)

    assert ("wait" in names) is shown


@pytest.mark.case("P17")
def test_a_clock_set_back_while_a_request_is_blocked_makes_the_wait_no_longer(
    wire: responses.RequestsMock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By an hour: a Retry-After of 1 s is over in under three by a stopwatch."""
    real = time.time
    back_s = [0.0]
    monkeypatch.setattr(time, "time", lambda: real() - back_s[0])

    def refuse(_: PreparedRequest) -> tuple[int, dict[str, str], str]:
        threading.Timer(0.5, lambda: back_s.__setitem__(0, 3_600.0)).start()
        return 429, {"Retry-After": "1"}, ""

    wire.add_callback("GET", f"{BASE}/pets/17", callback=refuse)
    wire.get(f"{BASE}/pets/17", json=PET)
    with PetStore(base_url=BASE, api_key=KEY, plan="pro", state_dir=tmp_path) as store:
        began_at = time.monotonic()
        assert store.client.get(17).id == 17
        took_s = time.monotonic() - began_at

    assert back_s == [3_600.0]
    assert 1.5 <= took_s < 3
