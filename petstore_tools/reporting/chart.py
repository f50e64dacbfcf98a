"""Counts as a chart."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pandas as pd

from petstore_tools.errors import MissingExtraError
from petstore_tools.reporting.tables import colour
from petstore_tools.text import pluralize

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure(title: str, as_of: str, breakdown: pd.DataFrame, counts: pd.DataFrame | None) -> Figure:
    """
    Draw the counts of a breakdown as bars, and the counts over time as areas where there are two or
    more.

    Raises:
        MissingExtraError: The extra `plot` is not installed.
    """
    try:
        from matplotlib.dates import ConciseDateFormatter
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("plot", "a figure") from error

    class Drawn(Figure):
        def _repr_png_(self) -> bytes:  # a notebook shows figures of pyplot only
            memory = io.BytesIO()
            self.savefig(memory, format="png")
            return memory.getvalue()

    over_time = None if counts is None or len(counts) < 2 else counts
    rows = 1 if over_time is None else 2
    drawn = Drawn(figsize=(8, 3 * rows), layout="constrained")
    axes: Any = drawn.subplots(rows, 1, squeeze=False)[:, 0]
    names, animals = breakdown.index.tolist(), breakdown["count"].tolist()
    bars = axes[0].barh(names, animals, color=[*map(colour, names)])
    labels = zip(animals, breakdown["share"].tolist(), strict=True)
    axes[0].bar_label(bars, [f"{n:,} ({share:.1%})" for n, share in labels], padding=4)
    axes[0].invert_yaxis()
    axes[0].margins(x=0.2)
    axes[0].set(title=title, xlabel=f"animals, as of {as_of}")
    if over_time is not None:
        names = over_time.columns.tolist()
        areas = over_time.to_numpy().T
        axes[1].stackplot(
            over_time.index.to_numpy(), areas, labels=names, colors=[*map(colour, names)]
        )
        axes[1].set(title=pluralize(len(over_time), "snapshot"), ylabel="animals")
        axes[1].legend(
            loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=len(names), frameon=False
        )
        concise: Any = ConciseDateFormatter
        axes[1].xaxis.set_major_formatter(concise(axes[1].xaxis.get_major_locator()))
        axes[1].margins(x=0)
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
    return drawn
