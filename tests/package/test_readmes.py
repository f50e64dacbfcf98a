"""READMEs and notebooks are true to what is there."""

import inspect
import json
import re
import shutil
from functools import cache, partial
from operator import attrgetter
from pathlib import Path

import pandas as pd
import pytest
from commands import end_main, run_program
from messages import package_messages
from paging_server import PagingService
from programs import run_readme_loop
from services import keyed_session
from tables import read_json

from petstore_tools import (
    ImportPreview,
    ImportResult,
    Listing,
    PetStore,
    Sandbox,
    StatusReport,
    errors,
    settings,
    status_report,
)
from petstore_tools.cli import COMMANDS
from petstore_tools.sandbox.faults import Fault
from petstore_tools.service.server import ThreadedServer

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "petstore_tools"
README = (ROOT / "README.md").read_text("utf-8")
BENCHMARKS = ROOT / "tests" / "benchmarks" / "README.md"
MEASURED = BENCHMARKS.read_text("utf-8")
ROOMS = [
    *ROOT.glob("petstore_tools/**/README.md"),
    BENCHMARKS,
    ROOT / "notebooks" / "README.md",
]
CLAIMS = {  # what the README's table says, and the scenario in which it is measured
    "the service sends fewer animals than were asked for": "clamped to 30, `offset`",
    "six programs that list use one key for two minutes": "6 processes",
    "an import of 500 rows loses answers, and is killed three times": (
        "lost answers and 3 kills"
    ),
}
ALL = "".join([README, *(path.read_text("utf-8") for path in sorted(ROOMS))])
OTHERS = set(
    """
after application/json --before --check --distance --execute --from --help
--if-exists --inplace --no-input
--nbval --nbval-current-env --node --rows --seconds --store OSError cursor default
columns dropna json keep max_retries normalize offset on page params rel sep style
verkauft ylabel
""".split()
)  # names of Python, pandas, requests and other programs, and of scripts
TEXTS = [PACKAGE / "CHANGES.md", ROOT / "tests" / "support" / "messages.py"]
FOLDER = attrgetter("parent.name")
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("readme", [ROOT / "README.md", *ROOMS], ids=FOLDER)
def test_the_links_of_a_readme_lead_somewhere(readme):
    """Each relative link is a file, and a heading in it where it names one."""
    text = readme.read_text("utf-8")

    for target, title in re.findall(r"\]\((?!https?:)([^)#]*)#?(.*?)\)", text):
        path = readme.parent / target if target else readme
        assert path.exists(), target
        page = path.read_text("utf-8") if title else "-\n"
        assert f"-{title}\n" in page.lower().replace(" ", "-")


@pytest.mark.parametrize(("rule", "room"), read_json(__file__, "rules.json"))
def test_a_rule_is_the_same_sentence_in_readme_room_and_help(rule, room):
    """Whoever has read it once knows it everywhere."""
    texts = (
        README,
        (PACKAGE / room / "README.md").read_text("utf-8"),
        package_messages(),
    )
    plain = [" ".join(re.sub(r"\]\([^)]*\)|\[", "", text).split()) for text in texts]

    assert len({text.partition(rule)[2].partition(".")[0] for text in plain}) == 1
    assert all(rule in text for text in plain)


def figures_of(text):
    """
    Return the numbers in all tables of a page, by the names of row and column; none is
    0.
    """
    figures = {}
    titles = []
    for line in text.splitlines():
        name, *cells = [part.strip() for part in line.strip("| ").split("|")]
        titles = (titles or cells) if line.startswith("|") else []
        for title, cell in zip(titles, cells, strict=True):
            words = re.findall(r"\d[\d,]*|\bnone\b", cell)
            numbers = [word.replace(",", "").replace("none", "0") for word in words]
            figures[name, title] = [int(number) for number in numbers]
    return figures


@pytest.mark.parametrize("way", ["the loop", "petstore_tools"])
def test_the_figures_of_the_readme_are_those_of_the_benchmarks(way):
    """
    Of each row of its table the first ones that were printed for that program; time and
    size of its set-up commands.
    """
    set_up = re.findall(r"\d+ (?:seconds|MB)", README)
    assert len(set_up) == 4
    assert all(f"| {figure} |" in MEASURED for figure in set_up)
    cells = figures_of(README).items()
    claims = {name: cell for (name, title), cell in cells if title == way and cell}
    measured = figures_of(MEASURED)

    assert claims.keys() == CLAIMS.keys()
    for claim, scenario in CLAIMS.items():
        printed = measured.get((scenario, way)) or measured[way, scenario]
        assert printed[: len(claims[claim])] == claims[claim]


def test_the_loop_of_the_readme_lists_as_few_animals_as_the_readme_says(tmp_path):
    """From a service that sends 30 a page, whatever it was asked for."""
    claim, *_ = CLAIMS
    listed, stock = figures_of(README)[claim, "the loop"]
    server = ThreadedServer(PagingService(stock, "offset cap=30")).start()

    animals = run_readme_loop(keyed_session("k"), server.base_url, tmp_path)
    server.stop()

    assert len(animals) == listed


def test_the_first_success_prints_what_the_readme_shows():
    """The ten lines, run as they stand."""
    example = re.search(
        r"## First success\n```python\n(.*?)```\n```text\n(.*?)```", README, re.S
    )
    assert example
    code, output = example.groups()

    done = run_program(code=code)

    assert (done.stdout, done.stderr) == (output, "")


@cache
def is_command(line):
    """Say whether the command line takes what stands behind `petstore-tools`."""
    words = [word.strip("\"'.,:;()") for word in line.split()]
    value = ["x"] if words[-1].startswith("-") else []
    return end_main(*words, *value, "--help") == 0


def is_flag(flag):
    """Say whether a command takes it."""
    return any(is_command(f"{name} {flag}") for name in ALL_COMMANDS)


def is_path(name):
    """Say whether a path of this repository ends so."""
    return any(path.endswith("/" + name.lstrip("./")) for path in PATHS)


ALL_COMMANDS = [*COMMANDS, "history forget", "imports reconcile", "keys create"]
PATHS = [
    path.as_posix().replace("/.", "/")
    for folder in ("data", "notebooks", "petstore_tools", "tests", ".ci")
    for path in (ROOT / folder, *(ROOT / folder).rglob("*"))
]
KINDS = (PetStore, Sandbox, StatusReport, ImportResult, ImportPreview, Listing, Fault)
PUBLIC = set()
for kind in KINDS:
    methods = [call for _, call in inspect.getmembers(kind, inspect.isfunction)]
    PUBLIC.update(dir(kind), *[call.__code__.co_names for call in methods])
    for call in (kind, *methods):
        PUBLIC.update(inspect.signature(call).parameters)
VARIABLES = {*settings.ENTRIES, "config", "progress"}
VARIABLES |= {"database_url", "host", "port", "workers"}
EXISTS = {
    "commands": is_command,
    "flags": is_flag,
    "options and attributes": PUBLIC.__contains__,
    "variables": lambda name: name.lower() in VARIABLES,
    "errors": partial(hasattr, errors),
    "paths": is_path,
}


def test_the_readme_has_each_variable():
    """Its table of settings has those of the settings file, and all others."""
    names = re.findall(r"`PETSTORE_(\w+)`", README)

    assert {name.lower() for name in names} == VARIABLES


@pytest.mark.parametrize("document", [ROOT / "README.md", *ROOMS, *TEXTS], ids=FOLDER)
def test_what_a_document_names_is_there(document):
    """
    Commands, flags, options, attributes, variables, errors and paths that it shows as
    code; of messages and of the help of commands, too.
    """
    text = document.read_text("utf-8")
    parts = re.findall(r"```.*?\n(.*?)```|`([^`]+)`", text, re.S)
    code = "\n".join(block or " ".join(words.split()) for block, words in parts)
    if document.suffix == ".py":
        code = package_messages()

    for kind, pattern in read_json(__file__, "names.json").items():
        names = set(re.findall(pattern, code)) - OTHERS
        assert [name for name in names if not EXISTS[kind](name)] == []


@pytest.fixture
def _files(shop):
    """The files that the READMEs name, in the current folder."""
    Path("data").mkdir()
    shutil.copy(ROOT / "data" / "animals.xlsx", "data")
    Path("animals.csv").write_text("name,categoryId\nRex,3\n")
    Path("spring.csv").write_text("name,categoryId\nNala,3\n")
    Path("chips.csv").write_text("name,categoryId,Chip\nTom,4,A7\n")
    pets = pd.DataFrame({"Pet": ["Tom"], "Kind": [5]})
    pets.to_excel("pets.xlsx", sheet_name="2026", index=False)


@pytest.mark.usefixtures("_files")
@pytest.mark.filterwarnings("ignore:no snapshot is as old as")
@pytest.mark.parametrize("room", [".", "history", "reporting", "sandbox"])
def test_python_of_a_readme_runs(shop, room):
    """Its blocks one after the other, as in a notebook, against the real service."""
    readme = PACKAGE / room / "README.md" if room != "." else ROOT / "README.md"
    blocks = re.findall(r"```python\n(.*?)```", readme.read_text("utf-8"), re.S)
    names = {
        "store": shop.store,
        "df": shop.store.list_pets(),
        "your_frame": pd.DataFrame({"name": ["Ida"], "categoryId": [6]}),
        "status_report": status_report,
    }
    assert blocks
    for block in blocks:
        exec(compile(block, str(readme), "exec"), names)


@pytest.mark.usefixtures("_files")
def test_commands_of_the_readmes_run(capsys):
    """Each ends as it should; one that asks says how to go ahead without a terminal."""
    lines = re.findall(
        r"^petstore-tools ((?:list|import|report|history) [^#\n]+)", ALL, re.M
    )
    assert len(lines) > 6
    for line in lines:
        code = end_main(line)
        said = capsys.readouterr().err
        assert code in (0, 1) or "no terminal to ask in" in said, (
            line,
            said,
        )
    assert (Path("inventory.csv").exists(), Path("report.html").exists()) == (
        True,
        True,
    )


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_stored_executed_and_leak_nothing(path):
    """Counts 1 to n, short cells, no error, no path, no key, no port in any output."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    outputs = [output for cell in code for output in cell["outputs"]]
    for output in outputs:
        output.get("data", {}).pop("image/png", None)

    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert "parameters" in str([cell["metadata"] for cell in code])
    assert all(
        len(cell["source"]) <= 10 and "def " not in "".join(cell["source"])
        for cell in code
    )
    assert not re.search(
        r"'output_type': 'error'|psk_|127\.0\.0\.1|localhost|/(home|root|tmp|work)/",
        str(outputs),
    )
