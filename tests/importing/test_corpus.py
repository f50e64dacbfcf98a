"""Spreadsheets as people have them: each reads with at most two arguments, or its problems say what helps."""

from __future__ import annotations

import csv
import importlib.util
import io
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import python_calamine

from petstore_tools.errors import PetstoreError
from petstore_tools.importing.categories import read_categories
from petstore_tools.importing.rows import RowProblem
from petstore_tools.importing.titles import FIELDS, Titles, read_titles
from petstore_tools.importing.values import Matcher, ValueRules
from petstore_tools.tabular.cells import MalformedLine, NonTextCell, column_letter
from petstore_tools.tabular.csv_files import records
from petstore_tools.tabular.ooxml import SheetMarks, read_marks
from petstore_tools.tabular.workbooks import text_of

FOLDER = Path(__file__).parent / "corpus"
Records = list[tuple[int, list[str] | MalformedLine]]


def load(name: str) -> ModuleType:
    """Load a module of the corpus by its path."""
    spec = importlib.util.spec_from_file_location(f"corpus_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


cases, make = load("cases"), load("make")


@dataclass
class Outcome:
    """What a file gives."""

    animals: list[tuple[Any, ...]]
    problems: list[RowProblem]
    matcher: Matcher
    changed: int = 0


def from_text(path: Path, encoding: str | None) -> list[tuple[str, Records]]:
    """Return the records of a text by delimiter, the most stable first: the one with the fewest odd rows."""
    content = path.read_bytes()
    guesses = ("utf-16",) if content[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8-sig", "cp1252")
    text = ""
    for guess in (encoding,) if encoding else guesses:
        try:
            text = content.decode(guess)
            break
        except UnicodeDecodeError:
            continue
    found = []
    for delimiter in ",;\t|":
        rows = list(records(text, delimiter))
        widths = [len(row) for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
        usual = max(set(widths), key=widths.count)
        found.append((usual == 1, -widths.count(usual) / len(widths), delimiter, rows))
    return [(delimiter, rows) for _, _, delimiter, rows in sorted(found, key=lambda one: one[:2])]


def from_workbook(path: Path, sheet: str | None) -> list[tuple[str, Records]]:
    """Return the records of each sheet that may be meant, with formulas and errors called what they are."""
    try:
        book = python_calamine.CalamineWorkbook.from_path(str(path))
    except python_calamine.CalamineError as error:
        raise ValueError(f"{path.name} is not a workbook") from error
    visible = [
        found.name
        for found in book.sheets_metadata
        if found.visible == python_calamine.SheetVisibleEnum.Visible
    ]
    every = []
    for name in [sheet] if sheet else visible:
        marks = read_marks(path, name) or SheetMarks()
        rows: Records = []
        for number, cells in enumerate(book.get_sheet_by_name(name).to_python(skip_empty_area=False), 1):
            texts = [cell if type(cell) is str else text_of(cell) for cell in cells]
            for at, text in enumerate(texts):
                if (number, at) in marks.errors:
                    texts[at] = NonTextCell(marks.errors[number, at], f"the error {marks.errors[number, at]}")
                elif (number, at) in marks.unsaved and not text:
                    texts[at] = NonTextCell("", "a formula without a saved value")
            rows.append((number, texts))
        every.append(("", rows))
    return every


def read(path: Path, options: Mapping[str, Any]) -> Outcome:
    """Read a file of the corpus with the parts that the import is made of."""
    given = dict(options)
    columns, sheet, encoding = (given.pop(name, None) for name in ("columns", "sheet", "encoding"))
    if "categories" in given:
        given["categories"] = read_categories(given["categories"])
    is_text = path.suffix in (".csv", ".tsv", ".txt")
    first: PetstoreError | str = ""
    for delimiter, rows in from_text(path, encoding) if is_text else from_workbook(path, sheet):
        for at, (_, header) in enumerate(rows[:10]):
            if isinstance(header, MalformedLine) or not any(cell.strip() for cell in header):
                continue
            try:
                titles = read_titles(header, columns, defaults=given.get("defaults", ()))
            except PetstoreError as error:
                first = first or error
                continue
            if not titles.missing:
                return read_rows(rows[at + 1 :], titles, Matcher(ValueRules(delimiter=delimiter, **given)))
            first = first or titles.refusal()
    raise first if isinstance(first, PetstoreError) else ValueError(first)


def read_rows(rows: Records, titles: Titles, matcher: Matcher) -> Outcome:
    """Decide each row."""
    outcome = Outcome([], [], matcher)
    width = len(titles.header)
    for number, cells in rows:
        if isinstance(cells, MalformedLine):
            outcome.problems.append(RowProblem(number, "", "", cells.line, cells.why, "check its quotes"))
        elif not any(cell.strip() or isinstance(cell, NonTextCell) for cell in cells):
            continue
        elif tuple(cells) == titles.header:
            outcome.problems.append(RowProblem(number, "", "", "", "is the header again", "delete the row"))
        elif any(map(str.strip, cells[width:])) or not has_required(cells, titles):
            rule = f"has {len(cells)} cell{'s' * (len(cells) != 1)} where the header has {width}"
            outcome.problems.append(RowProblem(number, "", "", "", rule, "check for a missing quote"))
        else:
            decide(outcome, number, cells, titles)
    return outcome


def has_required(cells: Sequence[str], titles: Titles) -> bool:
    """Say whether a row is long enough for the fields that it must have."""
    return all(titles.columns[of] < len(cells) for of in ("name", "categoryId") if of in titles.columns)


def decide(outcome: Outcome, number: int, cells: Sequence[str], titles: Titles) -> None:
    """Add an animal, or its problems."""
    places = [titles.columns.get(of) for of in FIELDS]
    typed = ["" if at is None or at >= len(cells) else cells[at] for at in places]
    decided = [outcome.matcher.decide(of, cell) for of, cell in zip(FIELDS, typed, strict=True)]
    problems = [
        RowProblem(number, column_letter(at or 0), of, cell, found.problem.rule, found.problem.help)
        for at, of, cell, found in zip(places, FIELDS, typed, decided, strict=True)
        if found.problem
    ]
    outcome.problems += problems
    values = ["" if found.value is None else str(found.value) for found in decided]
    outcome.changed += sum(
        not found.problem and value != cell
        for found, value, cell in zip(decided, values, typed, strict=True)
        if found.value is not None or cell.strip()
    )
    if not problems:
        outcome.animals.append(tuple(found.value for found in decided))


@pytest.mark.case("P44", "P44a", "P45", "P46", "P48", "P49", "P50", "P51", "P65")
@pytest.mark.parametrize(
    "case", cases.CASES, ids=lambda case: f"{case.file} {' '.join(case.options)}".strip()
)
def test_each_file_imports_or_says_what_helps(case: Any) -> None:
    """With the arguments of its case, and no edited cell."""
    assert len(case.options) <= 2
    if case.refusal:
        with pytest.raises(ValueError) as refused:  # noqa: PT011 - its message is what is tested
            read(cases.FILES / case.file, case.options)
        assert case.refusal in str(refused.value)
        return

    outcome = read(cases.FILES / case.file, case.options)

    assert tuple(outcome.animals) == case.animals
    assert sum(match.count for match in outcome.matcher.matches()) >= outcome.changed
    assert len(outcome.problems) == len(case.problems), outcome.problems
    for problem, parts in zip(outcome.problems, case.problems, strict=True):
        assert all(part in str(problem) for part in parts), str(problem)


def test_the_corpus_is_what_its_maker_writes(tmp_path: Path) -> None:
    """Each file has a case, the bytes of text files repeat, and workbooks hold the same parts."""
    make.write_texts(tmp_path)

    files = {path.name for path in cases.FILES.iterdir()}
    assert files == {case.file for case in cases.CASES} | cases.TABLES
    assert files == {*make.TEXTS, *make.WORKBOOKS, *make.CONVERTED, *make.BINARY}
    assert len(files) >= 40
    for path in tmp_path.iterdir():
        assert (cases.FILES / path.name).read_bytes() == path.read_bytes()


def test_the_corpus_is_small() -> None:
    """It is kept with the code."""
    assert sum(path.stat().st_size for path in cases.FILES.iterdir()) < 250_000
