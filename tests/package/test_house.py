"""The house: purposes of modules, READMEs of the rooms, pure modules, and the list of messages."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "petstore_tools"
MODULES = sorted(PACKAGE.rglob("*.py"))


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def lines_of(path: Path) -> int:
    return path.read_text(encoding="utf-8").count("\n")


def test_every_module_opens_with_its_purpose() -> None:
    """A sentence comes first, and no module is a collection of odds and ends."""
    assert [path.name for path in MODULES if not ast.get_docstring(tree_of(path))] == []
    assert not {path.stem for path in MODULES} & {"utils", "helpers", "common", "misc"}


def test_a_rooms_readme_has_at_most_100_lines() -> None:
    """What it guarantees, how it works, its limits, how to extend it."""
    readmes = sorted(PACKAGE.rglob("README.md"))

    assert PACKAGE / "reporting" / "README.md" in readmes
    assert {path.parent.name: lines_of(path) for path in readmes if lines_of(path) > 100} == {}


def test_pure_modules_say_so() -> None:
    """Those of the contract, and no others."""
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]
    contracts = tools["importlinter"]["contracts"]
    pure = next(
        contract["source_modules"] for contract in contracts if contract["name"].startswith("Pure:")
    )
    said = [
        path for path in MODULES if (ast.get_docstring(tree_of(path)) or "").startswith("Pure:")
    ]

    assert sorted(
        ".".join(path.relative_to(ROOT).with_suffix("").parts) for path in said
    ) == sorted(pure)


@pytest.fixture(scope="module")
def messages() -> str:
    """Every text of the package that a person may read."""
    command = [sys.executable, ROOT / "tests" / "messages.py"]
    return subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", check=True
    ).stdout


def test_the_list_of_messages_holds_every_kind(messages: str) -> None:
    """Exceptions, warnings, what is printed, help, reprs, and texts that are raised elsewhere."""
    kinds = set(re.findall(r"^ *\d+ (\w+) ", messages, re.M))

    assert kinds >= {"raise", "warn", "print", "help", "repr", "text"}
    assert "cli/import_.py" in messages
    assert "limit must be a whole number between {spec.LIMIT_MIN} and {spec.LIMIT_MAX}" in messages
