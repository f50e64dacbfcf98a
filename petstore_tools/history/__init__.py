"""What complete listings say over time: one SQLite file for each service."""

from petstore_tools.history.database import instant
from petstore_tools.history.reading import History, Snapshot, Snapshots

__all__ = ["History", "Snapshot", "Snapshots", "instant"]
