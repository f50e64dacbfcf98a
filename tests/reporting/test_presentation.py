"""How a report is drawn: rounded, in its order, in the time of its reader, as text."""

import json
import re
import zipfile
from datetime import UTC, datetime
from itertools import pairwise
from urllib.parse import unquote
from xml.etree import ElementTree

import pandas as pd
import pytest
import python_calamine
from inventories import listing_frame
from isolation import machine_zone
from reports import report_on, status_frame
from tables import read_json

from petstore_tools import Sandbox, status_report
from petstore_tools.reporting.presentation import (
    LOOKS,
    TITLES,
    Presentation,
    show,
)
from petstore_tools.spec import DAY_S
from petstore_tools.text import cell_text


def report_of(folder, times, counts, since="9999d"):
    """Report on the last of several listings with so many animals in each status."""
    listings = []
    for time_s, statuses in zip(times, counts, strict=True):
        names = [name for name, count in statuses.items() for _ in range(count)]
        listings.append(status_frame(dict(enumerate(names)), time_s))
    return report_on(folder, *listings, since=since)


@pytest.mark.parametrize(
    ("value", "style", "text"), read_json(__file__, "rounded.json")
)
def test_a_number_is_rounded_as_a_spreadsheet_rounds_it(value, style, text):
    """A half goes up, a change has its sign, and what is not known is a dash."""
    assert cell_text(show(value, style)) == text


def test_what_came_from_outside_is_text_in_every_format():
    """
    A name that is a formula or markup, a label and an environment that are HTML, a
    title and a note that would begin a list.
    """
    rows = [(1, "=NEW()|<b>", 1, "pending"), (2, "https://a.example", 2, None)]
    report = status_report(
        listing_frame(rows, environment="<script>x</script>"),
        categories=pd.Series({1: "<img|src>"}),
        title="- ~a~ <i>",
        note="2026. x",
    )
    output = report.to_html() + report.to_markdown() + report._repr_html_()

    assert not re.search("<b>|<script|<img|<i>", output)
    assert "# \\- \\~a\\~ &lt;i&gt;\n" in report.to_markdown()
    assert "\n2026\\. x\n" in report.to_markdown()
    assert not re.search(
        r"https?://|src=|@import|url\(", report.to_html().replace(rows[1][1], "")
    )
    assert "default-src 'none'" in report.to_html()


def test_text_of_a_workbook_is_never_run_and_no_number_is_rounded(tmp_path):
    """Formulas, addresses, long names, ids above 2^53; a status that is a formula."""
    names = ["=1+1", "https://a.example", "x" * 40_000]
    ids = [2**53 + 1, 3, -(2**60)]
    rows = [(n, name, 1, "=2+2") for n, name in zip(ids, names, strict=True)]
    status_report(listing_frame(rows), title="=3+3").to_excel(tmp_path / "r.xlsx")

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


def test_a_workbook_begins_with_the_report_and_its_chart(tmp_path):
    """
    Sheets have the width of a page; lines are straight between listings, on an axis of
    times with the ticks of the page; a title names both zones of an autumn, and none
    above an empty column.
    """
    with Sandbox(animals=30) as box:
        box.advance(days=292, hours=13.5)
        for _ in range(3):
            box.store.snapshot()
            box.advance(hours=1)
        report = box.store.status_report(since="3h", timezone="Europe/Berlin")
    report.to_excel(tmp_path / "r.xlsx")
    book = python_calamine.CalamineWorkbook.from_path(tmp_path / "r.xlsx")
    drawing = Presentation(report).chart

    sheets = ["Report", *LOOKS["sheets"].values(), "How this was made"]
    assert book.sheet_names == [name for name in sheets if name != "Not seen"]
    method = book.get_sheet_by_name("How this was made").to_python()
    times = [row[0] for row in method[-5:]]
    assert times[0] == "as of (CEST, CET)"
    assert [f"{time:%H:%M}" for time in times[1:]] == [
        *("00:30", "01:30", "02:30", "02:30")
    ]
    titles, *_ = book.get_sheet_by_name(LOOKS["sheets"]["events"]).to_python()
    assert "after" in titles
    with zipfile.ZipFile(tmp_path / "r.xlsx") as parts:
        drawn = parts.read("xl/charts/chart1.xml").decode()
        sheet = parts.read("xl/worksheets/sheet1.xml")
    assert b'fitToHeight="0"' in sheet
    assert f'<c:majorUnit val="{drawing.ticks.step}"/>' in drawn
    assert drawn.count("<c:ser>") == len(drawing.lines) == 3
    assert "scatterChart" in drawn


def test_times_are_those_of_the_reader_and_in_json_iso():
    """As people write them, with the zone; JSON has UTC, and nothing internal."""
    with Sandbox(animals=5) as box:
        box.store.snapshot()
        box.advance(days=1)
        report = box.store.status_report(since="1d", timezone="America/New_York")

    for text in (
        report.to_html(),
        report.to_markdown(),
        str(report),
        repr(report),
    ):
        assert "6 January 2026, 04:00 EST" in text
    document = json.loads(report.to_json())
    assert [document["as_of"], document["since"], document["counts"][0]["as_of"]] == [
        "2026-01-06T09:00:00+00:00",
        "2026-01-05T09:00:00+00:00",
        "2026-01-05T09:00:00+00:00",
    ]
    assert not {"digest", "doubles", "pages"} & set(document["listing"])


def test_without_a_zone_all_times_are_those_of_the_machine(tmp_path):
    """
    Headline, picture, and days of single animals: noon in London is the next day in
    Auckland.
    """
    with machine_zone("Pacific/Auckland"):
        noon = datetime(2026, 1, 5, 12, tzinfo=UTC).timestamp()
        page = report_on(
            tmp_path,
            status_frame({1: None}, noon),
            status_frame({1: "pending"}, noon + DAY_S),
            status_frame({1: "pending", 2: "sold"}, noon + 9e5),
            since="2026-01-06",
            zone=None,
        ).to_html()

    assert "From 6 January 2026, 01:00 NZDT to 16 January 2026, 11:00 NZDT" in page
    assert ">6 January 2026</text>" in page
    assert (
        "6 January 2026, 01:00 NZDT to 16 January 2026" in page.split("aria-label")[1]
    )
    assert "<bdi>7 January 2026</bdi>" in page  # pending since
    assert "5 January 2026" not in page


def test_a_workbook_has_the_hours_of_the_page(tmp_path):
    """Also of a zone in which winter is the exception, as in Ireland."""
    with machine_zone("Europe/Dublin"):
        summer = datetime(2026, 7, 6, 9, tzinfo=UTC).timestamp()
        report = report_on(
            tmp_path,
            status_frame({1: None}, summer),
            status_frame({1: "sold"}, summer + DAY_S),
            since="2026-07-06",
            zone=None,
        )
        report.to_excel(tmp_path / "r.xlsx")
        headline = report.headline

    book = python_calamine.CalamineWorkbook.from_path(tmp_path / "r.xlsx")
    method = book.get_sheet_by_name("How this was made").to_python()
    assert headline.endswith("10:00 IST")
    assert [row[0] for row in method[-3:]] == [
        "as of (IST)",
        *(datetime(2026, 7, day, 10) for day in (6, 7)),
    ]


def test_the_order_is_that_of_importance():
    """What happened, by status, by category, then single animals, then how."""
    with Sandbox(animals=20) as box:
        for pet_id, status in enumerate(("sold", "pending", "sold"), 3):
            box.store.snapshot()
            box.advance(days=1)
            box.change(2, status=status)
            box.remove(pet_id)
        box.add([("Newcomer", 1, "available")])
        report = box.store.status_report(since="9d")

    titles = [title for name, title in TITLES.items() if name != "unseen"]
    titles[0] = "From 5 January 2026"
    page = report.to_html()
    text = re.findall("^## ([^,\n]+)", report.to_markdown(), re.M)
    assert re.findall("<h2>([^,<]+)", page) == text == [*titles, "How this was made"]
    assert not re.search("By category|Pending", str(report))
    sections = re.findall("^(.+):$", str(report), re.M)
    assert sections[1:] == [
        "By status",
        "From status to status",
        "Days in a status (last 30 days)",
    ]
    front, end = page.split("How this was made")
    assert "request" not in front
    assert " with 1 request." in end
    assert front.index("<svg") < front.index("By status")
    assert front.count("<caption") == front.count("<table")
    assert ": no snapshot is about 9d old" in page.split("Note")[1]


def test_lines_have_round_ticks_labels_apart_and_a_dot_a_listing(tmp_path):
    """
    Nine listings in an hour, the tenth a month later; said in words, too. A notebook
    shows an image, since one that is not trusted shows no SVG.
    """
    times = [n * 400.0 for n in range(1, 10)] + [30 * DAY_S]
    counts = [{"available": 90 + n, "sold": 91, "lost": 92, "": 1} for n in range(10)]
    report = report_of(tmp_path, times, counts)
    drawing = Presentation(report).chart

    assert [*drawing.ticks] == [0, 20, 40, 60, 80, 100]
    assert drawing.title == "Animals by status in 10 listings"
    assert drawing.since == 0
    labels = [label for *_, label in drawing.lines]
    assert min(b - a for a, b in pairwise(labels)) >= 22
    page = report.to_html()
    image = re.findall('src="data:image/svg.xml,([^"]*)', report._repr_html_())
    drawn = "".join(ElementTree.fromstring(unquote(*image)).itertext())
    assert "available\u2069 99" in drawn
    assert page.count("h0") == 10 * len(drawing.lines)
    assert "available from 90 to 99" in page.split("aria-label")[1]
    assert ">&#x2068;available&#x2069; 99</text>" in page
    assert f'">{drawing.title}, shaded since 1 January 1970</text>' in page


@pytest.mark.parametrize("high", [1, 7, 940, 4_700])
def test_an_axis_begins_at_0_and_ends_near_the_highest_line(high, tmp_path):
    """The compared time is shaded from the older listing on."""
    times = [DAY_S * n for n in (1, 3, 5)]
    counts = [{"available": count} for count in (1, high, high)]
    report = report_of(tmp_path, times, counts, since="2d")
    drawing = Presentation(report).chart

    assert drawing.ticks[0] == 0
    assert high <= drawing.ticks[-1] <= 1.4 * high
    assert drawing.since == 250
    assert '<path class="shade" d="M250 0H500V180H250z"/>' in report.to_html()


def test_each_of_eight_statuses_has_a_colour_of_its_own(tmp_path):
    """Whatever their words are; the total of a table has no bar."""
    words = "available pending frei belegt verkauft reserviert krank متاح".split()
    report = report_of(tmp_path, [1.0, 2.0], [dict.fromkeys(words, 2)] * 2)

    assert len(set(Presentation(report).colours.values())) == len(words)
    page = report.to_html()
    assert page.count("linear-gradient") == len(words)
    for status, colour in Presentation(report).colours.items():
        key = f'style="background:{colour}"></span><bdi>{status}</bdi>'
        assert key in page
        assert f'<g stroke="{colour}">' in page


def test_colours_of_the_graphic_stand_out_from_both_papers():
    """At least 3:1 by day and by night."""

    def light(code):
        parts = [int(code[start : start + 2], 16) / 255 for start in (1, 3, 5)]
        linear = [
            p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05

    for code in [*LOOKS["colours"].values(), *LOOKS["other_colours"]]:
        for paper in ("#ffffff", "#161b22"):
            dark, bright = sorted((light(code), light(paper)))
            assert bright / dark >= 3
