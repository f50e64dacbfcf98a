"""
The status report: what it counts, what it says of itself, and what it refuses before it
asks.
"""

import email
import email.policy
import json
import re
import sqlite3
from contextlib import closing
from datetime import date
from html import unescape
from io import BytesIO

import pandas as pd
import pytest
from inventories import listing_frame
from paging_server import PagingService, open_store
from reports import report_on, status_frame
from tables import read_json, read_table

from petstore_tools import Sandbox, status_report
from petstore_tools.errors import (
    ArgumentError,
    FrameError,
    HistoryError,
    IncompleteListingError,
    OutputError,
    SheetError,
)
from petstore_tools.reporting.tables import ageing, days_in_status
from petstore_tools.sandbox import samples


def animals(count):
    """Return a listing of sample animals."""
    return listing_frame((n, *row) for n, row in enumerate(samples.animals(count), 1))


def test_a_report_on_one_status_counts_and_is_not_compared():
    """No row of zeros; a date of the past is refused."""
    with Sandbox(animals=60) as box:
        box.store.snapshot()
        report = box.store.status_report(status="sold", since="1d")
        with pytest.raises(ArgumentError, match=r"leave status \(--status\) out"):
            box.store.status_report(status="sold", since="1d", until="0s")
        assert len(box.store.snapshots()) == 1

    assert "only complete listings of all animals are compared" in report.notes[0]
    assert not re.search(r"^\| (pending|unset) +\|", report.to_markdown(), re.M)
    assert (report.since, report.events, report.days) == (None, None, None)
    assert [*report.tables()] == ["breakdown", "by_category"]


OURS = "unset total label category change since share status id stays days_to"
NAMES = ["blank ('')", "'total' as sent"]  # that other statuses have
SENT = {sent: f"{sent!r} as sent" for sent in [*OURS.split(), *NAMES, " sold"]}
SENT |= {"": "blank ('')", " ": "blank ('␣')", "  ": "blank ('␣␣')"}


def test_statuses_that_are_blank_or_called_like_columns_of_ours_are_kept_apart(
    tmp_path,
):
    """In every format under a name, in their places, and counted once."""
    sold = ["sold"] * len(SENT)
    before = dict(enumerate([*sold, *[None] * len(SENT), *SENT]))
    now = dict(enumerate([*SENT, *SENT, *sold]))
    frames = status_frame(before), status_frame(now, 9.0)
    report = report_on(tmp_path, *frames, categories={1: "Dogs"})

    names = [*SENT.values()]
    counts = report.breakdown["count"].to_dict()
    assert [counts[name] for name in names] == [2] * len(names)
    assert report.by_category.loc[1, names].tolist() == [2] * len(names)
    *others, last = report.by_category.columns[-len(names) - 1 :]
    assert (sorted(others), last) == (sorted(names), "unset")
    page = unescape(report.to_html())
    assert [name for name in names if name not in page] == []
    assert report.to_mail()  # with the workbook
    tables = report.tables()
    assert tables["events"]["to"].tolist() == [*names, *names, *sold]
    ways = [("sold", name, 1) for name in names]
    ways += [("unset", name, 1) for name in names]
    ways += [(name, "sold", 1) for name in names]
    transitions = tables["transitions"].itertuples(index=False, name=None)
    assert sorted(transitions) == sorted(ways)


@pytest.mark.parametrize(
    ("listings", "tables", "patterns"), read_table(__file__, "reports.json")
)
def test_a_report_on_some_listings_says_what_its_case_says(
    tmp_path, listings, tables, patterns
):
    """
    Of each case: when each listing ended, and its animals with their statuses; tables
    as JSON has them, null for none; and whether a pattern is in a format.
    """
    frames = [
        status_frame(dict(animals), ended_at, **changes)
        for ended_at, animals, changes in listings
    ]
    report = report_on(tmp_path, *frames)
    document = json.loads(report.to_json())
    texts = {
        "html": report.to_html(),
        "markdown": report.to_markdown(),
        "mail": report.to_mail().decode(),
    }

    assert {name: document.get(name) for name in tables} == tables
    for kind, text in texts.items():
        for pattern, is_shown in patterns.get(kind, {}).items():
            assert bool(re.search(pattern, text)) == is_shown


def test_a_history_that_cannot_be_marked_stops_no_output(tmp_path):
    """
    Both files are written, and a warning says that `last` does not mean this report.
    """
    with Sandbox(animals=5) as box:
        report = box.store.status_report()
        box.store.history_database.database.path.write_bytes(b"no database " * 400)
        for write, name in ((report.to_html, "a.html"), (report.to_excel, "b.xlsx")):
            with pytest.warns(UserWarning, match=r"--since last\) will not mean it: "):
                write(tmp_path / name)

    assert sorted(path.name for path in tmp_path.glob("[ab].*")) == ["a.html", "b.xlsx"]


def test_the_longest_time_is_a_bound_if_nobody_saw_one_as_long_begin():
    """In whatever order the two come."""
    times = pd.DataFrame({"status": "sold", "days": [5.0, 5.0], "last": 3})
    times["ended_by"] = pd.NaT
    for seen in ([True, False], [False, True]):
        began = pd.Series(pd.Timestamp("2026-01-01"), times.index).where(seen)

        days = days_in_status(times.assign(began_after=began), 3, ["sold"])

        assert days["longest_is_longer"].tolist() == [True]


def test_an_animal_counts_in_the_row_that_its_days_reach():
    """Three days are up to 3 days; no day is, too."""
    times = pd.DataFrame({"status": "sold", "days": [0.0, 3.0, 3.1, 14.0], "last": 3})
    times["ended_by"] = pd.NaT
    times["began_after"] = pd.Timestamp("2026-01-01")

    rows = ageing(times, 3, [3.0, 14.0], ["sold"])

    assert rows["animals"].tolist() == [2, 2, 0]


@pytest.mark.parametrize(
    "looks",
    [
        *read_json(__file__, "odd_looks.json"),
        {"categories": {1: "\ud800"}},
        *({"max_age": age} for age in ("soon", -1, "nan", date(2026, 1, 5), pd.NaT)),
    ],
)
def test_what_cannot_be_used_is_refused_before_the_first_request(looks):
    """With what to write."""
    with Sandbox(animals=3) as box:
        call = box.store.list_pets if "max_age" in looks else box.store.status_report
        with pytest.raises((ArgumentError, SheetError)):
            call(**looks)
        assert len(box.traffic()) == 0


def test_a_title_takes_any_printable_text_and_a_frame_no_column_twice():
    """
    No-break spaces, soft hyphens, joined emoji; two columns of one name are refused.
    """
    pets = animals(3)
    title = "10\u00a0000 Tier\u00adarten 👩\u200d🔬"

    assert title in status_report(pets, title=title, note=title).to_html()
    with pytest.raises(ArgumentError, match="two columns of one name"):
        status_report(pets.rename(columns={"name": "status"}))
    with pytest.raises(ArgumentError, match=r"'r\.xls' must end in \.xlsx"):
        status_report(pets).to_excel("r.xls")


def test_a_report_that_is_written_is_not_returned(tmp_path):
    """So the last line of a cell shows no page."""
    report = status_report(animals(3))

    written = [
        getattr(report, f"to_{kind}")(tmp_path / f"report.{kind}")
        for kind in ("html", "markdown", "json", "mail")
    ]

    assert written == [None] * 4
    assert (tmp_path / "report.html").read_text("utf-8") == report.to_html()


def test_a_listing_that_is_not_whole_is_reported_on_only_when_asked(tmp_path):
    """And then the headline and a box say it, and nothing is kept."""
    with open_store(PagingService(250, "nothing"), tmp_path) as store:
        with pytest.raises(IncompleteListingError):
            store.status_report()
        with pytest.warns(UserWarning, match="incomplete"):
            report = store.status_report(partial=True, since="last")
        assert len(store.snapshots()) == 0

    assert report.headline.startswith("100 animals were listed, and there may be more")
    assert report.caution.startswith("Not proven complete: ")
    assert f'<p class="box">{report.caution}' in unescape(report.to_html())
    note = "only complete listings of all animals are compared with earlier ones"
    assert (report.notes, report.events) == ((note,), None)


def test_a_file_is_reported_on_where_it_says_what_it_lists(tmp_path):
    """Parquet does; of a CSV the error says how to keep what a frame knows."""
    pets = animals(30)
    pets.to_parquet(tmp_path / "a.parquet")
    pets.to_csv(tmp_path / "a.csv", index=False)

    report = status_report(pd.read_parquet(tmp_path / "a.parquet"))

    assert report.breakdown.equals(status_report(pets).breakdown)
    with pytest.raises(FrameError, match=r"merged\.attrs = df\.attrs"):
        status_report(pd.read_csv(tmp_path / "a.csv"), partial=True)


def test_a_report_whose_snapshot_cannot_be_kept_is_made_and_says_so():
    """The listing was paid for; so it is with a listing that was to be kept."""
    with Sandbox(animals=12) as box:
        box.state_dir.mkdir(exist_ok=True)
        (box.state_dir / "history").write_text("in the way")
        report = box.store.status_report(since="last")
        with pytest.warns(UserWarning, match="not kept as a snapshot"):
            frame = box.store.list_pets(max_age="1h")
        requests = len(box.traffic())
        with pytest.raises(HistoryError, match="history"):
            box.store.snapshot()
        assert len(box.traffic()) == requests

    assert report.breakdown["count"].sum() == len(frame) == 12
    words = "not kept as a snapshot, and not compared with an earlier listing"
    assert f"{words}: the history" in report.notes[-1]
    assert words in report.to_html()


def test_a_listing_that_is_kept_and_cannot_be_compared_is_said_to_be_so():
    """What failed is named alone: here a table that only a comparison reads."""
    with Sandbox(animals=12) as box:
        box.store.snapshot()
        with closing(
            sqlite3.connect(box.store.history_database.database.path)
        ) as database:
            database.execute("DROP TABLE reported")
        report = box.store.status_report(since="last")

        assert len(box.store.snapshots()) == 2
    assert report.notes[0].startswith("not compared with an earlier listing: ")


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        (
            "nodir/r.xlsx",
            "the folder .*nodir cannot be written [(]No such .*: create it, or",
        ),
        ("r.xlsx", "is a folder or a device, not a file"),
        (
            "r" * 300 + ".xlsx",
            "r[.]xlsx cannot be written .*another name",
        ),
        ("a\0b.xlsx", "cannot be written [(]the name is no text[)]"),
    ],
)
def test_a_report_that_cannot_be_written_is_one_sentence_of_the_toolkit(
    tmp_path, path, reason
):
    """An OSError, too."""
    (tmp_path / "r.xlsx").mkdir()
    report = status_report(animals(3))

    for write in (report.to_html, report.to_excel):
        with pytest.raises(OutputError, match=reason):
            write(tmp_path / path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.xlsx"]


def test_a_report_between_two_dates_of_the_past_sends_nothing(tmp_path):
    """
    It is the report that was made then, `until` means the end of that day, and `last`
    means what it meant; before the first listing it is refused.
    """
    with Sandbox(animals=40) as box:
        reports = []
        for day in range(4):
            since = "1d" if day else None
            report = box.store.status_report(since=since, timezone="UTC")
            if day < 2:
                report.to_markdown(tmp_path / "last.md")
            reports.append(report)
            box.advance(days=1)
            box.change(day + 2, status="sold")
            box.remove(20 + day)
        requests = len(box.traffic())
        past = box.store.status_report(
            since="2026-01-06", until="07.01.2026", timezone="UTC"
        )
        again = box.store.status_report(since="last", until="2026-01-06")
        oldest = box.store.status_report(since="2020-01-01", until="2026-01-05")
        past.to_markdown(tmp_path / "past.md")
        week = box.store.status_report(since="2026-01-05", until="2026-01-08")
        alone = box.store.status_report(until="2026-01-06", timezone="UTC")
        with pytest.raises(ArgumentError, match="no snapshot had ended by"):
            box.store.status_report(since="1d", until="2025-12-31")
        assert len(box.traffic()) == requests
        last = box.store.status_report(since="last").since

    assert past.to_markdown() == reports[2].to_markdown()
    assert past.since.as_of == reports[1].listing.as_of
    assert again.since == reports[0].listing
    assert (alone.listing, alone.since) == (reports[1].listing, None)
    assert oldest.since is None
    assert len(week.events) == sum(len(r.events) for r in reports[1:])
    assert last == reports[1].listing


def counted(folder, before, now, categories=None, **changes):
    """Report on so many animals of each category, and how many there were before."""
    listings = []
    for ended_at, sizes in ((1.0, before), (9.0, now)):
        pets = [(c, n) for c, size in sizes.items() for n in range(size)]
        rows = [(1000 * c + n, "Rex", c, "sold") for c, n in pets]
        listings.append(listing_frame(rows, ended_at, **changes))
    return report_on(folder, *listings, categories=categories)


FINDINGS = {
    "one grew most": ({1: 3, 2: 3}, {1: 5, 2: 4}, {}, "Dogs grew most (+2)"),
    "two grew alike": ({1: 3, 2: 3}, {1: 4, 2: 4}, {}, "By category"),
    "one shrank most": (
        {1: 3, 2: 3},
        {1: 1, 2: 3},
        {},
        "Dogs shrank most (\N{MINUS SIGN}2)",
    ),
    "one without a name": ({1: 3, 2: 3}, {1: 3, 2: 4}, {}, "Category 2 grew most (+1)"),
    "none changed": ({1: 3, 2: 3}, {1: 3, 2: 3}, {}, "By category"),
    "one out of sight": (
        dict.fromkeys(range(1, 17), 5),
        dict.fromkeys(range(1, 16), 5) | {16: 4},
        {},
        "By category",
    ),
    "a listing with a hole": (
        {1: 3, 2: 3},
        {1: 5, 2: 4},
        {"may_have_hole": True},
        "By category",
    ),
}


@pytest.mark.parametrize("case", FINDINGS.values(), ids=FINDINGS)
def test_a_heading_is_a_finding_only_if_it_is_certain(case, tmp_path):
    """One category changed most, its row can be seen, and no animal can be missing."""
    before, now, changes, heading = case
    report = counted(tmp_path, before, now, {1: "Dogs"}, **changes)

    assert f'<section id="by_category"><h2>{heading}</h2>' in report.to_html()
    assert f"\n## {heading}\n" in report.to_markdown().replace("\\", "")


ALERTS = {
    "sold>3": False,
    "sold>2": True,
    "sold<3": False,
    "SOLD<4": True,
    "unset>0": True,
    "pending>1d": True,
    "pending>7d": False,
}


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_is_met_beyond_its_limit(alert, tmp_path):
    """Then each format begins with its sentence."""
    days = [{1: "sold", 2: "sold", 3: "sold", 4: None}, {5: "pending"}]
    days[1] |= days[0]
    frames = [status_frame(days[n > 0], 86_400.0 * (n + 1)) for n in range(4)]
    report = report_on(tmp_path, *frames, alert=alert)

    assert bool(report.alerts) == ALERTS[alert]
    first = [*report.alerts, report.headline][0]
    assert str(report).startswith(first)
    assert json.loads(report.to_json())["alerts"] == [*report.alerts]
    sheet = pd.read_excel(BytesIO(workbook_of(report)), engine="calamine", header=None)
    assert sheet.iloc[0, 0] == first
    assert unescape(report.to_html()).split("<main")[1].find(first) > 0


def workbook_of(report):
    """Return the workbook that is attached to the mail of a report."""
    mail = email.message_from_bytes(report.to_mail(), policy=email.policy.default)
    _, book = mail.iter_attachments()
    return book.get_content()


def test_an_alert_that_cannot_be_judged_is_a_note():
    """A status that no animal has, and days that no history tells."""
    report = status_report(animals(3), alert=["sould>3", "pending>1d"])

    assert report.alerts == ()
    assert [note.split(" ", 4)[:4] for note in report.notes] == [
        "no animal has the".split(),
        "the alert pending>1d needs".split(),
    ]
    with pytest.raises(ArgumentError, match="In a shell, put quotes around it"):
        status_report(animals(3), alert="pending")


def test_a_parquet_file_with_arrow_types_is_reported_on(tmp_path):
    """As pandas reads it when it is asked for them."""
    pets = animals(30)
    pets.to_parquet(tmp_path / "a.parquet")
    frame = pd.read_parquet(tmp_path / "a.parquet", dtype_backend="pyarrow")

    assert status_report(frame).headline == status_report(pets).headline


def test_a_headline_ends_with_what_needs_someone(tmp_path):
    """An animal that was seen to become pending 19 days ago; its tile stands out."""
    days = [(1, "sold"), (2, "pending"), (21, "pending")]
    frames = [status_frame({1: status}, 86_400.0 * day) for day, status in days]
    report = report_on(tmp_path, *frames)

    words = "1 has been pending for more than 14 days."
    assert report.headline == f"Stock is unchanged at 1. {words}"
    assert f'<span class="needs">{words}</span>' in report.to_html()
    assert '<div class="tile urgent"><b>1</b>' in report.to_html()
    assert "1 of 1 has been pending for more than 14 days" in report.to_markdown()
