"""Stays: what many complete listings say, each animal once for as long as it does not change."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from petstore_tools import history, spec
from petstore_tools.errors import FrameError
from petstore_tools.history.snapshots import SnapshotStore
from petstore_tools.history.storage import Storage
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.frames import Columns

Animal = tuple[int, str, int, str | None]
T0 = 1_767_603_600.0


def listed(animals: list[Animal], at: float = T0, *, holes: bool = False) -> pd.DataFrame:
    """Return a complete listing of these animals, which took a minute and ended at `at`."""
    columns = Columns()
    columns.add([dict(zip(spec.PET_FIELDS, animal, strict=True)) for animal in animals])  # type: ignore[misc]
    listing = Listing(
        "complete", "the service said so", None, 0, "", 1, 1, 0, at - 60, at, "sandbox"
    )
    return columns.to_frame(replace(listing, may_have_hole=holes))


def keep(storage: Storage, *frames: pd.DataFrame) -> None:
    """Keep listings, one after the other."""
    for frame in frames:
        with storage.writing():
            storage.add(frame)


def rebuilt(storage: Storage) -> list[pd.DataFrame]:
    """Rebuild all that is kept."""
    return [storage.frame(kept) for kept in storage.index().listings]


INVENTORIES = st.dictionaries(
    st.integers(1, 12),
    st.tuples(
        st.sampled_from(["Rex", "Mia", "NA", "", "=A1"]),
        st.integers(1, 2),
        st.sampled_from([*spec.STATUSES, "adopted", None]),
    ),
).map(lambda pets: [(pet_id, *values) for pet_id, values in sorted(pets.items())])


@given(st.lists(INVENTORIES, min_size=1, max_size=8))
@settings(max_examples=60, deadline=None)
def test_every_kept_listing_is_rebuilt_exactly(
    tmp_path_factory: pytest.TempPathFactory, inventories: list[list[Animal]]
) -> None:
    """
    Whatever came, went, changed, or came back: rows, dtypes, and what the listing says of itself.
    """
    storage = Storage(tmp_path_factory.mktemp("history"))
    frames = [listed(animals, T0 + 86_400 * day) for day, animals in enumerate(inventories)]

    keep(storage, *frames)

    for frame, again in zip(frames, rebuilt(storage), strict=True):
        pd.testing.assert_frame_equal(again, frame)
        assert again.attrs == frame.attrs


@given(st.lists(INVENTORIES, min_size=1, max_size=8))
@settings(max_examples=60, deadline=None)
def test_the_stays_are_the_runs_of_equal_values(
    tmp_path_factory: pytest.TempPathFactory, inventories: list[list[Animal]]
) -> None:
    """Counted here in the plainest way: an animal that the next listing shows unchanged stays."""
    storage = Storage(tmp_path_factory.mktemp("history"))
    keep(storage, *(listed(animals, T0 + 86_400 * day) for day, animals in enumerate(inventories)))
    runs: dict[Animal, list[list[int]]] = {}
    for number, animals in enumerate(inventories, 1):
        for animal in animals:
            seen = runs.setdefault(animal, [])
            if seen and seen[-1][1] == number - 1:
                seen[-1][1] = number
            else:
                seen.append([number, number])

    stays = storage.stays()

    found = {
        (i, n, c, None if pd.isna(s) else s, first, last)
        for i, n, c, s, first, last in stays[[*spec.PET_FIELDS, "first", "last"]].itertuples(
            index=False
        )
    }
    assert found == {(*animal, *run) for animal, seen in runs.items() for run in seen}
    assert len(stays) == len(found)


def test_a_stay_says_between_which_listings_it_began_and_ended(tmp_path: Path) -> None:
    """Seen at the end of a listing; gone by the start of the next one."""
    storage = Storage(tmp_path)
    day = 86_400
    keep(
        storage,
        *(
            listed([(1, "Rex", 3, s)], T0 + n * day)
            for n, s in enumerate(["available", "sold", "sold"])
        ),
    )

    ended, still = storage.stays().to_dict("records")

    seconds = [ended[name].timestamp() for name in ("first_seen", "last_seen", "gone_by")]
    assert (ended["status"], seconds) == ("available", [T0, T0, T0 + day - 60])
    assert (still["status"], still["last_seen"].timestamp()) == ("sold", T0 + 2 * day)
    assert pd.isna(still["gone_by"])


def test_times_are_kept_to_the_microsecond(tmp_path: Path) -> None:
    """A clock gives more digits than a file holds."""
    storage = Storage(tmp_path)
    keep(
        storage,
        *(
            listed([(1, "Rex", 3, s)], T0 + 0.712_534_7 + n * 90)
            for n, s in enumerate([None, "sold"])
        ),
    )

    ended, still = storage.stays().to_dict("records")

    seconds = [
        at.timestamp() - T0 for at in (ended["last_seen"], ended["gone_by"], still["first_seen"])
    ]
    assert seconds == pytest.approx([0.712_534, 30.712_534, 90.712_534], abs=2e-6)


def test_a_listing_that_may_have_holes_ends_no_stay_of_what_it_does_not_show(
    tmp_path: Path,
) -> None:
    """
    What it shows with other values has ended; the listing itself is rebuilt without what it lacked.
    """
    storage = Storage(tmp_path)
    rex, mia = (1, "Rex", 3, "available"), (2, "Mia", 4, None)
    frames = [
        listed([rex, mia]),
        listed([(2, "Mia", 4, "sold")], T0 + 60, holes=True),
        listed([rex], T0 + 120),
    ]
    keep(storage, *frames)

    stays = storage.stays()

    assert [len(frame) for frame in rebuilt(storage)] == [2, 1, 1]
    assert sorted(stays[["id", "first", "last"]].itertuples(index=False, name=None)) == [
        (1, 1, 3),
        (2, 1, 1),
        (2, 2, 2),
    ]


def test_a_damaged_file_costs_the_listings_that_need_it(tmp_path: Path) -> None:
    """The later ones are rebuilt all the same; the error names the file and the listings."""
    storage = Storage(tmp_path)
    keep(storage, *(listed([(n, "Rex", 3, None)], T0 + n) for n in range(1, 4)))
    first_closed = storage.folder / storage.index().closed[2]
    first_closed.write_bytes(first_closed.read_bytes()[:50])
    one, two, three = storage.index().listings

    assert (len(storage.frame(two)), len(storage.frame(three))) == (1, 1)
    told = r"without it 1 kept listing \(2026-01-05 09:00:01 UTC\) cannot be rebuilt"
    with pytest.raises(FrameError, match=f"closed/.* cannot be read .*{told}"):
        storage.frame(one)
    with pytest.warns(UserWarning, match=f"{told}, and its stays are left out"):
        history = SnapshotStore(storage.folder).history(now=T0 + 9)
    assert history["first_seen"].dt.second.tolist() == [2, 3]


def test_a_history_without_its_index_is_not_begun_anew(tmp_path: Path) -> None:
    """
    Whoever lost the index can still restore it: nothing is read as empty, and nothing is deleted.
    """
    storage = Storage(tmp_path)
    keep(storage, listed([(1, "Rex", 3, None)]), listed([(1, "Rex", 3, "sold")], T0 + 60))
    (tmp_path / "index.json").unlink()
    files = sorted(tmp_path.glob("stays/**/*.parquet"))

    with pytest.raises(FrameError, match=r"index\.json is gone: restore it"):
        keep(storage, listed([(1, "Rex", 3, "sold")], T0 + 120))
    assert sorted(tmp_path.glob("stays/**/*.parquet")) == files


def test_a_folder_that_sqlite_cannot_use_is_said(tmp_path: Path) -> None:
    """As an error of ours that names what cannot be done."""
    (tmp_path / "lock.db").write_bytes(b"no database" * 1_000)

    with pytest.raises(FrameError, match="the kept listings cannot be written"):
        keep(Storage(tmp_path), listed([(1, "Rex", 3, None)]))


def test_a_file_that_was_exchanged_is_noticed(tmp_path: Path) -> None:
    """What is rebuilt is compared with the digest of the listing."""
    storage, other = Storage(tmp_path / "a"), Storage(tmp_path / "b")
    keep(storage, listed([(1, "Rex", 3, None)]))
    keep(other, listed([(1, "Max", 3, None)]))
    (storage.folder / storage.index().open_file).write_bytes(
        (other.folder / other.index().open_file).read_bytes()
    )

    with pytest.raises(FrameError, match="cannot be rebuilt"):
        rebuilt(storage)


def test_a_damaged_index_is_named(tmp_path: Path) -> None:
    """It is the one file that everything needs."""
    storage = Storage(tmp_path)
    keep(storage, listed([(1, "Rex", 3, None)]))
    (tmp_path / "index.json").write_text("{")

    with pytest.raises(FrameError, match=r"index\.json"):
        storage.index()


def test_the_files_are_one_table_to_other_tools(tmp_path: Path) -> None:
    """The query of the README, in duckdb: mean days in a status, missing for what has not ended."""
    import duckdb

    storage = Storage(tmp_path)
    keep(
        storage,
        listed([(1, "Rex", 3, None), (2, "Mia", 4, "sold")]),
        listed([(2, "Mia", 4, "sold")], T0 + 9_000),
    )
    readme = Path(history.__file__).with_name("README.md").read_text("utf-8")
    query = (
        readme.split("```sql\n")[1]
        .split("```")[0]
        .replace("stays/", f"{tmp_path.as_posix()}/stays/")
    )

    days = duckdb.sql(query).df().set_index("status").squeeze(axis=1)

    assert (days[days.index.isna()].tolist(), days[["sold"]].isna().tolist()) == (
        [pd.Timedelta(seconds=9_000 - 60)],
        [True],
    )
    assert len(list((tmp_path / "stays" / "open").iterdir())) == 1


def test_a_status_that_is_called_unset_is_counted_apart(tmp_path: Path) -> None:
    """As in a report: the animals without a status are `unset`."""
    storage = Storage(tmp_path)
    keep(storage, listed([(1, "Rex", 3, "unset"), (2, "Mia", 4, None), (3, "Max", 4, None)]))

    (kept,) = storage.index().listings

    assert (kept.counts["unset"], kept.counts["'unset' as sent"]) == (2, 1)
