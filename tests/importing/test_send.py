"""Why a run ended."""

from contextlib import closing
from pathlib import Path

import pytest

from petstore_tools.errors import (
    ApiError,
    KeyBannedError,
    LedgerError,
    ProtocolError,
)
from petstore_tools.importing.imports import Target
from petstore_tools.importing.journal import Journal
from petstore_tools.importing.reconcile import Outcome
from petstore_tools.importing.send import Sender, Stopped
from petstore_tools.throttle.gate import CallOptions


@pytest.fixture
def sender(fast, tmp_path):
    """What sends the rows of an import."""
    client = fast.store.client
    target = Target("sandbox", client.service_id, Path("a.csv"))
    with closing(Journal(tmp_path, target, client.clock)) as journal:
        yield Sender(client, journal, lambda _: None)


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ((LedgerError(""), KeyboardInterrupt()), KeyboardInterrupt),
        ((KeyboardInterrupt(), LedgerError("")), KeyboardInterrupt),
        ((LedgerError(""), ProtocolError("")), LedgerError),
    ],
    ids=["then an interrupt", "an interrupt before", "two errors"],
)
def test_an_interrupt_wins_and_else_what_came_first(sender, errors, expected):
    """Nothing more leaves."""
    for error in errors:
        sender.stop(error)

    with pytest.raises(expected):
        sender.run([], CallOptions())

    assert sender.has_ended


@pytest.mark.parametrize(("status", "may_pass"), [(403, False), (500, True)])
def test_an_answer_of_a_failing_service_may_be_another_one_later(status, may_pass):
    """The run stops and can go on; what is wrong with a request is raised."""
    stopped = Stopped.of(ApiError(status, "", "", ""))

    assert stopped.kind == "service"
    assert (stopped.error is None) == may_pass


def test_unknown_rows_hold_the_others_back_only_in_a_row(sender):
    """Three, of which each was followed by a usable answer, do not."""
    for state in ("unknown", "created") * 3:
        sender.count(Outcome(state))
    held_back = [sender.failing]
    for _ in range(3):
        sender.count(Outcome("unknown", detail="silence"))

    assert [*held_back, sender.failing] == [
        "",
        "3 rows in a row got no usable answer: silence",
    ]


def test_a_ban_is_said_in_one_sentence():
    """Until when stands behind it once, as of any stop."""
    error = KeyBannedError("the service has banned this key (429)", retry_at=5.0)

    stopped = Stopped.of(error)

    assert (stopped.reason, stopped.resumes_at) == (error.message, 5.0)
    assert error.message == "the service has banned this key (429)"
