"""
The same numbers in frames, page, workbook, Markdown, JSON and mail: each table, read
from the file.
"""

from __future__ import annotations

import email
import email.policy
import json
import random
import re
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from html import unescape
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import python_calamine
from inventories import listing_frame

from petstore_tools import spec
from petstore_tools.history import History
from petstore_tools.reporting.facts import TITLES
from petstore_tools.reporting.presentation import SHARES, TOP, WITH_TOTAL, WORDS
from petstore_tools.reporting.report import StatusReport, check_looks, report_and_keep

Row = frozenset[tuple[str, str]]
Tables = dict[str, list[list[Any]]]
HOSTILE = [
    "Rex",
    "=1+1",
    "<b>x</b>",
    "a|b",
    "~~x~~",
    "- x",
    "1,000",
    "NA",
    "007",
    "Zoë\nx",
    "_*`",
]
NAMES = {title: name for name, title in WORDS.items()} | dict.fromkeys(
    SHARES.values(), "share"
)
TEXTS = "name category categoryId label from to status what id".split()
T0 = 1_767_603_600.4
DAY = 86_400.0


def inventory(
    rng: random.Random, rows: int, categories: int, statuses: list[str | None]
) -> Any:
    """Return three listings of an inventory that changes, each a day later."""
    animals = {
        n: (rng.choice(HOSTILE), rng.randrange(1, categories + 1), rng.choice(statuses))
        for n in range(1, rows + 1)
    }
    for day in range(3):
        rows = [(n, *values) for n, values in animals.items()]
        yield listing_frame(rows, T0 + day * DAY)
        for n in rng.sample(sorted(animals), min(len(animals), 12)):
            animals[n] = (*animals[n][:2], rng.choice(statuses))
        if animals:
            del animals[rng.choice(sorted(animals))]
        animals[10**9 + day] = ("Newcomer", 1, "sold")


def cell(column: str, value: Any) -> str:
    """Return a cell as text that is the same in all formats."""
    text = "-" if value is None or value != value else str(value)  # an unknown share
    if text == "-" and column == "share":
        return text
    if column in TEXTS:
        return str(int(value)) if isinstance(value, float) else " ".join(text.split())
    if column == "as_of":
        return text[:19].replace("T", " ")
    number = float(text.replace(",", "").removesuffix("%"))
    if column == "share" and not text.endswith("%"):
        number *= 100
    return f"{number + 1e-7:.1f}"


def rows_of(header: list[str], lines: list[list[Any]]) -> Counter[Row]:
    """Return the rows of a table, whatever the order of its columns."""
    titles = [title.removesuffix(" (UTC)") for title in map(str, header)]
    columns = [NAMES.get(title, title) for title in titles]
    rows: Counter[Row] = Counter()
    for line in lines:
        pairs = zip(columns, line, strict=True)
        rows[frozenset((column, cell(column, value)) for column, value in pairs)] += 1
    return rows


def expected(
    table: pd.DataFrame, name: str, categories: Mapping[int, str]
) -> tuple[Counter[Row], Counter[Row]]:
    """
    Return the rows of a frame of the report with the names of categories, and its sums.
    """
    table = table if isinstance(table.index, pd.RangeIndex) else table.reset_index()
    if "categoryId" in table:
        names = [categories.get(number, str(number)) for number in table["categoryId"]]
        table = table.drop(columns=["categoryId", "label"], errors="ignore").assign(
            category=names
        )
    first = "category" if "category" in table else table.columns[0]
    sums = [table[c].sum() if table[c].dtype.kind in "if" else "total" for c in table]
    assert first in table
    total = rows_of(list(table), [sums] if name in WITH_TOTAL else [])
    return rows_of(list(table), table.values.tolist()), total


def page(content: str) -> Tables:
    """Return the tables of a page or a mail, by the heading above each."""
    tables = Tables()
    for part in re.split("<h2[^>]*>", content)[1:]:
        heading, _, below = part.partition("</h2>")
        rows = re.findall("<tr.*?</tr>", below, re.DOTALL)
        tables[heading] = []
        for row in rows:
            cells = re.findall("<t[hd][ >].*?</t[hd]>", row, re.DOTALL)
            texts = [unescape(re.sub("<[^>]*>", "", cell)) for cell in cells]
            tables[heading].append(texts)
    return tables


def markdown(text: str) -> Tables:
    """Return the tables of Markdown, by the heading above each."""
    tables = Tables()
    heading = ""
    for line in text.splitlines():
        if line.startswith("## "):
            heading = line[3:]
        elif line.startswith("|") and not line.startswith("|:-"):
            plain = unescape(line.replace("\\|", "\0").replace("\\", ""))
            cells = [text.strip().replace("\0", "|") for text in plain.split("|")[1:-1]]
            tables.setdefault(heading, []).append(cells)
    return tables


def workbook(content: bytes) -> Tables:
    """Return the tables of a workbook, each below its title."""
    book = python_calamine.CalamineWorkbook.from_filelike(BytesIO(content))
    tables = Tables()
    for name in book.sheet_names:
        lines: list[list[Any]] = book.get_sheet_by_name(name).to_python(
            skip_empty_area=False
        )
        top = next(n for n, line in enumerate(lines) if line[0] == name) + 1
        end = next(
            (n for n in range(top, len(lines)) if not any(map(str, lines[n]))),
            len(lines),
        )
        width = max(n for n, title in enumerate(lines[top]) if title != "") + 1
        tables[name] = [line[:width] for line in lines[top:end]]
    return tables


def tables_by_format(report: StatusReport) -> dict[str, Tables]:
    """Return the tables of each format."""
    mail: Any = email.message_from_bytes(report.to_mail(), policy=email.policy.default)
    attached, book = mail.iter_attachments()
    assert attached.get_content() == report.to_html()
    return {
        "page": page(report.to_html()),
        "workbook": workbook(book.get_content()),
        "markdown": markdown(report.to_markdown()),
        "mail": page(mail.get_body(("html",)).get_content()),
    }


def check_counts(
    tables: dict[str, pd.DataFrame], before: pd.DataFrame, now: pd.DataFrame
) -> None:
    """
    Count the animals of two listings again, one by one; all shares are one animal's, or
    none.
    """
    assert tables["breakdown"]["share"].sum() == pytest.approx(min(len(now), 1))
    for name, column, side, frame in (
        ("breakdown", "status", "count", now),
        ("by_category", "categoryId", "total", now),
        ("changes_by_category", "categoryId", "before", before),
        ("changes_by_category", "categoryId", "now", now),
    ):
        values = frame[column].astype("object").where(frame[column].notna(), "unset")
        counts = Counter(tables[name].set_index(column)[side].to_dict())
        assert +counts == Counter(values)
    table = tables["changes_by_category"]
    assert table["change"].equals(table["now"] - table["before"])


def check(rng: random.Random, folder: Path, rows: int, categories: int) -> None:
    """Compare each table of each format with the frame of the report."""
    statuses = [*spec.STATUSES, None, *rng.choice([[], ["lost", "found"]])]
    names = {
        n: f"{rng.choice(HOSTILE)} {n}" for n in range(1, rng.choice([1, categories]))
    }
    history = History(folder / "history.db")
    since = None
    frames = list(inventory(rng, rows, categories, statuses))
    for frame in frames:
        looks = check_looks(names, "Title", "", "UTC", lists=True)
        report = report_and_keep(frame, history, since, looks, partial=False)
        now = report.listing.ended_at
        since = history.since(
            datetime.fromtimestamp(T0).astimezone(), status=None, now=now
        )
    document = json.loads(report.to_json())
    formats = tables_by_format(report)

    check_counts(report.tables(), frames[0], frames[-1])
    for name, table in report.tables().items():
        expected_rows, total = expected(getattr(report, name), name, names)
        in_json = rows_of(list(table), [[*row.values()] for row in document[name]])
        assert in_json == rows_of(list(table), table.values.tolist())
        assert in_json.total() == expected_rows.total()
        for kind, tables in formats.items():
            drawn = name == "counts" or (name == "summary" and kind == "page")
            if (drawn and kind != "workbook") or not len(table):
                continue
            titles = [title for title in tables if title.split(",")[0] == TITLES[name]]
            table_lines = tables[titles[0]]
            written_rows = rows_of(table_lines[0], table_lines[1:])
            assert not written_rows - expected_rows - total, (kind, name)
            cut = kind != "workbook" and len(table) > TOP
            assert sum(written_rows.values()) == sum(total.values()) + (
                TOP if cut else len(table)
            )


SEEDS = [
    *range(8),
    *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(100, 142)),
]


@pytest.mark.case("P53")
@pytest.mark.parametrize("seed", SEEDS)
def test_every_table_has_the_same_numbers_in_every_format(
    seed: int, tmp_path: Path
) -> None:
    """
    Hostile names, statuses the document does not name, no category or 500, no animal or
    one; of the long ones, one of 100,000 animals.
    """
    rng = random.Random(seed)
    rows, categories = [(0, 1), (1, 1), (60, 4), (700, 500)][seed % 4]

    check(rng, tmp_path, 100_000 if seed == 100 else rows, categories)
