"""Faults on purpose, and the fixtures that other people's tests get."""

import time

import pytest
from tables import read_json

from petstore_tools import Sandbox
from petstore_tools.errors import ApiError, ProtocolError, TransportError
from petstore_tools.sandbox.faults import Fault

pytest_plugins = ["pytester"]
EXISTS = {
    "drop_before": 0,
    "drop_after": 1,
    "error_before": 0,
    "error_after": 1,
    "garbage": 1,
}


@pytest.mark.parametrize("kind", EXISTS)
def test_each_fault_does_what_it_says(kind):
    """What the caller sees, and whether the animal exists."""
    with Sandbox(animals=0, faults=[Fault(kind, method="POST", numbers=(1,))]) as box:
        with pytest.raises((TransportError, ApiError, ProtocolError)):
            box.store.create_pet("Rex", category_id=1)
        existing = len(box.store.list_pets())
        box.store.create_pet("Mia", category_id=1)

    assert existing == EXISTS[kind]


def test_slow_answers_take_their_time_and_faults_may_change_meanwhile():
    """Of the machine's clock, not of the sandbox's; also where no operation is."""
    with Sandbox(animals=1, faults=[Fault("slow", seconds=0.3)]) as box:
        began_at = time.monotonic()
        box.store.list_pets()
        slow_s = time.monotonic() - began_at
        box.faults[:] = [Fault("garbage")]
        with pytest.raises(ProtocolError, match="not a list of animals"):
            box.store.list_pets()
        reply = box.store.client.call("POST", f"{box.base_url}/pets/1")

    assert slow_s >= 0.3
    assert reply.body == b"<html>no JSON</html>"


@pytest.mark.parametrize(
    ("call", "arguments", "says"),
    [
        *read_json(__file__, "odd_calls.json"),
        ("Fault", {"kind": "slow", "seconds": float("nan")}, "greater than or equal"),
        ("Sandbox", {"faults": Fault("garbage")}, "valid list"),
    ],
)
def test_what_cannot_be_is_refused(sandbox, call, arguments, says):
    """The message says what is possible."""
    calls = {"Fault": Fault, "Sandbox": Sandbox}
    with pytest.raises(ValueError, match=says):
        calls.get(call, sandbox.advance)(**arguments)


def test_the_fixtures_serve_the_tests_of_other_projects(pytester, monkeypatch):
    """
    Installed with the toolkit; the marker's arguments are the sandbox's; each test has
    its own. A test that uses none of it loads nothing of the toolkit.
    """
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(
        """
        import sys
        import pytest

        def test_none():
            assert not {"pandas", "requests", "granian"} & set(sys.modules)

        def test_one(petstore_sandbox):
            assert len(petstore_sandbox.store.list_pets(first=5)) == 5

        @pytest.mark.petstore(animals=3, plan="60/1000")
        def test_two(petstore_sandbox):
            assert len(petstore_sandbox.store.list_pets()) == 3
        """
    )

    options = ("-p", "petstore_tools", "--strict-markers", "-W", "error")
    pytester.runpytest_subprocess(*options).assert_outcomes(passed=3)


def test_the_sandbox_runs_on_postgresql_too(postgres):
    """The same service, the same clock that is turned."""
    with Sandbox(plan="60/5", animals=3, database=postgres.database()) as box:
        box.change(1, status="sold")
        assert box.store.list_pets()["status"].iloc[0] == "sold"
        box.advance(days=1)
        assert box.store.quota().day.left == 5
