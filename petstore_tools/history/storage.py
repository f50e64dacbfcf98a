"""
The history on disk: stays as Parquet files that any tool reads, and an index that names the current ones.

    stays/open/000012-5b21.parquet                     the animals that the newest listing showed
    stays/closed/day=2026-01-05/000011-09fe.parquet    the stays that listing 11 ended
    index.json                                         the kept listings, and the files that are current

A file is never changed, and the index is replaced last: a write that dies leaves what was there before.
"""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydantic import TypeAdapter

from petstore_tools import sqlite
from petstore_tools.errors import FrameError
from petstore_tools.history import stays
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.frames import Columns
from petstore_tools.listing.parquet import load_parquet
from petstore_tools.listing.statuses import count
from petstore_tools.tabular.atomic import replace_file

if TYPE_CHECKING:
    import pandas as pd

_WAIT_S: Final = 60.0  # for another writer


@dataclass(frozen=True)
class KeptListing:
    """
    A complete listing of the whole inventory, kept as stays.

    Attributes:
        number: Counts up in the order of keeping.
        listing: What it was a listing of, and when.
        counts: Animals by status, `unset` included.
        not_shown: Ids of open stays that this listing did not show, where it may have missed them.
        source: The file of version 0.1 that it was read from, "" for none.
    """

    number: int
    listing: Listing
    counts: dict[str, int]
    not_shown: tuple[int, ...] = ()
    source: str = ""


@dataclass(frozen=True)
class Index:
    """
    What is kept.

    Attributes:
        listings: By number, ascending.
        open_file: The newest open stays, relative to the folder; "" before the first listing.
        closed: Files of ended stays, by the number of the listing that ended them.
    """

    listings: tuple[KeptListing, ...] = ()
    open_file: str = ""
    closed: dict[int, str] = field(default_factory=dict)


class Storage:
    """
    The stays of one service.

    Args:
        folder: Where they lie; made at the first write.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._cached: tuple[tuple[int, int, int], Index] = (0, 0, 0), Index()

    def index(self) -> Index:
        """
        Read what is kept; costs one small file.

        Raises:
            FrameError: The index is damaged.
        """
        path = self.folder / "index.json"
        try:
            state = path.stat()
            if (key := (state.st_ino, state.st_mtime_ns, state.st_size)) != self._cached[0]:
                self._cached = key, _as_json().validate_json(path.read_bytes())
            return self._cached[1]
        except (FileNotFoundError, NotADirectoryError):
            return Index()
        except (OSError, ValueError) as error:
            raise FrameError(f"the index of the kept listings cannot be read: {path} ({error})") from error

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Keep other writers out, of this machine, until the block ends."""
        self.folder.mkdir(parents=True, exist_ok=True)
        connection = sqlite.connect(self.folder / "lock.db", durability="OFF")
        try:
            sqlite.begin(connection, wait_s=_WAIT_S)
            yield
        finally:
            connection.close()

    def add(self, frame: pd.DataFrame, *, source: str = "") -> KeptListing:
        """
        Keep a complete listing of the whole inventory; call it inside `writing`.

        Args:
            frame: As `list_pets` gave it.
            source: The file of version 0.1 that it was read from.

        Warns:
            UserWarning: The open stays are damaged: the listings before this one cannot be rebuilt any more.

        Raises:
            FrameError: The index is damaged.
            OSError: The folder cannot be written.
        """
        index, listing = self.index(), Listing.as_listed(frame)
        number = index.listings[-1].number + 1 if index.listings else 1
        before = self._open_stays(index)
        opened, ended = stays.fold(before, frame, number, may_have_holes=listing.holes_suspected)
        held = opened.loc[opened["last"] != number, "id"]
        counts = count(frame)
        kept = KeptListing(number, listing, counts, tuple(held.tolist()), source)
        times = {one.number: one.listing for one in (*index.listings, kept)}
        closed = dict(index.closed)
        if len(ended):
            day = datetime.fromtimestamp(listing.ended_at, UTC).date()
            closed[number] = self._write(f"stays/closed/day={day}", number, ended, times)
        open_file = self._write("stays/open", number, opened, times)
        content = _as_json().dump_json(Index((*index.listings, kept), open_file, closed))
        replace_file(self.folder / "index.json", content)
        if index.open_file:
            (self.folder / index.open_file).unlink(missing_ok=True)
        return kept

    def frame(self, kept: KeptListing) -> pd.DataFrame:
        """
        Rebuild a kept listing, as `list_pets` gave it; its rows are in the order of their ids.

        Raises:
            FrameError: A file that it needs is damaged, or what it rebuilds is not what was kept.
        """
        index = self.index()
        needed = [index.open_file, *(file for number, file in index.closed.items() if number > kept.number)]
        import pandas as pd

        every = pd.concat([self._read(file) for file in needed], ignore_index=True)
        shown = stays.shown_in(every, kept.number)
        shown = shown[~shown["id"].isin(kept.not_shown)]
        frame = Columns.of(shown).to_frame(kept.listing)
        frame.attrs["listing"] = kept.listing.to_dict()
        if Listing.of(frame) != kept.listing:
            raise FrameError(f"the kept listing {kept.number} cannot be rebuilt: a file of stays was changed")
        return frame

    def stays(self, *, closed_since: float | None = None) -> pd.DataFrame:
        """
        Read the stays, ended ones first.

        Args:
            closed_since: Leave out what ended before this time (Unix seconds).

        Returns:
            Columns as in the files: `id` (int64), `name`, `status` (string), `categoryId` (int64), `first`,
            `last` (int64, numbers of listings), `first_seen`, `last_seen`, `gone_by` (datetime, UTC; missing
            while open).

        Raises:
            FrameError: A file is damaged.
        """
        import pandas as pd

        index = self.index()
        ended_at = {kept.number: kept.listing.ended_at for kept in index.listings}
        files = [f for n, f in sorted(index.closed.items()) if ended_at[n] >= (closed_since or 0.0)]
        files += [index.open_file] if index.open_file else []
        read = [self._read(file, times=True) for file in files]
        return pd.concat(read, ignore_index=True) if read else _with_times(stays.none_yet(), {})

    def _open_stays(self, index: Index) -> pd.DataFrame:
        if not index.open_file:
            return stays.none_yet()
        try:
            return self._read(index.open_file)
        except FrameError as error:
            warnings.warn(f"the history begins anew with this listing: {error}", UserWarning, stacklevel=5)
            return stays.none_yet()

    def _read(self, file: str, *, times: bool = False) -> pd.DataFrame:
        columns = [*stays.VALUES, "first", "last"] + (["first_seen", "last_seen", "gone_by"] if times else [])
        try:
            table = load_parquet().ParquetFile(self.folder / file).read(columns=columns)
        except (OSError, ValueError, KeyError) as error:
            raise FrameError(f"the file of stays {file} cannot be read: {error}") from error
        frame: pd.DataFrame = table.to_pandas()
        return frame.astype(dict.fromkeys(stays.TEXTS, "string"))

    def _write(self, folder: str, number: int, frame: pd.DataFrame, times: dict[int, Listing]) -> str:
        parquet = load_parquet()
        import pyarrow as pa

        file = f"{folder}/{number:06}-{secrets.token_hex(2)}.parquet"
        (self.folder / folder).mkdir(parents=True, exist_ok=True)
        sink = pa.BufferOutputStream()
        table = pa.Table.from_pandas(_with_times(frame, times), preserve_index=False)
        parquet.write_table(table, sink, compression="zstd")
        replace_file(self.folder / file, bytes(sink.getvalue()))
        return file


@cache
def _as_json() -> TypeAdapter[Index]:
    return TypeAdapter(Index)


def _with_times(frame: pd.DataFrame, times: dict[int, Listing]) -> pd.DataFrame:
    """Add when a stay was first and last seen, and the start of the listing that no longer showed it."""
    import numpy as np
    import pandas as pd

    numbers = sorted(times)
    ended = [times[number].ended_at for number in numbers]
    following = [*(times[number].started_at for number in numbers[1:]), np.nan]

    def at(column: str, seconds: list[float]) -> pd.Series:
        places = np.searchsorted(numbers, frame[column].to_numpy())
        moments = pd.to_datetime(np.array(seconds, dtype="float64"), unit="s", utc=True).as_unit("us")
        return pd.Series(moments.take(places) if len(moments) else moments, index=frame.index)

    return frame.assign(
        first_seen=at("first", ended), last_seen=at("last", ended), gone_by=at("last", following)
    )
