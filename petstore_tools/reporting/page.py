"""Tables as one HTML page without script or network; every value is escaped."""

from __future__ import annotations

from typing import Any, Final

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from petstore_tools._version import __version__
from petstore_tools.reporting.tables import COLOURS, for_people
from petstore_tools.text import cell_text, utc_text

MOST: Final = 20  # categories of the shorter table, and moved animals


def page(**values: Any) -> str:
    """
    Fill the template of the report.

    Args:
        values: `headline`, `cost_text`, `listing`, `since` (the older listing or None), `notes`, `tables` by
            name, without an index, as `StatusReport.tables` returns them.
    """
    environment = Environment(
        loader=PackageLoader("petstore_tools"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"shown": cell_text, "utc": utc_text, "for_people": for_people, "css": css}
    environment.globals |= {"version": __version__, "areas": areas, "most": MOST}
    return environment.get_template("report.html").render(values)


def css(status: str) -> str:
    """Return the style class of a status."""
    return status if status in COLOURS else "other"


def areas(counts: pd.DataFrame) -> dict[str, str]:
    """Return counts over time as stacked polygons in a box of 100 by 100, by status."""
    counts = counts.set_index("as_of")
    times = [at.timestamp() for at in counts.index]
    span = times[-1] - times[0] or 1.0
    across = [100 * (at - times[0]) / span for at in times]
    heights = 100 * counts.cumsum(axis=1) / (counts.sum(axis=1).max() or 1)
    found, below = {}, [0.0] * len(times)
    for name, column in heights.items():
        above = column.tolist()
        there = zip(across, above, strict=True)
        back = zip(reversed(across), reversed(below), strict=True)
        found[str(name)] = " ".join(f"{x:.2f},{100 - y:.2f}" for x, y in (*there, *back))
        below = above
    return found
