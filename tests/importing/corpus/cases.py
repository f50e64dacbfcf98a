"""
What each file of the corpus must give: its animals with at most two arguments, or problems with
    what helps.

`make.py` beside it writes the files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FILES = Path(__file__).parent / "files"
Animal = tuple[str, int, str | None]
CATEGORIES = FILES / "categories.csv"
KATEGORIEN = FILES / "kategorien.csv"
TABLES = {CATEGORIES.name, KATEGORIEN.name}

PLAIN: tuple[Animal, ...] = (("Rex", 3, "sold"), ("Mia", 4, "available"), ("Bo", 5, None))
TWO = PLAIN[:2]
GERMAN: tuple[Animal, ...] = (("Jürgen", 3, "sold"), ("Bärbel", 4, "available"), ("Größe", 5, None))
BY_NAME = {"columns": {"Tiername": "name", "Kategorie": "categoryId"}, "categories": KATEGORIEN}


@dataclass(frozen=True)
class Case:
    """
    A file, and what it must give.

    Attributes:
        file: Its name in the folder.
        animals: Values of each row that can be sent, in order.
        options: Arguments of `import_pets` that decide how it is read: two at most.
        problems: For each problem in order, parts of its text.
        refusal: Part of the message where nothing can be read, "" where something can.
        notes: Parts of what the preview must say beside that.
    """

    file: str
    animals: tuple[Animal, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    problems: tuple[tuple[str, ...], ...] = ()
    refusal: str = ""
    notes: tuple[str, ...] = ()


CASES = (
    # texts: encodings, delimiters, line ends
    *(
        Case(name, PLAIN)
        for name in ("plain.csv", "semicolon_bom.csv", "pipe.csv", "tabs.tsv", "tabs.csv")
    ),
    *(Case(name, PLAIN) for name in ("cr_only.csv", "utf16_big_endian.csv")),
    *(Case(name, GERMAN, BY_NAME) for name in ("unicode_text.txt", "excel_text.txt", "cp1252.csv")),
    Case("cp1250.csv", (("Żółw", 3, "sold"), ("Kůň", 4, "available")), {"encoding": "cp1250"}),
    *(Case(name, TWO) for name in ("blank_lines.csv", "all_quoted.csv", "group_titles.csv")),
    Case("sep_line.csv", PLAIN),
    Case("html_table.xls", refusal="html_table.xls is a web page or XML: open it in a spreadsheet"),
    Case("text.xls", PLAIN, notes=("cells are separated by",)),
    Case("trailing_delimiters.csv", TWO),
    Case("quoted_lines.csv", (('Rex\nthe "first"', 3, "sold"), ("Mia, small", 4, "sold"))),
    # titles
    Case(
        "german_titles.csv",
        PLAIN,
        {"columns": {"Tier": "name", "Kategorie-Nr.": "categoryId", "Zustand": "status"}},
    ),
    Case("german_titles.csv", refusal='columns={"Tier": "name", "Kategorie-Nr.": "categoryId"'),
    Case(
        "german_commas.csv",
        (("Rex, der Große", 3, "sold"), ("Mia, die Kleine", 4, None)),
        {"columns": {"Kategorie": "categoryId"}},
    ),
    Case("german_commas.csv", refusal='columns={"Kategorie": "categoryId"}'),
    Case(
        "english_titles.csv",
        TWO,
        {"columns": {"Pet name": "name", "Species": "categoryId"}, "categories": CATEGORIES},
    ),
    Case("other_order.csv", TWO, notes=("not sent: A 'price', C 'note'",)),
    Case(
        "two_columns_one_title.csv",
        (("Rex", 3, None), ("Mia", 4, None)),
        {"columns": {"B": "name"}},
    ),
    Case("two_columns_one_title.csv", refusal='columns={"A": "name"}'),
    Case("two_header_rows.csv", TWO),
    Case(
        "no_header.csv",
        refusal="no column for name and categoryId; the header has 'Rex', '3', 'sold'",
    ),
    Case("no_status.csv", (("Rex", 3, None), ("Mia", 4, None))),
    Case(
        "no_status.csv",
        (("Rex", 3, "pending"), ("Mia", 4, "pending")),
        {"defaults": {"status": "pending"}},
    ),
    Case(
        "no_category.csv",
        (("Rex", 3, "sold"), ("Mia", 3, "available")),
        {"defaults": {"categoryId": 3}},
    ),
    Case(
        "no_category.csv",
        (("Rex", 3, "sold"), ("Mia", 3, "available")),
        {"defaults": {"categoryId": "dogs"}, "categories": CATEGORIES},
    ),
    Case("no_category.csv", refusal="no column for categoryId"),
    # values
    Case("names_for_ids.csv", (*PLAIN, ("Uno", 3, None)), {"categories": CATEGORIES}),
    Case(
        "names_for_ids.csv",
        (("Uno", 3, None),),
        problems=tuple(
            (f"row {row}", "column B", "is a name, not an id", "categories=") for row in (2, 3, 4)
        ),
    ),
    Case(
        "unknown_category.csv",
        (("Mia", 4, "sold"),),
        {"categories": CATEGORIES},
        problems=(
            ("row 2", "'Dgos' is not a known category", "did you mean 'Dogs'?"),
            ("row 4", "'99' is not a known category"),
            ("row 5", "'Horses' is not a known category"),
        ),
    ),
    Case(
        "status_words.csv",
        (("Rex", 3, "sold"), ("Mia", 4, "available"), ("Bo", 5, "sold")),
        {"statuses": {"verkauft": "sold", "frei": "available"}},
    ),
    Case(
        "names_and_words.csv",
        TWO,
        {"categories": KATEGORIEN, "statuses": {"verkauft": "sold", "frei": "available"}},
    ),
    Case("status_case.csv", (("Rex", 3, "available"), ("Mia", 4, "sold"))),
    Case(
        "status_typo.csv",
        (("Mia", 4, "sold"),),
        problems=(
            ("row 2", "column C", "'avialable'", "'available'?"),
            ("row 4", "column C", "'weg'"),
        ),
    ),
    Case("empty_status.csv", (("Rex", 3, None), ("Mia", 4, "sold"), ("Bo", 5, None))),
    Case(
        "empty_status.csv",
        (("Rex", 3, "available"), ("Mia", 4, "sold"), ("Bo", 5, "available")),
        {"defaults": {"status": "available"}},
    ),
    Case("decimal_comma.csv", (("Rex", 7, "sold"), ("Mia", 8, "sold"), ("Bo", 9, "sold"))),
    Case(
        "decimal_comma_quoted.csv",
        (("Mia", 8, "sold"),),
        problems=(("row 2", "column B", "'7,0' is not a whole number"),),
    ),
    Case(
        "thousands_point.csv",
        (("Rex", 1000, "sold"), ("Mia", 999, "sold"), ("Bo", 1234567, "sold")),
        {"thousands": "."},
    ),
    Case(
        "thousands_point.csv",
        (("Mia", 999, "sold"),),
        problems=(
            ("row 2", "'1.000' has its digits in groups", 'thousands="."'),
            ("row 4", 'thousands="."'),
        ),
    ),
    Case("thousands_comma.csv", (("Rex", 1000, "sold"), ("Mia", 999, "sold")), {"thousands": ","}),
    Case(
        "thousands_comma.csv",
        (("Mia", 999, "sold"),),
        problems=(("row 2", "'1,000' has its digits in groups", 'thousands=","'),),
    ),
    Case("thousands_blank.csv", (("Rex", 1000, "sold"), ("Mia", 2000, "sold")), {"thousands": " "}),
    Case("blanks_in_names.csv", ((" Rex ", 3, "sold"), ("\u00a0Mia\u00a0", 4, "sold"))),
    Case("blanks_in_names.csv", (("Rex", 3, "sold"), ("Mia", 4, "sold")), {"trim": True}),
    Case("emoji_and_rtl.csv", (("🐶 Rex", 3, "sold"), ("كلب", 4, "available"), ("כלב", 5, None))),
    Case(
        "odd_names.csv",
        (("NA", 3, "sold"), ("007", 4, "sold"), ("=A1", 5, "sold"), ("None", 3, None)),
    ),
    Case(
        "empty_names.csv",
        (("Mia", 4, "sold"),),
        problems=(("row 2", "column A", "is empty", "give a name"),),
    ),
    # rows
    Case(
        "totals_row.csv",
        TWO,
        problems=(("row 4", "column A", "'Summe:' is a word for a total", "delete"),),
    ),
    Case(
        "row_of_hints.csv",
        TWO,
        problems=(("row 2", "column B", "name, not an id"), ("row 2", "column C")),
    ),
    Case(
        "errors_as_text.csv",
        (("Rex", 3, "sold"),),
        problems=(
            ("row 3", "column A", "is the error #N/A"),
            ("row 4", "column B", "is the error #WERT!"),
        ),
    ),
    Case("trailing_note.csv", TWO, problems=(("row 5", "column B", "is empty"),)),
    Case("short_rows.csv", (("Rex", 3, "sold"), ("Mia", 4, None), ("Bo", 5, "available"))),
    Case(
        "short_row_without_category.csv",
        (("Rex", 3, "sold"), ("Bo", 5, "available")),
        problems=(("row 3", "has 1 cell where the header has 3"),),
    ),
    Case(
        "long_row.csv",
        (("Rex", 3, "sold"), ("Bo", 5, "available")),
        problems=(("row 3", "has 5 cells where the header has 3"),),
    ),
    Case(
        "header_repeated.csv",
        (("Rex", 3, "sold"), ("Mia", 4, "sold")),
        problems=(("row 3", "is the header again", "delete the row"),),
    ),
    Case(
        "quote_never_closed.csv",
        (("Rex", 3, "sold"), ("Bo", 5, "available")),
        problems=(("row 3", "has a quotation mark that is never closed"),),
    ),
    # found in the wild
    Case("pipe_export.txt", TWO, {"columns": {"pet_name": "name"}}, notes=("not sent: A 'id'",)),
    Case("unmarked.txt", GERMAN, BY_NAME, notes=("read as UTF-16",)),
    Case("unmarked_big_endian.csv", PLAIN),
    Case("czech.csv", refusal='name its encoding: encoding="…"'),
    Case("czech.csv", (("Ťapka", 3, "sold"), ("Kůň", 4, "available")), {"encoding": "cp1250"}),
    Case(
        "french.csv", (("Médor", 1003, "sold"),), {"thousands": " ", "statuses": {"vendu": "sold"}}
    ),
    Case("google_total.csv", TWO, problems=(("row 5", "'TOTAL' is a word for a total", "delete"),)),
    Case("lines_in_titles.csv", TWO, {"columns": {"A": "name"}}),
    Case("lines_in_titles.csv", refusal='pass: columns={"A": "name"}'),
    Case("sep_caret.csv", (("Rex, Max; Moritz", 3, "sold"),), notes=("separated by '^'",)),
    Case("comments.csv", TWO[:1], notes=("the header is in row 3",)),
    Case("table_name.csv", TWO, notes=("the header is in row 2",)),
    Case("letter_above.csv", TWO, notes=("the header is in row 16",)),
    Case(
        "unknown_titles.csv", refusal="the header has 'Bez., kurz', 'Sorte', 'frei, seit'. Rename"
    ),
    Case(
        "no_value.csv",
        (("Rex", 3, None), ("Mia", 4, None), ("Bo", 5, "sold")),
        {"statuses": {"n/a": ""}},
    ),
    Case("one_column.csv", (("Rex", 3, None), ("Mia", 3, None)), {"defaults": {"categoryId": 3}}),
    Case("one_column.csv", refusal="no column for categoryId"),
    # workbooks
    *(Case(f"plain.{suffix}", PLAIN) for suffix in ("xlsx", "xlsm", "xls", "ods", "xlsb")),
    *(Case(f"german.{suffix}", GERMAN, BY_NAME) for suffix in ("xlsx", "xls", "xlsb")),
    Case("numbers_as_text.xlsx", (("Rex", 3, "sold"), ("7", 4, "available"), ("007", 5, None))),
    Case(
        "formatted_numbers.xlsx", (("Rex", 3, "sold"), ("Mia", 4000, "available"), ("Bo", 5, None))
    ),
    Case("merged_header.xlsx", PLAIN),
    Case("merged_titles.xlsx", (("Rex", 3, "sold"), ("Mia", 4, None)), notes=("merged",)),
    Case("hidden_rows.xlsx", PLAIN, {"hidden": True}),
    Case("hidden_rows.xlsx", PLAIN[1:], notes=("1 row hidden",)),
    Case("hidden_rows.ods", PLAIN, notes=("hidden rows", "cannot be seen")),
    Case("formulas.xlsx", PLAIN, notes=("formula",)),
    Case(
        "unsaved_formula.xlsx",
        TWO,
        problems=(("row 4", "column B", "a formula without a saved value", "save"),),
    ),
    Case(
        "error_cells.xlsx",
        (("Mia", 4, "available"),),
        problems=(("row 2", "column B", "#N/A", "error"), ("row 4", "column A", "#REF!", "error")),
    ),
    Case(
        "error_cells.ods",
        (("Mia", 4, "available"),),
        problems=(("row 2", "column B"), ("row 4", "column A")),
        notes=("cannot be seen",),
    ),
    *(
        Case(
            f"dates.{suffix}",
            (("Bo", 5, None),),
            problems=(
                ("row 2", "column A", "is a date"),
                ("row 3", "column B", "is a date"),
                ("row 4", "column A", "is a boolean"),
            ),
        )
        for suffix in ("xlsx", "xls")
    ),
    Case(
        "fractions.xlsx",
        (("Bo", 5, None),),
        problems=(
            ("row 2", "column B", "'3.5' is not a whole number"),
            ("row 3", "column B", "is a number that may have been rounded", "as text"),
        ),
    ),
    Case("several_sheets.xlsx", PLAIN[:1], {"sheet": "Spring"}),
    Case("several_sheets.xlsx", PLAIN[1:], {"sheet": "Autumn"}),
    Case("totals.xlsx", PLAIN, problems=(("row 5", "'Gesamt' is a word for a total"),)),
    Case("far_from_a1.xlsx", PLAIN),
    Case("two_titles.xlsx", (("Rex", 3, None), ("Mia", 4, None)), {"columns": {"B": "name"}}),
    Case("two_titles.xlsx", refusal='columns={"A": "name"}'),
    Case("hidden_sheet.xlsx", PLAIN),
    Case(
        "title_rows.xlsx",
        PLAIN,
        problems=(("row 7", "column A", "is empty"),),
        notes=("merged", "the header is in row 3"),
    ),
    Case(
        "table_total.xlsx",
        PLAIN,
        problems=(("row 6", "column B", "'Total' is a word for a total"), ("row 6", "is empty")),
    ),
    *(Case(f"gaps.{suffix}", PLAIN) for suffix in ("xlsx", "ods")),
    *(
        Case(
            f"born.{suffix}",
            TWO[:1],
            problems=(("row 3", "column B", "'2026-04-01' is a date", "as text"),),
            notes=("not sent: D 'born'",),
        )
        for suffix in ("xlsx", "xls")
    ),
)
