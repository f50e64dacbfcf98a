"""What a workbook holds beside its cells."""

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
    xml = workbook_part(content, "xl/worksheets/sheet1.xml")
    elements = re.findall(r"<dataValidation ([^>]*)><formula1>(.*?)</formula1>", xml)
    attributes = [
        (dict(re.findall(r'(\w+)="([^"]*)"', text)), list_) for text, list_ in elements
    ]
    return {
        a["sqref"][0]: f"{a['type']} {list_}".replace("&quot;", "").replace('"', "")
        for a, list_ in attributes
        if a["type"] == "list"
    }
