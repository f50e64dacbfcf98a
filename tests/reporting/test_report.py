"""The status report: right sums, one set of numbers, nothing unescaped."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from petstore_tools import FrameError, status_report
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.frames import Columns
from petstore_tools.models import PetRow
from petstore_tools.reporting.tables import for_people
from petstore_tools.sandbox import samples
from petstore_tools.text import cell_text


def listed(count: int, **more: object) -> pd.DataFrame:
    rows: list[PetRow] = [
        {"id": n + 1, "name": name, "categoryId": category, "status": status}
        for n, (name, category, status) in enumerate(samples.animals(count))
    ]
    columns = Columns()
    columns.add(rows)
    facts = {"environment": "sandbox", "reason": "said so"} | more
    listing = Listing("complete", facts.pop("reason"), None, count, "", 3, 3, 0, 0.0, 1.0, **facts)  # type: ignore[arg-type]
    return columns.to_frame(listing)


@pytest.mark.case("P53")
def test_the_breakdown_agrees_with_a_plain_count_and_sums_to_all() -> None:
    """The three values and `unset`, whose sum is the number of animals."""
    pets = listed(500)
    report = status_report(pets)

    expected = pets["status"].astype("object").fillna("unset").value_counts()
    assert report.breakdown["count"].to_dict() == expected.to_dict()
    assert report.breakdown["count"].sum() == 500
    assert report.breakdown["share"].sum() == pytest.approx(1.0)


def test_zero_rows_are_kept_and_an_empty_inventory_has_shares_of_zero() -> None:
    """Four rows, whatever stands there."""
    report = status_report(listed(0))

    assert report.breakdown.index.tolist() == ["available", "pending", "sold", "unset"]
    assert report.breakdown["count"].tolist() == [0, 0, 0, 0]
    assert report.breakdown["share"].tolist() == [0.0, 0.0, 0.0, 0.0]


def test_shares_and_days_are_rounded_as_a_spreadsheet_rounds_them() -> None:
    """A half goes up: 61 of 400 is 15.3 % in the page, too."""
    table = pd.DataFrame({"share": [61 / 400, 13 / 400], "days": [8.25, 8.05]})

    rows = for_people(table)[1]

    assert [
        [
            cell_text(value) if name == "share" else f"{value}"
            for name, value in zip(table, row, strict=True)
        ]
        for row in rows
    ] == [["15.3%", "8.3"], ["3.3%", "8.1"]]


def test_categories_add_up_to_the_breakdown() -> None:
    """Rows by categoryId, columns by status, and a total."""
    report = status_report(listed(300), categories=samples.CATEGORIES)
    counts = report.by_category.drop(columns=["label", "total"])

    assert np.array_equal(counts.sum().to_numpy(), report.breakdown["count"].to_numpy())
    assert report.by_category["total"].sum() == 300
    assert report.by_category.loc[1, "label"] == "Dogs"
    assert str(report.by_category.index.dtype) == "int64"


def test_what_came_from_outside_is_escaped() -> None:
    """A hostile label or environment is text, in HTML and Markdown."""
    report = status_report(
        listed(50, environment="<script>x</script>"), categories={1: "<img|src>"}
    )

    assert "<script" not in report.to_html() + report._repr_html_()
    assert "<img" not in report.to_html() + report.to_markdown()
    assert "\\|src" in report.to_markdown()


def test_the_page_needs_no_script_and_no_network() -> None:
    """Self-contained: a policy that allows nothing, and no address in it."""
    html = status_report(listed(50)).to_html()

    assert "default-src 'none'" in html
    assert not re.search(r"https?://|<script|src=|@import|url\(", html)


def test_a_report_is_dated_by_its_listing() -> None:
    """As-of is the time of the last page, not of the writing."""
    assert "As of 1970-01-01 00:00:01 UTC" in status_report(listed(5)).to_html()


def test_a_csv_that_list_wrote_is_reported_on_as_unproven(tmp_path: Path) -> None:
    """Read with plain pandas; without `partial` the error says how to keep what a frame knows."""
    listed(30).to_csv(tmp_path / "inventory.csv", index=False)
    pets = pd.read_csv(
        tmp_path / "inventory.csv", keep_default_na=False, na_values={"status": [""]}
    )

    report = status_report(pets, partial=True)

    assert report.headline == "Not complete (unproven): 30 animals of the inventory of a file"
    assert (
        report.breakdown["count"].to_dict()
        == status_report(listed(30)).breakdown["count"].to_dict()
    )
    with pytest.raises(FrameError, match=r"merged\.attrs = df\.attrs"):
        status_report(pets)
