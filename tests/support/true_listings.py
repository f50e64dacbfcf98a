"""
The truth of a history of listings: what each complete one showed, the stays and moves
that follow from it, and how a history and a report are held against them.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import groupby, pairwise
from math import nan
from statistics import median
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd
import pytest
from inventories import listing_frame

from petstore_tools import spec
from petstore_tools.errors import HistoryError
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.frames import PetColumns
from petstore_tools.reporting.facts import check_looks
from petstore_tools.reporting.report import (
    report_and_keep,
    report_on_snapshot,
)

Values = tuple[str, int, str | None]  # name, categoryId, status
Stay = tuple[Any, ...]
STATUSES = [*spec.STATUSES, None]
WORDS = [STATUSES, ["verfügbar", "reserviert", "sold", "متاح", None]]
ZONES = ["America/Los_Angeles", "Europe/Berlin", "Pacific/Auckland", "UTC"]
T0 = 1_767_603_600.0
KINDS = {"gone": "gone", "sold": "became sold"}
ABSENT = {"new": None, "gone": None}
MOMENT = partial(datetime.fromtimestamp, tz=UTC)


@dataclass
class TrueListing:
    """What one complete listing showed, and whether it may have missed animals."""

    frame: pd.DataFrame
    animals: dict[int, Values]
    facts: Listing


def true_listing(frame):
    """Return what a listing showed."""
    rows = rows_of(frame)
    animals = {pet: (name, category, status) for pet, name, category, status in rows}
    return TrueListing(frame, animals, Listing.of(frame))


def make_listing(animals, started_at=T0, ended_at=None, *, hole=False):
    """Return a complete listing of these animals, which ends as it began."""
    ended_at = ended_at or started_at
    rows = [(pet_id, *values) for pet_id, values in animals.items()]
    return true_listing(
        listing_frame(rows, ended_at, started_at=started_at, may_have_hole=hole)
    )


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


def true_stays(listings, key=tuple):
    """
    Return each stay: id, values, begun after, first seen, last seen, and the interval
    of its end.

    An animal that one listing alone lacks, which may have a hole, was there. The key
    says of an animal's values which are those of the stay.
    """
    stays = []
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


def events(listings, since, only=""):
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


def status_stays(listings):
    """Return each unbroken time of an animal in a status."""
    return true_stays(listings, lambda values: values[2:])


def rows_of(frame):
    """Return the rows of a frame, with None where a value is missing."""
    values = frame.astype("object").where(frame.notna(), None)
    return [*values.itertuples(index=False, name=None)]


def history_rows(history):
    """Return the rows of a history in the form of the truth."""
    return [
        (pet, (name, category, status), began, first, last, by and (after, by))
        for pet, name, category, status, began, first, last, after, by in rows_of(
            history
        )
    ]


def expected_rows(stays):
    """Return stays of the truth with the times that a history has."""
    return [
        (
            pet,
            values,
            began and MOMENT(began),
            MOMENT(first),
            MOMENT(last),
            ended and tuple(map(MOMENT, ended)),
        )
        for pet, values, began, first, last, ended in stays
    ]


def animals_in(listings, n):
    """
    Return the animals that were there in listing n, as it and the one before it tell.
    """
    unseen = listings[n - 1].animals if n and listings[n].facts.may_have_hole else {}
    return {**unseen, **listings[n].animals}


def true_events(listings, since, until):
    """Return what happened after a listing, by another one, as `store.events` does."""
    rows = []
    for n in range(since + 1, until + 1):
        earlier, later = listings[n - 1 : n + 1]
        animals = {**animals_in(listings, n - 1), **later.animals}
        for pet_id, begin, end in sorted(events(listings[: n + 1], n - 1)):
            is_missed = earlier.facts.may_have_hole and pet_id not in earlier.animals
            last = n - 1 - is_missed
            after = None
            if last >= 0:
                after = MOMENT(listings[last].facts.started_at)
            event = "new" if begin == "new" else KINDS.get(end, "another status")
            values = animals[pet_id][:2]
            statuses = ABSENT.get(begin, begin), ABSENT.get(end, end)
            by = MOMENT(later.facts.ended_at)
            rows.append((event, pet_id, *values, *statuses, after, by))
    return sorted(rows, key=lambda row: (row[-1], row[1]))


def check_history(history, listings, report, rng):
    """
    Compare all that the history says with the truth, of any two listings, too, and a
    report on the last one. What is left when listings are forgotten at both ends is a
    history, which goes on with the next one.
    """
    for listing, snapshot in zip(listings, history.snapshots(), strict=True):
        pd.testing.assert_frame_equal(
            history.rebuild(snapshot),
            listing.frame.sort_values("id", ignore_index=True),
        )
    now = listings[-1].facts.ended_at + 1
    rows = history_rows(history.history())
    assert rows == expected_rows(true_stays(listings))
    ends = [MOMENT(listing.facts.ended_at) for listing in listings]
    first, last = sorted(rng.choices(ends, k=2))
    pet_id = rng.randrange(1, 9)
    of_animal = [row for row in rows if row[0] == pet_id]
    assert history_rows(history.history(pet_id)) == of_animal
    since, until = (bisect_right(ends, end) - 1 for end in (first, last))
    true_rows = true_events(listings, since, until)
    assert rows_of(history.events(first, last, now=now)) == true_rows
    check_period(history, listings, since, until)
    check_report(report, listings)
    check_reports_of_the_past(history, listings, rng)
    history.forget(first, after=last, now=now)
    oldest = bisect_left(ends, first)
    left = [*listings[oldest : until + 1]]
    assert history_rows(history.history()) == expected_rows(true_stays(left))
    left.append(make_listing(listings[until].animals, now))
    history.keep(left[-1].frame)
    assert history_rows(history.history()) == expected_rows(true_stays(left))


def check_period(history, listings, since, until):
    """
    Compare the animals of a listing, the days in a status since an earlier one, and the
    events of each day in between with the truth.
    """
    present = history.animals(history.snapshots()[until], unseen=True)
    assert true_listing(present).animals == animals_in(listings, until)
    for n in range(since, until):
        events_of_day = history.events_between(n + 1, n + 2)
        assert rows_of(events_of_day) == true_events(listings, n, n + 1)
    over = [stay for stay in status_stays(listings[: since + 1]) if stay[-1]]
    stays = Counter(status_stays(listings[: until + 1])) - Counter(over)
    times = history.status_times(since + 1, until + 1)
    rows = history_rows(times[history.history().columns])
    assert Counter((pet, values[2], *more) for pet, values, *more in rows) == Counter(
        (pet, status_name(*state), *more)
        for pet, state, *more in expected_rows([*stays.elements()])
    )


def status_name(status):
    """Return a status as tables name it."""
    names = {None: "unset", "": "blank ('')", "from": "'from' as sent"}
    return names.get(status, str(status))


def status_of(animals, pet_id, absent):
    """Return the status of an animal as a report names it."""
    return status_name(animals[pet_id][2]) if pet_id in animals else absent


def count_animals(animals):
    """Count animals by the status that a report names."""
    return Counter(status_of(animals, pet_id, "") for pet_id in animals)


def compared_position(listings, report):
    """
    Return the position of the listing that a report on the last one is compared with.
    """
    # a report on one status is compared with a part of it
    times = report.since.digest, report.since.started_at, report.since.ended_at
    facts = [listing.facts for listing in listings]
    return max(
        n
        for n, fact in enumerate(facts)
        if (fact.digest, fact.started_at, fact.ended_at) == times
    )


def nearest_position(listings, age_s, begin_s):
    """
    Return the position of the listing whose begin is nearest to an age, of two at the
    same distance the older one, of some that began at once the newest.
    """
    begins = [listing.facts.started_at for listing in listings]
    distances = [round(abs(begin_s - begin - age_s), 3) for begin in begins]
    first = distances.index(min(distances))
    return max(n for n, begin in enumerate(begins) if begin == begins[first])


def ended_position(listings, moment, zone):
    """
    Return the position of the newest listing that had ended by a time, or by the end of
    a day in a zone; None where there is none.
    """
    ends = [MOMENT(listing.facts.ended_at).astimezone(zone) for listing in listings]
    if isinstance(moment, datetime):
        positions = [n for n, end in enumerate(ends) if end <= moment]
    else:
        positions = [n for n, end in enumerate(ends) if end.date() <= moment]
    return positions[-1] if positions else None


def pick_moment(rng, listings, zone, kept):
    """
    Return an age, a date or a time, some without an offset, that is older than the last
    of some listings, and the position of the listing that it means, of those that are
    kept.
    """
    earlier = listings[:-1]
    begin_s = listings[-1].facts.started_at
    local = MOMENT(rng.choice(earlier).facts.ended_at).astimezone(zone)
    match rng.choice(["age", "date", "time", "time without an offset"]):
        case "age":
            age = rng.choice(["1h", "12h", "1d", "36h", "3d", "7d", "30d"])
            units = {"h": 3_600, "d": 86_400}
            age_s = int(age[:-1]) * units[age[-1]]
            return age, nearest_position(earlier, age_s, begin_s)
        case "date":
            day = local.date() - timedelta(days=1)
            return rng.choice([day, day.isoformat(), f"{day:%d.%m.%Y}"]), (
                ended_position(listings[:kept], day, zone)
            )
        case "time":
            return local, ended_position(listings[:kept], local, zone)
        case _:
            naive = local.replace(tzinfo=None)
            return rng.choice([naive, naive.isoformat()]), (
                ended_position(listings[:kept], local, zone)
            )


def count_moves(report):
    """Count what a report says of animals: their id, from and to."""
    sides = report.tables()["events"].fillna({"from": "new", "to": "gone"})
    moves = Counter(zip(sides["id"], sides["from"], sides["to"], strict=True))
    if report.unseen is not None:
        missed = zip(report.unseen["id"], report.unseen["status"], strict=True)
        moves.update((pet_id, name, "not seen") for pet_id, name in missed)
    return moves


def true_times(listings):
    """
    Return of each status the stays that ended, the median of their days, the days that
    90 % of them took at most, the stays that are open, the longest of these, and
    whether nobody saw that one begin.
    """
    lengths = {}
    for pet_id, (status,), began_at, first, last, ended in status_stays(listings):
        days, open_days = lengths.setdefault(status_name(status), ([], []))
        begin = first if began_at is None else (began_at + first) / 2
        if ended is None:
            if pet_id in listings[-1].animals:
                open_days.append(((last - begin) / 86_400, began_at is None))
        elif began_at is not None:
            days.append((sum(ended) / 2 - begin) / 86_400)
    return {
        name: pytest.approx(
            (
                len(days),
                median(days or [nan]),
                pd.Series(days, dtype=float).quantile(0.9),
                len(open_days),
                max((day for day, _ in open_days), default=nan),
                max(open_days, default=(nan, False))[1],
            ),
            abs=1e-9,
            nan_ok=True,
        )
        for name, (days, open_days) in lengths.items()
        if days or open_days
    }


def check_report(report, listings):
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
    ways = Counter((begin, end) for _, begin, end in set(true_events))
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
    sums = {
        "animals before": len(old),
        "new": len({pet_id for pet_id, begin, _ in true_events if begin == "new"}),
        "became sold": len({pet_id for pet_id, _, end in true_events if end == "sold"}),
        "gone": len({pet_id for pet_id, _, end in true_events if end == "gone"}),
        "animals now": len(now),
    }
    summary = tables["summary"].set_index("what")["animals"].to_dict()
    assert summary == {**sums, **({"not seen": len(unseen)} if unseen else {})}
    days = report.days
    rows_of_days = zip(days.index, days.to_numpy().tolist(), strict=True)
    assert {name: tuple(row) for name, row in rows_of_days} == true_times(listings)
    open_stays = days["open_stays"]
    assert open_stays[open_stays > 0].to_dict() == count_animals(now)
    pending = {n for n, (_, _, status) in now.items() if status == "pending"}
    assert set(report.pending["id"]) == pending
    begins = {
        n: first
        for n, (status,), began_at, first, _, ended in status_stays(listings)
        if status == "pending" and n in now and began_at is not None and not ended
    }
    since_times = report.pending["since"]
    assert since_times.dropna().is_monotonic_increasing
    assert since_times.isna().is_monotonic_decreasing  # who is not dated comes first
    times = report.pending.set_index("id")["since"].dropna()
    assert {n: time.timestamp() for n, time in times.items()} == (
        pytest.approx(begins, abs=1e-5)
    )


def check_reports_of_the_past(history, listings, rng):
    """
    Compare a report on a snapshot of the past with the truth of the listings up to it,
    whichever two moments say which, in any zone.
    """
    zone = ZoneInfo(rng.choice(ZONES))
    looks = check_looks(None, "Report", "", str(zone))
    now = listings[-1].facts.ended_at + rng.choice([0.0, 3_600.0])
    moment, until = pick_moment(
        rng, [*listings, make_listing({}, now)], zone, len(listings)
    )
    if not until:
        return
    since_moment, since = pick_moment(rng, listings[: until + 1], zone, until + 1)
    report = report_on_snapshot(history, since_moment, moment, looks, None, now)
    assert report.since == listings[since or 0].facts
    check_report(report, listings[: until + 1])


def run_script(rng, history):
    """
    Keep listings of a script, and report on the last; a report on one status, which is
    not kept, counts what was kept in between: what has another status is as good as
    gone. A listing that began before another one ended is not kept.
    """
    listings = list(simulate_listings(rng))
    newest = listings[-1]
    for listing in listings[:-1]:
        history.keep(listing.frame)
        if rng.random() < 0.2:  # the clock was set back
            with pytest.raises(HistoryError, match="after this listing began"):
                history.keep(make_listing({}, listing.facts.ended_at - 3_600).frame)
    zone = ZoneInfo(rng.choice(ZONES))
    looks = check_looks(None, "Report", "", str(zone))
    since, position = pick_moment(rng, listings, zone, len(listings) - 1)
    sold = replace(newest.facts, status="sold", may_have_hole=False)
    of_sold = PetColumns.of(newest.frame[newest.frame["status"] == "sold"]).to_frame(
        sold
    )
    filtered_report = report_and_keep(of_sold, history, since, looks)
    report = report_and_keep(newest.frame, history, since, looks)
    assert report.since == listings[position or 0].facts
    whole = [*listings[:-1], replace(newest, facts=sold)]
    ways = {*events(whole, compared_position(listings, filtered_report), only="sold")}
    sums = filtered_report.tables()["summary"].set_index("what")["animals"]
    assert sums["became sold or new"] == len({n for n, _, end in ways if end == "sold"})
    assert sums["no longer sold or gone"] == len(
        {n for n, begin, _ in ways if begin == "sold"}
    )
    return listings, report
