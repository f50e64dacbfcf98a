"""The limits of the house: sizes of files, functions and classes, and the words that people read."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "petstore_tools"
MODULES = sorted(PACKAGE.rglob("*.py"))
OLD_WORDS = (
    "scout twins? strangers? fates? shelf knocks? settles? verdict adopt bury told tells standing".split()
)


def loaded(path: Path) -> ModuleType:
    found = spec_from_file_location(path.stem, path)
    assert found is not None
    assert found.loader is not None
    module = module_from_spec(found)
    found.loader.exec_module(module)
    return module


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def lines_of(path: Path) -> int:
    return path.read_text(encoding="utf-8").count("\n")


def assigned(kind: ast.ClassDef) -> set[str]:
    """Return the attributes of `self` that a class assigns."""
    return {
        node.attr
        for node in ast.walk(kind)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    }


def test_no_module_is_longer_than_350_lines_or_without_a_purpose() -> None:
    """A sentence of purpose comes first, and no module is a collection of odds and ends."""
    too_long = {path.name: lines_of(path) for path in MODULES if lines_of(path) > 350}

    assert too_long == {}
    assert [path.name for path in MODULES if not ast.get_docstring(tree_of(path))] == []
    assert not {path.stem for path in MODULES} & {"utils", "helpers", "common", "misc"}


def test_no_function_has_more_than_45_lines_of_code() -> None:
    """Docstrings, comments and blank lines do not count; functions inside it do."""
    code_lines = loaded(ROOT / "tests" / "benchmarks" / "code_size.py").code_lines
    too_long = {}
    for path in MODULES:
        code = code_lines(path)
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.FunctionDef):
                size = len(code & set(range(node.lineno, (node.end_lineno or 0) + 1)))
                if size > 45:
                    too_long[f"{path.name}: {node.name}"] = size

    assert too_long == {}


def test_no_class_assigns_more_than_15_attributes() -> None:
    """Where more belong together, some of them are an object of their own."""
    classes = [node for path in MODULES for node in ast.walk(tree_of(path)) if isinstance(node, ast.ClassDef)]

    assert {kind.name: len(assigned(kind)) for kind in classes if len(assigned(kind)) > 15} == {}


def test_no_test_file_is_longer_than_400_lines() -> None:
    """A file has one subject."""
    files = sorted((ROOT / "tests").rglob("*.py"))

    assert {path.name: lines_of(path) for path in files if lines_of(path) > 400} == {}


def test_a_rooms_readme_has_at_most_100_lines() -> None:
    """What it guarantees, how it works, its limits, how to extend it."""
    readmes = sorted(PACKAGE.rglob("README.md"))

    assert PACKAGE / "reporting" / "README.md" in readmes
    assert {path.parent.name: lines_of(path) for path in readmes if lines_of(path) > 100} == {}


def test_pure_modules_say_so() -> None:
    """Those of the contract, and no others."""
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]
    contracts = tools["importlinter"]["contracts"]
    pure = next(contract["source_modules"] for contract in contracts if contract["name"].startswith("Pure:"))
    said = [path for path in MODULES if (ast.get_docstring(tree_of(path)) or "").startswith("Pure:")]

    assert sorted(".".join(path.relative_to(ROOT).with_suffix("").parts) for path in said) == sorted(pure)


@pytest.fixture(scope="module")
def messages() -> str:
    """Every text of the package that a person may read."""
    command = [sys.executable, ROOT / "tests" / "messages.py"]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True).stdout


def test_the_list_of_messages_holds_every_kind(messages: str) -> None:
    """Exceptions, warnings, what is printed, help, reprs, and texts that are raised elsewhere."""
    kinds = set(re.findall(r"^ *\d+ (\w+) ", messages, re.M))

    assert kinds >= {"raise", "warn", "print", "help", "repr", "text"}
    assert "cli/import_.py" in messages
    assert "limit must be a whole number between {spec.LIMIT_MIN} and {spec.LIMIT_MAX}" in messages


def test_no_message_has_a_word_of_the_old_dialect(messages: str) -> None:
    """Names of sample animals may be such words."""
    texts = [line for line in messages.split("\n") if "Scout Shadow" not in line]
    old = re.compile(rf"\b({'|'.join(OLD_WORDS)})\b", re.IGNORECASE)

    assert [line for line in texts if old.search(line)] == []
