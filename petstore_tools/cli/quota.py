"""`quota`: what is left of the minute and the day."""

from __future__ import annotations

import click

from petstore_tools.cli import exits
from petstore_tools.cli.options import ENVIRONMENT
from petstore_tools.store import PetStore
from petstore_tools.text import utc_text


@click.command("quota")
@ENVIRONMENT
def quota_(environment: str | None) -> int:
    """
    Show how many requests are left.

    The minute and the day are shown, and who used them; this costs no request.

    \b
    Examples:
      petstore-tools quota
      petstore-tools quota --environment staging
    """
    with PetStore(environment=environment) as store:
        quota = store.quota()
    click.echo(quota.to_text())
    click.echo(f"As of {utc_text(quota.as_of)}; this costs no request.", err=True)
    return exits.DONE
