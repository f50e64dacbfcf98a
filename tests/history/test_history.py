"""The history, held against the truth that each complete listing showed."""

from __future__ import annotations

import multiprocessing
import random
import resource
import signal
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta, timezone
from functools import partial
from itertools import groupby, pairwise
from pathlib import Path
from statistics import median
from typing import Any

import pandas as pd
import pytest
from inventories import listing_frame
from services import wait_until

from petstore_tools import PetStore, Sandbox, spec
from petstore_tools.errors import ArgumentError, HistoryError, IncompleteListingError
from petstore_tools.history import History, instant
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.frames import PetColumns
from petstore_tools.reporting.report import StatusReport, check_looks, report_and_keep

Values = tuple[str, int, str | None]  # name, categoryId, status
Stay = tuple[Any, ...]
STATUSES = [*spec.STATUSES, None]
T0 = 1_767_603_600.0


@dataclass
class TrueListing:
    """What one complete listing showed, and whether it may have missed animals."""

    frame: pd.DataFrame
    animals: dict[int, Values]
    facts: Listing


def true_listing(frame: pd.DataFrame) -> TrueListing:
    """Return what a listing showed."""
    rows = frame.astype("object").where(frame.notna(), None).itertuples(index=False)
    animals = {pet: (name, category, status) for pet, name, category, status in rows}
    return TrueListing(frame, animals, Listing.of(frame))


def make_listing(
    animals: Mapping[int, Values],
    started_at: float = T0,
    ended_at: float | None = None,
    *,
    hole: bool = False,
) -> TrueListing:
    """Return a complete listing of these animals, which ends as it began."""
    ended_at = ended_at or started_at
    rows = [(pet_id, *values) for pet_id, values in animals.items()]
    return true_listing(
        listing_frame(rows, ended_at, started_at=started_at, may_have_hole=hole)
    )


def simulate_listings(rng: random.Random) -> Iterator[TrueListing]:
    """
    Yield listings, at any fraction of a second, of an inventory that changes; some have
    holes.
    """
    animals = {
        n: ("Rex", 1, rng.choice(STATUSES)) for n in range(1, rng.choice([1, 9, 9, 9]))
    }
    now = T0 + rng.random()
    newest = 2**62  # no float holds such a number
    missed_ids = set[int]()
    for _ in range(rng.randint(2, 14)):
        for _ in range(rng.randint(0, 4)):
            picked = rng.choice([*animals, 0])
            if not picked:
                newest += 1
                animals[newest] = ("Mia", -newest, rng.choice(STATUSES))
            elif rng.random() < 0.3:
                animals.pop(picked)
            else:
                status = rng.choice([*STATUSES, "from", animals[picked][2]])
                animals[picked] = (
                    rng.choice(["Rex", "=1+1"]),
                    rng.choice([1, 2]),
                    status,
                )
        now += rng.choice([0.0, 1e-6, rng.random() * 90_000])
        started_at = now
        now = now + rng.choice([0.0, rng.random() * 60])
        hole = rng.random() < 0.4
        listed_ids = [
            n for n in animals if n in missed_ids or not hole or rng.random() < 0.8
        ]
        missed_ids = set(animals) - set(listed_ids)
        rng.shuffle(listed_ids)
        yield make_listing(
            {n: animals[n] for n in listed_ids}, started_at, now, hole=hole
        )


def true_stays(
    listings: Sequence[TrueListing], key: Callable[[Values], tuple[Any, ...]] = tuple
) -> list[Stay]:
    """
    Return each stay: id, values, begun after, first seen, last seen, and the interval
    of its end.

    An animal that one listing alone lacks, which may have a hole, was there. The key
    says of an animal's values which are those of the stay.
    """
    stays = list[Stay]()
    facts = [listing.facts for listing in listings]
    for pet_id in sorted({n for listing in listings for n in listing.animals}):
        values = [listing.animals.get(pet_id) for listing in listings]
        states = [value and key(value) for value in values]
        joined_states = [*states]
        for n in range(1, len(listings)):
            if states[n] is None and facts[n].may_have_hole:
                joined_states[n] = states[n - 1]
        for state, group in groupby(range(len(listings)), joined_states.__getitem__):
            positions = [*group]
            if state is None:
                continue
            begin, end = positions[0], positions[-1] + 1
            last = max(n for n in positions if states[n] is not None)
            before = begin - 1
            if begin and states[before] is None and facts[before].may_have_hole:
                before -= 1
            began_after = facts[before].started_at if before >= 0 else None
            ended = None
            if end < len(listings):
                ended = facts[last].started_at, facts[end].ended_at
            times = facts[begin].ended_at, facts[last].ended_at
            stays.append((pet_id, state, began_after, *times, ended))
    return stays


def events(
    listings: Sequence[TrueListing], since: int, only: str = ""
) -> Iterator[tuple[int, str, str]]:
    """
    Yield what happened after a listing, from each one to the next: animal, from and to.
    Where only one status is looked at, an animal with another one is as good as absent.
    """
    for earlier, later in pairwise(range(since, len(listings))):
        before = animals_in(listings, earlier)
        now = animals_in(listings, later)
        for pet_id in before.keys() | now.keys():
            begin = status_of(before, pet_id, "new")
            end = status_of(now, pet_id, "gone")
            if only:
                begin = only if begin == only else "new"
                end = only if end == only else "gone"
            if begin != end and (begin, end) != ("new", "gone"):
                yield pet_id, begin, end


def history_rows(history: pd.DataFrame) -> list[Stay]:
    """Return the rows of a history in the form of the truth."""
    rows = history.astype("object").where(history.notna(), None).itertuples(index=False)
    return [
        (pet, (name, category, status), began, first, last, by and (after, by))
        for pet, name, category, status, began, first, last, after, by in rows
    ]


def expected_rows(stays: Sequence[Stay]) -> list[Stay]:
    """Return stays of the truth with the times that a history has."""
    moment = partial(datetime.fromtimestamp, tz=UTC)
    return [
        (
            pet,
            values,
            began and moment(began),
            moment(first),
            moment(last),
            ended and tuple(map(moment, ended)),
        )
        for pet, values, began, first, last, ended in stays
    ]


def animals_in(listings: Sequence[TrueListing], n: int) -> dict[int, Values]:
    """
    Return the animals that were there in listing n, as it and the one before it tell.
    """
    unseen = listings[n - 1].animals if n and listings[n].facts.may_have_hole else {}
    return {**unseen, **listings[n].animals}


def check_history(
    history: History,
    listings: Sequence[TrueListing],
    report: StatusReport,
    rng: random.Random,
) -> None:
    """
    Compare all that the history says with the truth, and a report on the last listing.
    """
    for listing, snapshot in zip(listings, history.snapshots(), strict=True):
        pd.testing.assert_frame_equal(
            snapshot.frame(), listing.frame.sort_values("id", ignore_index=True)
        )
    stays = true_stays(listings)
    now = listings[-1].facts.ended_at + 1
    assert history_rows(history.history(now=now)) == expected_rows(stays)
    pet_id = rng.randrange(1, 9)
    assert history_rows(history.history(pet_id=pet_id, now=now)) == expected_rows(
        [stay for stay in stays if stay[0] == pet_id]
    )
    since = datetime.fromtimestamp(
        rng.choice(listings).facts.ended_at + rng.choice([0.0, 0.5]), UTC
    )
    recent = [
        stay
        for stay in expected_rows(stays)
        if stay[-1] is None or stay[-1][1] >= since
    ]
    assert history_rows(history.history(since=since, now=now)) == recent
    check_report(report, listings)


def status_of(animals: Mapping[int, Values], pet_id: int, absent: str) -> str:
    """Return the status of an animal as a report names it."""
    if pet_id not in animals:
        return absent
    status = animals[pet_id][2] or "unset"
    return "'from' as sent" if status == "from" else status


def count_animals(animals: Mapping[int, Values]) -> Counter[str]:
    """Count animals by the status that a report names."""
    return Counter(status_of(animals, pet_id, "") for pet_id in animals)


def compared_position(listings: Sequence[TrueListing], report: StatusReport) -> int:
    """
    Return the position of the listing that a report on the last one is compared with.
    """
    old_at = report.since and report.since.ended_at
    return max(
        n for n in range(len(listings) - 1) if listings[n].facts.ended_at == old_at
    )


def count_moves(report: StatusReport) -> Counter[tuple[Any, ...]]:
    """Count what a report says of animals: their id, from and to."""
    moved = report.tables()["moved"]
    return Counter(moved[["id", "from", "to"]].itertuples(index=False, name=None))


def check_report(report: StatusReport, listings: Sequence[TrueListing]) -> None:
    """Compare a report on the last listing with the truth."""
    tables = report.tables()
    last = len(listings) - 1
    since = compared_position(listings, report)
    old = animals_in(listings, since)
    now = listings[last].animals
    present_animals = animals_in(listings, last)
    true_events = [*events(listings, since)]
    unseen = [
        (n, status_of(present_animals, n, ""), "not seen")
        for n in present_animals
        if n not in now
    ]
    assert count_moves(report) == Counter([*true_events, *unseen])
    flow = tables["flow"].set_index("from").stack()
    flows = {
        pair: count for pair, count in flow[flow > 0].items() if "total" not in pair
    }
    pairs = Counter((begin, end) for _, begin, end in true_events)
    assert flows == pairs
    changes = tables["changes"].set_index("status")
    for side, animals in (("before", old), ("now", now)):
        counts = changes.loc[changes[side] > 0, side].to_dict()
        assert counts == count_animals(animals)
    rows = tables["counts"].iloc[:, 1:].to_dict("records")
    true_counts = [count_animals(listing.animals) for listing in listings]
    assert [+Counter(row) for row in rows] == true_counts
    begins = Counter(begin for _, begin, _ in true_events)
    ends = Counter(end for _, _, end in true_events)
    sums = {
        "animals before": len(old),
        "new": begins["new"],
        "became sold": len({pet_id for pet_id, _, end in true_events if end == "sold"}),
        "gone": ends["gone"],
        "animals now": len(now),
    }
    summary = tables["summary"].set_index("what")["animals"].to_dict()
    assert summary == {**sums, **({"not seen": len(unseen)} if unseen else {})}
    assert tables["summary"]["share"].isna().all() == (not old)
    days = dict[str, list[float]]()
    for _, (status,), began_at, first, _, ended in true_stays(
        listings, lambda values: values[2:]
    ):
        if began_at is not None and ended is not None:
            name = status_of({0: ("", 0, status)}, 0, "")
            days.setdefault(name, []).append(
                (sum(ended) - began_at - first) / 2 / 86_400
            )
    times = tables["time_in_status"].itertuples(index=False, name=None)
    assert [row[:3] for row in times] == [
        (status, len(lengths), pytest.approx(median(lengths), abs=1e-9))
        for status, lengths in sorted(days.items())
    ]


def run_script(
    rng: random.Random, history: History
) -> tuple[list[TrueListing], StatusReport]:
    """
    Keep listings of a script, and report on the last; a report on one status, which is
    not kept, counts what was kept in between: what has another status is as good as
    gone.
    """
    listings = list(simulate_listings(rng))
    newest = listings[-1]
    for listing in listings[:-1]:
        history.keep(listing.frame)
    since = datetime.fromtimestamp(rng.choice(listings[:-1]).facts.ended_at, UTC)
    looks = check_looks(None, "Report", "", "UTC", lists=True)
    sold = replace(newest.facts, status="sold", may_have_hole=False)
    of_sold = PetColumns.of(newest.frame[newest.frame["status"] == "sold"]).to_frame(
        sold
    )
    reports = []
    for frame, status in ((of_sold, "sold"), (newest.frame, None)):
        old = history.since(since, status=status, now=newest.facts.ended_at)
        reports.append(report_and_keep(frame, history, old, looks, partial=False))
    whole = [*listings[:-1], replace(newest, facts=sold)]
    assert count_moves(reports[0]) == Counter(
        events(whole, compared_position(listings, reports[0]), only="sold")
    )
    return listings, reports[1]


def run_sandbox(
    rng: random.Random, box: Sandbox
) -> tuple[list[TrueListing], StatusReport]:
    """
    Let two writers keep listings of a service in turn, with filtered and partial ones
    in between, and report on the last.
    """
    listings = list[TrueListing]()
    for number in range(1, rng.randint(4, 9)):
        store = rng.choice([box.store, box.connect()])
        for pet_id in rng.sample(range(1, 20), 3):
            box.change(pet_id, status=rng.choice(STATUSES))
        if rng.random() < 0.5:
            box.remove(20 + number)
            box.add([("Mia", 2, "sold")])
        store.list_pets(status="sold", max_age="0s")
        store.list_pets(first=5)
        listings.append(true_listing(store.list_pets(max_age="0s")))
    box.change(2, status=rng.choice(STATUSES))
    report = store.status_report(
        since=datetime.fromtimestamp(rng.choice(listings).facts.ended_at, UTC)
    )
    return [*listings, true_listing(report.animals)], report


LONG_SCRIPTS = [pytest.param(n, marks=pytest.mark.soak) for n in range(30, 300)]


@pytest.mark.case("P77")
@pytest.mark.case("P86")
@pytest.mark.parametrize("seed", [*range(30), *LONG_SCRIPTS])
def test_the_history_is_the_truth_of_its_listings(seed: int, tmp_path: Path) -> None:
    """
    Changes, removals, returns, listings at one instant, with a hole, of two writers;
    one script in 20 on the machine's own clock.
    """
    rng = random.Random(seed)
    if seed % 20:
        history = History(tmp_path / "history.db")
        check_history(history, *run_script(rng, history), rng)
    else:
        with Sandbox(plan="business", animals=30, clock="system") as box:
            check_history(box.store.kept_listings, *run_sandbox(rng, box), rng)


def numbered_listing(number: int) -> TrueListing:
    """Return a listing of 2,000 animals; another number has other ids and statuses."""
    rng = random.Random(number)
    animals = {
        n: ("Rex", 1, rng.choice(STATUSES)) for n in range(number, number + 2_000)
    }
    return make_listing(animals, T0 + number)


def keep_listings(path: Path, first: int, step: int) -> None:
    """Keep listings until the process is killed."""
    for number in range(first, 10_000, step):
        with suppress(HistoryError):  # the other writer has kept a later one
            History(path).keep(numbered_listing(number).frame)


def test_writers_that_are_killed_leave_whole_listings(tmp_path: Path) -> None:
    """
    Two at once, killed at any instant, again and again: each kept listing is rebuilt
    exactly.
    """
    path = tmp_path / "history.db"
    spawn = multiprocessing.get_context("spawn")
    count = 0
    for _ in range(2):
        writers = [
            spawn.Process(target=keep_listings, args=(path, count + n, 2))
            for n in (0, 1)
        ]
        for writer in writers:
            writer.start()
        wait_until(lambda: len(History(path).snapshots()) >= count + 3)  # noqa: B023
        for writer in writers:
            writer.kill()
            writer.join()
        count = len(History(path).snapshots())

    snapshots = History(path).snapshots()
    assert [snapshot.number for snapshot in snapshots] == list(range(1, count + 1))
    for snapshot in snapshots:
        number = int(snapshot.listing.started_at - T0)
        pd.testing.assert_frame_equal(snapshot.frame(), numbered_listing(number).frame)


def test_a_listing_that_began_before_the_newest_ended_is_not_kept_and_says_so(
    tmp_path: Path,
) -> None:
    """A short listing inside a long one would invent changes for good."""
    history = History(tmp_path / "history.db")
    history.keep(make_listing({1: ("Rex", 1, None)}, T0, T0 + 60.5).frame)

    with pytest.raises(
        HistoryError,
        match="after this one began .*history forget --after 2026-01-05T09:01:01",
    ):
        history.keep(make_listing({}, T0 + 60.4, T0 + 61).frame)


def test_only_complete_listings_of_all_animals_are_kept() -> None:
    """The error says why, or what to keep."""
    with Sandbox(animals=30) as box:
        with pytest.raises(ArgumentError, match=r"store\.snapshot\(\)"):
            box.store.kept_listings.keep(box.store.list_pets(status="sold"))
        with pytest.raises(IncompleteListingError, match="limited to the first 5"):
            box.store.kept_listings.keep(box.store.list_pets(first=5))
        assert not box.store.kept_listings.path.exists()


def execute(path: Path, statement: str) -> None:
    """Change a database, or make a new one."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(statement)


def zero_pages(path: Path) -> None:
    """Write zeros over all pages but the first."""
    content = path.read_bytes()
    path.write_bytes(content[:4_096] + bytes(len(content) - 4_096))


HARMS: dict[str, Callable[[Path], object]] = {
    "no database": lambda path: path.write_bytes(b"no database " * 400),
    "zeros": zero_pages,
    "emptied": lambda path: path.write_bytes(b""),
    "no JSON": lambda path: execute(path, "UPDATE listings SET listing = '{'"),
    "no counts": lambda path: execute(path, "UPDATE listings SET counts = 'null'"),
}
CALLS: dict[str, Callable[[PetStore], object]] = {
    "snapshots": lambda store: store.snapshots(),
    "history": lambda store: store.history(),
    "snapshot": lambda store: store.snapshot(),
}


@pytest.mark.case("P103")
@pytest.mark.parametrize("harm", HARMS)
def test_a_damaged_file_is_named_and_kept_aside(harm: str) -> None:
    """
    Where the history is what was asked for, it is an error; a listing or a report is
    made all the same, and says so. The next report has a history again.
    """
    messages = list[str]()
    with Sandbox(animals=200) as box:
        path = box.store.kept_listings.path

        def harmed() -> PetStore:
            box.store.snapshot()
            HARMS[harm](path)
            return box.store

        # JSON is read with the listings alone
        for call in list(CALLS)[: 1 if "JSON" in harm or "counts" in harm else 3]:
            store = harmed()
            content = path.read_bytes()
            with pytest.raises(HistoryError) as raised:
                CALLS[call](store)
            messages.append(str(raised.value))
            assert max(path.parent.glob("*.damaged-*")).read_bytes() == content
        report = harmed().status_report(since="7d")
        messages.append(report.notes[0])
        messages.append(harmed().status_report().notes[0])
        harmed()
        with pytest.warns(
            UserWarning, match="the kept listings were not read: "
        ) as warnings:
            assert len(box.store.list_pets(max_age="1h")) == len(report.animals) == 200
        messages.append(str(warnings[0].message))
        box.advance(days=1)
        next_report = box.store.status_report(since="1d")
        copies = sorted(path.parent.glob("*.damaged-*"))

    for copy, message in zip(copies, messages, strict=True):
        assert f"the history {path} cannot be used (" in message
        assert (
            f"): it is kept aside as {copy}, and the next listing begins a new one"
            in message
        )
    assert (
        next_report.notes,
        next_report.moved is not None and len(next_report.moved),
    ) == ((), 0)


def test_a_history_that_was_changed_is_noticed(tmp_path: Path) -> None:
    """What is rebuilt is compared with the digest of the listing."""
    history = History(tmp_path / "history.db")
    snapshot = history.keep(make_listing({1: ("Rex", 1, None)}).frame)
    execute(history.path, "UPDATE stays SET name = 'Max'")

    with pytest.raises(HistoryError, match=r"listing 1 in .* was changed"):
        snapshot.frame()


def test_a_file_of_a_newer_version_or_of_another_service_is_refused_and_stays(
    tmp_path: Path,
) -> None:
    """
    An older program would not know what to write there; animals of two services are no
    story.
    """
    history = History(tmp_path / "history.db")
    history.keep(make_listing({1: ("Rex", 1, None)}).frame)
    renamed = History(history.path.rename(tmp_path / "other.db"))

    with pytest.raises(
        HistoryError, match=r"other\.db cannot be used \(it is that of another service"
    ):
        renamed.snapshots()
    execute(renamed.path, "PRAGMA user_version = 2")
    with pytest.raises(HistoryError, match="another version of the toolkit wrote it"):
        renamed.snapshots()
    assert renamed.path.exists()


def test_what_is_forgotten_is_gone_and_the_rest_is_as_it_was(tmp_path: Path) -> None:
    """
    A day means its begin; the first listing that is left is where all that it shows
    begins.
    """
    rng = random.Random(3)
    listings = [
        listing for listing in simulate_listings(rng) if not listing.facts.may_have_hole
    ]
    listings += [
        make_listing({1: ("Rex", 1, "sold")}, T0 + 90 * 86_400),
        make_listing({2: ("Rex", 1, "sold")}, T0 + 91 * 86_400),
    ]
    history = History(tmp_path / "history.db")
    for listing in listings:
        history.keep(listing.frame)
    now = T0 + 92 * 86_400

    assert history.forget("2026-04-05", now=now) == len(listings) - 2
    assert history_rows(history.history(now=now)) == expected_rows(
        true_stays(listings[-2:])
    )
    assert history.forget("1s", now=now) == 2
    assert len(history.history(now=now)) == len(history.snapshots()) == 0
    assert history.keep(listings[-1].frame).number == 1


@pytest.mark.case("P103")
def test_a_listing_from_the_future_is_named_before_a_request_and_forgotten() -> None:
    """What the message says helps; what was there before that listing goes on."""
    with Sandbox(animals=5) as box:
        animals = true_listing(box.store.snapshot().frame()).animals
        before = box.store.history()
        now = box.clock.now()
        history = box.store.kept_listings
        for listed_animals in (animals, {1: ("Rex", 1, "sold")}):
            history.keep(make_listing(listed_animals, now + 9e7).frame)
        request_count = len(box.traffic())

        with pytest.raises(
            HistoryError, match="remove it: petstore-tools history forget"
        ) as raised:
            box.store.snapshot()
        assert len(box.traffic()) == request_count
        report = box.store.status_report(since="last")
        assert "history forget --after" in report.notes[-1]
        assert (report.since and report.since.ended_at, report.counts) == (now, None)
        assert history.forget(after="2099-01-01", now=now) == 0
        assert history.forget(after=str(raised.value).split()[-1], now=now) == 2
        pd.testing.assert_frame_equal(box.store.history(), before)
        assert box.store.snapshot().number == 2


def forget_on_a_full_disk(path: Path) -> None:
    """Forget the first listing where no file may grow."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    most = path.stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    assert History(path).forget("2026-01-06", now=T0 + 9e6) == 1


@pytest.mark.case("P103")
def test_what_is_forgotten_on_a_full_disk_is_forgotten(tmp_path: Path) -> None:
    """The file keeps its size, and that is no error."""
    path = tmp_path / "history.db"
    History(path).keep(make_listing({1: ("Rex", 1, "sold")}).frame)
    History(path).keep(numbered_listing(900_000).frame)
    execute(path, "VACUUM")  # the log of another one would be larger than the file
    process = multiprocessing.get_context("spawn").Process(
        target=forget_on_a_full_disk, args=(path,)
    )
    process.start()
    process.join(60)

    assert (process.exitcode, len(History(path).snapshots())) == (0, 1)


def test_an_empty_history_has_the_same_columns_and_dtypes() -> None:
    """
    Before the first listing, and of an animal that never was; an id may be one of
    numpy, and what is none is refused.
    """
    with Sandbox(animals=3) as box:
        before = box.store.history()
        box.store.snapshot()
        full = box.store.history()
        empty = [before, box.store.history(id=99)]
        two = box.store.history(id=full["id"].to_numpy()[1])
        for other in ("2", 2.0, True, 2**70):
            with pytest.raises(
                ArgumentError, match="must be a whole number in int64, not"
            ):
                box.store.history(id=other)  # type: ignore[arg-type]

    assert two["id"].tolist() == [2]
    for frame in empty:
        assert len(frame) == 0
        assert frame.dtypes.astype(str).to_dict() == full.dtypes.astype(str).to_dict()


def test_within_max_age_a_listing_costs_no_request() -> None:
    """Then one is made and kept; a filter is answered from the whole inventory."""
    with Sandbox(animals=250) as box:
        box.store.list_pets(max_age="1h")
        request_count = len(box.traffic())
        box.store.list_pets(max_age="1h")  # at the same instant
        box.advance(minutes=59)
        repeated = box.store.list_pets(max_age="1h")
        sold = box.store.list_pets(status="sold", max_age="60min")
        assert len(box.traffic()) == request_count
        assert (
            Listing.of(sold).rows == len(sold) == (repeated["status"] == "sold").sum()
        )
        assert (Listing.of(sold).status, Listing.of(sold).completeness) == (
            "sold",
            "complete",
        )
        counted = box.store.snapshots(status="sold")[0]
        assert counted.counts == {"sold": len(sold)}
        pd.testing.assert_frame_equal(counted.frame(), sold)

        box.advance(minutes=2)
        box.store.list_pets(max_age="3600s")
        assert len(box.traffic()) > request_count
        assert len(box.store.snapshots()) == 2


NOW = datetime(2026, 3, 10, 12, tzinfo=UTC).timestamp()
FIFTH = datetime(2026, 3, 5, tzinfo=UTC).timestamp()
MEANINGS = {
    FIFTH + spec.DAY_S: [
        "2026-03-05",
        "05.03.2026",
        "5.3.2026",
        " 2026-03-05 ",
        date(2026, 3, 5),
    ],
    FIFTH + 14 * 3_600: [
        "2026-03-05T14:00",
        "2026-03-05T14:00Z",
        "2026-03-05T15:00+01:00",
        datetime(2026, 3, 5, 14),
        datetime(2026, 3, 5, 15, tzinfo=timezone(timedelta(hours=1))),
    ],
    NOW - 7 * 86_400: ["7d"],
    NOW - 5_400: ["90min"],
}


@pytest.mark.case("P67")
def test_a_date_an_age_or_a_time_means_one_instant() -> None:
    """
    A date is ISO or day first with dots, and means its end; a time without a zone is
    UTC.
    """
    for seconds, spellings in MEANINGS.items():
        assert {instant(spelling, NOW) for spelling in spellings} == {seconds}  # type: ignore[attr-defined]


@pytest.mark.case("P67")
@pytest.mark.parametrize(
    "since",
    [
        "05/03/2026",
        "5 March 2026",
        "yesterday",
        "30.02.2026",
        "2026-02-30",
        "1m",
        7,
        pd.NaT,
    ],
)
def test_what_could_be_read_in_two_ways_or_in_none_is_refused(since: Any) -> None:
    """Before a request, with how a date is written."""
    with Sandbox(animals=1) as box:
        calls: list[Callable[..., object]] = [
            box.store.status_report,
            box.store.history,
        ]
        for call in calls:
            with pytest.raises(ArgumentError, match="write a date as 2026-03-05"):
                call(since=since)
        assert len(box.traffic()) == 0


@pytest.mark.case("P67")
@pytest.mark.parametrize(
    "moment", ["2026-03-10", "2026-03-10T12:00:01", "2099-01-01T00:00+02:00"]
)
def test_the_future_is_refused(moment: str) -> None:
    """A date means its end: that of today is still to come."""
    with pytest.raises(
        ArgumentError, match="in the future: .* now it is 2026-03-10 12:00:00 UTC"
    ):
        instant(moment, NOW)


@pytest.mark.case("P67")
def test_last_is_the_last_report_that_was_handed_out(tmp_path: Path) -> None:
    """Not a look, a snapshot or a report with another filter in between."""
    with Sandbox(animals=10) as box:
        box.store.snapshot()
        box.advance(days=1)
        first = box.store.status_report(since="last")
        first.to_excel(tmp_path / "monday.xlsx")
        monday = box.clock.now()
        for _ in range(3):
            box.advance(days=1)
            box.store.status_report().to_html()
            box.store.status_report(status="sold").to_markdown(tmp_path / "sold.md")
            box.store.snapshot()
        thursday = box.store.status_report(since="last")

    note = (
        "no such report was written to a file before, so the newest snapshot is"
        " compared"
    )
    assert first.notes == (note,)
    assert thursday.since is not None
    assert (thursday.since.ended_at, thursday.notes) == (monday, ())
