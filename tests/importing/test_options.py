"""The options of an import: spelled once, checked once."""

from __future__ import annotations

import inspect
from typing import Any

import pandas as pd
import pytest

from petstore_tools import PetStore
from petstore_tools.errors import ArgumentError, SheetError
from petstore_tools.importing.options import ImportOptions


@pytest.mark.parametrize("method", [PetStore.import_pets, PetStore.preview_import])
def test_calls_show_the_options_in_their_signature_and_help(method: Any) -> None:
    """As if they were spelled there; what the toolkit sets itself is not shown."""
    parameters = list(inspect.signature(method).parameters)

    assert parameters[:4] == ["self", "source", "name", "sheet"]
    assert "together" not in parameters
    for name in parameters[1:]:
        assert f"\n    {name}: " in inspect.getdoc(method)


def test_a_slip_in_existing_does_not_send_what_exists() -> None:
    """`Skip` is none of the three."""
    with pytest.raises(ArgumentError, match="existing must be 'ask', 'skip' or 'send', not 'Skip'"):
        ImportOptions("animals.csv", existing="Skip")  # type: ignore[arg-type]


def test_what_is_imported_is_a_file_or_a_frame_with_a_name() -> None:
    """One sentence for each other thing."""
    with pytest.raises(SheetError, match="an open file or a DataFrame can be imported, not int"):
        ImportOptions(7)  # type: ignore[arg-type]
    with pytest.raises(SheetError, match="name= is for data that is not a file; a.csv has a name"):
        ImportOptions("a.csv", name="spring")
    assert ImportOptions(pd.DataFrame(), name="spring").path.name == "spring"
