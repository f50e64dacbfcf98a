"""DataFrames as sheets: rows are named as the frame names them."""

import pandas as pd
import pytest


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("index", "label"),
    [
        (None, "row 1"),
        ([10, 20, 30, 40], "row 20"),
        (list("abcd"), "row 'b'"),
        (pd.date_range("2026-03-01", periods=4), "row 2026-03-02 00:00:00"),
        (pd.MultiIndex.from_product([["x", "y"], [1, 2]]), "row ('x', 2)"),
        ([7, 7, 7, 7], "row 7"),
    ],
)
def test_a_problem_names_the_row_by_its_label(sandbox, index, label):
    """
    Whatever the index holds; the label of `df.loc`, in the message and in the frames.
    """
    frame = pd.DataFrame(
        {"name": ["Rex", "Mia", "Tom ", "Rex"], "categoryId": ["3", "cats", "4", "3"]},
        index=index,
    )

    preview = sandbox.store.preview_import(frame, name="spring")
    result = sandbox.store.import_pets(frame, name="spring")

    labels = frame.index.tolist()
    assert str(preview.problems[0]).startswith(
        f"{label}, column B (categoryId): 'cats' is not the id of a category; give"
        " the id, or say which one is meant: categories="
    )
    assert preview.fixes["row"].tolist() == labels[1:2]
    assert [fix["row"] for fix in preview.to_dict()["fixes"]] == [str(labels[1])]
    assert f"({label.removeprefix('row ')})" in str(preview)
    assert result.frame["row"].tolist() == labels
    assert result.frame["outcome"].tolist() == [
        "created",
        "rejected",
        "created",
        "created",
    ]
    assert preview.comparison.duplicates == [5]
    assert [*map(str, preview.sheet.matches)] == [
        "name: 'Tom ' is read as 'Tom' in 1 row"
    ]


def test_a_frame_goes_on_under_its_name(sandbox):
    """Sorted, with another index; an edited row is doubtful by its label."""
    frame = pd.DataFrame({"name": ["Rex", "Mia"], "categoryId": [3, 4]})
    first = sandbox.store.import_pets(frame, name="spring")
    sorted_ = frame.iloc[::-1].set_index(pd.Index(["a", "b"]))

    second = sandbox.store.import_pets(sorted_, name="spring")
    preview = sandbox.store.preview_import(
        sorted_.assign(categoryId=[4, 5]), name="spring"
    )

    assert (first.created, second.created_now, first.list_file) == (2, 0, None)
    assert preview.doubtful["row"].tolist() == ["b"]


def test_half_a_character_is_a_problem_of_its_row(sandbox):
    """
    A surrogate on its own fits into no request: the other rows go, and the list comes
    back.
    """
    names = ["Rex", "a\ud800b", "Zoë"]
    notes = ["x\udc00", "", ""]
    frame = pd.DataFrame(
        {"name": names, "categoryId": [1, 2, 3], "note": notes}, dtype="object"
    )

    result = sandbox.store.import_pets(frame, name="spring")

    assert [row.reason for row in result.entries if row.state == "rejected"] == [
        "row 1, column A (name): 'a�b' is a text with a broken character; "
        "format the column as text and give the value again"
    ]
    assert (result.created, result.rejected, result.not_written) == (2, 1, "")
