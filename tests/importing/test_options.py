"""The options of an import: spelled once, checked once."""

import inspect

import pandas as pd
import pytest
from tables import read_json

from petstore_tools import PetStore
from petstore_tools.errors import ArgumentError, SheetError
from petstore_tools.importing.options import ImportOptions

FRAME = pd.DataFrame({"id": [3, 4], "name": ["Dogs", "Cats"]})


@pytest.mark.parametrize("method", [PetStore.import_pets, PetStore.preview_import])
def test_calls_show_the_options_in_their_signature_and_help(method):
    """As if they were spelled there."""
    parameters = list(inspect.signature(method).parameters)

    assert parameters[:4] == ["self", "source", "name", "row_key"]
    for name in parameters[1:]:
        assert f"\n    {name}: " in inspect.getdoc(method)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        *read_json(__file__, "odd_options.json"),
        ({"source": b"name", "name": "x"}, "a DataFrame, not bytes"),
        ({"source": FRAME, "colums": {}}, "preview_import.*'colums'.*'columns'"),
        ({"source": FRAME, "status": {}}, "preview_import.*'status'.*'statuses'"),
        ({"source": FRAME, "zzz": {}}, "preview_import.*'zzz'$"),
        ({"name": "x"}, "preview_import.*'source'"),
        *(
            ({"source": FRAME, "name": name}, "with a name, such as")
            for name in (None, "", "..", "a/b")
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_in_a_sentence(sandbox, arguments, reason):
    """Before anything is read."""
    with pytest.raises((ArgumentError, SheetError, TypeError), match=reason):
        sandbox.store.preview_import(**arguments)
    assert ImportOptions(FRAME, name="spring").path.name == "spring"
