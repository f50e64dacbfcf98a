"""Reports as a ready mail."""

import email
import email.policy
import re

import pytest
from inventories import listing_frame
from tables import read_json

from petstore_tools import Sandbox, status_report
from petstore_tools.errors import ArgumentError

TAGS = "html head meta title body table thead tbody tr th td h1 h2 p b br span"


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
    assert mail["Subject"] == f"Animals & more: {report.headline}"
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
    assert tags <= {*TAGS.split()}
    assert not re.search("class=|max-width:(?!600px)", html)
    assert re.search("anywhere[^<]*>&lt;i&gt;Newcomers", html)
    assert not re.search("overflow-wrap:anywhere[^<]*>available", html)
    assert "single animals: waiting longest, became or arrived as sold." in html
    assert "Hugo" not in html
    assert report.pending["name"][0] in page.get_content()
    for content in (text, html):
        assert "A change happened between two" in content.split("It was read from")[1]
        words = [report.headline, "became sold", "can be bought", "What happened"]
        assert sorted(words, key=content.index) == words
    total = html.split('<tr style="font-weight:bold">')[1]
    assert ">total</td>" in total
    assert "#8a4b00" not in html


def test_the_pictures_of_a_mail_are_bars_of_cells(report):
    """
    One for each status, whose width is its share of the largest; a status without
    animals has no bar. A bar for each category has a part for each status.
    """
    _, content = mail_of(report)
    bars = re.findall(r'<td width="([\d.]+)%" bgcolor="(#\w+)"', content)
    counts = report.breakdown["count"]
    largest = counts.max()

    expected = [
        (round(100 * count / largest, 1), report.colours[status])
        for status, count in counts.items()
        if count
    ]
    tiles = ("#f3f5f8", "#fff3e0")
    shown = [(float(width), colour) for width, colour in bars if colour not in tiles]
    assert shown[: len(expected)] == expected
    categories = report.by_category.drop(columns=["label", "total", "change"])
    pending = report.ageing[report.ageing["status"] == "pending"]["animals"]
    parts = (categories > 0).to_numpy().sum() + (pending > 0).sum()
    assert parts == len(shown[len(expected) :])


def test_the_letters_of_a_mail_have_few_sizes(report):
    """It has a doctype, and its text is 14 pixels high; headings and numbers more."""
    _, content = mail_of(report)

    assert content.startswith("<!doctype html>")
    sizes = set(re.findall(r"font-size:(\d+)px", content))
    assert sizes == {"1", "14", "16", "22", "24"}  # 1: the cell of a bar


def test_a_mail_says_in_colour_that_a_listing_is_not_complete():
    """Above all tables, and in the subject."""
    rows = [(n, "Rex", 1, f"status {n}") for n in range(9)]
    report = status_report(listing_frame(rows).head(8), partial=True)
    mail, content = mail_of(report)

    assert "Status report, not complete: 8 animals were listed" in mail["Subject"]
    assert report.caution in content
    assert content.index(report.caution) < content.index("Status report: cut")


@pytest.mark.parametrize("options", read_json(__file__, "odd_mails.json"))
def test_what_would_add_a_header_to_a_mail_is_refused(report, options):
    """Line breaks in a subject or an address, what is no address, and two in one."""
    with pytest.raises(ArgumentError):
        report.to_mail(**options)
