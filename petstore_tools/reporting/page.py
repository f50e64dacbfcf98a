"""A report as a page of its own and as a notebook shows it, with its picture."""

from datetime import timedelta
from itertools import accumulate
from typing import NamedTuple

from petstore_tools.reporting.presentation import Presentation

WIDTH = 500  # of a chart, in units
MOST_POINTS = 300  # of a line
GAP = 22  # units between the labels of a chart


def page(presentation: Presentation, template: str = "report.html") -> str:
    """
    Return one self-contained HTML page, without script and network; `notebook.html`
    shows headline, sums, chart and the table by status in any theme.
    """
    return presentation.fill(template, chart=chart(presentation))


class Chart(NamedTuple):
    """
    Counts over time in a box that is WIDTH units wide.

    Attributes:
        lines: One a status, that of the largest count first: its name, its path as SVG
            writes it, a point a listing, and how far from the top the name stands.
        height: Of the box, in units.
        ticks: Round counts; the first is that of the lower edge.
        high: The count of the upper edge.
    """

    lines: list[tuple[str, str, int]]
    height: int
    ticks: range
    high: int


def chart(presentation: Presentation) -> Chart | None:
    """Draw the counts over time; None where there is nothing to see."""
    counts = presentation.report.counts
    if counts is None or not counts.to_numpy().any():
        return None
    counts = counts.loc[:, counts.any()]
    counts = counts[counts.iloc[-1].sort_values(ascending=False, kind="stable").index]
    low, high = int(counts.to_numpy().min()), int(counts.to_numpy().max())
    ticks = round_ticks(low if low < high < 2 * low else 0, high)
    height = max(180, GAP * counts.shape[1])
    begin, end = counts.index[[0, -1]]
    from_left = (counts.index - begin) / ((end - begin) or timedelta(1)) * WIDTH
    depths = (high - counts) * height / (high - ticks[0])
    depths = depths.round().astype(int)
    depths = depths.set_axis(from_left.to_numpy().round().astype(int))
    if len(depths) > MOST_POINTS:
        depths = depths[~(depths.index // 2).duplicated(keep="last")]
    labels = spread(depths.iloc[-1].tolist(), height)
    lines = []
    for (status, line), label in zip(depths.items(), labels, strict=True):
        points = [f"{x} {y}" for x, y in line.items()]
        lines.append((str(status), f"M{'L'.join(points)}", label))
    return Chart(lines, height, ticks, high)


def round_ticks(low: int, high: int) -> range:
    """
    Return at most three round numbers up to `high`; the first is `low` or less.

    >>> [*round_ticks(0, 525)], [*round_ticks(890, 940)]
    ([0, 200, 400], [850, 900])
    """
    power = 1
    while True:
        for step in (power, 2 * power, 5 * power):
            ticks = range(low // step * step, high + 1, step)
            if len(ticks) <= 3:
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
