"""The geometry of a report's pictures: lines over time, the flow, and bars."""

from collections.abc import Iterable
from typing import NamedTuple

import pandas as pd

from petstore_tools import spec
from petstore_tools.listing.frames import UNSET
from petstore_tools.reporting.facts import Facts
from petstore_tools.reporting.tables import GONE, NEW

SIZE = (210, 92)  # of a chart of one status, in units
SPARK = (150, 30)  # of the small line of a tile


class LineChart(NamedTuple):
    """
    Counts of one status over time.

    Attributes:
        status: What is counted.
        path: The line as SVG writes it, at most one point a unit.
        end: Where the line ends, from the left and from the top.
        ticks: Round counts, from 0 at the lower edge to the upper edge.
        since: How far from the left the compared time begins, None for none.
    """

    status: str
    path: str
    end: tuple[int, int]
    ticks: range
    since: int | None


def line_charts(report: Facts) -> list[LineChart]:
    """Draw the counts of each status over time; nothing with less than two times."""
    counts = report.counts
    if counts is None or counts.index[0] == counts.index[-1]:
        return []
    charts = []
    for status in counts.columns[counts.any()]:
        ticks = round_ticks(int(counts[status].max()))
        path, end = draw_line(counts[status], SIZE, 0, ticks[-1])
        charts.append(LineChart(str(status), path, end, ticks, shade(report, SIZE[0])))
    return charts


def spark(report: Facts, counts: pd.Series) -> LineChart | None:
    """Draw a small line from the lowest count to the highest, of three or more."""
    if len(counts) < 3 or counts.index[0] == counts.index[-1]:
        return None
    low, high = int(counts.min()), int(counts.max())
    path, end = draw_line(counts, SPARK, low, max(high, low + 1))
    return LineChart("", path, end, range(low, high), shade(report, SPARK[0]))


def draw_line(
    counts: pd.Series, size: tuple[int, int], low: int, high: int
) -> tuple[str, tuple[int, int]]:
    """Return a line as SVG writes it, and where it ends; the last point of a unit."""
    width, height = size
    begin, end = counts.index[[0, -1]]
    from_left = ((counts.index - begin) / (end - begin) * width).to_numpy().round()
    depths = ((high - counts) / (high - low) * height).round().astype(int)
    points = dict(zip(from_left.astype(int).tolist(), depths.tolist(), strict=True))
    corners = [f"{x} {y}" for x, y in points.items()]
    return f"M{'L'.join(corners)}", (width, int(depths.iloc[-1]))


def shade(report: Facts, width: int) -> int | None:
    """Return how far from the left the compared time begins; None for all of it."""
    if report.since is None or report.counts is None:
        return None
    begin, end = report.counts.index[[0, -1]]
    from_left = (report.since.as_of - begin) / (end - begin)
    return max(0, round(float(from_left) * width)) or None


def round_ticks(high: int) -> range:
    """
    Return three round numbers from 0; the last one is `high` or little more.

    >>> [*round_ticks(525)], [*round_ticks(3)]
    ([0, 300, 600], [0, 2, 4])
    """
    power = 1
    while True:
        for tenths in (10, 15, 20, 25, 30, 40, 50, 75):
            step, part = divmod(tenths * power, 10)
            if not part and 2 * step >= high:
                return range(0, 2 * step + 1, step)
        power *= 10


class Bar(NamedTuple):
    """
    A row of a bar chart: its label, its parts (status, share of the width), a number,
    and whether it stands back.
    """

    label: str
    parts: list[tuple[str, float]]
    number: int
    is_faint: bool = False


def status_bars(report: Facts) -> list[Bar]:
    """Draw a bar for each status that animals have."""
    counts = report.breakdown["count"]
    counts = counts[counts > 0]
    most = counts.max()
    return [Bar(str(s), [(str(s), n / most)], int(n)) for s, n in counts.items()]


def stacked_bars(table: pd.DataFrame, statuses: Iterable[str]) -> list[Bar]:
    """Draw a bar for each row of a table by category, with a part for each status."""
    most = table["total"].max() or 1
    columns = [status for status in statuses if status in table]
    return [
        Bar(
            row["category"],
            [(status, row[status] / most) for status in columns if row[status]],
            int(row["total"]),
        )
        for row in table.to_dict("records")
    ]


class Edge(NamedTuple):
    """
    A way from one box of the flow to another.

    Attributes:
        line, head: Its line and its arrowhead, as SVG writes them.
        width: Of the line.
        label: Where its number stands.
        animals: Its number.
    """

    line: str
    head: str
    width: float
    label: tuple[int, int]
    animals: int


class Flow(NamedTuple):
    """
    The ways between the statuses of the document.

    Attributes:
        box: The viewBox of SVG.
        nodes: Name, left, top, width, height, and animals (None for new and gone).
        edges: The ways.
    """

    box: tuple[int, int, int, int]
    nodes: list[tuple[str, int, int, int, int, int | None]]
    edges: list[Edge]


class Shape(NamedTuple):
    """
    How a flow lies: where its nodes begin and end on its way, half their extent across
    it, and the distance of arcs from each other.
    """

    spans: list[tuple[int, int]]
    half: int
    step: int
    is_upright: bool


WIDE = Shape(
    [(0, 38), (136, 248), (346, 458), (556, 668), (742, 780)], 28, 24, is_upright=False
)
TALL = Shape(
    [(0, 20), (66, 114), (160, 208), (254, 302), (348, 368)], 56, 38, is_upright=True
)
NODES = (NEW, *spec.STATUSES, GONE)


def draw_flow(report: Facts, shape: Shape) -> Flow | None:
    """Draw the ways; None if there is none, or a status of other words has animals."""
    ways = report.transitions
    sizes = report.breakdown
    if ways is None or not len(ways):
        return None
    used = sizes.index[(sizes["count"] > 0) | (sizes["before"] > 0)]
    if {*used, *ways["from"], *ways["to"]} - {*NODES, UNSET}:
        return None
    drawn = ways[ways["from"].isin(NODES) & ways["to"].isin(NODES)]
    if not len(drawn):
        return None
    numbers = {
        (NODES.index(begin), NODES.index(end)): int(animals)
        for begin, end, animals in drawn.itertuples(index=False, name=None)
    }
    levels = arc_levels(numbers)
    most = max(numbers.values())
    edges = [
        draw_edge(shape, way, levels.get(way, 0), animals, most)
        for way, animals in numbers.items()
    ]
    nodes = []
    for name, (start, end) in zip(NODES, shape.spans, strict=True):
        left, top, right, bottom = place(shape, start, end)
        animals = None if name in (NEW, GONE) else int(sizes["count"].get(name, 0))
        nodes.append((name, left, top, right - left, bottom - top, animals))
    return Flow(view_box(shape, levels), nodes, edges)


def arc_levels(ways: Iterable[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """
    Give each way that is no step to the next node a distance from the nodes: forward
    ways below 0, backward ways above 0, none over another.

    >>> arc_levels([(0, 1), (1, 3), (0, 2), (2, 1)])
    {(2, 1): 1, (1, 3): -1, (0, 2): -2}
    """
    levels: dict[tuple[int, int], int] = {}
    arcs = [way for way in ways if way[1] - way[0] != 1]
    for way in sorted(arcs, key=lambda way: (abs(way[1] - way[0]), -way[0])):
        side = 1 if way[0] > way[1] else -1
        taken = {level for other, level in levels.items() if is_beside(way, other)}
        levels[way] = next(
            level for level in range(side, side * 9, side) if level not in taken
        )
    return levels


def is_beside(way: tuple[int, int], other: tuple[int, int]) -> bool:
    """Say whether two ways share a part."""
    return max(min(way), min(other)) < min(max(way), max(other))


def draw_edge(
    shape: Shape, way: tuple[int, int], level: int, animals: int, most: int
) -> Edge:
    """Draw a way: straight to the next node, else as an arc."""
    begin, end = (shape.spans[node] for node in way)
    if level:
        # forward arcs leave a node in its second half, and reach one in its first half
        side = 1 if level > 0 else -1
        start = sum(begin) // 2 - side * (begin[1] - begin[0]) // 4
        stop = sum(end) // 2 + side * (end[1] - end[0]) // 4
        edge, depth = side * (shape.half + 2), side * shape.half + level * shape.step
        corners = [
            (start, edge),
            (start, depth),
            (stop, depth),
            (stop, edge + side * 8),
        ]
        above = 0 if shape.is_upright else 11  # the line
        label = ((3 * start + 2 * stop) // 5, depth - above)
    else:
        corners = [(begin[1] + 3, 0), (end[0] - 10, 0)]
        label = ((begin[1] + end[0]) // 2, 22 if shape.is_upright else -12)
    points = [turn(shape, *corner) for corner in corners]
    line = "M" + "L".join(f"{x} {y}" for x, y in points)
    width = 1.5 + round(4 * animals / most, 1)
    return Edge(line, arrowhead(*points[-2:]), width, turn(shape, *label), animals)


def arrowhead(before: tuple[int, int], tip: tuple[int, int]) -> str:
    """
    Return a triangle that goes on from a line.

    >>> arrowhead((0, 0), (50, 0))
    'M50 -5L59 0L50 5z'
    """
    x, y = tip
    ahead = [(b > a) - (b < a) for a, b in zip(before, tip, strict=True)]
    aside = [5 * step for step in reversed(ahead)]
    corners = [
        (x - aside[0], y - aside[1]),
        (x + 9 * ahead[0], y + 9 * ahead[1]),
        (x + aside[0], y + aside[1]),
    ]
    return "M" + "L".join(f"{left} {top}" for left, top in corners) + "z"


def turn(shape: Shape, along: int, across: int) -> tuple[int, int]:
    """Return a place from the left and from the top."""
    return (across, along) if shape.is_upright else (along, across)


def place(shape: Shape, start: int, end: int) -> tuple[int, int, int, int]:
    """Return left, top, right and bottom of a node."""
    return *turn(shape, start, -shape.half), *turn(shape, end, shape.half)


def view_box(
    shape: Shape, levels: dict[tuple[int, int], int]
) -> tuple[int, int, int, int]:
    """Return left, top, width and height of what is drawn."""
    margin = 22
    first = min([0, *levels.values()]) * shape.step - shape.half - margin
    last = max([0, *levels.values()]) * shape.step + shape.half + margin
    length = shape.spans[-1][1]
    left, top = turn(shape, 0, first)
    width, height = turn(shape, length, last - first)
    return left, top, width, height
