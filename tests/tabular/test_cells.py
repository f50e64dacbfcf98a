"""What a cell, a number and a formula say."""

import pytest

from petstore_tools.tabular.cells import Area, Sheet, references

TABLE = {("tiere", "name"): Area(2, 9, 0, 0), ("tiere", "art"): Area(2, 9, 1, 1)}
NAMES, KINDS = TABLE.values()


@pytest.mark.parametrize(
    ("formula", "areas"),
    [
        ("=SUM(B2:$B$9)", [(2, 9, 1, 1)]),
        ("=B2+$B$3", [(2, 2, 1, 1), (3, 3, 1, 1)]),
        ("=SUM(B:C)", [(1, 1 << 20, 1, 2)]),
        ("=SUM(2:3)", [(2, 3, 0, 1 << 20)]),
        ("='A b'!B2", [(2, 2, 1, 1)]),
        ("=COUNTIF(Other!A:A,A2)+'It''s'!B2", [(2, 2, 0, 0)]),
        ("=SUM(Other:Last!B2:B9)", []),
        ('=IF(A2="B2:B9",LOG10(5)+1.5,ROW())', [(2, 2, 0, 0)]),
        ("=COUNTA(_xlfn.UNIQUE(B2:B3))", [(2, 3, 1, 1)]),
        ("=SUBTOTAL(109,[Art])", [KINDS]),
        ("=SUM(Tiere[[#All],[Art]])", [KINDS]),
        ("=SUM(Tiere[[Name]:[Art]])", [NAMES, KINDS]),
        ("=ROWS(TIERE)+COUNTA(Tiere[#Data])", [NAMES, KINDS, NAMES, KINDS]),
        ("=[@Art]*2+Tiere[[#This Row],[Art]]", []),
        ("=SUM(Andere[Art])", []),
    ],
)
def test_a_formula_refers_to_cells_of_its_own_sheet(formula, areas):
    """Other sheets, other tables and its own row of a table are none of them."""
    sheet = Sheet(name="A b", table_columns=TABLE)

    assert [*references(formula, sheet)] == areas
