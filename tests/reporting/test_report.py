"""
The status report: what it counts, what it says of itself, and what it refuses before it
asks.
"""

import re
from datetime import date
from html import unescape

import pandas as pd
import pytest
from inventories import listing_frame
from paging_server import PagingService, numbered_animals, open_store
from reports import report_on, status_frame
from tables import read_json

from petstore_tools import Sandbox, status_report
from petstore_tools.errors import (
    ArgumentError,
    FrameError,
    HistoryError,
    IncompleteListingError,
    OutputError,
    SheetError,
)
from petstore_tools.reporting.facts import days_in_status
from petstore_tools.sandbox import samples
from petstore_tools.spec import DAY_S


def animals(count):
    """Return a listing of sample animals."""
    return listing_frame((n, *row) for n, row in enumerate(samples.animals(count), 1))


@pytest.mark.parametrize("status", ["sold", "available"])
def test_a_report_on_one_status_has_sums_and_guesses_nothing(status):
    """
    An animal that is not in the older listing of what is sold may be new as well; no
    row of zeros, no table of events.
    """
    with Sandbox(animals=60) as box:
        box.store.snapshot()
        box.advance(days=1)
        box.change(2, status=status)
        box.change(1, status="pending")
        report = box.store.status_report(status=status, since="1d")

    changed = {"sold": (1, 1), "available": (0, 0)}[status]
    assert report.tables()["summary"]["animals"].tolist()[1:3] == [*changed]
    assert f"| became {status} or new " in report.to_markdown()
    assert f"| no longer {status} or gone " in report.to_markdown()
    assert "may have had another status before" in report.to_html()
    assert not re.search(r"^\| (pending|unset) +\|", report.to_markdown(), re.M)
    assert (report.events, report.transitions, report.days) == (None, None, None)


OURS = "unset total label category change since share status id stays is_longer"
NAMES = ["blank ('')", "'total' as sent"]  # that other statuses have
SENT = {sent: f"{sent!r} as sent" for sent in [*OURS.split(), *NAMES, " sold"]}
SENT |= {blank: f"blank ({blank!r})" for blank in ("", "  ")}


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


def test_a_report_after_a_listing_of_no_animals_has_no_share_of_them(tmp_path):
    """
    No animals have a status with no share of them; what is new is no share of those
    before.
    """
    now = status_frame(dict.fromkeys(range(8), "sold"), 9.0)
    report = report_on(tmp_path, listing_frame([]), now)

    assert report.tables()["summary"].columns.tolist() == ["what", "animals"]
    assert re.search(r"\| new +\| +8 \|", report.to_markdown())
    assert "of those before" not in report.to_html()
    assert status_report(listing_frame([])).breakdown["share"].isna().all()


def test_a_history_that_cannot_be_marked_stops_no_output(tmp_path):
    """
    Both files are written, and a warning says that `last` does not mean this report.
    """
    with Sandbox(animals=5) as box:
        report = box.store.status_report()
        box.store.history_file.path.write_bytes(b"no database " * 400)
        for write, name in ((report.to_html, "a.html"), (report.to_excel, "b.xlsx")):
            with pytest.warns(UserWarning, match=r"--since last\) will not mean it: "):
                write(tmp_path / name)

    assert sorted(path.name for path in tmp_path.glob("[ab].*")) == ["a.html", "b.xlsx"]


def test_an_animal_that_one_listing_alone_lacks_is_not_seen_before_it_is_gone(tmp_path):
    """
    Where that listing may have a hole; it has a line of its own, outside the sums.
    """
    both_animals = status_frame({1: "sold", 2: ""})
    animal = {1: "sold"}
    (tmp_path / "sure").mkdir()

    report = report_on(
        tmp_path, both_animals, status_frame(animal, 9.0, may_have_hole=True)
    )
    sure = report_on(tmp_path / "sure", both_animals, status_frame(animal, 9.0))

    summary = report.tables()["summary"]
    assert summary["what"].iloc[-1] == "not seen"
    assert summary["animals"].tolist() == [2, 0, 0, 0, 1, 1]
    assert "count as not seen are missing from this listing" in report.to_html()
    assert report.unseen["status"].tolist() == ["blank ('')"]
    assert report.to_mail()
    assert sure.tables()["events"]["event"].tolist() == ["gone"]


def test_an_animal_counts_once_on_each_way_from_status_to_status(tmp_path):
    """However often it goes there and back; each time is an event."""
    statuses = [None, "sold", None, "sold", None]
    listings = [
        status_frame({1: status, 2: "pending"}, 2.0 * n)
        for n, status in enumerate(statuses, 1)
    ]
    report = report_on(tmp_path, *listings)

    assert len(report.tables()["events"]) == 4
    assert report.tables()["transitions"].to_numpy().tolist() == [
        ["sold", "unset", 1],
        ["unset", "sold", 1],
    ]
    assert report.tables()["summary"]["animals"].tolist() == [2, 0, 1, 0, 2]


def test_a_listing_that_is_not_kept_is_counted_and_compared(tmp_path):
    """Its sums and ways are there; single events are those of kept listings alone."""
    animals = {1: "sold", 2: "sold", 3: None}

    report = report_on(
        tmp_path,
        status_frame(animals, 10.0),
        status_frame(animals, 90.0),  # by a clock that is wrong
        status_frame({2: None, 3: "sold", 4: "sold"}, 50.0),
    )

    assert report.tables()["summary"]["animals"].tolist() == [3, 1, 2, 1, 3]
    assert sorted(report.tables()["transitions"].itertuples(False, None)) == [
        ("new", "sold", 1),
        ("sold", "gone", 1),
        ("sold", "unset", 1),
        ("unset", "sold", 1),
    ]
    assert report.events is None
    assert "was not kept as a snapshot: the newest snapshot ended" in report.notes[-1]


def test_the_longest_in_a_status_says_where_nobody_saw_it_begin(tmp_path):
    """
    With a sign in front of a number, in every format; where somebody saw it, without.
    Whom nobody saw begin stands before those whose day is known, and a column of dashes
    is no column.
    """
    later = {1: "pending", 2: "pending", 3: "sold"}
    listings = [status_frame({1: "sold", 2: "pending"}, DAY_S)]
    listings += [status_frame(later, n * DAY_S) for n in range(2, 10)]
    report = report_on(tmp_path, *listings)
    (tmp_path / "same").mkdir()
    same = report_on(tmp_path / "same", *listings[1:3])

    days = report.days
    assert days["longest_days"].round(1).to_dict() == {"pending": 8.0, "sold": 7.5}
    assert days["is_longer"].to_dict() == {"pending": True, "sold": False}
    assert re.search(r"\| pending .*\| +≥ 8\.0 \|", report.to_markdown())
    assert re.search(r"\| sold .*\| +7\.5 \|", report.to_markdown())
    assert ">≥ 8.0</td>" in report.to_html()
    assert report.pending["id"].tolist() == [2, 1]
    assert report.pending["since"].isna().tolist() == [True, False]
    assert "pending since" in report.to_text() + report.to_markdown()
    assert "| before 2 January 1970 |" in report.to_markdown()
    assert "pending since" not in same.to_markdown() + same.to_html()


def test_of_the_longest_one_may_be_longer_that_nobody_saw_begin():
    """In whatever order the two come."""
    times = pd.DataFrame({"status": "sold", "days": [5.0, 5.0], "last": 3})
    times["ended_by"] = pd.NaT
    for seen in ([True, False], [False, True]):
        began = pd.Series(pd.Timestamp("2026-01-01"), times.index).where(seen)

        days = days_in_status(times.assign(began_after=began), 3, ["sold"])

        assert days["is_longer"].tolist() == [True]


def test_rows_and_columns_of_words_that_the_service_does_not_use_are_left_out(tmp_path):
    """
    Those of the document, too, and `unset`; what a kept listing had is shown, also
    where it is 0 now. The frames have them all.
    """
    words = status_frame({1: "verkauft", 2: "متاح"})
    now = status_frame({1: "verkauft", 2: "verkauft"}, 9.0)
    report = report_on(tmp_path, words, now)
    page = report.to_html()

    for text in (report.to_markdown(), page, report.to_mail().decode()):
        assert not re.search(r"\b(available|pending|unset)\b(?!\.)", text)
    assert re.search(r"\| متاح +\| +0 \|", report.to_markdown())
    assert re.search(r"\| متاح +\| verkauft +\| +1 \|", report.to_markdown())
    assert report.breakdown.index.tolist()[:3] == ["available", "pending", "sold"]
    # the dot stands before the word, whichever way it is written
    assert re.search(r'<span class="key"[^>]*></span><bdi>متاح</bdi>', page)


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
    """And then the headline says it, and nothing is kept."""
    with open_store(PagingService(numbered_animals(250), "nothing"), tmp_path) as store:
        with pytest.raises(IncompleteListingError):
            store.status_report()
        with pytest.warns(UserWarning, match="incomplete"):
            report = store.status_report(partial=True, since="last")
        assert len(store.snapshots()) == 0

    assert report.headline.startswith("Not complete (unproven): 100 animals")
    note = "this listing is not complete, so it is not compared with an earlier one"
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
    assert "this listing was not kept as a snapshot: the history" in report.notes[-1]
    assert "not kept as a snapshot" in report.to_html()


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
    means what it meant; before the first listing, and without `since`, it is refused.
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
        for since, until in [(None, "2026-01-07"), ("1d", "2025-12-31")]:
            with pytest.raises(ArgumentError, match="since|no snapshot had ended by"):
                box.store.status_report(since=since, until=until)
        assert len(box.traffic()) == requests
        last = box.store.status_report(since="last").since

    assert past.to_markdown() == reports[2].to_markdown()
    assert past.since.as_of == reports[1].listing.as_of
    assert again.since == reports[0].listing
    assert oldest.since is None
    assert len(week.events) == sum(len(r.events) for r in reports[1:])
    assert last == reports[1].listing
