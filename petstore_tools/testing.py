"""
For tests of programs that use the Animal Store Service: the service itself, with a clock to
    advance.

Installed with the toolkit, these are pytest fixtures (the extra `server` is needed):

    def test_my_report(petstore_sandbox):
        petstore_sandbox.advance(hours=24)
        assert my_report(petstore_sandbox.base_url, petstore_sandbox.api_key)

    @pytest.mark.petstore(plan="60/1000", animals=0, faults=[Fault("drop_after", method="POST",
    every=3)]) def test_my_import(petstore_sandbox): ...

`petstore_sandbox` is a `Sandbox`; the marker takes its arguments. `petstore_store` is connected to
it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from petstore_tools.sandbox import Sandbox
    from petstore_tools.sandbox.faults import Fault as Fault
    from petstore_tools.store import PetStore

__all__ = ["Fault", "petstore_sandbox", "petstore_store"]


def __getattr__(name: str) -> Any:
    if name != "Fault":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from petstore_tools.sandbox.faults import Fault

    return Fault


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", "petstore(**arguments): the arguments of `petstore_sandbox`")


@pytest.fixture
def petstore_sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """A `Sandbox` for this test, made with the arguments of the marker `petstore`."""
    from petstore_tools.errors import MissingExtraError
    from petstore_tools.sandbox import Sandbox

    marker = request.node.get_closest_marker("petstore")
    try:
        sandbox = Sandbox(**(marker.kwargs if marker else {}))
    except MissingExtraError as error:
        pytest.fail(str(error), pytrace=False)
    with sandbox:
        yield sandbox


@pytest.fixture
def petstore_store(petstore_sandbox: Sandbox) -> PetStore:
    """A `PetStore` that is connected to the sandbox of this test."""
    return petstore_sandbox.store
