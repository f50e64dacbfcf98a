"""A report as a ready mail: tables in the body, the page and the workbook attached."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formataddr, getaddresses, localtime

from petstore_tools.errors import ArgumentError
from petstore_tools.reporting.excel import workbook
from petstore_tools.reporting.facts import Facts
from petstore_tools.reporting.presentation import Presentation

# control characters, halves of a character, line ends
_BREAKS = {"Cc", "Cs", "Zl", "Zp"}


def mail(report: Facts, to: Sequence[str], subject: str) -> bytes:
    """
    Return a mail that `sendmail -t` sends, and that a mail program opens as a draft;
    both add the sender.

    Args:
        report: Its tables stand in the body; its page and its workbook are attached.
        to: Addresses, such as `Ann <ann@example.org>`.
        subject: One line.

    Raises:
        ArgumentError: An address or the subject cannot stand in a mail.
    """
    message = EmailMessage(policy=SMTP)
    if to:
        message["To"] = ", ".join(map(address, to))
    message["Subject"] = one_line(subject, "the subject")
    message["Date"] = localtime()
    message["X-Unsent"] = "1"  # Outlook opens it as a draft
    presentation = Presentation(report)
    message.set_content(f"{presentation.fill('report.txt')}\n\n{presentation.made}")
    message.add_alternative(presentation.fill("mail.html"), subtype="html")
    message.add_attachment(
        presentation.fill("report.html").encode(),
        maintype="text",
        subtype="html",
        filename="report.html",
        params={"charset": "utf-8"},
    )
    message.add_attachment(
        workbook(report),
        maintype="application",
        subtype="vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        filename="report.xlsx",
    )
    return message.as_bytes()


def one_line(text: str, name: str) -> str:
    """
    Return a text that has no line break, which would add a header to a mail.

    Raises:
        ArgumentError: It has one, or another control character.
    """
    if not isinstance(text, str) or _BREAKS & set(map(unicodedata.category, text)):
        raise ArgumentError(
            f"{name} {text!r} must be one line without control characters"
        )
    return text


def address(text: str) -> str:
    """
    Write one address as a mail holds it; a domain of other letters as DNS spells it.

    Raises:
        ArgumentError: It is none, or more than one.
    """
    line = one_line(text, "the address")
    try:
        ((name, mailbox),) = getaddresses([line])
        user, domain = mailbox.split("@")
        if not (user.isascii() and user and domain) or " " in mailbox:
            raise ValueError(mailbox)
        return formataddr((name, f"{user}@{domain.encode('idna').decode('ascii')}"))
    except ValueError as error:
        raise ArgumentError(
            f"{text!r} is not one mail address such as ann@example.org; give each"
            " address by itself (--to A --to B)"
        ) from error
