"""
The tree of errors: drawn, one line in a notebook, and whole after a trip to another
process.
"""

import pickle

import nbformat
from nbclient import NotebookClient

from petstore_tools import Listing, Sandbox, errors


def test_every_error_hangs_in_the_drawn_tree():
    """
    One root, drawn by the module; an argument is a ValueError, an interrupt Python's
    own.
    """
    for name, thing in vars(errors).items():
        if isinstance(thing, type) and issubclass(thing, Exception):
            assert issubclass(thing, errors.PetstoreError)
            assert f"- {name}" in (errors.__doc__ or "")
    assert issubclass(errors.ArgumentError, ValueError)
    assert issubclass(errors.Interrupted, KeyboardInterrupt)
    assert not issubclass(errors.Interrupted, Exception)


def test_what_is_expected_is_one_line_in_a_notebook_and_the_rest_a_traceback():
    """Settings that are missing; a fault of the reader's own is shown whole."""
    cells = [
        (
            "from petstore_tools import PetStore\nPetStore(base_url='https://a/v2',"
            " api_key='k')"
        ),
        "raise __import__('petstore_tools').Interrupted('3 rows')",
        "{}['colour']",
    ]
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in cells]
    )
    NotebookClient(notebook, kernel_name="python3", allow_errors=True).execute()
    refused, interrupted, unexpected = [
        cell.outputs[-1].traceback for cell in notebook.cells
    ]

    assert refused == [
        "SettingsError: the base address must end in /v1: use https://a/v1"
    ]
    assert interrupted == ["Interrupted: 3 rows"]
    assert len(unexpected) > 1


def test_errors_and_results_come_back_from_another_process():
    """
    A pool of processes breaks at an error that cannot be pickled, and tells nobody
    which.
    """
    with Sandbox(animals=3) as box:
        frame = box.store.list_pets()
        results = [box.store.quota(), box.store.status_report(), Listing.of(frame)]
    samples = [
        errors.TransportError("cut", may_have_left=False),
        errors.ApiError(500, "oops", "no", "GET /pets"),
        errors.KeyBannedError("the key is banned", retry_at=5.0),
        errors.DoubtfulRowsError("two rows", preview=3),
        errors.QuotaError("the day is used up", resumes_at=4.0),
        errors.Interrupted("stopped", result=1),
        errors.SheetError("no column"),
        errors.MissingExtraError("no psycopg", name="postgres"),
        errors.OutputError("no folder"),
    ]

    for error in samples:
        restored = pickle.loads(pickle.dumps(error))
        assert (type(restored), str(restored), vars(restored)) == (
            type(error),
            str(error),
            vars(error),
        )
    for outcome in results:
        assert repr(pickle.loads(pickle.dumps(outcome))) == repr(outcome)
    assert Listing.of(pickle.loads(pickle.dumps(frame))) == results[-1]


def test_only_what_reads_is_to_be_called_again_after_a_500():
    """A create may have been carried out."""
    read, created = (
        errors.ApiError(500, "x", "down", f"{method} /v1/pets")
        for method in ("GET", "POST")
    )

    assert str(read).endswith("down; run the same call again later")
    assert str(created).endswith("down")
