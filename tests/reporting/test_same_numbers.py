"""
The same numbers in frames, page, workbook, Markdown, JSON and mail: each table, read
from the file.
"""

import email
import email.policy
import json
import random
import re
from collections import Counter
from datetime import datetime
from html import unescape
from io import BytesIO
from itertools import takewhile
from typing import Any

import mistune
import pandas as pd
import pytest
import python_calamine
from inventories import listing_frame
from tables import read_json

from petstore_tools import spec
from petstore_tools.history.database import HistoryDatabase
from petstore_tools.history.reading import History
from petstore_tools.reporting.facts import read_looks
from petstore_tools.reporting.presentation import (
    LONGEST,
    TITLES,
    TOP,
    WITH_TOTAL,
    Presentation,
)
from petstore_tools.reporting.report import report_and_keep

Row = tuple[str, ...]
Tables = dict[str, list[list[Any]]]
HOSTILE, STATUSES = read_json(__file__, "hostile.json")
BOUNDS = ["median_is_longer", "days_90_is_longer", "longest_is_longer"]
TEXTS = [*"event label what status category id name from to time".split(), *BOUNDS]
TIMES = ["after", "by", "since", "as_of"]
read_markdown = mistune.create_markdown(
    escape=False, plugins=["table", "strikethrough"]
)
T0 = 1_767_603_600.4
DAY = 86_400.0


def inventory(rng, rows, categories, statuses):
    """Return three listings of an inventory that changes, each a day later."""
    animals = {
        n: (rng.choice(HOSTILE), rng.randrange(1, categories + 1), rng.choice(statuses))
        for n in range(1, rows + 1)
    }
    for day in range(3):
        rows = [(n, *values) for n, values in animals.items()]
        yield listing_frame(rows, T0 + day * DAY)
        for n in rng.sample(sorted(animals), min(len(animals), 40)):
            animals[n] = (*animals[n][:2], rng.choice(statuses))
        if animals:
            del animals[rng.choice(sorted(animals))]
        animals[10**9 + day] = ("Newcomer", 1, "sold")


def cell(column, value):
    """Return a cell as text that is the same in all formats."""
    if pd.isna(value) or value == "-":
        return "-"
    if column in TEXTS:
        text = str(int(value)) if isinstance(value, float) else str(value)
        return " ".join(text.split())
    text = str(value).replace(",", "").replace("\N{MINUS SIGN}", "-").removeprefix("≥ ")
    factor = 100 if column == "share" and "%" not in text else 1
    return f"{float(text.removesuffix('%')) * factor + 1e-7:.1f}"


def rows_of(columns, lines):
    """Return the rows of a table, without times."""
    return Counter(
        tuple(
            cell(column, value)
            for column, value in zip(columns, line, strict=True)
            if column not in TIMES
        )
        for line in lines
    )


def frames_of(report, names):
    """Return the tables that people should read, made of the frames of a report."""
    events = report.events
    if report.days is not None:
        order = [s for s in report.breakdown.index if s in report.days.index]
        assert [*report.days.index[: len(order)]] == order
    frames = {
        "summary": report.summary,
        "breakdown": report.breakdown.reset_index(),
        "transitions": report.transitions,
        "by_category": report.by_category.reset_index(),
        "days": report.days.reset_index() if report.days is not None else None,
        "sold": events[events["to"] == "sold"]
        .drop(columns=["event", "to", "after"])
        .fillna({"from": "new"}),
        "pending": report.pending.drop(columns="since"),
        "Sold, new and gone": events[events["event"] != "changed status"],
        "Pending": report.pending,
    }
    arrived = report.summary.set_index("what")["animals"]["arrived as sold"]
    if not arrived:
        summary = report.summary
        frames["summary"] = summary[summary["what"] != "arrived as sold"]
    used = report.counts.columns[report.counts.any()]
    unused = [*set(report.breakdown.index) - set(used)]
    for name, frame in frames.items():
        if frame is not None and name in TITLES:
            # what no animal has, and what nobody knows, is no row and no column
            frame = frame.dropna(axis="columns", how="all")
            frame = frame.drop(columns=[*unused, *BOUNDS], errors="ignore")
            if name == "breakdown":
                frame = frame[~frame["status"].isin(unused)]
            frames[name] = frame
        if frame is not None and "categoryId" in frame:
            labels = [names.get(n, str(n)) for n in frame["categoryId"]]
            frame = frame.assign(categoryId=labels).drop(
                columns="label", errors="ignore"
            )
            frames[name] = frame.rename(columns={"categoryId": "category"})
    return {name: frame for name, frame in frames.items() if frame is not None}


def page(content):
    """Return the tables of a page or a mail, by the heading above each."""
    tables = Tables()
    pattern = "<(?:h2|summary)[^>]*>(.*?)</(?:h2|summary)>(.*?)(?=<h2|<summary|$)"
    for heading, below in re.findall(pattern, content, re.DOTALL):
        _, _, table = below.rpartition("<thead")
        rows = re.findall("<tr.*?</tr>", table, re.DOTALL)
        tables[plain(heading)] = [
            [
                plain(cell)
                for cell in re.findall("<t[hd][ >].*?</t[hd]>", row, re.DOTALL)
                if 'class="bars"' not in cell and "<td width" not in cell
            ]
            for row in rows[1:]
        ]
    return tables


def plain(words):
    """Return the text of HTML."""
    return unescape(re.sub("<[^>]*>", "", words)).strip("\n")


def workbook(content):
    """Return the tables of a workbook: those of the first sheet, and the lists."""
    book = python_calamine.CalamineWorkbook.from_filelike(BytesIO(content))
    sheets = {
        name: book.get_sheet_by_name(name).to_python(skip_empty_area=False)
        for name in book.sheet_names
    }
    tables = {name: sheet[1:] for name, sheet in sheets.items()}
    lines = sheets["Report"]
    for top, line in enumerate(lines[:-2]):
        if line[0] != "" and not any(map(str, line[1:])):
            header = top + 1 + (lines[top + 1][1] == "")
            width = len([*takewhile(str, lines[header])])
            rows = takewhile(lambda cells: cells[0] != "", lines[header + 1 :])
            tables[str(line[0])] = [cells[:width] for cells in rows]
    return tables


def tables_by_format(report):
    """Return the tables of each format."""
    mail = email.message_from_bytes(report.to_mail(), policy=email.policy.default)
    attached, book = mail.iter_attachments()
    assert attached.get_content() == report.to_html()
    return {
        "page": page(report.to_html()),
        "workbook": workbook(book.get_content()),
        "markdown": page(read_markdown(report.to_markdown())),
        "mail": page(mail.get_body(("html",)).get_content()),
    }


def check_table(frame, lines, *, has_total, top):
    """Compare the rows that a format shows with those of a frame, and its sums."""
    columns = list(frame)[: len(lines[0])]  # a mail leaves columns out
    frame = frame[columns]
    sums = [sum(frame[c]) if frame[c].dtype.kind in "if" else "total" for c in columns]
    whole = rows_of(columns, frame.to_numpy("object"))
    total = rows_of(columns, [sums] if has_total else [])
    shown = rows_of(columns, lines)
    assert not shown - whole - total
    assert shown.total() == min(len(frame), top) + total.total()


def check(rng, folder, rows, categories):
    """Compare each table of each format with the frame of the report."""
    statuses = [*spec.STATUSES, None, *rng.sample(STATUSES, rng.randrange(4))]
    names = {n: f"{rng.choice(HOSTILE)} {n}" for n in range(1, max(2, categories))}
    history = History(HistoryDatabase(folder / "history.db"))
    since = None
    frames = list(inventory(rng, rows, categories, statuses))
    for frame in frames:
        looks = read_looks(names, "Title", "", "UTC")
        report = report_and_keep(frame, history, since, looks)
        since = datetime.fromtimestamp(T0).astimezone()
    document = json.loads(report.to_json())
    formats = tables_by_format(report)

    totals = report.by_category["total"]
    before = totals - report.by_category["change"]
    for counts, side in ((before, frames[0]), (totals, frames[-1])):
        assert +Counter(counts.to_dict()) == Counter(side["categoryId"])
    for name, table in report.tables().items():
        for row, record in zip(document[name], table.to_dict("records"), strict=True):
            assert rows_of(list(row), [row.values()]) == (
                rows_of(list(record), [record.values()])
            )
    check_words(report, document, formats)
    sections = {s.name: s.title for s in Presentation(report).sections}
    folded = Presentation(report).fold_titles
    for name, frame in frames_of(report, names).items():
        for kind, tables in formats.items():
            is_elsewhere = ("id" in frame and name in TITLES) == (kind == "workbook")
            is_drawn = kind in ("page", "mail", "workbook") and name == "summary"
            is_drawn |= kind == "mail" and "id" in frame
            if not is_drawn and not is_elsewhere and len(frame):
                title = sections.get(name, name)
                if kind == "workbook":  # it has all rows
                    title = title.partition(", the first ")[0]
                if kind == "page" and folded.get(name) in tables:
                    title = folded[name]
                lines = tables[title]
                top = len(frame)
                if kind != "workbook" and name not in ("breakdown", "days"):
                    top = LONGEST if name == "pending" else TOP
                has_total = name in WITH_TOTAL
                check_table(frame, lines, has_total=has_total, top=top)


def check_words(report, document, formats):
    """Look for headline, provenance, tiles and ageing in each format."""
    presentation = Presentation(report)
    texts = {
        "page": plain(report.to_html()),
        "mail": plain(presentation.fill("mail.html")),
        "markdown": plain(read_markdown(report.to_markdown())),
        "notebook": plain(report._repr_html_()),
        "text": str(report),
    }
    for text in texts.values():
        assert report.headline in " ".join(text.split())
        assert report.provenance in text
    assert document["headline"] == report.headline
    sums = report.summary.set_index("what")["animals"]
    for tile in presentation.tiles:
        number = int(tile.value.replace(",", ""))
        assert sums.get(tile.label, number) == number
        for kind in ("page", "mail", "notebook"):
            pattern = rf"{re.escape(tile.value)}\s*{re.escape(tile.label)}"
            assert re.search(pattern, texts[kind])
    ages = report.ageing.loc[report.ageing["status"] == "pending", "animals"].tolist()
    if any(ages):
        title = next(s.title for s in presentation.sections if s.name == "ageing")
        for kind in ("markdown", "workbook"):
            texts = [str(row[1]).replace(",", "") for row in formats[kind][title]]
            assert [int(float(text)) for text in texts] == ages
        assert [bar.number for bar in presentation.ageing_bars] == ages


LONG_SEEDS = [*range(100, 142), *range(4, 8)]
SEEDS = [
    *range(4),
    *(pytest.param(seed, marks=pytest.mark.soak) for seed in LONG_SEEDS),
]


@pytest.mark.parametrize("seed", SEEDS)
def test_every_table_has_the_same_numbers_in_every_format(seed, tmp_path):
    """
    Hostile names, statuses that are blank or called like words of ours, no category or
    500, no animal or one; of the long ones, one of 100,000 animals.
    """
    rng = random.Random(seed)
    rows, categories = [(0, 1), (1, 1), (60, 4), (700, 500)][seed % 4]

    check(rng, tmp_path, 100_000 if seed == 100 else rows, categories)
