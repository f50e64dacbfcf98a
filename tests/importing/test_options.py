"""The options of an import: spelled once, checked once."""

from __future__ import annotations

import inspect
from typing import Any

import pandas as pd
import pytest

from petstore_tools import PetStore, Sandbox
from petstore_tools.errors import ArgumentError, SheetError
from petstore_tools.importing.options import ImportOptions

FRAME = pd.DataFrame({"id": [3, 4], "name": ["Dogs", "Cats"]})


@pytest.mark.parametrize("method", [PetStore.import_pets, PetStore.preview_import])
def test_calls_show_the_options_in_their_signature_and_help(method: Any) -> None:
    """As if they were spelled there."""
    parameters = list(inspect.signature(method).parameters)

    assert parameters[:4] == ["self", "source", "name", "sheet"]
    for name in parameters[1:]:
        assert f"\n    {name}: " in inspect.getdoc(method)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (
            {"source": "animals.csv", "doubtful": "Skip"},
            "doubtful must be .* not 'Skip'",
        ),
        ({"source": "animals.csv", "first": 0}, "first must be at least 1, not 0"),
        (
            {"source": "animals.csv", "status": {}},
            "unexpected keyword argument 'status'",
        ),
        ({"source": "a.csv", "first": "2"}, "first must be a whole number, not '2'"),
        ({"source": "a.csv", "columns": ["name"]}, "columns must be a dict, not"),
        ({"source": "a.csv", "encoding": 5}, "encoding must be a text, not 5"),
        (
            {"source": "a.csv", "header": False},
            r"header=False \(--no-header\) needs all columns",
        ),
        ({"source": 7, "name": "x"}, "give the path of a file or a DataFrame, not int"),
        ({"source": b"name", "name": "x"}, "a DataFrame, not bytes"),
        ({"source": 7}, "give the path of a file, or a DataFrame with a name"),
        ({"source": "a.csv", "name": "a/b"}, "name.* that has no slash"),
        ({"source": "a\ud800.csv"}, "characters that are no text: rename it"),
        *(
            ({"source": FRAME, "name": name}, "with a name, such as")
            for name in (None, "", "..", "a/b")
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_in_a_sentence(
    sandbox: Sandbox, arguments: dict[str, Any], reason: str
) -> None:
    """Before anything is read."""
    with pytest.raises((ArgumentError, SheetError, TypeError), match=reason):
        sandbox.store.preview_import(**arguments)
    assert ImportOptions(FRAME, name="spring").path.name == "spring"
