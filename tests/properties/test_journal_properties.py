"""The journal under random deaths: each row ends in one fate, none twice, none lost."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from petstore_tools.adapters.journal import Target, open_journal
from petstore_tools.adapters.sheets import records, write_csv
from petstore_tools.core.journal import merge
from petstore_tools.core.rows import Row

NAMES = st.sampled_from(["Rex", "Mia", "Max"])
CONTENTS = st.lists(
    st.tuples(NAMES, st.integers(1, 2), st.sampled_from([None, "sold"])), min_size=1, max_size=8
)
# what becomes of a row that is sent, and where the process dies while it is: before the intent is durable,
# after it, after the bytes left, after the answer came
FATES = st.lists(
    st.sampled_from(["created", "rejected", "lost before", "lost after", "refused 429"]),
    min_size=1,
    max_size=30,
)
DEATHS = st.lists(st.integers(0, 3) | st.none(), min_size=1, max_size=30)


class Death(BaseException):
    """The process is gone."""


def rows_of(contents: list[tuple[str, int, str | None]]) -> list[Row]:
    return [Row(n, *content, cells=content[:1]) for n, content in enumerate(contents, start=2)]


class World:
    """A service that counts what it created, and a fate for each request."""

    def __init__(self, fates: list[str], deaths: list[int | None]) -> None:
        self.fates, self.deaths = fates, deaths
        self.requests = 0
        self.created: Counter[tuple[str, int, str | None]] = Counter()

    def run(self, folder: Path, rows: list[Row]) -> None:
        """One process: open, adopt, send until done or dead."""
        target = Target("sandbox", "http://x/v1", folder / "pets.csv")
        with open_journal(folder, target, now=0.0) as journal:
            journal.adopt(merge(journal.entries(), rows), now=0.0)
            for entry in [e for e in journal.entries(wanted=True) if e.state == "pending"]:
                fate = self.fates[self.requests % len(self.fates)]
                death = self.deaths[self.requests % len(self.deaths)]
                self.requests += 1
                self._die(death, 0)
                journal.move(entry, "sending", now=0.0)
                self._die(death, 1)
                if fate in ("created", "lost after"):
                    self.created[entry.content] += 1
                self._die(death, 2)
                if fate == "created":
                    journal.move(entry, "created", now=0.0, pet_id=self.requests)
                elif fate == "rejected":
                    journal.move(entry, "rejected", now=0.0)
                elif fate == "refused 429":
                    journal.move(entry, "pending", now=0.0)
                else:
                    journal.move(entry, "unknown", now=0.0)
                self._die(death, 3)

    @staticmethod
    def _die(death: int | None, place: int) -> None:
        if death == place:
            raise Death


@given(contents=CONTENTS, fates=FATES, deaths=DEATHS, order=st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
@pytest.mark.case("P32", "P34")
def test_whatever_dies_on_the_way_each_row_has_one_fate(
    contents: list[tuple[str, int, str | None]], fates: list[str], deaths: list[int | None], order: object
) -> None:
    """Runs die at random places, the file is re-sorted between them: no double, no loss."""
    world = World(fates, deaths)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for _ in range(12):
            order.shuffle(contents)  # type: ignore[attr-defined]
            try:
                world.run(folder, rows_of(contents))
            except Death:
                continue
        target = Target("sandbox", "http://x/v1", folder / "pets.csv")
        with open_journal(folder, target, now=0.0) as journal:
            entries = journal.entries()

    states = Counter(entry.state for entry in entries)
    assert Counter(entry.content for entry in entries) == Counter(contents)
    assert states["sending"] == 0
    created = Counter(e.content for e in entries if e.state == "created")
    maybe = created + Counter(e.content for e in entries if e.state == "unknown")
    assert created <= world.created <= maybe


CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)


@given(
    rows=st.lists(st.lists(CELLS, min_size=2, max_size=2), max_size=6),
    delimiter=st.sampled_from([",", ";", "\t"]),
    ending=st.sampled_from(["\n", "\r\n"]),
)
@settings(max_examples=150, deadline=None)
@pytest.mark.case("P40")
def test_rows_survive_a_csv_file(rows: list[list[str]], delimiter: str, ending: str) -> None:
    """Row to CSV to row: every cell comes back as the same text."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "rows.csv"
        write_csv(path, ["a", "b"], rows, delimiter=delimiter, line_ending=ending)
        text = path.read_bytes().decode()

    assert [cells for _, cells in records(text, delimiter)][1:] == rows
