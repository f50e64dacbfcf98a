"""Counts as a chart."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pandas as pd

from petstore_tools.errors import MissingExtraError
from petstore_tools.reporting.tables import colour

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure(title: str, as_of: str, breakdown: pd.DataFrame, counts: pd.DataFrame | None) -> Figure:
    """
    Draw the counts of a breakdown as bars, and the counts over time where there are two or more.

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

    drawn = Drawn(figsize=(8, 3 if counts is None else 6), layout="constrained")
    axes: Any = drawn.subplots(1 if counts is None else 2, squeeze=False)[:, 0]
    statuses = breakdown.index
    bars = axes[0].barh(statuses, breakdown["count"], color=[*map(colour, statuses)])
    axes[0].bar_label(bars, breakdown["count"].map("{:,}".format), padding=4)
    axes[0].invert_yaxis()
    axes[0].set(title=title, xlabel=f"animals, as of {as_of}", xmargin=0.1)
    if counts is not None:
        colours = [colour(status) for status in counts.columns]
        axes[1].stackplot(counts.index, counts.to_numpy().T, labels=counts.columns, colors=colours)
        axes[1].legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
        axes[1].set(ylabel="animals", xmargin=0)
    return drawn
