"""
The house: purposes, pure modules, cited sections, decided silences, and the list of
messages.
"""

import ast
import doctest
import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import code_size
import pytest
import readable

from petstore_tools import spec

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "petstore_tools"
MODULES = sorted(PACKAGE.rglob("*.py"))
DOCUMENT = ROOT.parent / "shared" / "INTERFACE.md"
SILENCES = (
    (ROOT / "tests" / "silences.txt").read_text(encoding="utf-8").splitlines()[1:]
)


def purpose(path: Path) -> str:
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""


def test_every_module_opens_with_its_purpose() -> None:
    """A sentence comes first, and no module is a collection of odds and ends."""
    assert [path.name for path in MODULES if not purpose(path)] == []
    assert not {path.stem for path in MODULES} & {"utils", "helpers", "common", "misc"}


def test_pure_modules_say_so() -> None:
    """Those of the contract, and no others."""
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]
    contracts = tools["importlinter"]["contracts"]
    (pure,) = (rule for rule in contracts if rule["name"].startswith("Pure:"))
    said = [path for path in MODULES if purpose(path).startswith("Pure:")]
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in said]

    assert sorted(names) == sorted(pure["source_modules"])


def test_each_cited_section_is_in_the_documents_list() -> None:
    """`spec` opens with the sections; nothing cites one that is not there."""
    sections = set(re.findall(r"^- (\d(?:\.\d)?) ", inspect.getdoc(spec) or "", re.M))

    assert len(sections) == 23
    for path in MODULES:
        text = path.read_text(encoding="utf-8")
        assert sections.issuperset(re.findall(r"§(\d(?:\.\d)?)", text)), path


@pytest.mark.parametrize("line", SILENCES)
def test_each_silence_of_the_document_has_a_row_of_choices(line: str) -> None:
    """
    What is not shown or not stated is decided, in the table of the service's README.
    """
    row = line.rpartition(" | ")[2].strip()
    readme = (PACKAGE / "service" / "README.md").read_text(encoding="utf-8")
    table = readme.partition("## Where the document is silent")[2].partition("\n## ")[0]

    assert any(row in line.split(" | ")[0] for line in table.splitlines())


@pytest.mark.document
def test_needing_the_document_each_of_its_silences_is_listed_in_its_words() -> None:
    """Its lines that say so are paired, with words that stand there."""
    document = DOCUMENT.read_text(encoding="utf-8")
    words = [line.rpartition(" | ")[0].strip() for line in SILENCES]
    pattern = r"not shown|not stated|no default is"
    silences = [line for line in document.splitlines() if re.search(pattern, line)]

    assert [phrase for phrase in words if phrase not in document] == []
    for line in silences:
        assert any(phrase in line for phrase in words), line


def test_each_case_is_told_in_a_line() -> None:
    """Its number, in order and once, and a sentence."""
    lines = (ROOT / "tests" / "cases.txt").read_text(encoding="utf-8").splitlines()
    numbers = [line.partition(" ")[0] for line in lines]

    assert [
        line for line in lines if not re.fullmatch(r"P\d+a? [A-Z].{20,}\.", line)
    ] == []
    assert numbers == sorted(
        set(numbers), key=lambda case: (int(case[1:].rstrip("a")), case)
    )


@pytest.mark.parametrize("tool", [code_size, readable], ids=["size", "names"])
def test_what_counts_size_and_names_counts_as_its_examples_show(
    tool: ModuleType,
) -> None:
    """None of them differs."""
    failures, examples = doctest.testmod(tool)

    assert (failures, examples > 3) == (0, True)


def test_the_list_of_messages_holds_messages_help_and_placeholders() -> None:
    """Of one room, where it is named; no docstring but those of commands."""
    command = [sys.executable, ROOT / "tests" / "messages.py", "cli"]
    messages = subprocess.run(
        command, capture_output=True, encoding="utf-8", check=True
    ).stdout

    for text in (
        "Nothing was sent",
        "Key {key_id}, {key_plan}. Copy",
        "Create the animals of FILE, each",
    ):
        assert text in messages
    assert "Return the exit code" not in messages


def test_each_method_of_the_store_hands_its_work_to_a_room() -> None:
    """At most 12 lines behind its signature and docstring."""
    tree = ast.parse((PACKAGE / "store.py").read_text(encoding="utf-8"))
    (store,) = (node for node in tree.body if isinstance(node, ast.ClassDef))
    lengths = {}
    for method in store.body:
        if isinstance(method, ast.FunctionDef):
            body = method.body[1:] if ast.get_docstring(method) else method.body
            last_line = method.end_lineno or 0
            lengths[method.name] = last_line - body[0].lineno + 1

    assert len(lengths) > 20
    assert {name: lines for name, lines in lengths.items() if lines > 12} == {}
