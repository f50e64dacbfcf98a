"""`doctor`: what is wrong, and what fixes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from petstore_tools import doctor, settings
from petstore_tools.cli import exits
from petstore_tools.cli.options import ENVIRONMENT
from petstore_tools.errors import SettingsError
from petstore_tools.store import PetStore

if TYPE_CHECKING:
    pass

ENDS_WITHIN_S: Final = 10.0
MARKS = {"well": "ok   ", "note": "note ", "wrong": "WRONG"}


@click.command("doctor")
@ENVIRONMENT
def doctor_(environment: str | None) -> int:
    """
    Check settings, budget, service, key, clock and plan, with one request; say what helps.

    \b
    Examples:
      petstore-tools doctor
      petstore-tools doctor --environment staging
    """
    code = exits.DONE
    try:
        store = PetStore(environment=environment)
    except SettingsError as error:
        click.echo(f"WRONG  settings      {error}")
        return exits.USAGE
    with store:
        for finding in (doctor.folder_is_writable(settings.state_folder()), *store.examine()):
            click.echo(f"{MARKS[finding.state]}  {finding.what:<12}  {finding.said}")
            if finding.advice:
                click.echo(f"{'':<21}{finding.advice}")
            if finding.error is not None and code == exits.DONE:
                code = exits.of_error(finding.error)
    return code
