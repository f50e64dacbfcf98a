"""A report as a ready mail: tables in the body, the page and the workbook attached."""

from __future__ import annotations

import getpass
import re
import socket
from collections.abc import Sequence
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, formataddr, getaddresses, localtime, make_msgid

from petstore_tools.errors import ArgumentError

_XLSX = "vnd.openxmlformats-officedocument.spreadsheetml.sheet"


def mail(
    *, to: Sequence[str], subject: str, text: str, html: str, page: str, workbook: bytes
) -> bytes:
    """
    Return a mail that `sendmail -t` sends, and that a mail program opens as a draft.

    Args:
        to: Addresses, such as `Ann <ann@example.org>`.
        subject: One line.
        text: The body for readers without HTML.
        html: The body.
        page: The report as HTML, which is attached.
        workbook: The report as a workbook, which is attached.

    Raises:
        ArgumentError: An address or the subject cannot stand in a mail.
    """
    message = EmailMessage(policy=SMTP)
    host = socket.gethostname() or "localhost"
    message["From"] = f"{_user()}@{host}"
    if to:
        message["To"] = ", ".join(map(_address, to))
    message["Subject"] = one_line(subject, "the subject")
    message["Date"] = format_datetime(localtime())
    message["Message-ID"] = make_msgid(domain=host)
    message["X-Unsent"] = "1"  # Outlook opens it as a draft
    message.set_content(text)
    message.add_alternative(html, subtype="html")
    params = {"charset": "utf-8"}
    message.add_attachment(
        page.encode(), maintype="text", subtype="html", filename="report.html", params=params
    )
    message.add_attachment(workbook, maintype="application", subtype=_XLSX, filename="report.xlsx")
    return message.as_bytes()


def _user() -> str:
    """
    Return the name of the user as an address may hold it; an account without a name has one, too.
    """
    try:
        return re.sub(r"[^A-Za-z0-9._-]+", "-", getpass.getuser())
    except (KeyError, OSError):
        return "petstore-tools"


def one_line(text: str, what: str) -> str:
    """
    Return a text that has no line break, which would add a header to a mail.

    Raises:
        ArgumentError: It has one.
    """
    if not text.isprintable():
        raise ArgumentError(f"{what} {text!r} must be one line without control characters")
    return text


def _address(given: str) -> str:
    """Write one address as a mail holds it; a domain of other letters as DNS spells it."""
    found = getaddresses([one_line(given, "the address")]) or [("", "")]
    name, address = found[0]
    user, _, domain = address.rpartition("@")
    if len(found) != 1 or not user or not domain or " " in address or not user.isascii():
        several = "; give each address by itself (--to A --to B)" if "@" in given else ""
        raise ArgumentError(f"{given!r} is not one mail address such as ann@example.org{several}")
    try:
        return formataddr((name, f"{user}@{domain.encode('idna').decode()}"))
    except UnicodeError as error:
        raise ArgumentError(f"the address {given!r} has no valid domain") from error
