"""The report as one HTML page; every value is escaped."""

from __future__ import annotations

from typing import Any

from petstore_tools.text import cell_text


def page(template: str, **values: Any) -> str:
    """Fill a template of this package; its values are escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("petstore_tools"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["shown"] = cell_text
    return environment.get_template(template).render(**values)
