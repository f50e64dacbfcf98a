"""
The examples in docstrings, each run as a doctest, with the output that it shows.

How to write one: one to four lines behind `>>>` in the docstring of a public function,
method or property, before its `Args:`. The names of its module are there, and these:

- `sandbox`: a `Sandbox` of its 250 sample animals, with a manual clock;
- `store`: the store wired to it;
- `pd`: pandas;
- the working folder, which is empty but for `animals.csv`: 10 sample animals with the
  columns name, categoryId and status.

All examples of a module share them, in the order of their names. `...` stands for what
does not repeat, and any white space equals any other.
"""

import ast
import doctest
import re
from importlib import import_module
from pathlib import Path

import pandas as pd
import pytest

from petstore_tools import Sandbox
from petstore_tools.sandbox import samples

ROOT = Path(__file__).parents[2]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)


MODULES = [
    path.relative_to(ROOT).with_suffix("").as_posix()
    for path in sorted((ROOT / "petstore_tools").rglob("*.py"))
    if ">>> " in path.read_text("utf-8")
]


def docstrings(module):
    """Return the docstrings of a module that show an example."""
    nodes = ast.walk(ast.parse((ROOT / f"{module}.py").read_text("utf-8")))
    texts = [ast.get_docstring(node) for node in nodes if isinstance(node, DOCUMENTED)]
    return [text for text in texts if text and ">>> " in text]


class Finder(doctest.DocTestFinder):
    """Finds a public class in the file that defines it: it names the package."""

    def _from_module(self, module, thing):
        if getattr(thing, "__module__", "") != "petstore_tools":
            return super()._from_module(module, thing)
        tree = ast.parse(Path(module.__file__).read_text("utf-8"))
        classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
        return thing.__name__ in classes


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_docstrings_show_what_comes_out(
    module,
    request,
    tmp_path,
    monkeypatch,
):
    """Each docstring with an example is run, and none is overlooked."""
    monkeypatch.chdir(tmp_path)
    Path("animals.csv").write_text(samples.animals_csv(10), "utf-8")
    names = {"pd": pd}
    examples = docstrings(module)
    if re.search(r">>> .*\b(sandbox|store)\b", "\n".join(examples)):
        sandbox = Sandbox()
        request.addfinalizer(sandbox.close)
        names |= {"sandbox": sandbox, "store": sandbox.store}
    name = module.replace("/", ".").removesuffix(".__init__")
    tests = Finder(exclude_empty=True).find(import_module(name), extraglobs=names)
    report = []
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for test in tests:
        runner.run(test, out=report.append)

    assert not report, "".join(report)
    assert sum(bool(test.examples) for test in tests) == len(examples)
