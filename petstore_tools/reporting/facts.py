"""What a report says: the listing, the tables, and in which order they stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import tzinfo

import pandas as pd

from petstore_tools import text
from petstore_tools.listing.completeness import Listing

TITLES = {  # of tables and sheets, in the order of a page
    "summary": "At a glance",
    "changes": "Change by status",
    "flow": "From which status to which",
    "changes_by_category": "Change by category",
    "breakdown": "By status",
    "by_category": "By category",
    "counts": "Over time",
    "time_in_status": "Days in a status",
    "moved": "Animals that moved",
    "pending": "Pending animals",
}
LISTS = ("moved", "pending")


@dataclass(frozen=True)
class Facts:
    """The facts of a report, which `StatusReport` describes."""

    listing: Listing
    animals: pd.DataFrame = field(repr=False)
    breakdown: pd.DataFrame
    by_category: pd.DataFrame
    since: Listing | None = None
    summary: pd.DataFrame | None = None
    changes: pd.DataFrame | None = None
    changes_by_category: pd.DataFrame | None = None
    moved: pd.DataFrame | None = None
    flow: pd.DataFrame | None = None
    counts: pd.DataFrame | None = None
    time_in_status: pd.DataFrame | None = None
    notes: tuple[str, ...] = ()
    title: str = "Status report"
    note: str = ""
    timezone: tzinfo | None = None
    categories: Mapping[int, str] = field(default_factory=dict, repr=False)
    # whether single animals are listed: those that moved, and those that are pending
    _lists: bool = True

    @property
    def headline(self) -> str:
        """
        Whether the listing is complete, how many animals it has, and of what it is.
        """
        listing = self.listing
        start = (
            listing.label.capitalize()
            if listing.complete
            else f"Not complete ({listing.label})"
        )
        return f"{start}: {text.pluralize(listing.rows, 'animal')} of {listing.subject}"

    @property
    def pending(self) -> pd.DataFrame:
        """The pending animals: `id`, `name`, `categoryId`."""
        pending = self.animals[self.animals["status"] == "pending"]
        return pending[["id", "name", "categoryId"]].reset_index(drop=True)

    def tables(self) -> dict[str, pd.DataFrame]:
        """
        Return the tables that are not None, by their attributes; the index is a column.

        >>> from petstore_tools import status_report
        >>> list(status_report(store.list_pets()).tables())
        ['breakdown', 'by_category', 'pending']
        """
        tables = {}
        for name in TITLES:
            table = getattr(self, name)
            if table is not None and (self._lists or name not in LISTS):
                tables[name] = table.reset_index() if table.index.name else table
        return tables
