"""`quota`: what is left of the minute and the day; `doctor`: what is wrong, and what fixes it."""

from __future__ import annotations

import click

from petstore_tools.cli import exits
from petstore_tools.cli.options import ENVIRONMENT
from petstore_tools.doctor import Finding
from petstore_tools.errors import SettingsError
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


@click.command("doctor")
@ENVIRONMENT
def doctor_(environment: str | None) -> int:
    """
    Check the settings and the service.

    Settings, folder, budget, service, key, clock, plan and extras are checked with one request.
    Each line says ok, note (you can work) or error. The line below it says what helps.

    \b
    Examples:
      petstore-tools doctor
      petstore-tools doctor --environment staging
    """
    try:
        store = PetStore(environment=environment)
    except SettingsError as error:
        show(Finding("settings", "error", str(error)))
        return exits.USAGE
    with store:
        findings = [show(finding) for finding in store.examine()]
    return next(
        (exits.of_error(finding.error) for finding in findings if finding.error), exits.DONE
    )


def show(finding: Finding, *, err: bool = False) -> Finding:
    """Print a finding, and return it."""
    advice = f"\n{'':<21}{finding.advice}" if finding.advice else ""
    click.echo(f"{finding.state:<5}  {finding.what:<12}  {finding.text}{advice}", err=err)
    return finding
