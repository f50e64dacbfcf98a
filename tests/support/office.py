"""What a workbook holds beside its cells."""

import html
import io
import re
import zipfile


def workbook_part(content, name):
    """Return a part of a workbook as text."""
    with zipfile.ZipFile(
        io.BytesIO(content) if isinstance(content, bytes) else content
    ) as book:
        return book.read(name).decode()


def list_rules(content):
    """Return kind and list of each rule on the first sheet, by the cells' column."""
    xml = html.unescape(workbook_part(content, "xl/worksheets/sheet1.xml"))
    rule = (
        r'<dataValidation type="list" [^>]*sqref="(.)[^>]*><formula1>(.*?)</formula1>'
    )
    rules = re.findall(rule, xml)
    return {column: "list " + items.replace('"', "") for column, items in rules}
