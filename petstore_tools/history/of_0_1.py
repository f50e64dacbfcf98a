"""
Snapshots of version 0.1, full copies: folded in once; their files stay until `history compact`.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from pathlib import Path

from petstore_tools import spec
from petstore_tools.errors import FrameError
from petstore_tools.history.storage import KeptListing, Storage
from petstore_tools.listing.completeness import digest
from petstore_tools.listing.parquet import load_parquet, read_frame


def fold_in(storage: Storage) -> None:
    """
    Fold the listings of version 0.1 in, by age; each is rebuilt and compared.

    Warns:
        UserWarning: A file is damaged, or its listing is not rebuilt as it was.

    Raises:
        MissingExtraError: The extra `parquet` is not installed.
    """
    load_parquet()
    if not _unknown(storage):
        return
    with storage.writing():
        for source in _unknown(storage):
            try:
                _compare(storage, storage.add(read_frame(storage.folder / source), source=source))
            except FrameError as error:
                warnings.warn(
                    f"a snapshot of version 0.1 is left out: {error}", UserWarning, stacklevel=5
                )


def folded_in(storage: Storage) -> list[Path]:
    """
    Return the files that nothing needs any more: each is compared with the listing that is rebuilt.
    """
    fold_in(storage)
    files = []
    for kept in storage.index().listings:
        path = storage.folder / kept.source
        if kept.source and path.exists():
            with suppress(FrameError):
                _compare(storage, kept)
                files.append(path)
    return files


def _unknown(storage: Storage) -> list[str]:
    """Return the files that are not folded in yet, by age, as the index names them."""
    files = storage.folder.glob("inventory/day=*/*.parquet")
    names = {path.relative_to(storage.folder).as_posix() for path in files}
    return (
        sorted(names.difference(kept.source for kept in storage.index().listings)) if names else []
    )


def _compare(storage: Storage, kept: KeptListing) -> None:
    """
    Compare all four columns of a kept listing with its file: the digest of version 0.1 is of the
        ids alone.

    Raises:
        FrameError: They differ, or a file is damaged.
    """
    rebuilt, was = (
        digest(*(frame[name].tolist() for name in spec.PET_FIELDS))
        for frame in (storage.frame(kept), read_frame(storage.folder / kept.source))
    )
    if rebuilt != was:
        raise FrameError(f"{kept.source} is not rebuilt as it was")
