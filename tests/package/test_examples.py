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
FLOOR = 109  # docstrings with an example; it only rises
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)


def docstrings(path):
    """Return the docstrings of a file that show an example."""
    source = path.read_text("utf-8")
    nodes = ast.walk(ast.parse(source)) if ">>> " in source else ()
    texts = [ast.get_docstring(node) for node in nodes if isinstance(node, DOCUMENTED)]
    return [text for text in texts if text and ">>> " in text]


EXAMPLES = {
    path.relative_to(ROOT).with_suffix("").as_posix(): texts
    for path in sorted((ROOT / "petstore_tools").rglob("*.py"))
    if (texts := docstrings(path))
}


@pytest.mark.parametrize("module", EXAMPLES)
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
    if re.search(r">>> .*\b(sandbox|store)\b", "\n".join(EXAMPLES[module])):
        sandbox = Sandbox()
        request.addfinalizer(sandbox.close)
        names |= {"sandbox": sandbox, "store": sandbox.store}
    name = module.replace("/", ".").removesuffix(".__init__")
    tests = doctest.DocTestFinder(exclude_empty=True).find(
        import_module(name), extraglobs=names
    )
    report = []
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for test in tests:
        runner.run(test, out=report.append)

    assert not report, "".join(report)
    assert sum(bool(test.examples) for test in tests) == len(EXAMPLES[module])


def test_many_docstrings_show_an_example():
    """`pytest -rP` prints how many there are."""
    count = sum(map(len, EXAMPLES.values()))
    print(f"{count} docstrings with an example, in {len(EXAMPLES)} modules")

    assert count >= FLOOR
