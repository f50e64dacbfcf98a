"""Options that several commands share."""

from __future__ import annotations

import click

ENVIRONMENT = click.option(
    "--environment", type=click.Choice(("production", "staging")), help="Which base address to use."
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end.")
EXISTING = click.option(
    "--existing", type=click.Choice(("skip", "send")), help="Rows whose animal seems to stand."
)
NO_PROGRESS = click.option("--no-progress", is_flag=True, help="Draw no progress bar.")
WAIT = click.option("--wait", is_flag=True, help="Wait for the next day's quota instead of stopping.")
YES = click.option("--yes", is_flag=True, help="Do not ask.")


def mapping_of(pairs: tuple[str, ...]) -> dict[str, str]:
    """Read `Column=field` pairs into field by column title."""
    mapping = {}
    for pair in pairs:
        title, equals, field = pair.rpartition("=")
        if not equals or not title:
            raise click.BadParameter(f'{pair!r} is not "Column=field"', param_hint="--columns")
        mapping[title] = field
    return mapping
