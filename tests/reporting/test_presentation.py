"""How a report is drawn: rounded, in its order, in the time of its reader, as text."""

import json
import re
import shlex
import shutil
import subprocess
import zipfile
from datetime import UTC, datetime, timedelta
from html import unescape
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
from petstore_tools.errors import ArgumentError
from petstore_tools.reporting.presentation import (
    LOOKS,
    PICTURES,
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

    assert not re.search(r"\|<b>|<script|<img\||~ <i>", output)
    assert "\n\\- \\~a\\~ &lt;i&gt; \N{EN DASH} 2026. x: " in report.to_markdown()
    assert report.to_markdown().startswith("# 2 animals: ")
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
    assert drawn.count("<c:ser>") == len(Presentation(report).charts) == 3
    assert "scatterChart" in drawn
    spans = re.findall(r'<c:max val="([\d.]+)"/><c:min val="([\d.]+)"/>', drawn)
    (end, begin), (top, bottom) = [[*map(float, span)] for span in spans]
    numbers = [(time - datetime(1899, 12, 30)) / timedelta(1) for time in times[1:]]
    assert (begin, end) == pytest.approx((min(numbers), max(numbers)))
    assert bottom == 0 < report.counts.to_numpy().max() <= top


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

    assert "16 January 2026, 11:00 NZDT, compared with 6 January<" in page
    assert ">6 Jan</text>" in page
    assert "0 on 6 Jan, 1 on 16 Jan" in page
    assert "<bdi>16 Jan</bdi>" in page  # seen by
    assert not re.search(r"\b5 Jan", page)


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
        provenance = report.provenance

    book = python_calamine.CalamineWorkbook.from_path(tmp_path / "r.xlsx")
    method = book.get_sheet_by_name("How this was made").to_python()
    assert provenance.endswith(", 10:00 IST, compared with 6 July, 10:00")
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

    sections = [section.name for section in Presentation(report).sections]
    assert sections == [name for name in TITLES if name != "unseen"]
    page = report.to_html()
    heading, *titles = re.findall("^#+ (.+)", report.to_markdown(), re.M)
    assert unescape(heading) == report.headline
    assert titles == [*(s.title for s in Presentation(report).sections), MADE]
    order = "breakdown flow counts by_category ageing pending"
    assert re.findall(r'<section id="(\w+)"', page) == order.split()
    folded = re.findall(r'<details id="(\w+)_table"', page)
    assert folded == ["breakdown", "transitions", "days", "sold"]
    places = [report.provenance, f">{report.headline}", 'class="tiles"', "<section"]
    assert sorted(places, key=page.index) == places
    assert page.count("<caption") == page.count("<table")
    assert not re.search("By category|Waiting longest", str(report))
    assert str(report).startswith(f"{report.headline}\n")
    front, end = page.split("<footer")
    assert "request" not in front
    assert " with 1 request." in end
    assert ": no snapshot is about 9d old" in page.split("Note")[1]


MADE = "How this was made"


def test_a_small_chart_begins_at_0_and_ends_where_its_status_is_now(tmp_path):
    """
    Nine listings in an hour, the tenth a month later; said in words, too. A notebook
    shows an image, since one that is not trusted shows no SVG.
    """
    times = [n * 400.0 for n in range(1, 10)] + [30 * DAY_S]
    counts = [{"available": 90 + n, "sold": 91, "lost": 92, "": 1} for n in range(10)]
    report = report_of(tmp_path, times, counts)
    charts = {chart.status: chart for chart in Presentation(report).charts}

    assert [*charts] == ["available", "sold", "blank ('')", "lost"]
    assert [*charts["available"].ticks] == [0, 50, 100]
    assert [*charts["blank ('')"].ticks] == [0, 1, 2]
    assert charts["available"].path == "M0 2L210 1"  # the last one of each unit
    assert charts["available"].end == (210, 1)
    assert charts["available"].since is None  # all of the time is compared
    page = report.to_html()
    assert "available: 90 on 1 Jan, 99 on 31 Jan" in page
    image, *_ = re.findall('src="data:image/svg.xml,([^"]*)', report._repr_html_())
    drawn = "".join(ElementTree.fromstring(unquote(image)).itertext())
    assert "available\u2069 99" in drawn


@pytest.mark.parametrize("high", [1, 7, 940, 4_700])
def test_an_axis_begins_at_0_and_ends_near_the_highest_count(high, tmp_path):
    """The compared time is shaded from the older listing on."""
    times = [DAY_S * n for n in (1, 3, 5)]
    counts = [{"available": count} for count in (1, high, high)]
    report = report_of(tmp_path, times, counts, since="2d")
    (chart,) = Presentation(report).charts

    assert chart.ticks[0] == 0
    assert high <= chart.ticks[-1] <= max(2, 1.4 * high)
    assert chart.since == 105
    assert '<path class="shade" d="M105 0H210V92H105z"/>' in report.to_html()


def test_each_of_ten_statuses_has_a_colour_of_its_own_in_every_format(tmp_path):
    """Whatever their words are, and blank ones, too."""
    words = "available pending frei belegt verkauft reserviert krank متاح".split()
    words += ["", " "]
    report = report_of(tmp_path, [1.0, 2.0], [dict.fromkeys(words, 2)] * 2)

    assert len(set(report.colours.values())) == len(report.colours) == len(words)
    page = unescape(report.to_html())
    mail = Presentation(report).fill("mail.html")
    for status, colour in report.colours.items():
        key = f'style="background:{colour}"></span><bdi>{status}</bdi>'
        assert key in page
        assert f'stroke="{colour}"' in page
        assert f'bgcolor="{colour}"' in mail
        assert colour in report.chart("status")


def test_the_flow_has_each_way_between_the_statuses_of_the_document(tmp_path):
    """Its arcs do not lie on each other. Other words have the table of ways."""
    before = dict(enumerate(["available", "pending", "sold", None] * 5))
    now = before | {0: "pending", 1: "sold", 4: "sold", 5: "available", 8: "pending"}
    now |= {99: "sold"}
    del now[2]
    report = report_on(
        tmp_path, *(status_frame(s, t) for s, t in ((before, 1), (now, 9)))
    )
    (_, wide), (_, tall) = Presentation(report).flows

    for flow in (wide, tall):
        assert sorted(edge.animals for edge in flow.edges) == [1, 1, 1, 1, 1, 2]
        left, top, width, height = flow.box
        for edge in flow.edges:
            x, y = edge.label
            assert left < x < left + width
            assert top < y < top + height
    assert "new to sold 1" in report.to_html()
    mixed = {1: "frei", 2: "available"}, {1: "sold", 2: "sold"}
    frames = [status_frame(day, 9.0 * n) for n, day in enumerate(mixed, 1)]
    words = report_on(tmp_path / "other", *frames)
    assert Presentation(words).flows == []
    assert "<bdi>frei</bdi></" in words.to_html().split('id="flow"')[1]


def test_a_picture_stands_alone_or_is_left_out(tmp_path):
    """Each is XML with a sentence for those who do not see it."""
    one = report_on(tmp_path / "one", status_frame({1: "sold", 2: None}))
    none = report_on(tmp_path / "none", status_frame({}))
    two = report_on(
        tmp_path,
        status_frame({1: "pending"}),
        status_frame({1: "sold", 2: "pending"}, 9.0),
    )

    assert [name for name in PICTURES if one.chart(name)] == ["status", "category"]
    assert [name for name in PICTURES if none.chart(name)] == []
    for name in PICTURES:
        drawing = ElementTree.fromstring(two.chart(name))
        assert drawing.attrib["aria-label"].strip()
    with pytest.raises(ArgumentError, match="name one of 'status', 'flow'"):
        one.chart("pie")


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


NOT_XML = "a\x01b\ufffec"
TWO_DAYS = [{1: NOT_XML, 2: "pending"}, {1: "sold", 2: NOT_XML, 3: "pending"}]


def test_every_part_of_a_workbook_is_well_formed(tmp_path):
    """Also if a status has characters that XML cannot hold, in cells and charts."""
    frames = [
        listing_frame([(n, "Rex", n, status) for n, status in day.items()], 9.0 * time)
        for time, day in enumerate(TWO_DAYS, 1)
    ]
    report = report_on(tmp_path, *frames)
    report.to_excel(tmp_path / "r.xlsx")

    with zipfile.ZipFile(tmp_path / "r.xlsx") as parts:
        names = [name for name in parts.namelist() if name.endswith((".xml", ".rels"))]
        assert len([name for name in names if "charts/chart" in name]) == 3
        for name in names:
            ElementTree.fromstring(parts.read(name))


@pytest.mark.skipif(shutil.which("soffice") is None, reason="no LibreOffice")
def test_a_workbook_is_printed_without_its_lists(tmp_path):
    """LibreOffice prints the report and how it was made, and none of 500 animals."""
    now = {n: "sold" if n % 2 else "pending" for n in range(500)}
    report = report_on(
        tmp_path, status_frame(dict.fromkeys(now)), status_frame(now, 9.0)
    )
    report.to_excel(tmp_path / "r.xlsx")
    command = f"soffice --headless -env:UserInstallation=file://{tmp_path}/office"
    command += f" --convert-to pdf --outdir {tmp_path} {tmp_path}/r.xlsx"
    subprocess.run(shlex.split(command), check=True, capture_output=True, timeout=120)

    pages = re.findall(rb"/Type\s*/Page\b(?!s)", (tmp_path / "r.pdf").read_bytes())
    assert 2 <= len(pages) <= 4
