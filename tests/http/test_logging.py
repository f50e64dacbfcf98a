"""
What the client logs: each wait, retry, refusal and reconciliation once, never the key,
nothing unasked.
"""

from __future__ import annotations

import logging
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import pytest
import responses
from inventories import ROWS, connect_through
from proxy import FaultProxy
from wires import BASE, KEY, PET, T0

from petstore_tools import PetStore, Sandbox
from petstore_tools.errors import KeyBannedError, UnauthorizedError
from petstore_tools.http.client import Client
from petstore_tools.sandbox.faults import Fault

TIME = r"20[0-9-]{8} [0-9:]{8} UTC"


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """
    What a program sees that asks for waits, retries, refusals and reconciliations.
    """
    with caplog.at_level(logging.INFO, logger="petstore_tools"):
        yield caplog


def test_threads_that_wait_for_the_same_moment_log_one_line(
    log: pytest.LogCaptureFixture,
) -> None:
    """130 requests of eight threads at 60 a minute meet the end of the minute twice."""
    with Sandbox(plan="60/1000", animals=1) as box:

        def read() -> None:
            for _ in range(17):
                box.store.client.call("GET", f"{box.base_url}/pets")

        with box.clock.working():
            threads = [threading.Thread(target=read) for _ in range(8)]
            for thread in threads:
                thread.start()
        for thread in threads:
            thread.join(60)

    assert len(log.messages) == len(set(log.messages)) == 2
    for line in log.messages:
        assert re.fullmatch(
            rf"Waiting until {TIME}: all 60 requests of this minute are used\.", line
        )


def refusal(status: int, code: str) -> dict[str, object]:
    body = {"code": code, "message": f"no, {KEY}", "status": status}
    return {"status": status, "json": body, "headers": {"Retry-After": "30"}}


REFUSED = r"WARNING The service refused a request \(429\): "
WAITING = rf"INFO Waiting until {TIME}: .*429.*\."
RETRY = r"INFO GET /v1/pets/1: {} Attempt {} of 5 follows in {} s\."
LOGGED = {  # what is answered, what is logged, and the seconds that pass
    "429": (
        [refusal(429, "rate_limited"), {"json": PET}],
        [REFUSED + r"there were too many requests\.", WAITING],
        30,
    ),
    "ban": ([refusal(429, "key_banned")], [REFUSED + r"it has banned the key\."], 0),
    "401": (
        [refusal(401, "unauthorized")],
        [r"WARNING The service refused a request \(401\): it does not know the key\."],
        0,
    ),
    "retries": (
        [{"status": 500}, {"body": ConnectionError("broken")}, {"json": PET}],
        [
            RETRY.format(r"the service answered 500\.", 2, r"0\.\d"),
            RETRY.format(r"the connection broke .*\.", 3, ".*"),
        ],
        0.75,
    ),
}


@pytest.mark.case("P6", "P39")
@pytest.mark.parametrize(("answers", "lines", "least_s"), LOGGED.values(), ids=LOGGED)
def test_refusals_waits_and_retries_are_logged_once(
    wire: responses.RequestsMock,
    client: Client,
    log: pytest.LogCaptureFixture,
    answers: list[dict[str, object]],
    lines: list[str],
    least_s: float,
) -> None:
    """
    A refusal is a warning, a wait a line of information; a call after a ban logs
    nothing.
    """
    for answer in answers:
        wire.get(f"{BASE}/pets/1", **answer)  # type: ignore[arg-type]

    with suppress(UnauthorizedError, KeyBannedError):
        client.get(1)
    if "banned" in lines[0]:
        with pytest.raises(KeyBannedError):
            client.get(1)

    assert least_s <= client.clock.now() - T0 <= 1.5 * least_s + 1
    for record, line in zip(log.records, lines, strict=True):
        assert re.fullmatch(line, f"{record.levelname} {record.getMessage()}")


@pytest.mark.case("P8")
def test_a_link_to_another_host_is_not_followed_and_logged_once(
    wire: responses.RequestsMock, store: PetStore, log: pytest.LogCaptureFixture
) -> None:
    """So is any listing that ends incomplete; one that was asked to be short is not."""
    link = {"Link": f'<https://user:{KEY}@elsewhere.example/v2/pets>; rel="next"'}
    animals = [{"id": n, "name": "Rex", "categoryId": 1} for n in range(1, 101)]
    wire.get(f"{BASE}/pets", json=animals, headers=link)
    wire.get(f"{BASE}/pets", json=animals[:2])

    with pytest.warns(UserWarning, match="elsewhere"):
        store.list_pets()
    store.list_pets(first=2)

    assert log.messages == [
        "A listing is cut: the service says that the next page is at"
        " https://elsewhere.example; the key is not sent there."
    ]


def test_a_reconciliation_is_logged_once(
    fast: Sandbox, file: Path, log: pytest.LogCaptureFixture
) -> None:
    """
    Two answers are lost, one animal exists: the wait, and what became of the rows.
    """
    lost = {5: "drop before", 10: "drop after"}
    with FaultProxy(
        fast.base_url,
        lambda method, n: lost.get(n, "pass") if method == "POST" else "pass",
    ) as proxy:
        result = connect_through(fast, proxy).import_pets(file)

    waits, reconciled = log.messages
    assert result.created == ROWS
    assert re.fullmatch(
        rf"Waiting until {TIME}: .* 2 rows whose answer was lost\.", waits
    )
    assert reconciled == "Reconciled 2 rows: 1 created, 1 unsent."


def test_no_record_holds_the_key(caplog: pytest.LogCaptureFixture, file: Path) -> None:
    """
    Not even of each request, from a service that fails; what is said of refusals is
    above.
    """
    faults = (
        Fault("error_before", every=4),
        Fault("drop_after", method="POST", every=5),
    )
    with (
        caplog.at_level(logging.DEBUG, logger="petstore_tools"),
        Sandbox(plan="60/1000", animals=250, faults=faults) as box,
    ):
        key = box.api_key
        box.store.import_pets(file)

    assert {record.levelname for record in caplog.records} == {"DEBUG", "INFO"}
    formatted = logging.Formatter("%(message)s")
    for record in caplog.records:
        shown = formatted.format(record) + repr(vars(record))
        assert key not in shown
        assert quote(key, safe="") not in shown


def test_nothing_is_written_unless_a_program_asks() -> None:
    """
    A retry, a wait and a refused key: not even Python's last resort for warnings shows
    them.
    """
    script = """if True:
        from contextlib import suppress
        from pydantic import SecretStr
        from petstore_tools import Sandbox
        from petstore_tools.errors import UnauthorizedError
        from petstore_tools.sandbox.faults import Fault

        faults = [Fault("error_before", numbers=(2,))]
        with Sandbox(plan="2/100", animals=150, faults=faults) as box:
            box.store.list_pets()
            with suppress(UnauthorizedError):
                box.connect(api_key=SecretStr("psk_wrong")).list_pets()
    """
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
