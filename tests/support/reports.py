"""Reports on listings that a test names."""

from inventories import listing_frame

from petstore_tools.history.database import HistoryDatabase
from petstore_tools.history.reading import History
from petstore_tools.reporting.facts import read_looks
from petstore_tools.reporting.report import report_and_keep


def status_frame(statuses, ended_at=1.0, **changes):
    """Return a listing of animals called Rex, of category 1, by their ids."""
    rows = [(pet_id, "Rex", 1, status) for pet_id, status in statuses.items()]
    return listing_frame(rows, ended_at, **changes)


def report_on(folder, *listings, since="1d", zone="UTC", categories=None, alert=()):
    """
    Keep all but the last of some listings, and report on it since the first one, or
    another.
    """
    history = History(HistoryDatabase(folder / "history.db"))
    for frame in listings[:-1]:
        history.keep(frame)
    looks = read_looks(categories, "Report", "", zone, alert)
    return report_and_keep(listings[-1], history, since, looks)
