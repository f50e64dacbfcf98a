"""
Spreadsheets as people have them: each reads with at most two arguments, or its problems
say what helps.

Beside each file of the corpus lies what it must give, as JSON: for each way to read it
the options, the animals in order, parts of each problem, the rows that are left out by
reason, and what the preview shows; or a part of the refusal.
"""

import json
from collections import defaultdict
from pathlib import Path

import pytest
from tables import CORPUS, corpus_file

from petstore_tools import Sandbox
from petstore_tools.cli.import_ import CommandOptions
from petstore_tools.errors import SheetError
from petstore_tools.importing.read_sheet import read_sheet
from petstore_tools.tabular.cells import are_blank
from petstore_tools.tabular.sources import open_source

TABLES = {
    "categories.csv",
    "categories.xlsx",
    "kategorien.csv",
    "kinds_by_number.csv",
}
FILES = sorted(path for path in CORPUS.rglob("*.*") if path.suffix != ".json")
CASES = [
    pytest.param(path, case, id=f"{path.name} {' '.join(case.get('options', ()))}")
    for path in FILES
    if path.name not in TABLES
    for case in json.loads(Path(f"{path}.json").read_text("utf-8"))
]


@pytest.fixture(scope="module")
def box():
    """An empty service."""
    with Sandbox(plan="6000/60000", clock="manual", animals=0) as service:
        yield service


def one_line(text):
    """Return a text without line ends; none is long, but the call in the last one."""
    *lines, _ = str(text).splitlines()
    assert max(map(len, lines), default=0) <= 100, text
    return " ".join(str(text).split())


@pytest.mark.parametrize(("path", "case"), CASES)
def test_each_file_imports_or_says_what_helps(box, path, case):
    """With the options of its case, and no edited cell."""
    options = dict(case.get("options", {}))
    assert len(options) <= 2 + ("encoding" in options) + ("sheet" in options)
    if isinstance(options.get("categories"), str):
        options["categories"] = corpus_file(options["categories"])
    if "refusal" in case:
        with pytest.raises(SheetError) as refused:
            box.store.preview_import(path, **options)
        assert one_line(case["refusal"]) in one_line(refused.value)
        return
    if "command" in case:
        try:
            text = read_sheet(CommandOptions(path, **options)).questions
        except SheetError as error:
            text = str(error)
        assert one_line(case["command"]) in one_line(text)
        return

    preview = box.store.preview_import(path, **options)

    read = preview.sheet
    assert [list(row.content) for row in read.rows_to_send] == case["sent"]
    keys = [[row.row_key, row.pet_id] for row in read.rows_to_send]
    assert keys == case.get("keys", keys)
    assert {type(row.content.name) for row in read.rows_to_send} <= {str}
    for problem, parts in zip(preview.problems, case.get("problems", []), strict=True):
        assert all(part in str(problem) for part in parts), str(problem)
    for part in case.get("shown", []):
        assert one_line(part) in one_line(preview), str(preview)
    left_out = defaultdict(list)
    for row in read.rows_left_out:
        left_out[row.kind].append(row.number)
    assert left_out == case.get("left_out", {})
    assert preview.fixes["rows"].sum() == len(preview.problems)
    # each row of the sheet that is not empty is sent, bad or left out
    sheets = open_source(path, options.get("sheet"), options.get("encoding"))
    (sheet,) = [sheet for sheet in sheets if sheet.name == read.layout.sheet.name]
    filled = {number for number, cells in sheet.records() if not are_blank(cells)}
    header = {read.layout.header_row} if read.layout.has_header else set()
    rows = (*read.rows_to_send, *read.problem_rows, *read.rows_left_out)
    counted = [row.number for row in rows]
    assert sorted(counted) == sorted(filled - header)
