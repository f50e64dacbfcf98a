"""
A report as one HTML page without script or network, or as the body of a mail; every
value is escaped.
"""

from __future__ import annotations

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from petstore_tools._version import __version__
from petstore_tools.reporting.facts import Facts
from petstore_tools.reporting.presentation import COLOURS, Presentation, cells
from petstore_tools.text import cell_text


def page(template: str, report: Facts, *left_out: str) -> str:
    """
    Fill a template: `report.html`, or `mail.html`, whose styles are inline, since mail
    programs drop style sheets.

    Args:
        template: Its name.
        report: What is shown.
        left_out: Sections that are not.
    """
    environment = Environment(
        loader=PackageLoader("petstore_tools"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"shown": cell_text, "cells": cells, "areas": areas}
    read = Presentation(report)
    return environment.get_template(template).render(
        report=report,
        read=read,
        sections=read.sections(*left_out),
        colours=COLOURS,
        version=__version__,
    )


def areas(counts: pd.DataFrame) -> dict[str, str]:
    """
    Return counts over time as polygons in a box of 100 by 100, by status; each hides
    the lower part of the one before.
    """
    times = [at.timestamp() for at in counts.index]
    span = times[-1] - times[0] or 1.0
    heights = counts.cumsum(axis=1) / counts.sum(axis=1).max()
    found = {}
    for name in reversed(counts.columns):
        points = zip(times, heights[name], strict=True)
        edge = [
            f"{100 * (at - times[0]) / span:.2f},{100 - 100 * y:.2f}"
            for at, y in points
        ]
        found[str(name)] = " ".join(["0,100", *edge, "100,100"])
    return found
