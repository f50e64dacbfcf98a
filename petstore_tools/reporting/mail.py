"""
A report as a ready mail: picture and first tables in the body, which need no style
sheet; the page and the workbook attached.
"""

from collections.abc import Sequence
from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import getaddresses, localtime

from petstore_tools.errors import ArgumentError
from petstore_tools.reporting.facts import one_line
from petstore_tools.reporting.presentation import Presentation
from petstore_tools.reporting.workbook import workbook


def mail(presentation: Presentation, to: Sequence[str], subject: str) -> bytes:
    """
    Return a mail that `sendmail -t` sends, and that a mail program opens as a draft;
    both add the sender.

    Args:
        presentation: Its picture and its first tables stand in the body; its page and
            its workbook are attached.
        to: Addresses, such as `Ann <ann@example.org>`.
        subject: One line.

    Raises:
        ArgumentError: An address or the subject cannot stand in a mail.
    """
    message = EmailMessage(policy=SMTP)
    if to:
        message["To"] = [*map(address, to)]
    message["Subject"] = one_line(subject, "the subject")
    message["Date"] = localtime()
    message["X-Unsent"] = "1"  # Outlook opens it as a draft
    message.set_content(f"{presentation.fill('report.txt')}\n\n{presentation.method}")
    message.add_alternative(presentation.fill("mail.html"), subtype="html")
    message.add_attachment(
        presentation.fill("report.html").encode(),
        maintype="text",
        subtype="html",
        filename="report.html",
        params={"charset": "utf-8"},
    )
    message.add_attachment(
        workbook(presentation),
        maintype="application",
        subtype="vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        filename="report.xlsx",
    )
    return message.as_bytes()


def address(text: str) -> Address:
    """
    Read one address; a domain of other letters is written as DNS spells it.

    Raises:
        ArgumentError: It is none, or more than one.
    """
    line = one_line(text, "the address")
    try:
        ((name, mailbox),) = getaddresses([line])
        if mailbox not in line:  # it leaves blanks out
            raise ValueError(mailbox)
        user, domain = mailbox.split("@")
        ascii_domain = domain.encode("idna").decode("ascii")
        return Address(name, addr_spec=f"{user}@{ascii_domain}")
    except (ValueError, MessageError) as error:
        raise ArgumentError(
            f"{text!r} is not one mail address such as ann@example.org; give each"
            " address by itself (--to A --to B)"
        ) from error
