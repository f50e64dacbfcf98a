"""
The status report: what it counts, what it says of itself, and what it refuses before it
asks.
"""

import re
from datetime import date
from html import unescape
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from inventories import listing_frame
from paging_server import PagingService, numbered_animals
from tables import read_json

from petstore_tools import PetStore, Sandbox, status_report
from petstore_tools.errors import (
    ArgumentError,
    FrameError,
    HistoryError,
    IncompleteListingError,
    OutputError,
    SheetError,
)
from petstore_tools.sandbox import samples
from petstore_tools.service.server import ThreadedServer


def animals(count: int) -> pd.DataFrame:
    """Return a listing of sample animals."""
    return listing_frame((n, *row) for n, row in enumerate(samples.animals(count), 1))


@pytest.mark.parametrize("status", ["sold", "available"])
def test_a_report_on_one_status_has_no_zeros_and_guesses_nothing(status: str) -> None:
    """An animal that is not in the older listing of what is sold may be new as well."""
    with Sandbox(animals=60) as box:
        box.store.snapshot()
        box.advance(days=1)
        box.change(2, status=status)
        report = box.store.status_report(status=status, since="1d")

    assert f"| became {status} or new " in report.to_markdown()
    assert f"| no longer {status} or gone " in report.to_markdown()
    assert "may have had another status before" in report.to_html()
    assert not re.search(r"^\| (pending|unset) +\|", report.to_markdown(), re.M)


OURS = "unset total label category change since share status id stays"
NAMES = ["blank ('')", "'total' as sent"]  # that other statuses have
SENT = {sent: f"{sent!r} as sent" for sent in [*OURS.split(), *NAMES, " sold"]}
SENT |= {blank: f"blank ({blank!r})" for blank in ("", "  ")}


@pytest.mark.parametrize("sent", SENT)
def test_a_status_that_is_blank_or_called_like_a_column_of_ours_is_kept_apart(
    sent: str,
) -> None:
    """In every format under a name, in its place, and counted once."""
    before = listing_frame(
        [(1, "Rex", 1, "sold"), (2, "Mia", 1, None), (3, "  ", 1, sent)]
    )
    now = listing_frame(
        [(1, "Rex", 1, sent), (2, "Mia", 1, sent), (3, "  ", 1, "sold")], ended_at=9.0
    )
    report = status_report(now, since=before, categories={1: "Dogs"})

    name = SENT[sent]
    assert name in unescape(report.to_html())
    assert report.to_mail()  # with the workbook
    assert (
        report.breakdown["count"].to_dict()[name]
        == report.by_category.loc[1, name]
        == 2
    )
    assert report.by_category.columns.tolist()[-2:] == [name, "unset"]
    assert report.events["to"].tolist() == [name, name, "sold"]


def test_other_things_are_not_compared() -> None:
    """A part with a whole, one filter with another, an old listing with a newer one."""
    with Sandbox(animals=250) as box:
        whole = box.store.list_pets()
        sold = box.store.list_pets(status="sold")
        box.advance(days=1)
        newer = box.store.list_pets()
    for part in (sold, whole.head(10)):
        with pytest.raises(FrameError, match="only a complete listing of the inv"):
            status_report(whole, since=part)
    with pytest.raises(FrameError, match="would seem to be gone"):
        status_report(whole.head(10), since=whole, partial=True)
    with pytest.raises(FrameError, match="is newer than this one"):
        status_report(whole, since=newer)
    with pytest.raises(ArgumentError, match="must be an older listing, not '7d'"):
        status_report(whole, since="7d")  # type: ignore[arg-type]
    assert status_report(whole, since=whole).summary is not None


def test_a_report_after_a_listing_of_no_animals_has_no_share_of_them() -> None:
    """
    Eight new animals are neither 800 % nor 0 % of none: the share is unknown, a dash.
    """
    now = listing_frame([(n, "Rex", 3, "sold") for n in range(8)], 9.0)
    report = status_report(now, since=listing_frame([]))

    assert '"animals": 8,\n      "share": null' in report.to_json()
    assert re.search(r"\| new +\| +8 \| +- \|", report.to_markdown())
    assert "% of those before" not in report.to_html()
    assert status_report(listing_frame([])).breakdown["share"].isna().all()


def test_an_older_listing_with_a_hole_may_have_missed_what_seems_new() -> None:
    """Two frames cannot tell; the report says so."""
    older = listing_frame([], may_have_hole=True)

    report = status_report(listing_frame([(2, "Mia", 1, "sold")], 9.0), since=older)

    assert "new may have been there before: the older listing" in report.notes[0]


def test_a_history_that_cannot_be_marked_stops_no_output(tmp_path: Path) -> None:
    """
    Both files are written, and a warning says that `last` does not mean this report.
    """
    with Sandbox(animals=5) as box:
        report = box.store.status_report()
        box.store.history_file.path.write_bytes(b"no database " * 400)
        with pytest.warns(
            UserWarning, match=r"--since last\) will not mean it: .*damaged"
        ):
            report.to_html(tmp_path / "a.html")
        report.to_excel(tmp_path / "b.xlsx")

    assert sorted(path.name for path in tmp_path.glob("[ab].*")) == ["a.html", "b.xlsx"]


def test_an_animal_that_one_listing_alone_lacks_is_not_seen_before_it_is_gone() -> None:
    """
    Where that listing may have a hole; it has a line of its own, outside the sums.
    """
    both_animals = listing_frame([(1, "Rex", 1, "sold"), (2, "Mia", 1, "")])
    rows_seen = [(1, "Rex", 1, "sold")]

    report = status_report(
        listing_frame(rows_seen, 9.0, may_have_hole=True), since=both_animals
    )
    sure = status_report(listing_frame(rows_seen, 9.0), since=both_animals)

    summary = report.tables()["summary"]
    assert summary["what"].iloc[-1] == "not seen"
    assert summary["animals"].tolist() == [2, 0, 0, 0, 1, 1]
    assert "count as not seen are missing from this listing" in report.to_html()
    assert report.unseen is not None
    assert report.unseen["status"].tolist() == ["blank ('')"]
    assert report.to_mail()
    assert sure.tables()["events"]["event"].tolist() == ["gone"]


@pytest.mark.parametrize(
    "looks",
    [
        *read_json(__file__, "odd_looks.json"),
        {"categories": {1: "\ud800"}},
        *({"max_age": age} for age in ("soon", -1, "nan", date(2026, 1, 5), pd.NaT)),
    ],
)
def test_what_cannot_be_used_is_refused_before_the_first_request(
    looks: dict[str, Any],
) -> None:
    """With what to write."""
    with Sandbox(animals=3) as box:
        call = box.store.list_pets if "max_age" in looks else box.store.status_report
        with pytest.raises((ArgumentError, SheetError)):
            call(**looks)
        assert len(box.traffic()) == 0


def test_a_title_takes_any_printable_text_and_a_frame_no_column_twice() -> None:
    """
    No-break spaces, soft hyphens, joined emoji; two columns of one name are refused.
    """
    pets = animals(3)
    title = "10\u00a0000 Tier\u00adarten 👩\u200d🔬"

    assert title in status_report(pets, title=title, note=title).to_html()
    with pytest.raises(ArgumentError, match="two columns of one name"):
        status_report(pd.concat([pets, pets["status"]], axis=1))
    with pytest.raises(ArgumentError, match=r"'r\.xls' must end in \.xlsx"):
        status_report(pets).to_excel("r.xls")


def test_a_listing_that_is_not_whole_is_reported_on_only_when_asked() -> None:
    """And then the headline says it, and nothing is kept."""
    server = ThreadedServer(PagingService(numbered_animals(250), "nothing")).start()
    with PetStore(base_url=server.base_url, api_key="k", plan="business") as store:
        with pytest.raises(IncompleteListingError):
            store.status_report()
        with pytest.warns(UserWarning, match="incomplete"):
            report = store.status_report(partial=True, since="last")
        assert len(store.snapshots()) == 0
    server.stop()

    assert report.headline.startswith("Not complete (unproven): 100 animals")
    note = "this listing is not complete, so it is not compared with an earlier one"
    assert (report.notes, report.events) == ((note,), None)


def test_a_csv_that_list_wrote_is_reported_on_as_unproven(tmp_path: Path) -> None:
    """
    Read with plain pandas; without `partial` the error says how to keep what a frame
    knows.
    """
    animals(30).to_csv(tmp_path / "a.csv", index=False)
    frame = pd.read_csv(
        tmp_path / "a.csv", keep_default_na=False, na_values={"status": [""]}
    )

    report = status_report(frame, partial=True)

    headline = "Not complete (unproven): 30 animals of the inventory of a file, "
    assert report.headline.startswith(headline)
    assert report.breakdown.equals(status_report(animals(30)).breakdown)
    with pytest.raises(FrameError, match=r"merged\.attrs = df\.attrs"):
        status_report(frame)


def test_a_report_whose_snapshot_cannot_be_kept_is_made_and_says_so() -> None:
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
        ("r.xlsx", "is a folder, not a file"),
        (
            "r" * 300 + ".xlsx",
            "r[.]xlsx cannot be written .*another name",
        ),
        ("a\0b.xlsx", "cannot be written [(]the name is no text[)]"),
    ],
)
def test_a_report_that_cannot_be_written_is_one_sentence_of_the_toolkit(
    tmp_path: Path, path: str, reason: str
) -> None:
    """An OSError, too."""
    (tmp_path / "r.xlsx").mkdir()
    report = status_report(animals(3))

    for write in (report.to_html, report.to_excel):
        with pytest.raises(OutputError, match=reason):
            write(tmp_path / path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.xlsx"]


def test_a_report_between_two_dates_of_the_past_sends_nothing(tmp_path: Path) -> None:
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
        past.to_markdown(tmp_path / "past.md")
        week = box.store.status_report(since="2026-01-05", until="2026-01-08")
        for since, until in [(None, "2026-01-07"), ("1d", "2025-12-31"), ("1d", "1w")]:
            with pytest.raises(ArgumentError, match="since|no listing is kept"):
                box.store.status_report(since=since, until=until)
        assert len(box.traffic()) == requests
        last = box.store.status_report(since="last").since

    assert past.to_markdown() == reports[2].to_markdown()
    assert past.since is not None
    assert past.since.as_of == reports[1].listing.as_of
    assert week.events is not None
    assert len(week.events) == sum(len(r.events) for r in reports[1:])
    assert last == reports[1].listing
