"""
The history on disk: stays as Parquet files that any tool reads, and an index that names the current
    ones.

    stays/open/000012-5b21.parquet                     the animals that the newest listing showed
    stays/closed/day=2026-01-05/000011-09fe.parquet    the stays that listing 11 ended
    index.json                                         the kept listings, and the files that are
    current

A file is never changed, and the index is replaced last: a write that dies leaves what was there
before. The next write deletes what it left.
"""

from __future__ import annotations

import itertools
import math
import secrets
import sqlite3
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import TypeAdapter

from petstore_tools import spec, sqlite
from petstore_tools.errors import FrameError
from petstore_tools.history import stays
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.frames import Columns, count, text_dtype
from petstore_tools.listing.parquet import load_parquet
from petstore_tools.tabular.atomic import replace_file
from petstore_tools.text import pluralize, utc_text

if TYPE_CHECKING:
    import pandas as pd

_FIRST: Final = "000001-"  # how the files of the first listing begin
_WAIT_S: Final = 60.0  # for another writer
_NUMBERED: Final = (*spec.PET_FIELDS, "first", "last")
_TIMES: Final = ("first_seen", "last_seen", "gone_by")
_COLUMNS: Final = (*_NUMBERED, *_TIMES)


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

    def needing(self, file: str) -> str:
        """Name the listings that cannot be rebuilt without a file: those before it was written."""
        ended = {name: number for number, name in self.closed.items()}
        found = [
            kept.listing for kept in self.listings if kept.number < ended.get(file, kept.number + 1)
        ]
        times = dict.fromkeys(utc_text(listing.ended_at) for listing in (found[0], found[-1]))
        return f"{pluralize(len(found), 'kept listing')} ({' to '.join(times)})"


class Storage:
    """
    The stays of one service.

    Args:
        folder: Where they lie; made at the first write.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def index(self) -> Index:
        """
        Read what is kept; costs one small file.

        Raises:
            FrameError: The index is damaged, or gone while the stays are there.
        """
        path = self.folder / "index.json"
        try:
            state = path.stat()
            return _read_index(path, (state.st_ino, state.st_mtime_ns, state.st_size))
        except (FileNotFoundError, NotADirectoryError) as error:
            files = self.folder.glob("stays/**/*.parquet")
            if any(
                not file.name.startswith(_FIRST) for file in files
            ):  # not what a first write left
                raise FrameError(
                    f"listings are kept in {self.folder}, but their index.json is gone: "
                    "restore it from a "
                    "backup, or move the folder away to begin a new history"
                ) from error
            return Index()
        except (OSError, ValueError) as error:
            raise FrameError(
                f"the index of the kept listings cannot be read: {path} ({error})"
            ) from error

    @contextmanager
    def writing(self) -> Iterator[None]:
        """
        Keep other writers out until the block ends.

        Raises:
            FrameError: The folder cannot be written.
        """
        with ExitStack() as stack:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                connection = sqlite.connect(self.folder / "lock.db", durability="OFF")
                stack.enter_context(closing(connection))
                sqlite.begin(connection, wait_s=_WAIT_S)
            except sqlite3.Error as error:
                raise FrameError(f"the kept listings cannot be written: {error}") from error
            yield

    def add(self, frame: pd.DataFrame, *, source: str = "") -> KeptListing:
        """
        Keep a complete listing of the whole inventory; call it inside `writing`.

        Args:
            frame: As `list_pets` gave it.
            source: The file of version 0.1 that it was read from.

        Warns:
            UserWarning: The open stays are damaged: the listings before this one cannot be rebuilt
                any more.

        Raises:
            FrameError: The index is damaged.
            OSError: The folder cannot be written.
        """
        index, listing = self.index(), Listing.as_listed(frame)
        number = index.listings[-1].number + 1 if index.listings else 1
        opened, ended = stays.fold(
            self._open_stays(), frame, number, may_have_holes=listing.may_have_hole
        )
        held = opened.loc[opened["last"] != number, "id"]
        counts = count(frame)
        kept = KeptListing(number, listing, counts, tuple(held.tolist()), source)
        times = {one.number: one.listing for one in (*index.listings, kept)}
        closed = dict(index.closed)
        open_file = self._write("stays/open", number, opened, times)
        if len(ended):
            day = datetime.fromtimestamp(listing.ended_at, UTC).date()
            closed[number] = self._write(f"stays/closed/day={day}", number, ended, times)
        index = Index((*index.listings, kept), open_file, closed)
        replace_file(self.folder / "index.json", _as_json().dump_json(index))
        self._remove_unnamed(index)
        return kept

    def frame(self, kept: KeptListing) -> pd.DataFrame:
        """
        Rebuild a kept listing, as `list_pets` gave it; its rows are in the order of their ids.

        Raises:
            FrameError: A file that it needs is damaged, or what it rebuilds is not what was kept.
        """
        every = self._read(
            lambda index: [
                index.open_file,
                *(f for n, f in index.closed.items() if n > kept.number),
            ]
        )
        shown = stays.shown_in(every, kept.number)
        shown = shown[~shown["id"].isin(kept.not_shown)]
        frame = Columns.of(shown).to_frame(kept.listing)
        frame.attrs["listing"] = kept.listing.to_dict()
        if Listing.of(frame) != kept.listing:
            raise FrameError(
                f"the kept listing {kept.number} cannot be rebuilt: a file of stays was changed"
            )
        return frame

    def stays(
        self, *, closed_since: float | None = None, skip_damaged: bool = False
    ) -> pd.DataFrame:
        """
        Read the stays, ended ones first.

        Args:
            closed_since: Leave out what ended before this time (Unix seconds).
            skip_damaged: Leave out a damaged file of ended stays, too, with a warning.

        Returns:
            Columns as in the files: `id` (int64), `name`, `status` (string), `categoryId` (int64),
                `first`,
            `last` (int64, numbers of listings), `first_seen`, `last_seen`, `gone_by` (datetime,
            UTC; missing while open).

        Raises:
            FrameError: A file is damaged.
        """

        def needed(index: Index) -> list[str]:
            ended_at = {kept.number: kept.listing.ended_at for kept in index.listings}
            closed = [
                f for n, f in sorted(index.closed.items()) if ended_at[n] >= (closed_since or 0.0)
            ]
            return closed + [index.open_file] * bool(index.open_file)

        return self._read(needed, _COLUMNS, skip_damaged=skip_damaged)

    def _open_stays(self) -> pd.DataFrame:
        try:
            return self._read(lambda index: [index.open_file] * bool(index.open_file))
        except FrameError as error:
            warnings.warn(
                f"the history begins anew with this listing: {error}", UserWarning, stacklevel=5
            )
            return self._read(lambda _: [])

    def _read(
        self,
        needed: Callable[[Index], Sequence[str]],
        columns: Sequence[str] = _NUMBERED,
        *,
        skip_damaged: bool = False,
    ) -> pd.DataFrame:
        """
        Read the files that the index names; again where another process replaced one of them
        meanwhile.
        """
        parquet, index = load_parquet(), self.index()
        import pyarrow as pa

        tables = [_schema().empty_table().select(columns)]
        for file in needed(index):
            try:
                tables.append(parquet.ParquetFile(self.folder / file).read(columns=list(columns)))
            except (OSError, ValueError, KeyError) as error:
                if self.index() != index:
                    return self._read(needed, columns, skip_damaged=skip_damaged)
                why = (
                    f"the file of stays {file} cannot be read ({error}); without it "
                    f"{index.needing(file)} cannot be rebuilt"
                )
                if not skip_damaged or file == index.open_file:
                    raise FrameError(why) from error
                warnings.warn(f"{why}, and its stays are left out", UserWarning, stacklevel=5)
        frame: pd.DataFrame = pa.concat_tables(tables, promote_options="permissive").to_pandas()
        return frame.astype(dict.fromkeys(stays.TEXTS, text_dtype()))

    def _write(
        self, folder: str, number: int, frame: pd.DataFrame, times: dict[int, Listing]
    ) -> str:
        parquet = load_parquet()
        import pyarrow as pa

        file = f"{folder}/{number:06}-{secrets.token_hex(2)}.parquet"
        (self.folder / folder).mkdir(parents=True, exist_ok=True)
        sink = pa.BufferOutputStream()
        table = pa.Table.from_pandas(
            _with_times(frame, times), schema=_schema(), preserve_index=False
        )
        parquet.write_table(
            table.replace_schema_metadata(),
            sink,
            compression="zstd",
            use_dictionary=list(_COLUMNS[1:]),
            column_encoding={"id": "DELTA_BINARY_PACKED"},
        )
        replace_file(self.folder / file, bytes(sink.getvalue()))
        return file

    def _remove_unnamed(self, index: Index) -> None:
        """
        Delete the open stays before these, and what a writer left that died: no index names it.
        """
        current = self.folder / index.open_file
        stale = [path for path in current.parent.iterdir() if path != current]
        if len(stale) > 1:  # a writer died, which writes open stays first
            named = {self.folder / file for file in index.closed.values()}
            stale += [path for path in self.folder.glob("stays/closed/*/*") if path not in named]
        for path in stale:
            with suppress(OSError):  # on Windows, a reader may have it open
                path.unlink()


@cache
def _as_json() -> TypeAdapter[Index]:
    return TypeAdapter(Index)


@lru_cache(maxsize=1)
def _read_index(path: Path, _state: tuple[int, int, int]) -> Index:
    return _as_json().validate_json(path.read_bytes())


@cache
def _schema() -> Any:
    """Return columns and types of the files, the same with every version of pandas."""
    import pyarrow as pa

    texts, times = (
        dict.fromkeys(stays.TEXTS, pa.string()),
        dict.fromkeys(_TIMES, pa.timestamp("us", "UTC")),
    )
    return pa.schema([(name, (texts | times).get(name, pa.int64())) for name in _COLUMNS])


def _with_times(frame: pd.DataFrame, times: dict[int, Listing]) -> pd.DataFrame:
    """
    Add when a stay was first and last seen, and the start of the listing that no longer showed it.
    """
    import pandas as pd

    listings = [*times.values()]
    ended = [listing.ended_at for listing in listings]
    following = [*itertools.starmap(_gone_by, itertools.pairwise(listings)), math.nan]
    seen, gone = (
        pd.to_datetime(pd.Series(seconds, index=[*times]), unit="s", utc=True).dt.as_unit("us")
        for seconds in (ended, following)
    )
    first, last = frame["first"], frame["last"]
    return frame.assign(
        first_seen=first.map(seen), last_seen=last.map(seen), gone_by=last.map(gone)
    )


def _gone_by(last: Listing, following: Listing) -> float:
    """
    Return when a change after a listing has happened: as the next began, or ended where they
    overlap.
    """
    if following.started_at >= last.ended_at:
        return following.started_at
    return max(last.ended_at, following.ended_at)
