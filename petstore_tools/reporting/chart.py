"""Counts as a chart."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from petstore_tools.errors import MissingExtraError
from petstore_tools.reporting.presentation import Presentation, colour

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from petstore_tools.reporting.report import StatusReport


def figure(report: StatusReport) -> Figure:
    """
    Draw the counts of a report as bars, and the counts over time where there are two or more.

    Raises:
        MissingExtraError: The extra `plot` is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("plot", "a figure") from error

    class Drawn(Figure):
        def _repr_png_(self) -> bytes:  # a notebook shows figures of pyplot only
            memory = io.BytesIO()
            self.savefig(memory, format="png")
            return memory.getvalue()

    animals = report.breakdown["count"]
    counts = report.counts
    drawn = Drawn(figsize=(8, 3 if counts is None else 6), layout="constrained")
    axes: Any = drawn.subplots(1 if counts is None else 2, squeeze=False)[:, 0]
    bars = axes[0].barh(animals.index, animals, color=[*map(colour, animals.index)])
    axes[0].bar_label(bars, animals.map("{:,}".format), padding=4)
    axes[0].invert_yaxis()
    as_of = f"animals, as of {Presentation(report).when(report.listing.ended_at)}"
    axes[0].set(title=report.headline, xlabel=as_of, xlim=(0, max(1.1 * animals.max(), 1)))
    if counts is not None:
        colours = [colour(status) for status in counts.columns]
        axes[1].stackplot(counts.index, counts.to_numpy().T, labels=counts.columns, colors=colours)
        axes[1].legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
        axes[1].set(ylabel="animals", xmargin=0, ylim=(0, None))
    return drawn
