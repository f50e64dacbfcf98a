"""The category file of the settings: named once for imports, listings and reports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from petstore_tools import PetStore, Sandbox, settings
from petstore_tools.cli import cli


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
    config.write_text('base_url = "https://pets.example/v1"\napi_key = "k"\ncategories = "names.csv"\n')
    variables = {"PETSTORE_CONFIG": str(config)}

    assert settings.load(environ=variables).categories == tmp_path / "names.csv"
    told = settings.load(environ=variables | {"PETSTORE_CATEGORIES": "other.csv"})
    assert told.categories == Path("other.csv")


def test_imports_and_reports_use_it_unless_others_are_given(store: PetStore, tmp_path: Path) -> None:
    """A cell is a name of it, and a report shows its names."""
    path = tmp_path / "pets.csv"
    path.write_text("name,categoryId\nRex,dogs\nMia,4\n", encoding="utf-8")

    assert store.preview_import(path).to_send == 2
    assert store.preview_import(path, categories={3: "Hunde"}).to_send == 0
    assert store.import_pets(path, progress=False).created == 2
    assert dict(store.status_report().categories) == {3: "Dogs", 4: "Cats"}


def test_a_listing_on_the_screen_shows_the_names(store: PetStore, monkeypatch: pytest.MonkeyPatch) -> None:
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
