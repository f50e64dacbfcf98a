"""
Spreadsheets as people have them: each reads with at most two arguments, or its problems say what
helps.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from petstore_tools import Sandbox
from petstore_tools.errors import SheetError
from petstore_tools.importing.recipe import read_recipe, write_recipe
from petstore_tools.importing.titles import FIELDS
from petstore_tools.tabular.cells import NonTextCell

FOLDER = Path(__file__).parent / "corpus"


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


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    """An empty service."""
    with Sandbox(plan="6000/60000", clock="manual", animals=0) as found:
        yield found


@pytest.mark.case("P44", "P44a", "P45", "P46", "P48", "P49", "P50", "P51", "P65")
@pytest.mark.parametrize(
    "case", cases.CASES, ids=lambda case: f"{case.file} {' '.join(case.options)}".strip()
)
def test_each_file_imports_or_says_what_helps(box: Sandbox, case: Any) -> None:
    """
    With the arguments of its case, and no edited cell; what is read differently stands in the
    preview.
    """
    assert len(case.options) <= 2
    path = cases.FILES / case.file
    if case.refusal:
        with pytest.raises(SheetError) as refused:
            box.store.preview_import(path, **case.options)
        assert case.refusal in str(refused.value)
        return

    preview = box.store.preview_import(path, **case.options)

    assert tuple(row.content for row in preview.good) == case.animals
    assert len(preview.problems) == len(case.problems), preview.problems
    for problem, parts in zip(preview.problems, case.problems, strict=True):
        assert all(part in str(problem) for part in parts), str(problem)
    for part in case.notes:
        assert any(part in note for note in preview.notes), preview.notes
    assert preview.fixes["rows"].sum() == preview.bad_rows
    _check_changes(preview)


def _check_changes(preview: Any) -> None:
    """
    Check that each value that is not sent as its cell was typed is counted, and nothing else is.
    """
    changed: Counter[object] = Counter()
    for row in preview.good:
        for of, at, value in zip(FIELDS, preview.table.columns.places, row.content, strict=True):
            cell = "" if at is None else row.cells[at]
            is_number = of == "name" and isinstance(cell, NonTextCell)
            if is_number or (str(value) != cell and not (value is None and not cell.strip())):
                changed[of, str(cell), value] += 1
    assert {
        (match.field, match.typed, match.value): match.count for match in preview.matches
    } == changed
    assert all(str(match) in str(preview) for match in preview.matches)


READ = [case for case in cases.CASES if case.options and case.animals]


@pytest.mark.parametrize("case", READ, ids=lambda case: f"{case.file} {' '.join(case.options)}")
def test_a_recipe_applied_to_its_own_file_gives_the_same_rows(
    box: Sandbox, tmp_path: Path, case: Any
) -> None:
    """Also the same problems, and the same values read differently."""
    path = cases.FILES / case.file
    asked = box.store.preview_import(path, **case.options)
    write_recipe(tmp_path / "its.toml", asked.options.recipe_entries)

    hidden = {"hidden": True} if "hidden" in case.options else {}  # consent is no part of a recipe
    again = box.store.preview_import(path, recipe=tmp_path / "its.toml", **hidden)

    assert (again.good, again.bad, again.matches) == (asked.good, asked.bad, asked.matches)
    assert "hidden" not in read_recipe(tmp_path / "its.toml")


BEGUN = ("cp1250", "blanks_in_names", "empty_status", "status_words")
OPTIONS: list[dict[str, Any]] = [
    {"trim": True},
    {"thousands": "."},
    {"encoding": "cp1250"},
    {"defaults": {"status": "sold"}},
    {"statuses": {"sold": "sold", "verkauft": "pending"}},
    {"categories": {3: "Drei", 4: "Vier", 5: "3 oder 4"}},
    {"drop_duplicates": True},
]


@pytest.mark.parametrize(
    "file", ["cp1250.csv", "blanks_in_names.csv", "empty_status.csv", "status_words.csv"]
)
def test_other_options_on_a_begun_import_never_create_a_row_again(
    file: str, tmp_path: Path
) -> None:
    """What was created keeps its outcome: rows are held, or the whole file is refused."""
    path = shutil.copy(cases.FILES / file, tmp_path)
    with Sandbox(plan="6000/60000", clock="system", animals=0) as sandbox:
        options: dict[str, Any] = {"statuses": {"verkauft": "sold", "frei": "available"}}
        begun = sandbox.store.import_pets(path, progress=False, **options)
        assert begun.created >= 2

        for other in OPTIONS:
            try:
                assert (
                    sandbox.store.import_pets(path, progress=False, **(options | other)).created_now
                    == 0
                )
            except SheetError as refused:
                assert "Nothing was created" in str(refused)  # noqa: PT017 - a refusal is one of two good ends

        assert len(sandbox.store.list_pets()) == begun.created


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
