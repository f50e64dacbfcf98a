"""Integers as frames hold them are integers."""

import numpy as np
import pandas as pd
import pytest


@pytest.mark.parametrize(
    "category",
    [
        np.int64(7),
        np.int32(7),
        np.uint8(7),
        pd.Series([7]).iloc[0],
        pd.array([7], dtype="Int64")[0],
    ],
    ids=["int64", "int32", "uint8", "Series", "Int64"],
)
def test_numbers_as_a_frame_holds_them_are_whole_numbers(sandbox, category):
    """
    A category is sent as 7, and comes back as Python's own integer; an id fetches its
    animal.
    """
    pet = sandbox.store.create_pet("Rex", category_id=category)

    with pytest.warns(DeprecationWarning, match="get_pet is deprecated"):
        assert sandbox.store.get_pet(np.int64(pet.id)) == pet
    assert (pet.category_id, type(pet.category_id)) == (7, int)


NO_NUMBERS = (np.True_, True, np.float64(7), 7.5, pd.NA, np.uint64(2**63), 2**63, "7")


@pytest.mark.parametrize(
    ("name", "category", "status", "message"),
    [
        *[
            ("Rex", value, None, "category_id: must be a whole number")
            for value in NO_NUMBERS
        ],
        (" ", 1, None, "cannot be created"),
        ("Rex", 1, "gone", "status: must be one of"),
    ],
    ids=repr,
)
def test_what_the_document_does_not_allow_is_refused(
    sandbox, name, category, status, message
):
    """
    A truth value, a decimal number, one beyond int64, a blank name, an unknown status:
    nothing is sent.
    """
    with pytest.raises(ValueError, match=message):
        sandbox.store.create_pet(name, category_id=category, status=status)

    assert sandbox.store.client.sent == 0
