"""Frames of other libraries: pyarrow and duckdb live, polars by its two names."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pandas as pd
import pyarrow
import pytest

from petstore_tools.tabular.sources import FrameSource, to_pandas

ROWS = [("Rex", 2**53 + 1, "sold"), ("Mia", 4, None)]
PLAIN = pd.DataFrame(ROWS, columns=["name", "categoryId", "status"])


class Polars:
    """What is asked of a frame of polars."""

    columns = ("name", "categoryId", "status")

    def rows(self):
        """Return the values as Python's own."""
        return ROWS


@pytest.mark.parametrize(
    "frame",
    [PLAIN, pyarrow.Table.from_pandas(PLAIN), Polars()],
    ids=["pandas", "pyarrow", "polars"],
)
def test_frames_of_other_libraries_are_imported(sandbox, tmp_path, monkeypatch, frame):
    """Every digit stays, and so does a missing value; the same name goes on."""
    monkeypatch.chdir(tmp_path)

    first = sandbox.store.import_pets(frame, name="spring")
    second = sandbox.store.import_pets(PLAIN, name="spring")
    pets = sandbox.store.list_pets()

    assert (first.created, second.created_now) == (2, 0)
    assert set(pets["categoryId"]) == {2**53 + 1, 4}


def read_result():
    """Return the cells of a result of duckdb, titles first."""
    import duckdb

    frame = to_pandas(duckdb.from_df(PLAIN))
    return [list(frame.columns), *frame.to_numpy().tolist()]


def test_a_result_of_duckdb_is_read_as_a_frame():
    """
    In a process of its own: hypothesis keeps all modules, and duckdb complains then
    when the process ends.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        titles, *rows = processes.submit(read_result).result()

    assert titles == list(PLAIN.columns)
    assert [tuple(row) for row in rows] == ROWS


@pytest.mark.parametrize(
    ("dtype", "exact"), [("float16", 2**11), ("float32", 2**24), ("Float32", 2**24)]
)
def test_a_short_float_is_exact_up_to_its_digits(dtype, exact):
    """From there on a column holds every second number, and may have rounded it."""
    column = pd.Series([exact - 1, exact + 2], dtype=dtype)
    frame = pd.DataFrame({"categoryId": column})

    _, first, last = FrameSource(frame=frame).records()

    assert (first[1][0], first[1][0].kind) == (str(exact - 1), "a number")
    assert last[1][0].kind == "a number that may have been rounded"
