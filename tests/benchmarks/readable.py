"""
Count what makes code hard to read, and fail above the bounds of the house.

Nameless: of 1,000 names that are bound, those that stand for no thing (participles,
adverbs, pronouns). Crowded: of 1,000 statements, those with two comprehensions or
ternaries, or with one inside an f-string. Long: functions without their docstrings, and
files.

Run: python tests/benchmarks/readable.py             the bounds, and what is above one
     python tests/benchmarks/readable.py PATH ...    files and folders, and all places
"""

import ast
import sys
from collections import Counter
from collections.abc import Iterator

from code_size import ROOT, code_tokens

NAMELESS = set(
    """
    found known given made told asked shown named wanted taken kept seen met meant place
    at one ones others another lists fresh lost gone new came went rest few near how
    what why which who such each every here there then behind ahead again begun both
    these those its own some any once twice late early
    """.split()
)
NESTS = (ast.IfExp, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
MOST_LINES_OF_FUNCTION = 50
MOST_LINES_OF_FILE = 450
BOUNDS = {"nameless": 10, "crowded": 2, "long": 0}  # of 1,000
ROOMS = "listing http throttle service sandbox tabular cli *.py".split()
HOUSE = {f"petstore_tools/{room}": BOUNDS for room in ROOMS}
HOUSE["petstore_tools/*.py"] = BOUNDS | {"long": 10}  # store.py, for its examples
HOUSE["tests"] = {"nameless": 25}


def is_crowded(statement: ast.stmt) -> bool:
    """Say whether a statement without a block holds more than one thought."""
    if hasattr(statement, "body") or isinstance(statement, ast.Match):
        return False
    nodes = list(ast.walk(statement))
    nests = sum(isinstance(node, NESTS) for node in nodes)
    values = [node for node in nodes if isinstance(node, ast.FormattedValue)]
    shown_nodes = [node for value in values for node in ast.walk(value)]
    return nests > 1 or any(isinstance(node, NESTS) for node in shown_nodes)


def body_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the lines of a function without those of its docstring."""
    docstring = ast.get_docstring(node, clean=False) or ""
    return (node.end_lineno or 0) - node.lineno + 1 - len(docstring.splitlines())


def measures(node: ast.AST) -> Iterator[tuple[str, bool]]:
    r"""
    Yield what a node counts for, and whether it is a hit: a name for no thing, two
    thoughts in a statement, a function of 52 lines.

        >>> def hits(source):
        ...     nodes = ast.walk(ast.parse(source))
        ...     return [name for node in nodes for name, hit in measures(node) if hit]
        >>> hits("found = 1")
        ['nameless']
        >>> hits("pair = (1 if a else 2, 3 if b else 4)")
        ['crowded']
        >>> hits("def f():" + "\n    pass" * 51)
        ['long']
    """
    if isinstance(node, ast.stmt):
        yield "crowded", is_crowded(node)
    match node:
        case ast.Module(body=[*_, ast.stmt(end_lineno=last_line)]):
            yield "long", (last_line or 0) > MOST_LINES_OF_FILE
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield "long", body_lines(node) > MOST_LINES_OF_FUNCTION
    match node:
        case (
            ast.Name(id=name, ctx=ast.Store())
            | ast.Attribute(attr=name, ctx=ast.Store())
            | ast.arg(arg=name)
            | ast.FunctionDef(name=name)
            | ast.AsyncFunctionDef(name=name)
        ) if name not in ("self", "cls", "_"):
            yield "nameless", name.strip("_") in NAMELESS


def is_above(pattern: str, bounds: dict[str, int]) -> bool:
    """Print the figures of files, and the places of what is above its bound."""
    totals: Counter[str] = Counter()
    hits: dict[str, list[str]] = {measure: [] for measure in BOUNDS}
    pattern = pattern if pattern.endswith(".py") else f"{pattern}/**/*.py"
    for path in ROOT.glob(pattern):
        source = path.read_text(encoding="utf-8")
        totals["tokens"] += code_tokens(source)
        for node in ast.walk(ast.parse(source)):
            for measure, is_hit in measures(node):
                totals[measure] += 1
                if is_hit:
                    hits[measure].append(f"{path}:{getattr(node, 'lineno', 1)}")
    print(f"{pattern}: {totals['tokens']:,} tokens")
    above = False
    for measure, places in hits.items():
        rate = 1_000 * len(places) / max(1, totals[measure])
        print(f"  {measure}: {len(places)} of {totals[measure]:,}, {rate:.1f} of 1,000")
        if rate > bounds.get(measure, 1_000):
            above = True
            print(*places, sep="\n")
    return above


def main(patterns: list[str]) -> int:
    """Count in what was asked for, or in the house; 1 where a bound is missed."""
    bounds = dict.fromkeys(patterns, dict.fromkeys(BOUNDS, 0)) or HOUSE
    verdicts = [is_above(pattern, most) for pattern, most in bounds.items()]
    return int(any(verdicts))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
