"""What people rely on: names, light imports, docstrings, sample files."""

import ast
import inspect
from pathlib import Path

import pytest
from commands import run_program
from tables import read_table

import petstore_tools
from petstore_tools import PetStore, Sandbox, errors, spec
from petstore_tools.sandbox import samples

DATA = Path(__file__).parents[2] / "data"


def public(thing):
    return [name for name in dir(thing) if not name.startswith("_")]


def test_the_package_shows_its_public_names_and_no_others():
    """
    Tab in Jupyter shows what `dir` returns. A type checker sees the names that are
    imported for it. A traceback names the package, and pickle finds a class there.
    """
    classes = {name: getattr(petstore_tools, name) for name in petstore_tools.__all__}
    tree = ast.parse(Path(petstore_tools.__file__).read_text("utf-8"))
    (typed,) = [node for node in tree.body if isinstance(node, ast.If)]
    imported = {
        alias.name
        for node in typed.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    raised = {
        name
        for name, thing in vars(errors).items()
        if isinstance(thing, type)
        and issubclass(thing, BaseException)
        and name[0] != "_"
    }

    assert dir(petstore_tools) == sorted(petstore_tools.__all__)
    assert imported == {*petstore_tools.__all__}
    assert raised < {*petstore_tools.__all__}
    del classes["status_report"]  # a function is found by its code
    assert {kind.__module__ for kind in classes.values()} == {"petstore_tools"}
    with pytest.raises(AttributeError):
        _ = petstore_tools.nothing


def test_public_methods_are_pinned():
    """A name that comes or goes is a decision, and a line in CHANGES.md."""
    methods = (
        "close create_pet events examine from_settings get_pet history import_pets"
        " imports last_partial list_pets pages pets preview_import quota snapshot"
        " snapshots status_report"
    )
    with PetStore(base_url="https://host/v1", api_key="k") as store:
        assert public(store) == public(PetStore) == methods.split()
    with Sandbox(animals=1) as box:
        report = box.store.status_report()
    attributes = (
        "ageing alerts animals breakdown by_category caution chart colours counts days"
        " events headline listing looks notes pending provenance since summary tables"
        " to_excel to_html to_json to_mail to_markdown transitions unseen"
    )
    assert public(report) == attributes.split()
    assert public(Sandbox) == "add advance change close connect remove traffic".split()


def loaded_by(code):
    """
    Return the modules that a fresh interpreter holds after running a line of code.
    """
    line = f"{code}; import sys; print(*sys.modules)"
    return set(run_program(code=line).stdout.split())


@pytest.mark.parametrize(
    ("code", "absent"),
    read_table(__file__, "imports.json"),
)
def test_names_load_on_first_use(code, absent):
    """A frame loads pandas, a sandbox the server; neither a store nor help does."""
    assert not loaded_by(code) & set(absent.split())


def test_public_docstrings_say_what_is_raised():
    """Of all that reads, creates and imports; ruff looks for the arguments."""
    for name in "list_pets create_pet get_pet import_pets preview_import pages".split():
        assert "Raises:" in inspect.getdoc(getattr(PetStore, name)), name


def test_sample_animals_are_plausible():
    """
    12 categories, all statuses and some unset, no two alike; another seed, other
    animals. The first thousand are a file of `data/`.
    """
    animals = samples.animals(1_000)

    assert len(set(animals)) == 1_000
    assert {category for _, category, _ in animals} == set(samples.CATEGORIES)
    assert {status for *_, status in animals} == {*spec.STATUSES, None}
    assert samples.animals(5, seed=2) != samples.animals(5)
    assert samples.animals_csv() == (DATA / "animals.csv").read_text("utf-8")
