"""Reports on listings that a test names."""

from pathlib import Path

import pandas as pd

from petstore_tools import StatusReport
from petstore_tools.history.reading import History
from petstore_tools.reporting.facts import check_looks
from petstore_tools.reporting.report import report_and_keep


def report_on(
    folder: Path,
    *listings: pd.DataFrame,
    since: str = "1d",
    zone: str | None = "UTC",
    categories: dict[int, str] | None = None,
) -> StatusReport:
    """
    Keep all but the last of some listings, and report on it since the first one, or
    another.
    """
    history = History(folder / "history.db")
    for frame in listings[:-1]:
        history.keep(frame)
    looks = check_looks(categories, "Report", "", zone)
    return report_and_keep(listings[-1], history, since, looks)
