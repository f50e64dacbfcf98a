"""
What the journal on disk allows: which state follows which, all or none, and nothing after its end.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from petstore_tools.errors import JournalError
from petstore_tools.importing.journal import Journal, open_journal, read_entries
from petstore_tools.importing.matching import merge
from petstore_tools.importing.row_states import Outcome
from petstore_tools.importing.run_lock import Target
from petstore_tools.importing.values import Row

ROWS = [Row(2, ("Rex", 3, None), ("Rex", "3")), Row(3, ("Mia", 4, None), ("Mia", "4"))]


def target(folder: Path) -> Target:
    return Target("sandbox", "http://127.0.0.1/v1", folder / "pets.csv")


def states(journal: Journal) -> list[str]:
    return [entry.state for entry in journal.entries()]


@pytest.mark.case("P32")
def test_only_a_state_that_follows_is_taken_and_of_several_rows_all_or_none(tmp_path: Path) -> None:
    """A row that was not on its way cannot be created, and the other row stays as it was, too."""
    with open_journal(tmp_path, target(tmp_path), now=0.0) as journal:
        journal.add_rows(merge([], ROWS), now=0.0)
        rex, mia = journal.entries()
        journal.transition([(rex, Outcome("sending"))], now=1.0)

        with pytest.raises(JournalError, match="row 3 .* is unsent and cannot become created"):
            journal.transition(
                [(rex, Outcome("created", 1)), (mia, Outcome("created", 2))], now=2.0
            )

        assert states(journal) == ["sending", "unsent"]


@pytest.mark.case("P32")
def test_an_answer_that_comes_after_the_end_of_a_run_changes_nothing(tmp_path: Path) -> None:
    """The row stays unknown for the next run; no file is created in place of the closed one."""
    with open_journal(tmp_path, target(tmp_path), now=0.0) as journal:
        journal.add_rows(merge([], ROWS), now=0.0)
        rex = journal.entries()[0]
        journal.transition([(rex, Outcome("sending"))], now=1.0)
        journal.mark_lost(now=2.0)

    with pytest.raises(JournalError, match="is closed"):
        journal.transition([(rex, Outcome("created", 1))], now=3.0)
    with pytest.raises(JournalError, match="is closed"):
        journal.add_rows(merge([], ROWS), now=3.0)

    assert [entry.state for entry in read_entries(tmp_path, target(tmp_path))] == [
        "unknown",
        "unsent",
    ]


def test_a_journal_of_another_place_is_refused(tmp_path: Path) -> None:
    """The file of one service is no record of what another one has."""
    with open_journal(tmp_path, target(tmp_path), now=0.0) as journal:
        journal.add_rows(merge([], ROWS), now=0.0)
    elsewhere = Target("sandbox", "http://127.0.0.2/v1", tmp_path / "pets.csv")

    with pytest.raises(JournalError, match="it belongs to another base_url"):
        read_entries(tmp_path, elsewhere, journal_id=journal.id)
