"""The category file of the settings: named once for imports, listings and reports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner
from commands import run

from petstore_tools import PetStore, Sandbox, settings
from petstore_tools.cli import cli
from petstore_tools.listing import frames
from petstore_tools.tabular.template import CATEGORY_SHEET


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PetStore]:
    """A store whose settings name a category file."""
    file = tmp_path / "categories.csv"
    file.write_text("id,name\n3,Dogs\n4,Cats\n", encoding="utf-8")
    with Sandbox(plan="6000/60000", clock="system", animals=0) as box:
        named = replace(box.store.settings, categories=file)
        with PetStore.from_settings(named, clock=box.clock) as found:
            yield found


def test_the_variable_or_the_file_names_it(tmp_path: Path) -> None:
    """In the settings file, its path counts from that file's folder; the variable counts more."""
    config = tmp_path / "config.toml"
    config.write_text(
        'base_url = "https://pets.example/v1"\napi_key = "k"\ncategories = "names.csv"\n'
    )
    variables = {"PETSTORE_CONFIG": str(config)}

    assert settings.load(environ=variables).categories == tmp_path / "names.csv"
    told = settings.load(environ=variables | {"PETSTORE_CATEGORIES": "other.csv"})
    assert told.categories == Path("other.csv")


def test_imports_and_reports_use_it_unless_others_are_given(
    store: PetStore, tmp_path: Path
) -> None:
    """A cell is a name of it, and a report shows its names."""
    path = tmp_path / "pets.csv"
    path.write_text("name,categoryId\nRex,dogs\nMia,4\n", encoding="utf-8")

    assert store.preview_import(path).to_send == 2
    assert store.preview_import(path, categories={3: "Hunde"}).to_send == 0
    assert store.import_pets(path, progress=False).created == 2
    assert dict(store.status_report().categories) == {3: "Dogs", 4: "Cats"}


def test_a_listing_on_the_screen_shows_the_names(
    store: PetStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside the ids."""
    store.create_pet("Rex", category_id=3)

    def init(self: PetStore, **_: object) -> None:
        self._open(store.settings, False, clock=store.client.clock)

    monkeypatch.setattr(PetStore, "__init__", init)
    listed = CliRunner().invoke(cli, ["list"])

    assert listed.exit_code == 0, listed.output
    header, _, row = listed.output.splitlines()[:3]
    assert header.split() == ["id", "name", "categoryId", "category", "status"]
    assert row.split()[1:] == ["Rex", "3", "Dogs"]


@pytest.mark.parametrize("ending", frames.ENDINGS)
def test_a_listing_in_a_file_has_the_names(
    store: PetStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ending: str
) -> None:
    """
    Beside the ids, none where the file has none; the four columns of the document stay as they are.
    """
    store.create_pet("Rex", category_id=3, status="sold")
    store.create_pet("Tom", category_id=9)

    def init(self: PetStore, **_: object) -> None:
        self._open(store.settings, False, clock=store.client.clock)

    monkeypatch.setattr(PetStore, "__init__", init)
    path = tmp_path / f"pets{ending}"
    done = CliRunner().invoke(cli, ["list", "-o", str(path)])

    assert done.exit_code == 0, done.output
    read: dict[str, Any] = {
        ".csv": pd.read_csv,
        ".xlsx": partial(pd.read_excel, engine="calamine"),
        ".json": pd.read_json,
        ".parquet": pd.read_parquet,
    }
    found: pd.DataFrame = read[ending](path)
    assert found.columns[:5].tolist() == ["id", "name", "categoryId", "category", "status"]
    assert found["category"].fillna("").tolist() == ["Dogs", ""]
    assert found["categoryId"].tolist() == [3, 9]


def test_a_template_offers_the_categories_of_the_settings(tmp_path: Path) -> None:
    """No key and no base address are needed; `--categories` counts more."""
    (tmp_path / "names.csv").write_text("id,name\n3,Dogs\n")
    (tmp_path / "others.csv").write_text("id,name\n4,Cats\n")
    named = {"PETSTORE_CATEGORIES": str(tmp_path / "names.csv")}

    told = run("template", "told.xlsx", cwd=tmp_path, **named)
    given = run("template", "given.xlsx", "--categories", "others.csv", cwd=tmp_path, **named)

    assert (told.returncode, given.returncode) == (0, 0)
    names = [
        str(
            pd.read_excel(
                tmp_path / f"{name}.xlsx", sheet_name=CATEGORY_SHEET, header=None, engine="calamine"
            ).to_numpy()
        )
        for name in ("told", "given")
    ]
    assert ["Dogs" in names[0], "Cats" in names[0]] == [True, False]
    assert ["Dogs" in names[1], "Cats" in names[1]] == [False, True]
