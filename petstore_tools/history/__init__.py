"""What complete listings say over time: one SQLite file for each service."""

from petstore_tools.history.database import Moment, Snapshot, Snapshots, instant
from petstore_tools.history.reading import History

__all__ = [
    "History",
    "Moment",
    "Snapshot",
    "Snapshots",
    "instant",
]
