"""
What `since` means: dates that can be read in one way only, and the last report that was written.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import pytest
from commands import run

from petstore_tools import Sandbox
from petstore_tools.errors import ArgumentError
from petstore_tools.history.since import instant

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC).timestamp()
END_OF_DAY = datetime(2026, 3, 6, tzinfo=UTC).timestamp() - 1e-6


@pytest.mark.case("P67")
@pytest.mark.parametrize(
    "given", ["2026-03-05", "05.03.2026", "5.3.2026", " 2026-03-05 ", date(2026, 3, 5)]
)
def test_a_date_is_read_as_iso_or_day_first_with_dots_and_means_its_end(given: str | date) -> None:
    """The fifth of March in each of them, never the third of May."""
    assert instant(given, NOW) == pytest.approx(END_OF_DAY)


@pytest.mark.case("P67")
@pytest.mark.parametrize(
    "given",
    [
        "2026-03-05T14:00",
        "2026-03-05 14:00:00",
        "2026-03-05T14:00Z",
        "2026-03-05T15:00+01:00",
        datetime(2026, 3, 5, 14),
        datetime(2026, 3, 5, 15, tzinfo=timezone(timedelta(hours=1))),
    ],
)
def test_a_time_is_read_with_its_zone_and_is_utc_without_one(given: str | date) -> None:
    """The same instant in each of them."""
    assert instant(given, NOW) == datetime(2026, 3, 5, 14, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    "given", ["2026-03-10", "10.03.2026", date(2026, 3, 10), "2026-03-11", "11.03.2026"]
)
def test_a_date_whose_end_is_not_yet_is_the_future(given: str | date) -> None:
    """A date means its end: that of today is still to come."""
    with pytest.raises(
        ArgumentError, match="is in the future: a date means its end, and it is 2026-03-10 12"
    ):
        instant(given, NOW)


@pytest.mark.parametrize("given", ["1m", "30 M"])
def test_an_age_in_m_is_refused_since_it_may_be_minutes_or_months(given: str) -> None:
    """With the units there are."""
    with Sandbox(animals=1) as box:
        for call in (
            lambda: box.store.list_pets(max_age=given),
            lambda: box.store.status_report(since=given),
        ):
            with pytest.raises(ArgumentError, match=r"s, min, h, d or w"):
                call()
        assert len(box.traffic()) == 0


@pytest.mark.case("P67")
@pytest.mark.parametrize(
    ("given", "seconds"), [("7d", 7 * 86_400), ("90min", 5_400), ("2w", 14 * 86_400)]
)
def test_an_age_counts_back_from_now(given: str, seconds: int) -> None:
    """Days, minutes, weeks."""
    assert instant(given, NOW) == NOW - seconds


@pytest.mark.case("P67")
@pytest.mark.parametrize(
    "given",
    [
        "05/03/2026",
        "2026/03/05",
        "03-05-2026",
        "5 March 2026",
        "yesterday",
        "gestern",
        "30.02.2026",
        "2026-02-30",
    ],
)
def test_what_could_be_read_in_two_ways_or_in_none_is_refused_with_the_iso_form(given: str) -> None:
    """Slashes, words, a day that no calendar has."""
    with pytest.raises(ValueError, match="write a date as 2026-03-05"):
        instant(given, NOW)


@pytest.mark.case("P67")
@pytest.mark.parametrize("given", ["2026-03-10T12:00:01", "2099-01-01T00:00+02:00"])
def test_the_future_is_refused(given: str) -> None:
    """With the time that it is."""
    with pytest.raises(ValueError, match="is in the future: it is 2026-03-10 12:00:00 UTC now"):
        instant(given, NOW)


@pytest.mark.case("P67")
def test_last_is_the_last_report_that_was_written(tmp_path: Path) -> None:
    """
    Not the newest snapshot: a look, a snapshot or a report on the screen in between changes
    nothing.
    """
    with Sandbox(animals=10) as box:
        box.store.status_report().to_excel(tmp_path / "monday.xlsx")
        monday = box.clock.now()
        for _ in range(3):
            box.advance(days=1)
            box.store.status_report().to_html()
            box.store.snapshot()
        box.advance(days=1)
        thursday = box.store.status_report(since="last")
        thursday.to_html(tmp_path / "thursday.html")
        written_at = box.clock.now()
        box.advance(days=1)
        friday = box.store.status_report(since="last")

    assert thursday.since is not None
    assert (thursday.since.ended_at, thursday.notes) == (monday, ())
    assert friday.since is not None
    assert friday.since.ended_at == written_at


@pytest.mark.case("P67")
def test_last_is_kept_for_each_filter_apart(tmp_path: Path) -> None:
    """A report on what is sold is not the last one on all."""
    with Sandbox(animals=10) as box:
        box.store.status_report().to_json(tmp_path / "all.json")
        began_at = box.clock.now()
        box.advance(days=1)
        box.store.status_report(status="sold").to_markdown(tmp_path / "sold.md")
        box.advance(days=1)
        report = box.store.status_report(since="last")

    assert report.since is not None
    assert report.since.ended_at == began_at


@pytest.mark.case("P67")
def test_last_without_a_written_report_is_the_newest_snapshot_and_says_so() -> None:
    """So the first night after an update of the toolkit has something to compare with."""
    with Sandbox(animals=10) as box:
        box.store.snapshot()
        box.advance(days=1)
        report = box.store.status_report(since="last")

    assert report.since is not None
    assert report.notes == (
        "no report was written to a file before: compared with the newest snapshot",
    )


@pytest.mark.case("P67")
def test_the_command_line_takes_and_refuses_the_same_dates(tmp_path: Path) -> None:
    """Before the first request; `-o` marks what `last` means the next time."""
    with Sandbox(animals=10, clock="system") as box:
        for given in ("05/03/2026", "yesterday", "2999-01-01", "30.02.2026"):
            done = run("report", "--since", given, box=box)
            assert done.returncode == 2
            assert "since" in done.stderr
        assert len(box.traffic()) == 0
        run("report", "-o", "first.html", box=box, cwd=tmp_path)
        run("report", box=box)
        second = run("report", "-o", "second.html", "--since", "last", box=box, cwd=tmp_path)
        dated = run("report", "--since", "05.03.2026", box=box)

    assert "Note:" not in second.stderr
    assert "no snapshot is as old as 05.03.2026: compared with the oldest" in dated.stdout
