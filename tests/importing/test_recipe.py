"""How a source is read, as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from petstore_tools.errors import ArgumentError, OutputError
from petstore_tools.importing.recipe import CONSENT, read_recipe, write_recipe

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
TABLE = st.dictionaries(TEXT, TEXT, min_size=1, max_size=3)


def test_a_recipe_reads_back(tmp_path: Path) -> None:
    """What is empty is left out; the category file is named from the recipe's folder."""
    (tmp_path / "tables").mkdir()
    options: dict[str, Any] = {
        "columns": {"Tier": "name", "B": "categoryId"},
        "sheet": "Bestand",
        "categories": tmp_path / "tables" / "categories.csv",
        "statuses": {"verkauft": "sold"},
        "defaults": {"categoryId": 3},
        "thousands": ".",
        "trim": True,
    }

    write_recipe(tmp_path / "supplier.toml", options | {"encoding": None, "drop_duplicates": False})

    assert read_recipe(tmp_path / "supplier.toml") == options
    assert (tmp_path / "supplier.toml").read_text().splitlines() == [
        'sheet = "Bestand"',
        'categories = "tables/categories.csv"',
        'thousands = "."',
        "trim = true",
        "",
        "[columns]",
        '"Tier" = "name"',
        '"B" = "categoryId"',
        "",
        "[statuses]",
        '"verkauft" = "sold"',
        "",
        "[defaults]",
        '"categoryId" = 3',
    ]


def test_a_category_table_may_be_part_of_it(tmp_path: Path) -> None:
    """Its keys are text in TOML, and `read_categories` takes them."""
    write_recipe(tmp_path / "recipe.toml", {"categories": {3: "Dogs"}})

    assert read_recipe(tmp_path / "recipe.toml") == {"categories": {"3": "Dogs"}}


@given(sheet=TEXT, columns=TABLE)
def test_any_text_reads_back(
    tmp_path_factory: pytest.TempPathFactory, sheet: str, columns: dict[str, str]
) -> None:
    """Quotes, control characters, emoji."""
    path = tmp_path_factory.mktemp("recipe") / "recipe.toml"

    write_recipe(path, {"sheet": sheet, "columns": columns})

    assert read_recipe(path) == {"sheet": sheet, "columns": columns}


@pytest.mark.parametrize("name", CONSENT)
def test_consent_is_not_part_of_a_recipe(tmp_path: Path, name: str) -> None:
    """Neither read nor written: a person decides it for each import."""
    (tmp_path / "recipe.toml").write_text(f"{name} = true")

    with pytest.raises(
        ArgumentError, match=f"{name} is not part of a recipe: it is decided anew for each import"
    ):
        read_recipe(tmp_path / "recipe.toml")
    with pytest.raises(ArgumentError, match="is not part of a recipe"):
        write_recipe(tmp_path / "other.toml", {name: True})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("colums = {}", "there is no entry 'colums'; did you mean 'columns'"),
        ('columns = "Tier=name"', 'columns must be a table such as {Tier = "name"}'),
        ("columns = {Tier = 1.5}", "columns must be a table"),
        ("trim = 1", "trim must be true or false"),
        ("sheet = 1", "sheet must be a text"),
        ("x", "is not valid TOML"),
    ],
)
def test_what_is_no_recipe_is_refused(tmp_path: Path, text: str, why: str) -> None:
    """With the name of the file and of the entry."""
    (tmp_path / "recipe.toml").write_text(text)

    with pytest.raises(ArgumentError, match=rf"recipe\.toml.*{why}"):
        read_recipe(tmp_path / "recipe.toml")


def test_files_that_cannot_be_read_or_written_are_said(tmp_path: Path) -> None:
    """A path that is not there, and text in another encoding."""
    (tmp_path / "recipe.toml").write_bytes(b'sheet = "\xff"')

    with pytest.raises(ArgumentError, match="is not valid TOML"):
        read_recipe(tmp_path / "recipe.toml")
    with pytest.raises(ArgumentError, match="cannot be read"):
        read_recipe(tmp_path / "absent.toml")
    with pytest.raises(OutputError, match="there is no folder"):
        write_recipe(tmp_path / "absent" / "recipe.toml", {})
