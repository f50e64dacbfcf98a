"""What people rely on: names, docstrings, light imports, README, data, notebooks."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
import sample_files
from python_calamine import CalamineWorkbook

import petstore_tools
from petstore_tools import PetStore, Sandbox, errors, spec
from petstore_tools.cli import cli
from petstore_tools.listing.completeness import Listing
from petstore_tools.plans import Plan
from petstore_tools.sandbox import samples

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "petstore_tools"
README = (ROOT / "README.md").read_text(encoding="utf-8")
READMES = README + "".join(
    path.read_text(encoding="utf-8") for path in sorted(PACKAGE.glob("*/README.md"))
)
SERVICE_README = (PACKAGE / "service" / "README.md").read_text(encoding="utf-8")
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
DOCUMENT = ROOT.parent / "shared" / "INTERFACE.md"


def public(kind: type) -> list[str]:
    return sorted(name for name in dir(kind) if not name.startswith("_"))


def test_public_names_are_pinned() -> None:
    """A name that comes or goes is a decision, and a line in CHANGES.md."""
    assert petstore_tools.__all__ == [
        *(
            "ImportPreview",
            "ImportResult",
            "Listing",
            "PetStore",
            "Plan",
            "Quota",
            "Sandbox",
            "StatusReport",
        ),
        "status_report",
    ]
    assert all(getattr(petstore_tools, name) for name in petstore_tools.__all__)
    assert petstore_tools.SheetError is errors.SheetError
    assert public(PetStore) == [
        *(
            "close",
            "create_pet",
            "examine",
            "from_settings",
            "get_pet",
            "history",
            "import_pets",
            "last_partial",
            "list_pets",
        ),
        *("pages", "pets", "preview_import", "quota", "snapshot", "snapshots", "status_report"),
    ]
    assert public(Sandbox) == [
        *("add", "advance", "change", "close", "connect", "invite", "join", "remove", "traffic")
    ]
    assert set(dir(petstore_tools)) >= set(petstore_tools.__all__)
    with pytest.raises(AttributeError):
        _ = petstore_tools.nothing


def loaded_by(code: str) -> set[str]:
    """Return the modules that a fresh interpreter holds after running the code."""
    ends = "\nimport sys; print(' '.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code + ends], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_the_bare_import_loads_next_to_nothing() -> None:
    """Names load on first use."""
    assert not loaded_by("import petstore_tools") & {
        "requests",
        "pydantic",
        "pandas",
        "click",
        "sqlite3",
    }


def test_the_client_side_loads_neither_pandas_nor_the_server() -> None:
    """
    Until a frame is made; a store can be opened and asked for its quota; the class alone is
    lighter.
    """
    store = "PetStore(base_url='https://x/v1', api_key='k', ledger='memory')"
    code = f"from petstore_tools import PetStore; {store}.quota()"

    assert not loaded_by(code) & {"pandas", "numpy", "starlette", "uvicorn", "matplotlib", "jinja2"}
    assert not loaded_by("from petstore_tools import PetStore") & {
        "requests",
        "sqlite3",
        "pyarrow",
        "tqdm",
    }


def test_listing_is_imported_from_the_package() -> None:
    """As the README says; the name costs neither pandas nor a client."""
    assert petstore_tools.Listing is Listing
    assert not loaded_by("from petstore_tools import Listing") & {"pandas", "requests", "pydantic"}
    assert "from petstore_tools import Listing" in README


def test_help_of_the_command_line_loads_no_pandas() -> None:
    """`--help` stays quick; its list of commands is that of the files."""
    code = "from petstore_tools.cli import cli; cli.get_help(__import__('click').Context(cli))"

    assert not loaded_by(code) & {"pandas", "numpy", "starlette", "uvicorn", "pydantic", "requests"}
    assert all(
        cli.get_command(click.Context(cli), name) for name in cli.list_commands(click.Context(cli))
    )


@pytest.mark.parametrize("kind", [PetStore, Sandbox, Plan])
def test_public_docstrings_say_what_and_cite_existing_sections(kind: type) -> None:
    """Each public method has one; a method with arguments explains each or is one line."""
    for name in public(kind):
        thing = inspect.unwrap(getattr(kind, name, None) or kind)
        doc = inspect.getdoc(thing)
        if not callable(thing):
            continue
        assert doc, name
        parameters = [
            p for p in inspect.signature(thing).parameters if p not in ("self", "args", "kwargs")
        ]
        if "Args:" in doc:
            assert all(re.search(rf"\b{p}\b", doc) for p in parameters), (name, parameters)


def test_the_errors_of_public_calls_are_named_in_their_docstrings() -> None:
    """Whoever catches knows what; whoever lists knows the dtypes."""
    for name in ("list_pets", "create_pet", "get_pet", "import_pets", "preview_import", "pages"):
        assert "Raises:" in (inspect.getdoc(getattr(PetStore, name)) or ""), name
        assert "§" in (inspect.getdoc(getattr(PetStore, name)) or ""), name
    assert "int64" in (inspect.getdoc(PetStore.list_pets) or "")
    assert "int64" in (inspect.getdoc(petstore_tools.status_report) or "") + (
        inspect.getdoc(petstore_tools.reporting.report.StatusReport) or ""
    )


def test_each_cited_section_is_in_the_documents_list() -> None:
    """`spec` opens with the sections; nothing cites one that is not there."""
    known = set(re.findall(r"^- (\d(?:\.\d)?) ", inspect.getdoc(spec) or "", re.M))
    assert len(known) == 23
    for path in PACKAGE.rglob("*.py"):
        for cited in re.findall(r"§(\d(?:\.\d)?)", path.read_text(encoding="utf-8")):
            assert cited in known, (path.name, cited)


def test_every_error_hangs_in_the_drawn_tree() -> None:
    """One root; the docstring of the module draws all of them."""
    for name, thing in vars(errors).items():
        if isinstance(thing, type) and issubclass(thing, Exception):
            assert issubclass(thing, errors.PetstoreError)
            assert f"- {name}" in (errors.__doc__ or "")


def silences() -> list[tuple[str, str]]:
    lines = (ROOT / "tests" / "silences.txt").read_text(encoding="utf-8").splitlines()[1:]
    return [
        (said.strip(), row.strip()) for said, _, row in (line.rpartition(" | ") for line in lines)
    ]


@pytest.mark.parametrize(("said", "row"), silences())
def test_each_silence_of_the_document_has_a_row_of_choices(said: str, row: str) -> None:
    """What is not shown or not stated is decided, in the table of the service's README."""
    table = SERVICE_README.partition("## Where the document is silent")[2].partition("\n## ")[0]
    assert any(row in line.partition("|")[2].partition(" | ")[0] for line in table.splitlines()), (
        row
    )
    if DOCUMENT.exists():
        assert said in DOCUMENT.read_text(encoding="utf-8")


def test_no_silence_of_the_document_is_forgotten() -> None:
    """
    Every line that says so is paired; where the document is not beside the checkout, 16 are known.
    """
    said = {words for words, _ in silences()}
    if DOCUMENT.exists():
        lines = DOCUMENT.read_text(encoding="utf-8").splitlines()
        silent = [
            line for line in lines if re.search(r"not shown|not stated|no default is stated", line)
        ]
        assert [line for line in silent if not any(words in line for words in said)] == []
    assert len(said) == 18


def test_the_sample_workbook_is_what_the_generator_makes(tmp_path: Path) -> None:
    """Cell by cell, both sheets."""
    sample_files.write_workbook(tmp_path / "animals.xlsx")

    made, kept = (CalamineWorkbook.from_path(p / "animals.xlsx") for p in (tmp_path, ROOT / "data"))
    assert made.sheet_names == kept.sheet_names == ["Arrivals", "Lists"]
    for name in made.sheet_names:
        assert made.get_sheet_by_name(name).to_python() == kept.get_sheet_by_name(name).to_python()


@pytest.mark.parametrize("name", ["animals.csv", "animals_with_problems.csv"])
def test_sample_files_are_what_the_generator_makes(name: str) -> None:
    """`data/` is output, never edited by hand."""
    made = samples.animals_csv() if name == "animals.csv" else sample_files.problems_csv()

    assert (ROOT / "data" / name).read_bytes().decode() == made


def test_sample_animals_are_plausible() -> None:
    """12 categories, all statuses and some unset, no two alike; another seed, other animals."""
    animals = samples.animals(1_000)

    assert len(set(animals)) == 1_000
    assert {category for _, category, _ in animals} == set(samples.CATEGORIES)
    assert {status for *_, status in animals} == {*spec.STATUSES, None}
    assert samples.animals(5, seed=2) != samples.animals(5)


@pytest.mark.case("P56")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_stored_executed_and_leak_nothing(path: Path) -> None:
    """Counts 1 to n, no error, no path, no key, no port in any output."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    outputs = json.dumps(
        [
            [
                {**o, "data": {k: v for k, v in o.get("data", {}).items() if k != "image/png"}}
                for o in cell["outputs"]
            ]
            for cell in code
        ]
    )

    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert "parameters" in str([cell["metadata"] for cell in code])
    assert all(len(cell["source"]) <= 10 and "def " not in "".join(cell["source"]) for cell in code)
    assert not re.search(
        r'"output_type": "error"|psk_|127\.0\.0\.1|localhost|/(home|root|tmp|work)/', outputs
    )


def test_the_first_success_prints_what_the_readme_shows() -> None:
    """The ten lines, run as they stand."""
    code, output = re.search(
        r"## First success\n\n```python\n(.*?)```\n```text\n(.*?)```", README, re.S
    ).groups()  # type: ignore[union-attr]

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (done.stdout, done.stderr) == (output, "")


def test_commands_and_options_of_the_readme_exist() -> None:
    """Each `petstore-tools` line parses: the command is there, and so is each option."""
    lines = re.findall(r"^(?:\.venv/bin/)?petstore-tools ([^#\n]+)", READMES, re.M)
    assert len(lines) >= 12
    for line in lines:
        words = re.findall(r'"[^"]*"|\S+', line)
        command: click.Command | None = cli
        while words and isinstance(command, click.Group) and not words[0].startswith("-"):
            command = command.get_command(click.Context(command), words.pop(0))
        assert command is not None, line
        command.make_context("x", [word.strip('"') for word in words])


def test_python_calls_of_the_readme_exist() -> None:
    """Each method of `store`, `report`, `result` and `preview` that it shows is there."""
    from petstore_tools.importing.preview import ImportPreview
    from petstore_tools.importing.results import ImportResult
    from petstore_tools.reporting.report import StatusReport

    kinds = {
        "store": PetStore,
        "report": StatusReport,
        "result": ImportResult,
        "preview": ImportPreview,
    }
    code = "".join(re.findall(r"```python\n(.*?)```", READMES, re.S))
    shown = re.findall(r'(?<!")\b(store|report|result|preview)\.(\w+)', code)
    assert len(shown) >= 12
    for variable, attribute in shown:
        fields = getattr(kinds[variable], "__dataclass_fields__", {})
        assert attribute in fields or hasattr(kinds[variable], attribute), (variable, attribute)
