"""
Reports that arrive: as a mail, in the reader's time zone.
"""

from __future__ import annotations

import email
import email.policy
import re
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path

import pytest
import python_calamine
from commands import run

from petstore_tools import PetStore, Sandbox, status_report
from petstore_tools.errors import ArgumentError
from petstore_tools.reporting.report import StatusReport
from petstore_tools.sandbox import samples


@pytest.fixture(scope="module")
def report() -> Iterator[StatusReport]:
    """A week of an inventory, compared with its begin."""
    with Sandbox(animals=60) as box:
        for day in range(7):
            box.store.snapshot()
            box.advance(days=1)
            box.change(2 + day, status="sold")
        box.remove(1)
        box.add([("<b>Newcomer</b>", 99, None)])
        yield box.store.status_report(
            since="7d",
            categories=samples.CATEGORIES,
            title="Animals & more",
            note="For Monday.",
            timezone="UTC",
        )


def parsed(content: bytes) -> EmailMessage:
    message = email.message_from_bytes(content, policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    return message


def test_a_mail_has_the_headers_that_sendmail_and_mail_programs_need(report: StatusReport) -> None:
    """A draft for Outlook; an address with a name that is no ASCII."""
    mail = parsed(report.to_mail(to=["Zoë Ünal <zoe@example.org>", "bob@example.org"]))

    assert [str(address) for address in mail["To"].addresses] == [
        "Zoë Ünal <zoe@example.org>",
        "bob@example.org",
    ]
    assert mail["Subject"] == "Animals & more, 2026-01-12"
    assert mail["X-Unsent"] == "1"
    assert all(mail[name] for name in ("From", "Date", "Message-ID"))


def test_a_domain_of_other_letters_is_written_as_dns_spells_it(report: StatusReport) -> None:
    """
    One address may be given as it is; the mail has the title of the report, whatever its subject
    is.
    """
    mail = parsed(report.to_mail(to="Ann <ann@müller.example>", subject="Monday"))

    assert str(mail["To"]) == "Ann <ann@xn--mller-kva.example>"
    body = mail.get_body(("html",))
    assert body is not None
    assert (mail["Subject"], "Animals &amp; more" in body.get_content()) == ("Monday", True)


@pytest.mark.parametrize(
    ("name", "sender"),
    [("Ann Müller", "Ann-M-ller"), ("OFFICE\\ann", "OFFICE-ann"), (None, "petstore-tools")],
)
def test_a_mail_has_a_sender_whatever_the_account_is_called(
    report: StatusReport, monkeypatch: pytest.MonkeyPatch, name: str | None, sender: str
) -> None:
    """A name that is no address, and an account of a container that has none."""

    def nobody() -> str:
        raise KeyError("getpwuid(): uid not found")

    monkeypatch.setattr("getpass.getuser", nobody if name is None else lambda: name)

    assert parsed(report.to_mail())["From"].addresses[0].username == sender


def test_a_mail_has_text_tables_page_and_workbook(report: StatusReport) -> None:
    """
    Its tables need no style sheet; how it was made stands at its end; nothing from outside is
    markup.
    """
    mail = parsed(report.to_mail())
    text, html = mail.get_body(("plain",)), mail.get_body(("html",))
    assert text is not None
    assert html is not None
    page, book = mail.iter_attachments()

    for status, count in report.breakdown["count"].items():
        assert re.search(rf"^{status} +{count:,} ", text.get_content(), re.M)
    assert (page.get_filename(), book.get_filename()) == ("report.html", "report.xlsx")
    assert page.get_content() == report.to_html()
    assert "<style" not in html.get_content()
    assert "<b>Newcomer" not in html.get_content()
    for body in (text, html):
        assert (
            "only the times of those two listings are known" in body.get_content().split("spent")[1]
        )


@pytest.mark.parametrize(
    "given",
    [
        {"to": ["ann@example.org\nBcc: eve@example.org"]},
        {"to": ["ann"]},
        {"to": [""]},
        {"to": "ann@example.org, bob@example.org"},
        {"to": ["ann@example.org; bob@example.org"]},
        {"to": ["ännchen@example.org"]},
        {"to": ["ann@.."]},
        {"subject": "Hello\r\nBcc: eve@example.org"},
    ],
)
def test_what_would_add_a_header_to_a_mail_is_refused(
    report: StatusReport, given: dict[str, object]
) -> None:
    """
    Line breaks in a subject or an address, what is no address, and two in one: neither is dropped.
    """
    with pytest.raises(ArgumentError):
        report.to_mail(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given", [{"title": "a\nb"}, {"note": "a\rb"}, {"timezone": "Mars/Olympus"}]
)
def test_a_title_of_two_lines_and_an_unknown_time_zone_are_refused(given: dict[str, str]) -> None:
    """With what to write."""
    with Sandbox(animals=3) as box:
        pets = box.store.list_pets()
    with pytest.raises(ArgumentError, match="one line|time zone"):
        status_report(pets, **given)  # type: ignore[arg-type]


def test_times_are_in_the_zone_of_the_reader_in_every_format(tmp_path: Path) -> None:
    """Which is named; the workbook's times are those of the same clock."""
    with Sandbox(animals=5) as box:
        box.store.snapshot()
        box.advance(days=1)
        report = box.store.status_report(since="1d", timezone="America/New_York")
    report.to_excel(tmp_path / "report.xlsx")
    book = python_calamine.CalamineWorkbook.from_path(tmp_path / "report.xlsx")
    over_time = book.get_sheet_by_name("Over time").to_python()

    for text in (report.to_html(), report.to_markdown(), report.to_text(), repr(report)):
        assert "2026-01-06 04:00:00 EST" in text
    assert over_time[0][0] == "as of (EST)"
    assert [str(row[0]) for row in over_time[1:]] == ["2026-01-05 04:00:00", "2026-01-06 04:00:00"]
    assert '"as_of": "2026-01-06 09:00:00 UTC"' in report.to_json()


def test_a_report_on_one_status_has_no_rows_of_zeros() -> None:
    """Nor columns."""
    with Sandbox(animals=60) as box:
        text = box.store.status_report(status="sold").to_markdown()

    assert re.findall(r"^\| (available|pending|unset) \|", text, re.M) == []
    assert "| categoryId" not in text
    assert "available" not in text.split("## By category")[1]


def test_a_report_on_one_status_does_not_say_that_nothing_was_sold() -> None:
    """
    An animal that became sold is not in the older listing of what is sold: it may be a new one as
    well.
    """
    with Sandbox(animals=60) as box:
        box.store.snapshot()
        box.advance(days=1)
        box.change(2, status="sold")
        report = box.store.status_report(status="sold", since="1d")

    assert report.summary is not None
    assert report.summary.set_index("what")["animals"].iloc[1:3].to_dict() == {
        "became sold or new": 1,
        "no longer sold or gone": 0,
    }
    assert "may have had another status before" in report.to_html()


def test_the_face_has_no_word_of_paging_or_requests(report: StatusReport) -> None:
    """They stand at the end."""
    front, end = report.to_html().split("How this was made")

    assert "request" not in front
    assert "page follows" not in front
    assert "spent" in end
    assert "Dogs" in front


@pytest.fixture
def box() -> Iterator[Sandbox]:
    """A service with one kept listing of the command line's store."""
    with (
        Sandbox(plan="pro", animals=30, clock="system") as sandbox,
        PetStore(base_url=sandbox.base_url, api_key=sandbox.api_key, progress=False) as store,
    ):
        store.snapshot()
        sandbox.change(2, status="sold")
        yield sandbox


def test_to_without_a_mail_costs_no_request(box: Sandbox) -> None:
    """It is refused before the listing."""
    asked = len(box.traffic())

    assert run("report", "--to", "ann@example.org", box=box).returncode == 2
    assert len(box.traffic()) == asked


def test_the_command_line_writes_a_mail(box: Sandbox, tmp_path: Path) -> None:
    """To several people."""
    path = tmp_path / "report.eml"
    to = ("--to", "ann@example.org", "--to", "bob@example.org")

    done = run("report", "-o", str(path), *to, "--subject", "Hello", "--title", "Animals", box=box)

    assert done.returncode == 0, done.stderr
    mail = parsed(path.read_bytes())
    assert (mail["To"], mail["Subject"]) == ("ann@example.org, bob@example.org", "Hello")
