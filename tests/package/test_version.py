"""What adds an optional part that is not installed."""

import sys
from importlib.metadata import PackageNotFoundError

import pytest

from petstore_tools import PetStore
from petstore_tools._version import missing_extra
from petstore_tools.errors import MissingExtraError


def test_a_missing_extra_names_what_installs_it(monkeypatch):
    """One line, with the place this toolkit came from, and the Python that runs it."""
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.setenv("PETSTORE_LEDGER_URL", "postgresql://127.0.0.1/budget")
    with pytest.raises(MissingExtraError) as raised:
        PetStore(base_url="http://127.0.0.1:9/v1", api_key="a-key").quota()

    start = "a ledger on PostgreSQL needs the extra 'postgres': "
    assert str(raised.value).startswith(start)
    assert sys.executable in str(raised.value)
    assert "petstore-tools[postgres]" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_what_pip_is_asked_for_is_quoted(monkeypatch):
    """Also where no address was recorded: zsh takes [...] for a pattern."""

    def not_installed(_):
        raise PackageNotFoundError

    monkeypatch.setattr("importlib.metadata.distribution", not_installed)

    line = str(missing_extra("postgres", "a ledger on PostgreSQL"))

    assert line.endswith(("'petstore-tools[postgres]'", '"petstore-tools[postgres]"'))
