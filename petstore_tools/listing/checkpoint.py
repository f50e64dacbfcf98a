"""What an interrupted listing has, kept for the same call to go on with."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from petstore_tools.errors import FrameError, MissingExtraError
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.parquet import load_parquet, parquet_bytes, read_frame
from petstore_tools.tabular.atomic import replace_file

if TYPE_CHECKING:
    import pandas as pd

_STATE: Final = b"petstore_tools.begun"  # as version 0.1 named it


@dataclass(frozen=True)
class Checkpoint:
    """
    A listing that was interrupted.

    Attributes:
        frame: The animals that came, labelled as cut.
        state: Where its pager stopped.
    """

    frame: pd.DataFrame
    state: dict[str, Any]

    @property
    def listing(self) -> Listing:
        """What the frame is a listing of."""
        return Listing.as_listed(self.frame)


class CheckpointExpired(Exception):  # noqa: N818 - no fault: the listing begins anew
    """The service no longer goes on where an interrupted listing stopped."""


class Checkpoints:
    """
    The interrupted listings of one service, one a filter: in memory, with the extra `parquet` also
        on disk.

    Args:
        folder: Where they lie, each as `inventory.parquet` or `status-sold.parquet`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._memory: dict[str | None, Checkpoint] = {}

    def keep(self, checkpoint: Checkpoint) -> None:
        """Keep an interrupted listing."""
        listing = checkpoint.listing
        self._memory[listing.status] = checkpoint
        with suppress(MissingExtraError, OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            state = {_STATE: json.dumps(checkpoint.state).encode()}
            replace_file(
                self._path(listing.status), parquet_bytes(checkpoint.frame, listing, state)
            )

    def of(self, status: str | None) -> Checkpoint | None:
        """Return the interrupted listing with this filter, None where there is none."""
        if status in self._memory:
            return self._memory[status]
        path = self._path(status)
        with suppress(MissingExtraError, FrameError, OSError, KeyError, ValueError):
            state = json.loads(load_parquet().read_schema(path).metadata[_STATE])
            return Checkpoint(read_frame(path), state)
        return None

    def forget(self, status: str | None) -> None:
        """Forget an interrupted listing."""
        self._memory.pop(status, None)
        with suppress(OSError):
            self._path(status).unlink(missing_ok=True)

    def _path(self, status: str | None) -> Path:
        return self._folder / f"{folder_name(status)}.parquet"


def folder_name(status: str | None) -> str:
    """Return what the folder or file of a filter is called."""
    return "inventory" if status is None else f"status-{status}"
