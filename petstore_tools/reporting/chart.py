"""The picture of a report: counts over time, as lines."""

from datetime import timedelta
from itertools import accumulate
from typing import NamedTuple

from petstore_tools.reporting.facts import Facts
from petstore_tools.text import pluralize

WIDTH = 500  # of a chart, in units
GAP = 22  # units between the labels of a chart


class Chart(NamedTuple):
    """
    Counts over time in a box that is WIDTH units wide.

    Attributes:
        title: What it shows.
        lines: One a status, that of the largest count first: its name, its path as SVG
            writes it, a point a listing, and how far from the top the name stands.
        height: Of the box, in units.
        ticks: Round counts, from 0 at the lower edge to the upper one.
        since: How far from the left the compared time begins, None for none.
    """

    title: str
    lines: list[tuple[str, str, int]]
    height: int
    ticks: range
    since: int | None


def draw_chart(report: Facts) -> Chart | None:
    """Draw the counts over time; None where there is nothing to see."""
    counts = report.counts
    if counts is None or not counts.to_numpy().any():
        return None
    counts = counts.loc[:, counts.any()]
    counts = counts[counts.iloc[-1].sort_values(ascending=False, kind="stable").index]
    ticks = round_ticks(int(counts.to_numpy().max()))
    title = f"Animals by status in {pluralize(len(counts), 'listing')}"
    height = max(180, GAP * counts.shape[1])
    begin, end = counts.index[[0, -1]]
    duration = (end - begin) or timedelta(1)
    from_left = (counts.index - begin) / duration * WIDTH
    since = None
    if report.since is not None:
        since = max(0, round((report.since.as_of - begin) / duration * WIDTH))
    depths = ((ticks[-1] - counts) * height / ticks[-1]).round().astype(int)
    depths = depths.set_axis(from_left.to_numpy().round().astype(int))
    labels = spread(depths.iloc[-1].tolist(), height)
    lines = []
    for (status, line), label in zip(depths.items(), labels, strict=True):
        points = [f"{x} {y}" for x, y in line.items()]
        lines.append((str(status), f"M{'L'.join(points)}", label))
    return Chart(title, lines, height, ticks, since)


def round_ticks(high: int) -> range:
    """
    Return at most six round numbers from 0; the last one is `high` or little more.

    >>> [*round_ticks(525)]
    [0, 200, 400, 600]
    """
    power = 1
    while True:
        for step in (power, 2 * power, 25 * power // 10, 5 * power):
            ticks = range(0, high + step, step)
            if len(ticks) <= 6:
                return ticks
        power *= 10


def spread(depths: list[int], height: int) -> list[int]:
    """
    Move labels apart, within a height that has room for all.

    >>> spread([90, 100, 178], 180)
    [90, 112, 178]
    """
    lower = accumulate(depths, lambda above, depth: max(depth, above + GAP))
    upper = [min(depth, height) for depth in lower][::-1]
    return [*accumulate(upper, lambda below, depth: min(depth, below - GAP))][::-1]
