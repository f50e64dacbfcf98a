"""Why a run ended, where there are two reasons."""

from pathlib import Path

import pytest

from petstore_tools.errors import LedgerError, ProtocolError
from petstore_tools.importing.imports import Target
from petstore_tools.importing.journal import Journal
from petstore_tools.importing.send import Sender
from petstore_tools.throttle.gate import CallOptions


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ((LedgerError(""), KeyboardInterrupt()), KeyboardInterrupt),
        ((KeyboardInterrupt(), LedgerError("")), KeyboardInterrupt),
        ((LedgerError(""), ProtocolError("")), LedgerError),
    ],
    ids=["then an interrupt", "an interrupt before", "two errors"],
)
def test_an_interrupt_wins_and_else_what_came_first(fast, tmp_path, errors, expected):
    """Nothing more leaves."""
    client = fast.store.client
    journal = Journal(
        tmp_path, Target("sandbox", client.service_id, Path("a.csv")), client.clock
    )
    sender = Sender(client, journal, lambda _: None)
    for error in errors:
        sender.stop(error)

    with pytest.raises(expected):
        sender.run([], CallOptions())

    assert sender.has_ended
    journal.close()
