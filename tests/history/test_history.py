"""The history, held against the truth that each complete listing showed."""

import multiprocessing
import random
import re
import sqlite3
import time
from contextlib import closing, suppress
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pandas as pd
import pytest
from harms import damage, execute, interrupt
from isolation import machine_zone
from services import wait_until
from tables import read_cases, read_json, soak_seeds
from true_listings import (
    STATUSES,
    T0,
    TrueListing,
    check_history,
    check_period,
    make_listing,
    run_script,
)

from petstore_tools import Sandbox, spec, sqlite
from petstore_tools.errors import (
    ArgumentError,
    HistoryError,
    IncompleteListingError,
)
from petstore_tools.history.database import HistoryDatabase, check_past, span
from petstore_tools.history.reading import History
from petstore_tools.listing.completeness import Listing
from petstore_tools.reporting.facts import read_looks
from petstore_tools.reporting.report import report_and_keep, report_on_snapshot

REX = make_listing({1: ("Rex", 1, None)}).frame


@pytest.fixture
def history(tmp_path):
    """A history that is empty."""
    return History(HistoryDatabase(tmp_path / "history.db"))


@pytest.mark.parametrize("seeds", soak_seeds(4, 4, total=400))
def test_the_history_is_the_truth_of_its_listings(seeds, tmp_path):
    """
    Changes, removals, returns, listings at one instant and with a hole: stays, events,
    days in a status and listings are the truth's, between any two listings.
    """
    for seed in seeds:
        rng = random.Random(seed)
        history = History(HistoryDatabase(tmp_path / f"{seed}.db"))
        check_history(history, run_script(rng, history), rng)


def numbered_listing(number):
    """Return a listing of 300 animals; another number has other ids and statuses."""
    rng = random.Random(number)
    animals = {n: ("Rex", 1, rng.choice(STATUSES)) for n in range(number, number + 300)}
    return make_listing(animals, T0 + number)


def keep_listings(path, first, step):
    """Keep listings until the process is killed."""
    for number in range(first, 10_000, step):
        with suppress(HistoryError):  # the other writer has kept a later one
            History(HistoryDatabase(path)).keep(numbered_listing(number).frame)


def test_writers_that_are_killed_leave_whole_listings(tmp_path):
    """
    Two at once, killed at any instant, again and again: each kept listing is rebuilt
    exactly, and what happened between them is the truth's.
    """
    path = tmp_path / "history.db"
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload([History.__module__])
    count = 0
    for _ in range(2):
        writers = [
            processes.Process(target=keep_listings, args=(path, count + n, 2))
            for n in (0, 1)
        ]
        for writer in writers:
            writer.start()
        wait_until(lambda: len(History(HistoryDatabase(path)).snapshots()) >= count + 3)  # noqa: B023
        for writer in writers:
            writer.kill()
            writer.join()
        count = len(History(HistoryDatabase(path)).snapshots())

    history = History(HistoryDatabase(path))
    starts = [snapshot.listing.started_at for snapshot in history.snapshots()]
    listings = [numbered_listing(int(start - T0)) for start in starts]
    assert [snapshot.number for snapshot in history.snapshots()] == [
        *range(1, count + 1)
    ]
    for snapshot, listing in zip(history.snapshots(), listings, strict=True):
        pd.testing.assert_frame_equal(history.rebuild(snapshot), listing.frame)
    check_period(history, listings, 0, count - 1)


def test_a_listing_is_kept_whole_or_not_at_all(history):
    """Where its last statement fails, the others have not happened."""
    animals = {1: ("Rex", 1, None), 2: ("Mia", 1, None)}
    history.keep(make_listing(animals).frame)
    before = history.history()
    execute(
        history.database.path,
        "CREATE TRIGGER full BEFORE INSERT ON snapshots"
        " BEGIN SELECT RAISE(ABORT, 'the disk is full'); END",
    )

    with pytest.raises(HistoryError, match="the disk is full"):
        history.keep(make_listing({1: ("Rex", 1, "sold")}, T0 + 9).frame)
    execute(history.database.path, "DROP TRIGGER full")
    history.keep(make_listing(animals, T0 + 9).frame)
    times = history.history().drop(columns="last_seen")
    pd.testing.assert_frame_equal(times, before.drop(columns="last_seen"))


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("history.db", "history forget"),
        ("staging-x.db", "history --environment staging forget"),
    ],
)
def test_a_listing_that_began_before_the_newest_ended_is_not_kept_and_says_so(
    name, command, tmp_path
):
    """
    A short listing inside a long one would invent changes for good. The remedy for the
    history of staging names staging: else it would forget that of production.
    """
    history = History(HistoryDatabase(tmp_path / name))
    history.keep(make_listing({1: ("Rex", 1, None)}, T0, T0 + 60.5).frame)

    remedy = f"{command} --after 2026-01-05T09:01:01"
    with pytest.raises(HistoryError, match=f"after this listing .*{remedy}"):
        history.keep(make_listing({}, T0 + 60.4, T0 + 61).frame)
    # the clock was set back meanwhile
    history.keep(make_listing({}, T0 + 62, T0 + 61).frame)
    with pytest.raises(HistoryError, match="after this listing began"):
        history.keep(make_listing({}, T0 + 61.5, T0 + 63).frame)
    assert len(history.snapshots()) == 2


def test_only_complete_listings_of_all_animals_are_kept():
    """The error says why, or what to keep."""
    with Sandbox(animals=30) as box:
        with pytest.raises(ArgumentError, match=r"store\.snapshot\(\)"):
            box.store.history_database.keep(box.store.list_pets(status="sold"))
        with pytest.raises(IncompleteListingError, match="limited to the first 5"):
            box.store.history_database.keep(box.store.list_pets(first=5))
        assert not box.store.history_database.database.path.exists()


FOREIGN = "it is empty, another service's, or another program's"


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        ("text", "file is not a database"),
        ("zeros", "malformed"),
        ("empty", FOREIGN),
        ("new: CREATE TABLE songs (title); PRAGMA user_version = 7", FOREIGN),
        ("PRAGMA user_version = 5", "another version of the toolkit wrote it"),
        ("DROP TABLE stays", "no such table: stays"),
        ("folder", "unable to open database file"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_and_stays(harm, reason):
    """
    Damaged, emptied, or of another program, version or service: who reads and who
    writes is told what to do; a listing or a report is made all the same, and says so.
    """
    with Sandbox(animals=200) as box:
        store = box.store
        store.snapshot()
        path = store.history_database.database.path
        damage(path, harm)
        content = path.is_file() and path.read_bytes()
        for call in (store.snapshots, store.events, store.history, store.snapshot):
            with pytest.raises(HistoryError, match=reason) as raised:
                call()
            message = str(raised.value)
            assert message.startswith(f"the history {path} cannot be used (")
            assert message.endswith("To begin a new history, move it away")
        report = store.status_report(since="7d")
        with pytest.warns(UserWarning, match="the history .* cannot be used"):
            listing = store.list_pets(max_age="1h")
        assert (path.is_file() and path.read_bytes()) == content
        assert [*path.parent.iterdir()] == [path]
        path.rename(path.with_name("moved.db"))
        assert store.snapshot().number == 1
        renamed = History(HistoryDatabase(path.rename(path.with_name("other.db"))))
        with pytest.raises(HistoryError, match=FOREIGN):
            renamed.snapshots()

    assert len(report.animals) == len(listing) == 200
    notes = "; ".join(report.notes)
    words = "not kept as a snapshot, and not compared with an earlier listing"
    assert f"{words}: the history" in notes


def test_a_path_that_cannot_be_looked_at_is_named(tmp_path):
    """As in a folder that may not be entered."""
    with pytest.raises(HistoryError, match=r"cannot be used \(.*File name too long"):
        History(HistoryDatabase(tmp_path / ("x" * 300))).snapshots()


@pytest.mark.parametrize("lock", ["BEGIN EXCLUSIVE", "BEGIN; SELECT * FROM stays;"])
def test_an_interrupt_is_heard_while_another_program_holds_the_history(lock, history):
    """A writer waits for a writer and for readers, a reader only for a writer."""
    history.database.mark_reported(0)
    calls = [lambda: history.database.mark_reported(0)]
    if "EXCLUSIVE" in lock:
        calls.append(history.snapshots)
    began_at = time.monotonic()
    with closing(
        sqlite3.connect(history.database.path, isolation_level=None)
    ) as holder:
        for statement in lock.split(";"):
            holder.execute(statement).fetchone()
        for call in calls:
            with interrupt():
                call()

    assert time.monotonic() - began_at < sqlite.BUSY_S


@pytest.mark.parametrize("value", ["NULL", "x'00ff'", "'{'", "CAST(x'ff' AS TEXT)"])
@pytest.mark.parametrize("column", ["listing", "counts"])
def test_a_snapshot_that_cannot_be_read_is_named_and_left_out(column, value):
    """
    A NULL, a blob and broken JSON, where somebody took the checks away: the other
    snapshots, the history and the report stand, and no file is moved.
    """
    with Sandbox(animals=20) as box:
        for day in range(3):
            box.store.snapshot()
            box.advance(days=1)
            box.change(day + 2, status="sold")
        history = box.store.history_database
        rows = box.store.history()
        events = box.store.events()
        change = f"UPDATE snapshots SET {column} = {value} WHERE number = 2;"
        execute(history.database.path, WITHOUT_CHECKS + change)

        damaged = f"snapshot 2 in {history.database.path} is damaged, and is left out"
        assert [snapshot.number for snapshot in box.store.snapshots()] == [1, 3]
        assert damaged in repr(box.store.snapshots())
        pd.testing.assert_frame_equal(box.store.history(), rows)
        with pytest.warns(UserWarning, match="snapshot 2 in .* is damaged"):
            pd.testing.assert_frame_equal(box.store.events(), events)
        with pytest.warns(UserWarning, match="snapshot 2 in .* is damaged"):
            assert len(box.store.snapshots(date="0s")) == 20
        report = box.store.status_report(since="3d")
        assert [*history.database.path.parent.iterdir()] == [history.database.path]

    assert report.notes == (damaged,)
    assert (len(report.events), len(report.counts)) == (len(events) + 1, 3)


WITHOUT_CHECKS = """
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(replace(sql, ' NOT NULL', ''), 'STRICT', '')
WHERE name = 'snapshots';
PRAGMA writable_schema = RESET;
"""


def test_columns_hold_what_they_say(history):
    """Another kind of value, and an end before its begin, are refused."""
    history.keep(REX)

    for change in (
        "UPDATE snapshots SET ended_at = 'soon'",
        "UPDATE snapshots SET ended_at = started_at - 1",
        "UPDATE snapshots SET may_have_hole = 2",
        "UPDATE snapshots SET listing = NULL",
        "UPDATE snapshots SET counts = NULL",
        "UPDATE snapshots SET listing = x'00ff'",
        "UPDATE snapshots SET counts = x'00ff'",
        "UPDATE stays SET name = NULL",
        "UPDATE stays SET status = x'00'",
        "UPDATE stays SET closed = first",
        "INSERT INTO missed VALUES (1, 'x')",
        "INSERT INTO reported VALUES (NULL)",
    ):
        with pytest.raises(sqlite3.IntegrityError):
            execute(history.database.path, change)


def test_a_history_that_was_changed_is_noticed(history):
    """What is rebuilt is compared with the digest of the listing."""
    snapshot = history.keep(REX)
    execute(history.database.path, "UPDATE stays SET name = 'Max'")

    with pytest.raises(HistoryError, match=r"snapshot 1 in .* was changed"):
        history.rebuild(snapshot)


def test_a_day_to_forget_before_means_its_begin(history):
    """
    The last report showed more than what is left, so the oldest is compared; where none
    is left, the next one is the first.
    """
    for day in (0, 90, 91, 92):
        frame = make_listing({1: ("Rex", 1, "sold")}, T0 + day * spec.DAY_S).frame
        snapshot = history.keep(frame)
    now = T0 + 93 * spec.DAY_S

    history.database.mark_reported(1)
    assert history.database.forget("2026-04-05", now=now) == 1
    *earlier, newest = history.snapshots()
    note = "no snapshot is as old as last, so the oldest one is used"
    assert history.older(newest.listing, earlier, "last") == (earlier[0], note)
    assert history.database.forget("1s", now=now) == 3
    assert len(history.history()) == len(history.snapshots()) == 0
    with pytest.raises(HistoryError, match="snapshot 4 is no longer in"):
        history.rebuild(snapshot)
    assert history.keep(frame).number == 1


def test_a_listing_from_the_future_is_named_before_a_request_and_forgotten():
    """What the message says helps; what was there before that listing goes on."""
    with Sandbox(animals=5) as box:
        as_of = box.store.snapshot().as_of
        animals = TrueListing(box.store.snapshots(date=as_of)).animals
        before = box.store.history()
        now = box.clock.now()
        history = box.store.history_database
        for listed_animals in (animals, {1: ("Rex", 1, "sold")}):
            history.keep(make_listing(listed_animals, now + 9e7).frame)
        with pytest.warns(UserWarning, match="was not kept as a snapshot"):
            assert len(box.store.list_pets(max_age="1h")) == 5
        request_count = len(box.traffic())

        with pytest.raises(
            HistoryError, match="remove it: petstore-tools history forget"
        ) as raised:
            box.store.snapshot()
        assert len(box.traffic()) == request_count
        report = box.store.status_report(since="last")
        assert "history forget --after" in report.notes[-1]
        assert report.since is None
        assert history.database.forget(after="2099-01-01", now=now) == 0
        assert (
            history.database.forget(after=str(raised.value).split()[-1], now=now) == 2
        )
        pd.testing.assert_frame_equal(box.store.history(), before)
        assert box.store.snapshot().number == 2


def test_an_empty_history_has_the_same_columns_and_dtypes():
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
                box.store.history(id=other)

    assert two["id"].tolist() == [2]
    for frame in empty:
        assert len(frame) == 0
        assert frame.dtypes.astype(str).to_dict() == full.dtypes.astype(str).to_dict()


@pytest.mark.filterwarnings("ignore:no snapshot is as old as")  # as January is
def test_questions_of_analysts_have_an_answer_of_a_line_or_two():
    """Each of the table in the room's README, of an inventory in eleven weeks."""
    room = Path(__file__).parents[2] / "petstore_tools" / "history"
    readme = (room / "README.md").read_text("utf-8")
    (frames,) = re.findall(r"## Questions.*?```python\n(.*?)```", readme, re.S)
    answers = {}
    with Sandbox(animals=40) as box:
        for week in range(1, 12):
            box.store.snapshot()
            box.advance(days=7)
            box.add([("Mia", week % 3, "available")])
            box.change(week, status="pending")
            box.change(week * 2, status="sold")
            box.remove(41 - week)
        names = {"store": box.store, "pd": pd}
        exec(frames, names)
        for question, cell in re.findall(r"^\| (.+\?) \| (.+) \|$", readme, re.M):
            *steps, last = re.findall("`(.+?)`", cell)
            exec("\n".join(steps), names)
            answer = eval(last, names)
            table = getattr(answer, "to_csv", answer.__str__)()
            answers[question] = table.splitlines()

    assert answers == read_json(__file__, "questions.json")


def test_within_max_age_a_listing_costs_no_request():
    """
    Then one is made and kept. What is asked for a part is refused.
    """
    with Sandbox(animals=250) as box:
        box.store.list_pets(max_age="1h")
        request_count = len(box.traffic())
        box.store.list_pets(max_age="1h")  # at the same instant
        box.advance(minutes=60)
        repeated = box.store.list_pets(max_age="1h")
        assert len(box.traffic()) == request_count
        assert Listing.of(repeated).complete

        box.advance(minutes=2)
        box.store.list_pets(first=5)
        for part in ({"first": 2}, {"status": "sold"}):
            with pytest.raises(ArgumentError, match="max_age .* the whole inventory"):
                box.store.list_pets(**part, max_age="1h")
        assert len(box.store.snapshots()) == 1
        box.store.list_pets(max_age="3600s")
        assert len(box.store.snapshots()) == 2


NOW = datetime(2026, 3, 10, 12, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(("moment", "outcome"), read_cases(__file__, "moments.txt"))
def test_a_date_an_age_or_a_time_means_one_instant(moment, outcome):
    """
    A date is ISO or day first with dots, and means its end. What could be read in two
    ways or in none, and the future, is refused.
    """
    try:
        _, end = span(moment, NOW, UTC)
        check_past(moment, end, NOW)
        answer = datetime.fromtimestamp(end, UTC).isoformat()
    except ArgumentError as error:
        answer = str(error)

    assert outcome in answer


@pytest.mark.parametrize(
    ("moment", "zone", "begin", "end"), read_cases(__file__, "zones.txt")
)
def test_what_names_no_offset_is_read_in_the_zone_of_the_report(
    moment, zone, begin, end
):
    """Else in that of the machine; a day may have 23 or 25 hours."""
    own_zone = span(moment, NOW, ZoneInfo(zone))
    with machine_zone(zone):
        pandas_time = pd.Timestamp(datetime.fromisoformat(moment))
        machine = span(moment, NOW), span(pandas_time.to_pydatetime(), NOW)

    ends = tuple(datetime.fromisoformat(text).timestamp() for text in (begin, end))
    assert own_zone == machine[0] == ends
    assert span(pandas_time, NOW, ZoneInfo(zone))[0] == machine[1][0] == ends[0]


@pytest.mark.parametrize(
    ("zone", "now", "yesterday"), read_cases(__file__, "yesterdays.txt")
)
def test_yesterday_is_the_day_before_on_the_clock_of_the_reader(zone, now, yesterday):
    """
    In reports, events, listings of the past and `forget`, at each of these hours: never
    "after now", and the listing of yesterday evening, not that of the day before.
    """
    with machine_zone(zone):
        midnight = datetime.fromisoformat(now).replace(hour=0, minute=0).timestamp()
        now_s = datetime.fromisoformat(now).timestamp()
        with Sandbox(animals=5, clock="manual") as box:
            listings = []
            for instant_s in (midnight - 90_000, midnight - 1_800, now_s - 60):
                box.advance(seconds=instant_s - box.clock.now())
                listings.append(box.store.snapshot())
            box.advance(seconds=now_s - box.clock.now())
            store = box.store
            of_day = Listing.of(store.snapshots(date=yesterday))
            report = store.status_report(since=yesterday, until="0s", timezone=zone)
            in_utc = store.status_report(since="2d", until="0s", timezone="UTC")
            box.change(1, status="pending")
            store.snapshot()
            events = store.events(since=yesterday, until="0s")
            forgotten = store.history_database.database.forget(yesterday, now=now_s)

    assert of_day == listings[1].listing
    assert report.since == listings[1].listing
    assert in_utc.since is not None
    assert len(events) == 1
    assert forgotten == 1


def test_dates_may_be_objects_and_are_checked_before_a_request():
    """The error says how a date is written."""
    noon = datetime(2026, 3, 5, 13, tzinfo=timezone(timedelta(hours=1)))
    assert span(noon, NOW) == span(datetime(2026, 3, 5, 12), NOW, UTC)
    assert span(date(2026, 3, 5), NOW) == span(" 2026-03-05 ", NOW)
    with Sandbox(animals=1) as box:
        for call in (box.store.status_report, box.store.events):
            for since in (7, "", pd.NaT, "yesterday", "9999-12-31", date.min):
                with pytest.raises(ArgumentError, match="write a date as|is after"):
                    call(since=since)
        assert len(box.traffic()) == 0


def nightly_frame(night):
    """
    Return the listing of a night, which took no time, or up to 20 s; in each night
    before it one animal was sold.
    """
    animals = {n: ("Rex", 1, "sold" if n < night else None) for n in range(40)}
    begin = T0 + night * spec.DAY_S
    return make_listing(animals, begin, begin + TAKES_S[night % 4]).frame


LOOKS = read_looks(None, "Report", "", "UTC")
TAKES_S = (20, 0, 0.3, 2)


def test_an_age_is_measured_to_the_begin_of_a_listing(history):
    """It is nearer to the second one, though the first one ended nearer to it."""
    for begin_s, end_s in ((0, 7_200), (9_000, 9_000)):
        history.keep(make_listing({}, T0 + begin_s, T0 + end_s).frame)

    nearest, _ = history.snapshots().up_to("1h", T0 + 5_000 + 3_600)

    assert len(nearest) == 2


def test_an_age_means_the_older_of_two_listings_of_one_instant(history):
    """A clock that stands still lets two listings begin at once."""
    for name in ("Rex", "Mia"):
        history.keep(make_listing({1: (name, 1, "sold")}, T0).frame)

    nearest, _ = history.snapshots().up_to("7d", T0 + 7 * spec.DAY_S)

    assert len(nearest) == 1


def test_a_listing_whose_clock_was_set_back_has_not_ended_before_it_began(history):
    """A time before it means the listing before it."""
    history.keep(make_listing({}, T0).frame)
    late = make_listing({}, T0 + spec.DAY_S, T0 + spec.DAY_S - 5)
    history.keep(late.frame)
    moment = datetime.fromtimestamp(T0 + spec.DAY_S - 2, UTC)

    matches, _ = history.snapshots().up_to(moment, T0 + 2 * spec.DAY_S)

    assert len(matches) == 1


def test_an_age_is_the_nearest_listing_from_begin_to_begin(history):
    """
    A listing takes time: seven days of a nightly job are seven nights, and one day is
    one, in reports, events, reports of the past, and listings of the past.
    """
    for night in range(15):
        history.keep(nightly_frame(night))
    reports = [
        report_and_keep(nightly_frame(night), history, age, LOOKS)
        for night, age in ((15, "7d"), (16, "1d"), (17, "36h"), (18, "1w"))
    ]
    now = T0 + 18 * spec.DAY_S + 3_600

    nights = [7, 1, 2, 7]
    assert [len(report.tables()["events"]) for report in reports] == nights
    assert [report.notes for report in reports] == [()] * 4
    for age, count in (("7d", 7), ("1d", 1), ("36h", 2)):
        assert len(history.events(age, now=now)) == count
        assert len(history.events(age, "2d", now=now)) == count
        past = report_on_snapshot(history, age, "2d", LOOKS, None, now)
        assert len(past.tables()["events"]) == count
    sold = [history.animals_of(f"{age}d", now)["status"] == "sold" for age in (1, 7)]
    assert [column.sum() for column in sold] == [17, 11]


def test_an_age_with_nothing_within_half_of_it_says_so(history):
    """
    As a note of a report, and as a warning of events and of listings; the newest one is
    meant by `0s`, and what a report is on is not compared with itself.
    """
    for night in range(3):
        history.keep(nightly_frame(night))
    now = T0 + 2 * spec.DAY_S + 3_600
    for age, compared, as_of in (
        ("3d", 0, ""),
        ("4d", 0, ""),
        ("5d", 0, "2026-01-05 09:00:20"),
        ("13h", 1, "2026-01-06 09:00:00"),
        ("16h", 1, ""),
        ("1s", 1, "2026-01-06 09:00:00"),
    ):
        past = report_on_snapshot(history, age, "0s", LOOKS, None, now)
        assert past.since == history.snapshots()[compared].listing
        assert "; ".join(past.notes) == (
            as_of
            and f"no snapshot is about {age} old: the nearest one is of {as_of} UTC"
        )
    for call in (
        lambda: history.events("9d", now=now),
        lambda: history.events(until="9d", now=now),
        lambda: history.animals_of("9d", now),
    ):
        with pytest.warns(UserWarning, match="no snapshot is about 9d old"):
            call()
    newest = Listing.of(history.animals_of("0s", now))
    assert newest == history.snapshots()[-1].listing


def test_a_date_of_the_past_takes_the_newest_listing_that_had_ended_by_then():
    """Today's is allowed; before the first listing the error has that one's date."""
    with Sandbox(animals=3) as box:
        first = box.store.snapshot()
        box.advance(days=3)
        box.remove(1)
        last = box.store.snapshot()
        for day, snapshot in (("2026-01-07", first), ("2026-01-08", last)):
            assert Listing.of(box.store.snapshots(date=day)) == snapshot.listing
        with pytest.raises(ArgumentError, match="from 2026-01-05 09:00:00 UTC"):
            box.store.snapshots(date="2026-01-04")
        with pytest.raises(ArgumentError, match="from 2026-01-05 09:00:00 UTC"):
            box.store.events(until="2026-01-04")
        assert box.store.events(since=last.as_of).empty
        assert len(box.store.events(since=first.as_of)) == 1
        late = "later than the listing that it would be compared with"
        with pytest.raises(ArgumentError, match=late):
            box.store.events(since="2026-01-07", until="2026-01-06")
        box.advance(days=30)
        report = box.store.status_report(since="2026-01-07", until="2026-02-01")
        note = "the newest snapshot by 2026-02-01 is of 2026-01-08 09:00:00 UTC"
        assert report.notes == (note,)
        box.store.snapshot()
        for since, said in (
            ("2025-11-01", "no snapshot is as old as 2025-11-01, so the oldest one"),
            ("2026-02-01", note),
        ):
            with pytest.warns(UserWarning, match=said):
                box.store.events(since=since)


def test_last_is_the_last_report_that_was_handed_out(tmp_path):
    """Not a look, a snapshot or a report on one status in between."""
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
    assert (thursday.since.ended_at, thursday.notes) == (monday, ())
