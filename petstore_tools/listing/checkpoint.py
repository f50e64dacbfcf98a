"""What an interrupted listing has, kept on disk for the same call to go on with."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from petstore_tools.errors import FrameError, MissingExtraError
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.parquet import load_parquet, parquet_bytes, read_frame
from petstore_tools.tabular.atomic import replace_file

if TYPE_CHECKING:
    import pandas as pd

_BEGUN: Final = b"petstore_tools.begun"


class Checkpoints:
    """
    The interrupted listings of one service, one a filter.

    Args:
        folder: Where they lie, each as `inventory.parquet` or `status-sold.parquet`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, frame: pd.DataFrame, state: dict[str, Any]) -> None:
        """Keep what an interrupted pull has, where Parquet can be written."""
        with suppress(MissingExtraError, OSError):
            listing = Listing.as_listed(frame)
            path = self._path(listing.status)
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, parquet_bytes(frame, listing, {_BEGUN: json.dumps(state).encode()}))

    def of(self, status: str | None) -> tuple[pd.DataFrame, dict[str, Any]] | None:
        """Return what an interrupted pull has kept, and where it stopped."""
        with suppress(MissingExtraError, FrameError, OSError, KeyError, ValueError):
            path = self._path(status)
            if path.exists():
                return read_frame(path), json.loads(load_parquet().read_schema(path).metadata[_BEGUN])
        return None

    def forget(self, status: str | None) -> None:
        """Forget an interrupted pull."""
        with suppress(OSError):
            self._path(status).unlink(missing_ok=True)

    def _path(self, status: str | None) -> Path:
        return self._folder / f"{folder_name(status)}.parquet"


def folder_name(status: str | None) -> str:
    """Return what the folder or file of a filter is called."""
    return "inventory" if status is None else f"status-{status}"
