"""
The truth of a history of listings: what each complete one showed, the stays and moves
that follow from it, and how a history and a report are held against them.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter, namedtuple
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import groupby
from math import ceil, inf, isnan, nan
from operator import attrgetter
from statistics import median

import pandas as pd
import pytest
from inventories import listing_frame

from petstore_tools import spec
from petstore_tools.listing.completeness import Listing
from petstore_tools.reporting.facts import read_looks
from petstore_tools.reporting.report import (
    report_and_keep,
    report_on_snapshot,
)
from petstore_tools.reporting.sentences import message, waiting

STATUSES = [*spec.STATUSES, None]
WORDS = [STATUSES, ["verfügbar", "reserviert", "sold", "متاح", None]]
ZONES = ["America/Los_Angeles", "Europe/Berlin", "Pacific/Auckland", "UTC"]
T0 = 1_767_603_600.0
DAY = timedelta(days=1)
KINDS = {None: "gone", "sold": "became sold"}
MOMENT = partial(datetime.fromtimestamp, tz=UTC)
TrueEvent = namedtuple("TrueEvent", "event id name category_id begin end after by")


@dataclass
class TrueListing:
    """What one complete listing showed, and whether it may have missed animals."""

    frame: pd.DataFrame

    def __post_init__(self):
        rows = rows_of(self.frame)
        self.animals = {pet_id: tuple(values) for pet_id, *values in rows}
        self.facts = Listing.of(self.frame)
        self.began = MOMENT(self.facts.started_at)
        self.ended = MOMENT(self.facts.ended_at)


def make_listing(animals, started_at=T0, ended_at=None, *, hole=False):
    """Return a complete listing of these animals, which ends as it began."""
    ended_at = ended_at or started_at
    rows = [(pet_id, *values) for pet_id, values in animals.items()]
    frame = listing_frame(rows, ended_at, started_at=started_at, may_have_hole=hole)
    return TrueListing(frame)


def simulate_listings(rng):
    """
    Yield listings of an inventory that changes: at any fraction of a second, or each
    night, then of 0 to 20 seconds; some have holes. Its statuses are those of the
    document, or others.
    """
    words = rng.choice(WORDS)
    is_nightly = rng.random() < 0.5
    animals = {
        n: ("Rex", 1, rng.choice(words)) for n in range(1, rng.choice([1, 9, 9, 9]))
    }
    now = T0 + rng.random()
    newest = 2**62  # no float holds such a number
    removed = {}
    missed_ids = set()
    for _ in range(rng.randint(2, 14)):
        for _ in range(rng.randint(0, 4)):
            picked = rng.choice([*animals, *removed, 0])
            if not picked:
                newest += 1
                animals[newest] = ("Mia", -newest, rng.choice(words))
            elif picked in removed:
                animals[picked] = removed.pop(picked)
            elif rng.random() < 0.3:
                removed[picked] = animals.pop(picked)
            else:
                status = rng.choice([*words, "from", "", animals[picked][2]])
                animals[picked] = (
                    rng.choice(["Rex", "=1+1"]),
                    rng.choice([1, 2]),
                    status,
                )
        started_at = now + rng.choice([0.0, 1e-6, rng.random() * 90_000])
        ended_at = started_at + rng.choice([0.0, rng.random() * 60])
        if is_nightly:
            started_at = now
            ended_at = started_at + rng.choice([0.0, 0.3, 2.0, 20.0])
        now = started_at + spec.DAY_S if is_nightly else ended_at
        hole = rng.random() < 0.4
        listed_ids = [
            n for n in animals if n in missed_ids or not hole or rng.random() < 0.8
        ]
        missed_ids = set(animals) - set(listed_ids)
        rng.shuffle(listed_ids)
        yield make_listing(
            {n: animals[n] for n in listed_ids}, started_at, ended_at, hole=hole
        )


def last_look(listings, n, pet_id):
    """
    Return the begin of the last listing before listing n that tells whether an animal
    was there; one that lacks it and may have a hole does not.
    """
    n -= 1
    if listings[n].facts.may_have_hole and pet_id not in listings[n].animals:
        n -= 1
    return listings[n].began if n >= 0 else None


def true_stays(listings, columns=slice(None)):
    """
    Return each stay as a row of a history: id, values, begun after, first seen, last
    seen, ended after, and ended by.

    An animal that one listing alone lacks, which may have a hole, was there. The
    columns say which of an animal's values are those of the stay.
    """
    stays = []
    present = [animals_in(listings, n) for n in range(len(listings))]
    for pet_id in sorted({n for animals in present for n in animals}):
        values = [animals.get(pet_id) for animals in present]
        states = [value and value[columns] for value in values]
        for state, group in groupby(range(len(listings)), states.__getitem__):
            positions = [*group]
            if state is None:
                continue
            begin, end = positions[0], positions[-1] + 1
            last = max(n for n in positions if pet_id in listings[n].animals)
            ended = None, None
            if end < len(listings):
                ended = listings[last].began, listings[end].ended
            began_after = last_look(listings, begin, pet_id)
            seen = listings[begin].ended, listings[last].ended
            stays.append((pet_id, *state, began_after, *seen, *ended))
    return stays


def status_stays(listings):
    """Return each unbroken time of an animal in a status."""
    return true_stays(listings, slice(2, 3))


def rows_of(frame):
    """Return the rows of a frame, with None where a value is missing."""
    values = frame.astype("object").where(frame.notna(), None)
    return [*values.itertuples(index=False, name=None)]


def animals_in(listings, n):
    """
    Return the animals that were there in listing n, as it and the one before it tell.
    """
    unseen = listings[n - 1].animals if n and listings[n].facts.may_have_hole else {}
    return {**unseen, **listings[n].animals}


def true_events(listings, since, until):
    """Return what happened after a listing, by another one, as `store.events` does."""
    events = []
    for n in range(since + 1, until + 1):
        before = animals_in(listings, n - 1)
        now = animals_in(listings, n)
        for pet_id, (*values, _) in {**before, **now}.items():
            begin = status_of(before, pet_id)
            end = status_of(now, pet_id)
            if begin != end:
                kind = KINDS.get(end, "changed status") if begin else "new"
                times = last_look(listings, n, pet_id), listings[n].ended
                events.append(TrueEvent(kind, pet_id, *values, begin, end, *times))
    return sorted(events, key=attrgetter("by", "id"))


def check_history(history, listings, rng):
    """
    Compare all that the history says with the truth, of any two listings, too. What is
    left when listings are forgotten at both ends is a history, which goes on with the
    next one.
    """
    for listing, snapshot in zip(listings, history.snapshots(), strict=True):
        pd.testing.assert_frame_equal(
            history.rebuild(snapshot),
            listing.frame.sort_values("id", ignore_index=True),
        )
    check_categories(history.snapshots(), listings)
    now = listings[-1].facts.ended_at + 1
    rows = rows_of(history.history())
    assert rows == true_stays(listings)
    ends = [listing.ended for listing in listings]
    first, last = sorted(rng.choices(ends, k=2))
    pet_id = rng.randrange(1, 9)
    of_animal = [row for row in rows if row[0] == pet_id]
    assert rows_of(history.history(pet_id)) == of_animal
    since, until = (bisect_right(ends, end) - 1 for end in (first, last))
    true_rows = true_events(listings, since, until)
    assert rows_of(history.events(first, last, now=now)) == true_rows
    check_period(history, listings, since, until)
    check_reports_of_the_past(history, listings, rng)
    history.database.forget(first, after=last, now=now)
    oldest = bisect_left(ends, first)
    left = [*listings[oldest : until + 1]]
    assert rows_of(history.history()) == true_stays(left)
    left.append(make_listing(listings[until].animals, now))
    history.keep(left[-1].frame)
    assert rows_of(history.history()) == true_stays(left)


def check_categories(snapshots, listings):
    """Compare the counts of each category over time with the truth."""
    counts = snapshots.counts(by="categoryId")
    last = len(listings) - 1
    categories = len(counts) // len(listings)
    for n, sums in enumerate(snapshots.counts().to_dict("records")):
        table = counts.iloc[n * categories : (n + 1) * categories]
        assert table.sum().to_dict() == sums
        animals = listings[n].animals if n == last else animals_in(listings, n)
        truth = Counter((c, status_name(status)) for _, c, status in animals.values())
        shown = table.droplevel(0).stack()
        assert shown[shown != 0].to_dict() == truth


def check_period(history, listings, since, until):
    """
    Compare the animals of a listing, the days in a status since an earlier one, and the
    events of each day in between with the truth.
    """
    present = history.animals(history.snapshots()[until], unseen=True)
    assert TrueListing(present).animals == animals_in(listings, until)
    for n in range(since, until):
        events_of_day = history.events_between(n + 1, n + 2)
        assert rows_of(events_of_day) == true_events(listings, n, n + 1)
    over = [stay for stay in status_stays(listings[: since + 1]) if stay[-1]]
    stays = Counter(status_stays(listings[: until + 1])) - Counter(over)
    times = history.status_times(since + 1, until + 1)
    columns = history.history().columns.drop(["name", "categoryId"])
    assert Counter(rows_of(times[columns])) == Counter(
        (pet_id, status_name(status), *more)
        for pet_id, status, *more in stays.elements()
    )


def status_name(status):
    """Return a status as tables name it."""
    names = {None: "unset", "": "blank ('')", "from": "'from' as sent"}
    return names.get(status, str(status))


def status_of(animals, pet_id):
    """Return the status of an animal as tables name it, None where it is absent."""
    return status_name(animals[pet_id][2]) if pet_id in animals else None


def count_animals(animals):
    """Count animals by the status that a report names."""
    return Counter(status_name(status) for *_, status in animals.values())


def nearest_position(listings, age_s, begin_s):
    """
    Return the position of the listing whose begin is nearest to an age, of several at
    the same distance the oldest.
    """

    def rank(n):
        position_s = listings[n].facts.started_at
        return round(abs(begin_s - position_s - age_s), 3), n

    return min(range(len(listings)), key=rank)


def ended_position(listings, moment, zone):
    """
    Return the position of the newest listing that had ended by a time, or by the end of
    a day in a zone; else that of the oldest.
    """
    ends = [listing.ended.astimezone(zone) for listing in listings]
    if not isinstance(moment, datetime):
        ends = [end.date() for end in ends]
    return max((n for n, end in enumerate(ends) if end <= moment), default=0)


def pick_moment(rng, listings, zone):
    """
    Return an age, a date or a time, some without an offset, that is older than the last
    of some listings, and the position of the earlier listing that it means.
    """
    earlier = listings[:-1]
    begin_s = listings[-1].facts.started_at
    meant = rng.choice(earlier).ended.astimezone(zone)
    match rng.choice(["age", "date", "time", "time without an offset"]):
        case "age":
            age = rng.choice(["1h", "12h", "1d", "36h", "3d", "7d", "30d"])
            age_s = pd.Timedelta(age.replace("d", " days")).total_seconds()
            return age, nearest_position(earlier, age_s, begin_s)
        case "date":
            meant = meant.date() - DAY
            written = rng.choice([meant, meant.isoformat(), f"{meant:%d.%m.%Y}"])
        case "time":
            written = meant
        case _:
            naive = meant.replace(tzinfo=None)
            written = rng.choice([naive, naive.isoformat()])
    return written, ended_position(earlier, meant, zone)


def stays_by_status(listings):
    """
    Return of each status the lengths (days, whether nobody saw the begin) of the stays
    that ended, and of those that are open.
    """
    lengths = {}
    for pet_id, status, began_after, first, last, after, by in status_stays(listings):
        days, open_days = lengths.setdefault(status_name(status), ([], []))
        begin = first - (first - (began_after or first)) / 2
        end = by - (by - after) / 2 if by and began_after else last
        length = (end - begin) / DAY, began_after is None
        if by:
            days.append(length)
        elif pet_id in listings[-1].animals:
            open_days.append(length)
    return {name: both for name, both in lengths.items() if any(both)}


def true_times(listings):
    """
    Return of each status the stays that ended, the median of their days, the days that
    90 % of them took at most, the stays that are open, the longest of these, and of the
    three numbers of days, whether each would be larger if what nobody saw begin had
    begun long before.
    """
    times = {}
    for name, (days, open_days) in stays_by_status(listings).items():
        seen = numbers_of_days(days, open_days)
        long = numbers_of_days(
            *([*map(begun_long_before, d)] for d in (days, open_days))
        )
        is_longer = [not isnan(a) and a != b for a, b in zip(seen, long, strict=True)]
        middle, most, longest = seen
        row = (len(days), middle, most, len(open_days), longest, *is_longer)
        times[name] = pytest.approx(row, abs=1e-9, nan_ok=True)
    return times


def begun_long_before(length):
    """Return a length that is longer if nobody saw its begin."""
    days, is_unseen = length
    return 1e6 if is_unseen else days, is_unseen


def numbers_of_days(lengths, open_lengths):
    """Return the median, the days that 90 % took at most, and the longest open ones."""
    days = sorted(day for day, _ in lengths)
    most = days[ceil(0.9 * (len(days) - 1))] if days else nan
    longest = max([day for day, _ in open_lengths], default=nan)
    return median(days or [nan]), most, longest


def true_ages(listings, ages):
    """
    Return how many animals have been in a status for more than each age for certain,
    and of how many in all nobody knows whether it is more than the last age.
    """
    longer, unsure = Counter(), Counter()
    for name, (_, open_days) in stays_by_status(listings).items():
        for days, is_unseen in open_days:
            longer.update((name, age) for age in ages if days > age)
            unsure[name] += is_unseen and days <= ages[-1]
    return longer, +unsure


def check_ageing(report, listings):
    """Compare the rows of the ageing with the truth."""
    ages = [0.0, *report.looks.ages]
    longer, unsure = true_ages(listings, ages)
    now = count_animals(listings[-1].animals)
    for name, rows in report.ageing.groupby("status"):
        counts = rows.set_index("days_from")["animals"]
        is_row = rows["days_to"].notna() | (rows["days_from"] == ages[-1])
        assert counts.sum() == now[name]
        assert counts[~is_row.to_numpy()].sum() == unsure[name]
        assert counts[ages[-1]] == longer[name, ages[-1]]
    pending = longer["pending", report.looks.long]
    words = f"{pending:,} ha(ve|s) been pending for more than 14 days[.]"
    assert bool(re.fullmatch(words, waiting(report))) == bool(pending)
    sentences = [message(report), waiting(report)] if pending else [message(report)]
    assert report.headline == " ".join(sentences)


def true_sums(listings, since, until):
    """Return the sums of a period."""
    events = true_events(listings, since, until)
    kinds = Counter()
    for kind in ("new", "became sold", "changed status", "gone"):
        kinds[kind] = len({event.id for event in events if event.event == kind})
    arrived = {e.id for e in events if e.begin is None and e.end == "sold"}
    last = animals_in(listings, until)
    if until == len(listings) - 1:
        last = listings[until].animals
    return {
        "animals before": len(animals_in(listings, since)),
        "new": kinds["new"],
        "arrived as sold": len(arrived),
        "became sold": kinds["became sold"],
        "changed status": kinds["changed status"],
        "gone": kinds["gone"],
        "animals now": len(last),
    }


def period_before(listings, since):
    """
    Return the position of the listing with which the period before begins, None if no
    listing is as old, give or take a tenth of the period.
    """
    begins = [listing.facts.started_at for listing in listings]
    length_s = begins[-1] - begins[since]
    starts = {abs(begins[since] - begins[n] - length_s): n for n in range(since)}
    distance_s = min(starts, default=inf)
    return starts[distance_s] if distance_s <= length_s / 10 else None


def check_sums(report, listings, since, unseen):
    """Compare the summary, its period before, and the headline with the truth."""
    sums = true_sums(listings, since, len(listings) - 1)
    summary = report.summary.set_index("what")
    seen = {"not seen": unseen} if unseen else {}
    assert summary["animals"].to_dict() == {**sums, **seen}
    oldest = period_before(listings, since)
    assert ("period_before" in summary) == (oldest is not None)
    if oldest is not None:
        before = true_sums(listings, oldest, since)
        assert summary["period_before"].drop([*seen]).to_dict() == before
    change = sums["animals now"] - sums["animals before"]
    way = "grew" if change > 0 else "fell"
    stock = f" {way} by {abs(change):,} to" if change else " is unchanged at"
    words = [f"Stock{stock} {sums['animals now']:,}"]
    if sums["new"] or sums["gone"] or unseen:
        words.append(f": {sums['new']:,} came, {sums['gone']:,} left")
        words.append(f", {unseen:,} not seen." if unseen else ".")
    sold = sums["became sold"]
    words += [f"{sold:,} was sold" if sold == 1 else f"{sold:,} were sold"] * (sold > 0)
    arrived, changed = sums["arrived as sold"], sums["changed status"]
    words += [f"{arrived:,} arrived as sold"] * (arrived > 0)
    words += [f"{changed:,} changed status"] * (changed > 0 and not sold)
    places = [message(report).find(part) for part in words]
    assert -1 not in places
    assert places == sorted(places)
    numbers = re.findall(r"\d[\d,]*", " ".join(words))
    assert re.findall(r"\d[\d,]*", message(report)) == numbers


def check_report(report, listings, since):
    """Compare a report on the last listing, since another one, with the truth."""
    assert report.since == listings[since].facts
    tables = report.tables()
    last = len(listings) - 1
    old = animals_in(listings, since)
    now = listings[last].animals
    present_animals = animals_in(listings, last)
    unseen = [
        (n, *values, status_name(status))
        for n, (*values, status) in sorted(present_animals.items())
        if n not in now
    ]
    assert rows_of(tables.get("unseen", pd.DataFrame())) == unseen
    events = true_events(listings, since, last)
    assert rows_of(tables["events"]) == events
    moves = {(event.id, event.begin, event.end) for event in events}
    ways = Counter((begin or "new", end or "gone") for _, begin, end in moves)
    rows = rows_of(tables["transitions"])
    assert {(begin, end): count for begin, end, count in rows} == ways
    assert [row[-1] for row in rows] == sorted(ways.values(), reverse=True)
    for side, animals in (("before", old), ("count", now)):
        counts = report.breakdown[side]
        assert counts[counts > 0].to_dict() == count_animals(animals)
    sizes = report.breakdown
    assert sizes["change"].tolist() == (sizes["count"] - sizes["before"]).tolist()
    rows = tables["counts"].iloc[:, 1:].to_dict("records")
    true_counts = [count_animals(animals_in(listings, n)) for n in range(last)]
    assert [+Counter(row) for row in rows] == [*true_counts, count_animals(now)]
    check_sums(report, listings, since, len(unseen))
    check_ageing(report, listings)
    days = report.days
    rows_of_days = zip(days.index, days.to_numpy().tolist(), strict=True)
    assert {name: tuple(row) for name, row in rows_of_days} == true_times(listings)
    open_stays = days["open_stays"]
    assert open_stays[open_stays > 0].to_dict() == count_animals(now)
    pending = {n for n, (_, _, status) in now.items() if status == "pending"}
    assert set(report.pending["id"]) == pending
    begins = {
        n: first
        for n, status, began_after, first, _, _, by in status_stays(listings)
        if status == "pending" and n in now and began_after and not by
    }
    since_times = report.pending["since"]
    assert since_times.dropna().is_monotonic_increasing
    assert since_times.isna().is_monotonic_decreasing  # who is not dated comes first
    times = report.pending.set_index("id")["since"].dropna()
    assert times.to_dict() == begins
    _, waits = stays_by_status(listings).get("pending", ([], []))
    days = sorted(report.pending["days"])
    assert days == pytest.approx(sorted(day for day, _ in waits))


def check_reports_of_the_past(history, listings, rng):
    """
    Compare a report on a snapshot of the past with the truth of the listings up to it,
    whichever two moments say which, in any zone.
    """
    looks = read_looks(None, "Report", "", rng.choice(ZONES))
    now = listings[-1].facts.ended_at + rng.choice([0.0, 3_600.0])
    moment, until = pick_moment(rng, [*listings, make_listing({}, now)], looks.timezone)
    if not until:
        return
    earlier = listings[: until + 1]
    since_moment, since = pick_moment(rng, earlier, looks.timezone)
    report = report_on_snapshot(history, since_moment, moment, looks, None, now)
    check_report(report, earlier, since)


def run_script(rng, history):
    """Keep listings of a script, and report on the last."""
    listings = list(simulate_listings(rng))
    newest = listings[-1]
    for listing in listings[:-1]:
        history.keep(listing.frame)
    looks = read_looks(None, "Report", "", rng.choice(ZONES))
    since, position = pick_moment(rng, listings, looks.timezone)
    check_report(
        report_and_keep(newest.frame, history, since, looks), listings, position
    )
    return listings
