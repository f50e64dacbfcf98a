"""Listings as Parquet files, which any tool reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from petstore_tools import spec
from petstore_tools.errors import FrameError, MissingExtraError
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.frames import text_dtype

if TYPE_CHECKING:
    import pandas as pd

_LISTING: Final = b"petstore_tools.listing"


def load_parquet() -> Any:
    """
    Return the module that reads and writes Parquet.

    Raises:
        MissingExtraError: pyarrow is not installed.
    """
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError("pyarrow", "a Parquet file") from error
    return pyarrow.parquet


def parquet_bytes(
    frame: pd.DataFrame, listing: Listing, more: Mapping[bytes, bytes] | None = None
) -> bytes:
    """
    Return a listing as Parquet: its columns, and `as_of` (UTC) for whoever reads many files as one.

    Args:
        frame: As `list_pets` gave it.
        listing: What it is a listing of, for the file's metadata.
        more: Further metadata.

    Raises:
        MissingExtraError: pyarrow is not installed.
    """
    parquet = load_parquet()
    import pyarrow as pa

    table = pa.Table.from_pandas(frame, preserve_index=False)
    at = pa.scalar(int(listing.ended_at * 1_000_000), pa.timestamp("us", tz="UTC"))
    table = table.append_column("as_of", pa.repeat(at, len(frame)))
    metadata = {
        **table.schema.metadata,
        _LISTING: json.dumps(listing.to_dict()).encode(),
        **(more or {}),
    }
    sink = pa.BufferOutputStream()
    parquet.write_table(table.replace_schema_metadata(metadata), sink, compression="zstd")
    return bytes(sink.getvalue())


def read_frame(path: Path) -> pd.DataFrame:
    """
    Return the frame of a Parquet file, as `list_pets` gave it.

    Raises:
        FrameError: The file is damaged.
    """
    try:
        # one file: `read_table` would take the folder's day for a column
        with load_parquet().ParquetFile(path) as file:
            frame: pd.DataFrame = file.read(columns=list(spec.PET_FIELDS)).to_pandas()
            listing = Listing.from_dict(json.loads(file.schema_arrow.metadata[_LISTING]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FrameError(
            f"the snapshot {path.parent.name}/{path.name} cannot be read: {error}"
        ) from error
    frame = frame.astype({"name": text_dtype()})  # it may be of another version of pandas
    frame.attrs["listing"] = listing.to_dict()
    return frame
