"""
Reports that carry what changed: over snapshots of the real service, in every format the same
numbers.
"""

from __future__ import annotations

from datetime import UTC
from io import BytesIO
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pandas as pd
import pytest
import python_calamine
from paging_server import PagingService, pets
from requests.structures import CaseInsensitiveDict

from petstore_tools import Sandbox, status_report
from petstore_tools.errors import FrameError, IncompleteListingError
from petstore_tools.http.transport import Reply
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.frames import Columns, text_dtype
from petstore_tools.reporting import tables as counting

from petstore_tools.reporting.excel import workbook
from petstore_tools.reporting.report import StatusReport
from petstore_tools.sandbox import samples


@pytest.fixture(scope="module")
def report() -> StatusReport:
    """Three days of an inventory in which animals were sold, removed and added."""
    with Sandbox(animals=250) as box:
        box.store.status_report()
        box.advance(days=1)
        box.change(5, status="sold")  # from available
        box.change(35, status="pending")  # from unset
        box.store.status_report()
        box.advance(days=1)
        box.change(9, status="sold")
        box.remove(13)  # was pending
        box.store.create_pet("=NEW()|<b>", category_id=99, status="available")
        return box.store.status_report(
            since="2d", categories={**samples.CATEGORIES, 99: "<i>Odd</i>"}
        )


def test_changes_are_the_differences_of_two_breakdowns(report: StatusReport) -> None:
    """Before, now, change; the sums are those of the inventories."""
    assert report.changes is not None
    assert report.since is not None
    assert report.changes["before"].sum() == report.since.rows == 250
    assert report.changes["now"].tolist() == report.breakdown["count"].tolist()
    assert (report.changes["now"] - report.changes["before"]).tolist() == report.changes[
        "change"
    ].tolist()
    assert report.changes["change"].sum() == 0


def test_each_animal_that_moved_is_named_with_where_from_and_to(report: StatusReport) -> None:
    """New and gone ones, too; nothing else."""
    assert report.moved is not None
    told = [tuple(row) for row in report.moved[["id", "from", "to"]].itertuples(index=False)]

    assert told == [
        (5, "available", "sold"),
        (9, "available", "sold"),
        (13, "pending", "gone"),
        (35, "unset", "pending"),
        (251, "new", "available"),
    ]
    text = text_dtype()
    assert [str(dtype) for dtype in report.moved.dtypes] == ["int64", text, "int64", text, text]


def test_the_counts_have_a_row_for_each_snapshot(report: StatusReport) -> None:
    """In time order, and the last is this report."""
    assert report.counts is not None
    assert [str(at.date()) for at in report.counts.index] == [
        "2026-01-05",
        "2026-01-06",
        "2026-01-07",
    ]
    assert report.counts.iloc[-1].tolist() == report.breakdown["count"].tolist()
    assert report.counts.sum(axis=1).tolist() == [250, 250, 250]


def test_a_figure_is_a_picture_in_a_notebook(report: StatusReport) -> None:
    """Bars, and areas over time."""
    assert report.figure()._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]


def test_what_came_from_outside_is_text_in_every_format(
    report: StatusReport, tmp_path: Path
) -> None:
    """A name that is a formula or markup, a label that is HTML."""
    report.to_excel(tmp_path / "report.xlsx")
    import zipfile

    with zipfile.ZipFile(tmp_path / "report.xlsx") as parts:
        formulas = [
            part for part in parts.namelist() if b"<f>" in parts.read(part) and "sheet" in part
        ]
        charts = [part for part in parts.namelist() if "charts/chart" in part]

    assert formulas == []
    assert len(charts) == 2  # by status, and over time
    assert "<b>" not in report.to_html() + report.to_markdown()
    assert "<i>" not in report.to_html() + report.to_markdown() + report._repr_html_()
    assert len(report._repr_html_()) < 10_000


@pytest.mark.parametrize(
    ("since", "note"),
    [
        ("last", "compared with the newest snapshot"),
        ("1d", ""),
        ("2026-01-05", ""),
        ("30d", "as old as 30d"),
        ("2025-01-01", "compared with the oldest"),
    ],
)
def test_since_takes_the_snapshot_that_is_meant_or_names_the_oldest(since: str, note: str) -> None:
    """The last, one of an age, one of a date."""
    with Sandbox(animals=10) as box:
        box.store.status_report()
        box.advance(days=1)
        report = box.store.status_report(since=since)

    assert report.since is not None
    assert report.since.ended_at == 1_767_603_600.0
    assert (note in " ".join(report.notes)) if note else not report.notes


def test_without_an_earlier_snapshot_the_report_says_so() -> None:
    """It is no error: tomorrow there is one."""
    with Sandbox(animals=10) as box:
        report = box.store.status_report(since="last")

    assert report.changes is None
    assert report.notes == ("no earlier snapshot to compare with",)
    assert "no earlier snapshot" in report.to_html()


def test_other_things_are_not_compared() -> None:
    """A part with a whole, one filter with another."""
    with Sandbox(animals=250) as box:
        whole, sold = box.store.list_pets(), box.store.list_pets(status="sold")
        with pytest.raises(FrameError, match="only a complete listing of the inventory"):
            status_report(whole, since=sold)
        with pytest.raises(FrameError, match="would seem to be gone"):
            status_report(whole.head(10), since=whole, partial=True)
        with pytest.raises(ValueError, match="an age such as 7d"):
            box.store.status_report(since="yesterday-ish")


@pytest.mark.case("P53")
def test_a_listing_that_is_not_whole_is_reported_on_only_when_asked() -> None:
    """And then the headline says it."""
    with Sandbox(animals=250) as box:
        box.store.status_report()
        server = PagingService(pets(250), "nothing")
        box.store.client.transport, real = SilentPages(server), box.store.client.transport
        with pytest.raises(IncompleteListingError):
            box.store.status_report()
        with pytest.warns(UserWarning, match="incomplete"):
            report = box.store.status_report(partial=True, since="last")
        box.store.client.transport = real

        assert len(box.store.snapshots()) == 1
    assert report.headline.startswith("Not complete (unproven): 100 animals")
    assert report.notes == (
        "this listing is not complete, so it is not compared with an earlier one",
    )
    assert report.changes is None


class SilentPages:
    """A transport to a service that shows no paging."""

    fastest_s = None

    def __init__(self, service: PagingService) -> None:
        self._service = service

    def send(self, method: str, url: str, body: bytes | None = None) -> Reply:
        _, headers, content = self._service.answer(dict(parse_qsl(urlsplit(url).query)))
        return Reply(200, CaseInsensitiveDict(headers), content)

    def close(self) -> None:
        """Do nothing."""


@pytest.mark.parametrize("big", [2**53 + 1, 2**63 - 1, -(2**63)])
def test_huge_numbers_move_as_they_are(big: int) -> None:
    """Beside new and gone animals, too."""
    keys = ("id", "name", "categoryId", "status")
    before, now = Columns(), Columns()
    before.add(
        [dict(zip(keys, row, strict=True)) for row in ((1, "a", big, "sold"), (2, "b", big, None))]
    )  # type: ignore[misc]
    now.add(
        [dict(zip(keys, row, strict=True)) for row in ((2, "b", big, "sold"), (big, "c", 1, None))]
    )  # type: ignore[misc]
    listing = Listing("complete", "told", None, 2, "", 1, 1, 0, 0.0, 0.0, "sandbox")

    table = counting.moved(before.to_frame(listing), now.to_frame(listing))

    told = [tuple(row) for row in table[["id", "categoryId", "from", "to"]].itertuples(index=False)]
    assert sorted(told) == sorted(
        [(1, big, "sold", "gone"), (2, big, "unset", "sold"), (big, 1, "new", "unset")]
    )


@pytest.mark.parametrize("sent", ["unset", "total", "label", "categoryId", "new", "gone"])
def test_a_status_that_is_called_like_a_column_of_ours_is_kept_apart(
    sent: str, tmp_path: Path
) -> None:
    """In every format, and counted once."""
    columns = Columns()
    columns.add(
        [{"id": n, "name": "Rex", "categoryId": 1, "status": s} for n, s in ((1, sent), (2, None))]
    )
    listing = Listing("complete", "told", None, 2, "", 1, 1, 0, 0.0, 0.0, "sandbox")
    report = status_report(columns.to_frame(listing), categories={1: "Dogs"})

    for told in (report.to_html(), report.to_markdown(), report.to_json(), report.to_text()):
        assert "as sent" in told
    report.to_excel(tmp_path / "report.xlsx")
    assert report.breakdown["count"].sum() == report.by_category["total"].sum() == 2


def test_moves_of_statuses_the_document_does_not_name_are_told_too() -> None:
    """They are further categories, not missing."""

    def frame(statuses: list[str | None]) -> pd.DataFrame:
        values = sorted({s for s in statuses if s})
        return pd.DataFrame(
            {
                "id": range(1, len(statuses) + 1),
                "name": ["Rex"] * len(statuses),
                "categoryId": 1,
                "status": pd.Categorical(statuses, values, ordered=True),
            }
        )

    table = counting.moved(frame(["sold", "lost", None]), frame(["lost", "lost", "sold"]))

    flow = counting.flow(table).drop(index="total", columns="total").stack()
    assert flow[flow > 0].to_dict() == {("sold", "lost"): 1, ("unset", "sold"): 1}
    assert counting.breakdown(frame(["sold", "lost", None]))["count"].to_dict() == {
        "available": 0,
        "pending": 0,
        "sold": 1,
        "lost": 1,
        "unset": 1,
    }


@pytest.mark.parametrize(
    ("old", "new"), [("history", "counts"), ("face", "headline"), ("cost", "cost_text")]
)
def test_a_name_of_version_0_1_is_refused_with_the_new_one(
    report: StatusReport, old: str, new: str
) -> None:
    """And any other name as usual."""
    with pytest.raises(AttributeError, match=f"a StatusReport has no {old}; it is called {new}"):
        getattr(report, old)
    with pytest.raises(AttributeError, match="a StatusReport has no nothing$"):
        _ = report.nothing  # type: ignore[attr-defined]


def test_cells_of_the_workbook_are_numbers_that_excel_keeps_and_text_that_it_does_not_run() -> None:
    """A number that Excel would round is text, and so is a formula, an address and a long name."""
    table = pd.DataFrame(
        {
            "status": ["=1+1", "https://example.com", "x" * 40_000],
            "count": [2**53 + 1, 3, -(2**60)],
            "as_of": pd.to_datetime(["2026-01-05"] * 3, utc=True),
        }
    )

    made = workbook("title", ["headline"], {"breakdown": table}, zone=UTC, complete=False)

    rows = (
        python_calamine.CalamineWorkbook.from_filelike(BytesIO(made))
        .get_sheet_by_index(0)
        .to_python()
    )
    rows = rows[[row[0] for row in rows].index("=1+1") :]
    assert rows[0][:2] == ["=1+1", str(2**53 + 1)]
    assert rows[1][:2] == ["https://example.com", 3]
    assert [len(str(rows[2][0])), rows[2][1]] == [32_767, str(-(2**60))]
    assert str(rows[0][2]).startswith("2026-01-05")
