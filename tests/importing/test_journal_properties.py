"""The journal under random deaths: each row ends in one state, none twice, none lost."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from petstore_tools.importing.journal import open_journal
from petstore_tools.importing.matching import merge
from petstore_tools.importing.reconcile import find_outcomes
from petstore_tools.importing.row_states import Outcome
from petstore_tools.importing.run_lock import Target
from petstore_tools.importing.values import PetValues, Row
from petstore_tools.tabular.text_files import records, write_csv

NAMES = st.sampled_from(["Rex", "Mia", "Max"])
CONTENTS = st.lists(
    st.tuples(NAMES, st.integers(1, 2), st.sampled_from([None, "sold"])), min_size=1, max_size=8
)
# what becomes of a row that is sent, and where the process dies while it is: before the intent is
# durable, after it, after the bytes left, after the answer came
ANSWERS = st.lists(
    st.sampled_from(["created", "rejected", "lost before", "lost after", "refused 429"]),
    min_size=1,
    max_size=30,
)
DEATHS = st.lists(st.integers(0, 3) | st.none(), min_size=1, max_size=30)


class Death(BaseException):
    """The process is gone."""


def rows_of(contents: list[tuple[str, int, str | None]]) -> list[Row]:
    return [Row(n, content, cells=content[:1]) for n, content in enumerate(contents, start=2)]


class World:
    """A service that counts what it created, and an answer for each request."""

    def __init__(self, answers: list[str], deaths: list[int | None]) -> None:
        self.answers, self.deaths = answers, deaths
        self.requests = 0
        self.created: Counter[tuple[str, int, str | None]] = Counter()

    def run(self, folder: Path, rows: list[Row]) -> None:
        """One process: open, adopt, send until done or dead."""
        target = Target("sandbox", "http://x/v1", folder / "pets.csv")
        with open_journal(folder, target, now=0.0) as journal:
            journal.add_rows(merge(journal.entries(), rows), now=0.0)
            for entry in [e for e in journal.entries(wanted=True) if e.state == "unsent"]:
                answer = self.answers[self.requests % len(self.answers)]
                death = self.deaths[self.requests % len(self.deaths)]
                self.requests += 1
                self._die(death, 0)
                journal.transition([(entry, Outcome("sending"))], now=0.0)
                self._die(death, 1)
                if answer in ("created", "lost after"):
                    self.created[entry.content] += 1
                self._die(death, 2)
                if answer == "created":
                    journal.transition([(entry, Outcome("created", self.requests))], now=0.0)
                elif answer == "rejected":
                    journal.transition([(entry, Outcome("rejected"))], now=0.0)
                elif answer == "refused 429":
                    journal.transition([(entry, Outcome("unsent"))], now=0.0)
                else:
                    journal.transition([(entry, Outcome("unknown"))], now=0.0)
                self._die(death, 3)

    @staticmethod
    def _die(death: int | None, place: int) -> None:
        if death == place:
            raise Death


@given(contents=CONTENTS, answers=ANSWERS, deaths=DEATHS, order=st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
@pytest.mark.case("P32", "P34")
def test_whatever_dies_on_the_way_each_row_has_one_state(
    contents: list[tuple[str, int, str | None]],
    answers: list[str],
    deaths: list[int | None],
    order: object,
) -> None:
    """Runs die at random places, the file is re-sorted between them: no double, no loss."""
    world = World(answers, deaths)
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


RECONCILE_AFTER_S = 60.0


class Clerk:
    """
    A service seen through lost replies and late commits, a staff that adds animals, and a clock.
    """

    def __init__(self, rng: random.Random, contents: list[PetValues], *, others: float) -> None:
        self.rng, self.contents, self.others = rng, contents, others
        self.now = 1_800_000_000.0
        self.animals: dict[int, tuple[PetValues, float]] = {}  # id: values, visible from
        self.ours: Counter[PetValues] = Counter()
        self.other_animals: Counter[PetValues] = Counter()

    def pass_time(self) -> None:
        self.now += self.rng.uniform(0, 20)
        if self.rng.random() < self.others:
            content = self.rng.choice(self.contents)
            self.other_animals[content] += 1
            self._add(content, self.now)

    def _add(self, content: PetValues, at: float) -> int:
        pet_id = self.rng.getrandbits(40)  # no order of ids is assumed
        self.animals[pet_id] = content, at
        return pet_id

    def create(self, content: PetValues) -> int | None:
        """Commit now, up to a minute later, or never; answer, or lose the answer."""
        answer = self.rng.choice(
            ["answered", "answered", "lost after", "lost before", "lost, late"]
        )
        if answer == "lost before":
            return None
        self.ours[content] += 1
        late_s = self.rng.uniform(0, RECONCILE_AFTER_S - 0.001) if answer == "lost, late" else 0.0
        pet_id = self._add(content, self.now + late_s)
        return pet_id if answer == "answered" else None

    def list_inventory(self) -> list[tuple[int, PetValues]]:
        return [
            (pet_id, content) for pet_id, (content, at) in self.animals.items() if at <= self.now
        ]


def one_run(folder: Path, clerk: Clerk, rows: list[Row], deaths: float) -> None:
    """List the baseline, send, reconcile, as `importing.run` does, and die anywhere."""

    def may_die() -> None:
        if clerk.rng.random() < deaths:
            raise Death

    target = Target("sandbox", "http://x/v1", folder / "pets.csv")
    with open_journal(folder, target, now=clerk.now) as journal:
        if journal.is_new:
            journal.keep_baseline([pet_id for pet_id, _ in clerk.list_inventory()], now=clerk.now)
        may_die()
        journal.add_rows(merge(journal.entries(), rows), now=clerk.now)
        for entry in [e for e in journal.entries(wanted=True) if e.state == "unsent"]:
            clerk.pass_time()
            journal.transition([(entry, Outcome("sending"))], now=clerk.now)
            may_die()
            pet_id = clerk.create(entry.content)
            may_die()
            clerk.now += 1
            if pet_id is None:
                journal.transition([(entry, Outcome("unknown"))], now=clerk.now)
            else:
                journal.transition([(entry, Outcome("created", pet_id))], now=clerk.now)
            may_die()
        lost = [e for e in journal.entries() if e.state == "unknown" and not e.candidates]
        if lost:
            clerk.now = max(clerk.now, max(e.changed_at for e in lost) + RECONCILE_AFTER_S)
            owned = {e.pet_id for e in journal.entries() if e.pet_id is not None}
            outcomes = find_outcomes(
                lost, clerk.list_inventory(), baseline=journal.baseline, owned=owned
            )
            may_die()
            journal.transition(outcomes, now=clerk.now)


@given(
    contents=CONTENTS,
    seed=st.integers(0, 2**32),
    deaths=st.sampled_from([0.0, 0.05, 0.2]),
    others=st.sampled_from([0.0, 0.0, 0.1, 0.5]),
)
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@pytest.mark.case("P31", "P32", "P33", "P34")
def test_reconciling_neither_doubles_nor_loses(
    contents: list[PetValues], seed: int, deaths: float, others: float
) -> None:
    """
    Deaths, lost replies, late commits, other programs: ambiguous only beside their or equal rows.
    """
    rng = random.Random(seed)
    clerk = Clerk(rng, contents, others=others)
    for content in rng.sample(contents, len(contents) // 2):  # some exist before
        clerk._add(content, 0.0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for attempt in range(60):
            rng.shuffle(contents)
            with suppress(Death):
                one_run(folder, clerk, rows_of(contents), deaths if attempt < 20 else 0.0)
        with open_journal(
            folder, Target("sandbox", "http://x/v1", folder / "pets.csv"), now=0.0
        ) as journal:
            entries = journal.entries()

    assert Counter(entry.content for entry in entries) == Counter(contents)
    created = [e for e in entries if e.state == "created"]
    ambiguous = [e for e in entries if e.state == "unknown" and e.candidates]
    assert len(created) + len(ambiguous) == len(entries)
    assert clerk.ours <= Counter(contents)  # no row was created twice
    ids = [e.pet_id for e in created]
    assert len(set(ids)) == len(ids)
    assert all(e.pet_id is not None and clerk.animals[e.pet_id][0] == e.content for e in created)
    doubted = {e.content for e in ambiguous}
    met = {content[:2] for content in clerk.other_animals}
    alike = Counter(content[:2] for content in contents)
    assert all(
        content[:2] in met or alike[content[:2]] > 1 for content in doubted
    )  # another's, or an equal row
    wanted = Counter(contents)
    assert all(
        clerk.ours[c] == n for c, n in wanted.items() if c[:2] not in met and c not in doubted
    )


CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)


@given(
    rows=st.lists(st.lists(CELLS, min_size=2, max_size=2), max_size=6),
    delimiter=st.sampled_from([",", ";", "\t"]),
    ending=st.sampled_from(["\n", "\r\n"]),
)
@settings(max_examples=80, deadline=None)
@pytest.mark.case("P40")
def test_rows_survive_a_csv_file(rows: list[list[str]], delimiter: str, ending: str) -> None:
    """Row to CSV to row: every cell comes back as the same text."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "rows.csv"
        write_csv(path, ["a", "b"], rows, delimiter=delimiter, line_ending=ending)
        text = path.read_bytes().decode()

    assert [cells for _, cells in records(text, delimiter)][1:] == rows
