"""Integers as frames hold them are integers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from petstore_tools import Sandbox


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
def test_a_category_as_a_frame_holds_it_is_a_whole_number(sandbox: Sandbox, category: int) -> None:
    """It is sent as 7, and comes back as Python's own integer."""
    pet = sandbox.store.create_pet("Rex", category_id=category)

    assert (pet.category_id, type(pet.category_id)) == (7, int)


NO_NUMBERS = (np.True_, True, np.float64(7), 7.5, pd.NA, np.uint64(2**63), 2**63, "7")


@pytest.mark.parametrize(
    ("name", "category", "status", "message"),
    [
        *[("Rex", value, None, "category_id: must be a whole number") for value in NO_NUMBERS],
        (" ", 1, None, "cannot be created"),
        ("Rex", 1, "gone", "status must be one of"),
    ],
    ids=repr,
)
def test_what_the_document_does_not_allow_is_refused(
    sandbox: Sandbox, name: str, category: int, status: str | None, message: str
) -> None:
    """
    A truth value, a decimal number, one beyond int64, a blank name, an unknown status: nothing is
    sent.
    """
    with pytest.raises(ValueError, match=message):
        sandbox.store.create_pet(name, category_id=category, status=status)

    assert sandbox.store.client.sent == 0


def test_the_id_of_a_row_fetches_its_animal(sandbox: Sandbox) -> None:
    """`df["id"].iloc[0]` is an integer of numpy."""
    sandbox.store.create_pet("Rex", category_id=3)
    frame = sandbox.store.list_pets()

    with pytest.warns(DeprecationWarning, match="get_pet is deprecated"):
        pet = sandbox.store.get_pet(frame["id"].iloc[0])

    assert pet.name == "Rex"
