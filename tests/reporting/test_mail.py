"""Reports as a ready mail."""

import email
import email.policy
import re

import pytest
from inventories import listing_frame
from tables import read_json

from petstore_tools import Sandbox, status_report
from petstore_tools.errors import ArgumentError


@pytest.fixture(scope="module")
def report():
    """Two days of an inventory, compared."""
    with Sandbox(animals=60) as box:
        box.store.snapshot()
        box.advance(days=1)
        box.change(2, status="sold")
        box.change(3, status="pending")
        box.add([("Newcomer", 99, None)])
        return box.store.status_report(
            since="1d",
            title="Animals & more",
            timezone="UTC",
            categories={99: "<i>Newcomers</i>"},
        )


def mail_of(report, **headers):
    """Return a mail as a mail program reads it, and its HTML."""
    content = report.to_mail(**headers)
    mail = email.message_from_bytes(content, policy=email.policy.default)
    return mail, mail.get_body(("html",)).get_content()


def test_a_mail_has_the_headers_of_a_draft(report):
    """
    A domain of other letters is written as DNS spells it; whoever sends it adds the
    sender.
    """
    mail, _ = mail_of(
        report, to=["Zoë Ünal <zoe@example.org>", "Ann <ann@müller.example>"]
    )
    other_mail, _ = mail_of(report, to="bob@example.org", subject="Monday")

    assert [str(address) for address in mail["To"].addresses] == [
        "Zoë Ünal <zoe@example.org>",
        "Ann <ann@xn--mller-kva.example>",
    ]
    assert mail["Subject"] == "Animals & more, 6 January 2026"
    assert mail["X-Unsent"] == "1"
    assert mail["Date"]
    assert other_mail["Subject"] == "Monday"


def test_a_mail_has_text_picture_tables_page_and_workbook(report):
    """
    Its body is tables and inline styles alone, and long names wrap; nothing from
    outside is markup. Single animals are in the files.
    """
    mail, html = mail_of(report)
    text = mail.get_body(("plain",)).get_content()
    page, book = mail.iter_attachments()

    for status, count in report.breakdown["count"].items():
        assert re.search(rf"^{status} +{count:,} ", text, re.M)
    assert (page.get_filename(), book.get_filename()) == ("report.html", "report.xlsx")
    tags = set(re.findall(r"<(\w+)", html))
    assert tags <= {*"table thead tbody tr th td h1 h2 p b br small".split()}
    assert not re.search("class=|max-width:(?!600px)", html)
    assert re.search("anywhere[^<]*>&lt;i&gt;Newcomers", html)
    assert not re.search("overflow-wrap:anywhere[^<]*>available", html)
    assert "single animals: became sold, pending." in html
    assert "Hugo" not in html
    assert "Hugo" in page.get_content()
    for content in (text, html):
        assert "A change happened between two" in content.split("It was read from")[1]
        assert content.index("became sold") < content.index("By status")
        assert content.index("became sold") < content.index("available")
        assert "From status to status" in content
    total = html.split('<tr style="font-weight:bold">')[1]
    assert ">total</td>" in total
    assert "#8a4b00" not in html


def test_the_picture_of_a_mail_is_bars_of_cells(report):
    """
    One now and a thin one before for each status, of a width that is its share of the
    largest; a status without animals has no bar.
    """
    _, content = mail_of(report)
    assert "Animals in each status now, and in grey 5 January 2026" in content

    widths = re.findall(r'<td width="([\d.]+)%" bgcolor="(#\w+)"', content)
    before, now = report.breakdown["before"], report.breakdown["count"]
    largest = max(before.max(), now.max())
    expected = []
    for status in report.breakdown.index:
        for side, grey in ((now, False), (before, True)):
            if side[status]:
                expected.append((round(100 * side[status] / largest, 1), grey))
    shown = [(float(width), colour == "#a6a6a6") for width, colour in widths]
    assert sorted(shown) == sorted(expected)


def test_a_mail_says_in_colour_that_a_listing_is_not_complete():
    """
    Above all tables, and in the subject; one that is too wide for a phone leaves
    statuses out.
    """
    rows = [(n, "Rex", 1, f"status {n}") for n in range(9)]
    report = status_report(listing_frame(rows).head(8), partial=True)
    mail, content = mail_of(report)

    assert mail["Subject"].endswith(", not complete")
    assert content.index("color:#8a4b00") < content.index("Not complete (cut)")
    header = re.findall("<th[^>]*>([^<]*)", content.split("By category")[1])[1:]
    assert header[:3] == ["category", "total", "status 0"]
    assert "The attached page has all 10 columns" in content


@pytest.mark.parametrize("options", read_json(__file__, "odd_mails.json"))
def test_what_would_add_a_header_to_a_mail_is_refused(report, options):
    """Line breaks in a subject or an address, what is no address, and two in one."""
    with pytest.raises(ArgumentError):
        report.to_mail(**options)
