"""How a report is drawn: rounded, in its order, in the time of its reader, as text."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import pandas as pd
import pytest
import python_calamine
from inventories import listing_frame

from petstore_tools import Sandbox, status_report
from petstore_tools.reporting.facts import TITLES
from petstore_tools.reporting.presentation import COLOURS, TOP, cells
from petstore_tools.text import cell_text


def test_shares_and_days_are_rounded_as_a_spreadsheet_rounds_them() -> None:
    """A half goes up: 61 of 400 is 15.3 % in the page, too."""
    table = pd.DataFrame(
        {"share of all": [61 / 400, 13 / 400], "days_90": [8.25, 8.05]}
    )

    rows = [[cell_text(share), f"{days}"] for share, days in cells(table)[1]]

    assert rows == [["15.3%", "8.3"], ["3.3%", "8.1"]]


@pytest.mark.parametrize(
    ("count", "title"),
    [
        (TOP, "Pending animals"),
        (TOP + 1, f"Pending animals, the first {TOP} of {TOP + 1}"),
    ],
)
def test_a_table_says_that_it_is_a_part_only_where_rows_are_left_out(
    count: int, title: str
) -> None:
    """One that just fits is whole."""
    pending = listing_frame((n, "Rex", 1, "pending") for n in range(1, count + 1))

    assert f"<h2>{title}</h2>" in status_report(pending).to_html()


def test_what_came_from_outside_is_text_in_every_format() -> None:
    """A name that is a formula or markup, a label and an environment that are HTML."""
    rows = [(1, "=NEW()|<b>", 1, "pending"), (2, "https://a.example", 2, None)]
    report = status_report(
        listing_frame(rows, environment="<script>x</script>"),
        categories=pd.Series({1: "<img|src>"}),
        title="- ~a~ <i>",
        note="+ x",
    )
    output = report.to_html() + report.to_markdown() + report._repr_html_()

    assert not re.search("<b>|<script|<img|<i>", output)
    assert "# \\- \\~a\\~ &lt;i&gt;\n" in report.to_markdown()
    assert "\n\\+ x\n" in report.to_markdown()
    assert not re.search(
        r"https?://|src=|@import|url\(", report.to_html().replace(rows[1][1], "")
    )
    assert "default-src 'none'" in report.to_html()


def test_text_of_a_workbook_is_never_run_and_no_number_is_rounded(
    tmp_path: Path,
) -> None:
    """Formulas, addresses, long names, ids above 2^53."""
    names = ["=1+1", "https://a.example", "x" * 40_000]
    ids = [2**53 + 1, 3, -(2**60)]
    rows = [(pet_id, name, 1, None) for pet_id, name in zip(ids, names, strict=True)]
    status_report(listing_frame(rows)).to_excel(tmp_path / "r.xlsx")

    with zipfile.ZipFile(tmp_path / "r.xlsx") as parts:
        assert not any(
            b"<f>" in parts.read(p) for p in parts.namelist() if "worksheets" in p
        )
    book = python_calamine.CalamineWorkbook.from_path(tmp_path / "r.xlsx")
    last_rows = [
        row[:2] for row in book.get_sheet_by_name("All animals").to_python()[-3:]
    ]
    assert last_rows == [
        [str(2**53 + 1), "=1+1"],
        [3, names[1]],
        [str(-(2**60)), "x" * 32_767],
    ]


def test_each_sheet_of_a_workbook_has_title_time_and_the_width_of_a_page(
    tmp_path: Path,
) -> None:
    """
    Filters leave the sums out, columns show whole times and name both zones of an
    autumn; a title that is longer than a sheet of paper is wide takes two lines.
    """
    title = "A zoo with a name " * 5
    with Sandbox(animals=3) as box:
        box.advance(days=292, hours=13.5)
        for _ in range(3):
            box.store.snapshot()
            box.advance(hours=1)
        report = box.store.status_report(
            since="3h", title=title, timezone="Europe/Berlin"
        )
    report.to_excel(tmp_path / "r.xlsx")
    book = python_calamine.CalamineWorkbook.from_path(tmp_path / "r.xlsx")

    for name in book.sheet_names:
        first, second, _, times = book.get_sheet_by_name(name).to_python()[:4]
        assert f"{first[0]} {second[0]}" == title.strip()
        assert len(first[0]) <= 60
        assert "As of 2026-10-25 02:30:00 CET" in times[0]
    over_time = [
        str(row[0]) for row in book.get_sheet_by_name("Over time").to_python()[6:]
    ]
    assert over_time[0] == "as of (CEST, CET)"
    assert [time[11:16] for time in over_time[1:]] == [
        "00:30",
        "01:30",
        "02:30",
        "02:30",
    ]
    with zipfile.ZipFile(tmp_path / "r.xlsx") as parts:
        written = parts.read("xl/workbook.xml").decode()
        charts = [
            parts.read(p).decode() for p in parts.namelist() if "charts/chart" in p
        ]
        sheet = parts.read(
            f"xl/worksheets/sheet{book.sheet_names.index('Over time') + 1}.xml"
        )
    assert written.count("_xlnm.Print_Titles") == len(book.sheet_names)
    assert b'fitToHeight="0" orientation="landscape"' in sheet
    # without the sums in row 12
    assert "'By status'!$A$7:$C$11</definedName>" in written
    assert len(charts) == 2
    for chart in charts:
        assert "dateAx" not in chart  # it would draw one listing a day
        assert "yyyy" not in chart.split("<c:valAx>")[1]
    assert re.search(rb'<col min="1" max="1" width="(19|2)', sheet)


def test_times_are_those_of_the_reader_and_in_json_iso() -> None:
    """The zone is named; JSON has UTC, and nothing internal."""
    with Sandbox(animals=5) as box:
        box.store.snapshot()
        box.advance(days=1)
        report = box.store.status_report(since="1d", timezone="America/New_York")

    for text in (
        report.to_html(),
        report.to_markdown(),
        report.to_text(),
        repr(report),
    ):
        assert "2026-01-06 04:00:00 EST" in text
    document = json.loads(report.to_json())
    assert [document["as_of"], document["since"], document["counts"][0]["as_of"]] == [
        "2026-01-06T09:00:00+00:00",
        "2026-01-05T09:00:00+00:00",
        "2026-01-05T09:00:00+00:00",
    ]
    assert not {"digest", "doubles", "pages"} & set(document["listing"])


def test_the_order_is_that_of_importance_and_lists_can_be_left_out(
    tmp_path: Path,
) -> None:
    """What changed, by status, by category, over time, then single animals."""
    with Sandbox(animals=20) as box:
        for status in ("sold", "pending", "sold"):
            box.store.snapshot()
            box.advance(days=1)
            box.change(2, status=status)
        box.add([("Newcomer", 1, "available")])
        whole = box.store.status_report(since="9d")
        short = box.store.status_report(since="9d", lists=False)

    titles = [*TITLES.values()]
    for report, expected in ((whole, titles), (short, titles[:-2])):
        page = re.findall("<h2>([^,<]+)", report.to_html())
        text = re.findall("^## ([^,\n]+)", report.to_markdown(), re.M)
        assert page == [*expected, "How this was made"]
        assert text == [title for title in page if title != "Over time"]
        assert not re.search("category:|Pending animals", report.to_text())
    front, end = whole.to_html().split("How this was made")
    assert "request" not in front
    assert " with 1 request." in end
    assert front.count('<th scope="col"') > 20
    assert front.count("<caption>") == front.count("<table>")
    assert whole.tables()["flow"]["from"].tolist()[-2:] == ["new", "total"]


@pytest.mark.parametrize(("statuses", "half"), [(4, ' class="half"'), (8, "")])
def test_a_table_of_many_statuses_has_the_whole_width_of_a_sheet(
    statuses: int, half: str
) -> None:
    """Beside another one it would lose columns on paper."""
    before = listing_frame([(n, "Rex", 1, f"status {n}") for n in range(statuses)])
    now = listing_frame(
        [(n, "Rex", 1, f"status {n - 1}") for n in range(1, statuses + 1)], ended_at=9.0
    )

    assert f'<section id="flow"{half}>' in status_report(now, since=before).to_html()


def test_colours_of_the_graphic_stand_out_from_both_papers() -> None:
    """At least 3:1 by day and by night, also on the ground of a chart."""

    def light(code: str) -> float:
        parts = [int(code[start : start + 2], 16) / 255 for start in (1, 3, 5)]
        linear = [
            p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05

    for code in COLOURS.values():
        for paper in ("#ffffff", "#f4f6f9", "#161b22", "#1f2630"):
            dark, bright = sorted((light(code), light(paper)))
            assert bright / dark >= 3
