"""
For tests of programs that use the Animal Store Service: the service itself, with its
clock.

Installed with the toolkit, these are pytest fixtures:

    def test_my_report(petstore_sandbox):
        petstore_sandbox.advance(hours=24)
        assert my_report(petstore_sandbox.base_url, petstore_sandbox.api_key)

    @pytest.mark.petstore(plan="60/1000", faults=[Fault("drop_after", every=3)])
    def test_my_import(petstore_sandbox): ...

`petstore_sandbox` is a `Sandbox`; the marker takes its arguments. Its
`store` is connected to it. `Fault` is in `petstore_tools.sandbox.faults`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from petstore_tools import Sandbox


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers", "petstore(**arguments): the arguments of `petstore_sandbox`"
    )


@pytest.fixture
def petstore_sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """A `Sandbox` for this test, made with the arguments of the marker `petstore`."""
    from petstore_tools import Sandbox

    marker = request.node.get_closest_marker("petstore")
    with Sandbox(**(marker.kwargs if marker else {})) as sandbox:
        yield sandbox
