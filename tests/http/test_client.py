"""
The one call loop: what leaves again and what does not, what a caller is told of it,
and what is logged.
"""

import json
import logging
import re
import signal
from contextlib import nullcontext, suppress
from urllib.parse import quote

import pytest
import requests
from commands import end_main, run_program
from urllib3.exceptions import NewConnectionError
from wires import BASE, KEY, NO_MORE, PET, T0

from petstore_tools import Sandbox
from petstore_tools.errors import (
    KeyBannedError,
    NotFoundError,
    QuotaError,
    TransportError,
    UnauthorizedError,
)
from petstore_tools.http.transport import TIMEOUT_S
from petstore_tools.sandbox.faults import Fault
from petstore_tools.throttle.gate import CallOptions

REFUSED = requests.ConnectionError(NewConnectionError(None, "refused"))


LOST = {"body": requests.ConnectionError("the connection broke")}
ENDS = {
    "a refused connection and a 429 change nothing": (
        [
            {"body": REFUSED},
            {"status": 429, "headers": {"Retry-After": "5"}},
            {"status": 201},
        ],
        ["before", "no effect", "before", "no effect", "before"],
        201,
    ),
    "it may have been created, so it is sent once": ([LOST], ["before"], True),
    "five attempts, then the error": (
        [{"body": REFUSED}] * 5,
        ["before", "no effect"] * 5,
        False,
    ),
}


@pytest.mark.parametrize(("answers", "steps", "end"), ENDS.values(), ids=ENDS)
def test_each_attempt_that_changed_nothing_is_reported_before_the_next_one(
    wire, client, answers, steps, end
):
    """The end is a status, or an error that says whether the request may have left."""
    url = f"{BASE}/pets"
    for answer in answers:
        wire.post(url, **answer)
    hook_calls = []
    hooks = {
        "before": lambda: hook_calls.append("before"),
        "on_no_effect": lambda: hook_calls.append("no effect"),
    }

    try:
        outcome = client.call("POST", url, b"{}", **hooks).status
    except TransportError as error:
        outcome = error.may_have_left

    assert (hook_calls, outcome) == (steps, end)


@pytest.mark.parametrize(("wait", "attempts"), [(False, 3), (True, 5)])
@pytest.mark.parametrize("breaks", [True, False])
def test_no_further_attempt_begins_once_max_wait_s_has_passed(
    wire, client, wait, attempts, breaks
):
    """Each takes 40 s to fail, and 90 s may pass, unless the call waits."""

    def fail(_):
        client.clock.advance(40)
        if breaks:
            raise requests.ConnectionError("the connection broke")
        return 503, {}, ""

    for _ in range(attempts):
        wire.add_callback("GET", f"{BASE}/pets", callback=fail)

    with pytest.raises(TransportError) if breaks else nullcontext():
        client.call("GET", f"{BASE}/pets", call_options=CallOptions(wait=wait))

    assert client.sent == attempts


def test_refusals_end_a_call_once_max_wait_s_has_passed(wire, client):
    """Each wait alone is short enough: 1 s, doubled seven times."""
    for _ in range(7):
        wire.get(f"{BASE}/pets", status=429, headers={"Retry-After": "1"})

    with pytest.raises(QuotaError):
        client.call("GET", f"{BASE}/pets")


def test_an_exception_before_an_attempt_sends_and_spends_nothing(client):
    """
    The caller could not record its intent: nothing left, and the request is given back.
    """

    def fail():
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="disk is full"):
        client.call("POST", f"{BASE}/pets", b"{}", before=fail)

    assert client.sent == 0
    assert len(client.ledger.update(lambda budget: budget.in_flight)) == 0


class Dropped:
    """Presses Ctrl-C when it is thrown away, where Python drops what that raises."""

    def __del__(self):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_command_ends_although_python_dropped_its_interrupt(
    wire, monkeypatch, capsys
):
    """At most the next request is sent, and the exit code is 130."""
    monkeypatch.setenv("PETSTORE_BASE_URL", BASE)
    monkeypatch.setenv("PETSTORE_API_KEY", KEY)

    def press(_):
        Dropped()
        return 200, {"Link": '<?cursor=b>; rel="next"'}, json.dumps([PET])

    wire.add_callback("GET", f"{BASE}/pets", callback=press)
    assert end_main("list") == 130
    assert len(wire.calls) <= 2
    assert "Interrupted." in capsys.readouterr().err


def test_after_the_removal_a_404_says_removed_as_announced(wire, store):
    """
    From that day on a missing operation is no missing animal (§4.3); the call warns
    before.
    """
    clock = store.client.clock
    clock.advance(1_922_659_200 - T0)
    wire.get(f"{BASE}/pets/17", status=410)

    with (
        pytest.warns(
            DeprecationWarning, match=r"5 December 2030. Use list_pets\(status=...\)"
        ),
        pytest.raises(NotFoundError, match="removed as announced"),
    ):
        store.get_pet(17)


TIME = r"20[0-9-]{8} [0-9:]{8} UTC"


def refusal(status, code):
    body = {"code": code, "message": f"no, {KEY}", "status": status}
    return {"status": status, "json": body, "headers": {"Retry-After": "30"}}


WAITING = rf"INFO Waiting until {TIME}: .*429.*\."
RETRY = r"INFO GET /v1/pets/1: {} Attempt {} of 5 follows in {} s\."
LOGGED = {  # what is answered, what is logged, and the seconds that pass
    "429": (
        [refusal(429, "rate_limited"), {"json": PET}],
        [WAITING],
        30,
    ),
    "ban": ([refusal(429, "key_banned")], [], 0),
    "401": ([refusal(401, "unauthorized")], [], 0),
    "retries": (
        [
            {"status": 500},
            {"body": ConnectionError("broken")},
            {"body": "{}", "headers": {"Content-Encoding": "gzip"}},
            {"json": PET},
        ],
        [
            RETRY.format(r"the service answered 500\.", 2, r"0\.\d"),
            RETRY.format(r"the connection broke .*\.", 3, ".*"),
            RETRY.format("the answer is packed in a way .*", 4, ".*"),
        ],
        1.75,
    ),
}


@pytest.mark.parametrize(("answers", "lines", "least_s"), LOGGED.values(), ids=LOGGED)
def test_waits_and_retries_are_logged_once(wire, client, log, answers, lines, least_s):
    """Each is a line of information; a refusal that is raised is none."""
    for answer in answers:
        wire.get(f"{BASE}/pets/1", **answer)

    with suppress(UnauthorizedError, KeyBannedError):
        client.get(1)

    assert least_s <= client.clock.now() - T0 <= 1.5 * least_s + 1
    for record, line in zip(log.records, lines, strict=True):
        assert re.fullmatch(line, f"{record.levelname} {record.getMessage()}")


def test_no_record_holds_the_key(caplog, file):
    """
    Not even of each request, from a service that fails.
    """
    caplog.set_level(logging.DEBUG, logger="petstore_tools")
    drops = Fault("drop_after", method="POST", every=5)
    faults = [Fault("error_before", every=4), drops]
    with Sandbox(plan="60/1000", animals=250, faults=faults) as box:
        box.store.import_pets(file)

    assert {record.levelname for record in caplog.records} == {"DEBUG", "INFO"}
    for record in caplog.records:
        fields = logging.Formatter("%(message)s").format(record) + repr(vars(record))
        assert box.api_key not in fields
        assert quote(box.api_key, safe="") not in fields


def test_nothing_is_written_unless_a_program_asks():
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
    done = run_program(code=script)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_listing_asks_for_the_documented_maximum_with_key_and_timeout(wire, store):
    """
    GET /pets?limit=100&status=sold, bearer key, JSON wanted, a timeout always (§4.1,
    §5).
    """
    wire.get(f"{BASE}/pets", json=[PET], headers=NO_MORE)

    frame = store.list_pets(status="sold")

    sent = wire.calls[0].request
    assert sent.url == f"{BASE}/pets?limit=100&status=sold"
    assert sent.headers["Authorization"] == f"Bearer {KEY}"
    assert sent.headers["Accept"] == "application/json"
    assert sent.req_kwargs["timeout"] == TIMEOUT_S
    assert frame["id"].tolist() == [17]
