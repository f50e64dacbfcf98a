"""`quota`: what is left of the minute and the day; `doctor`: what is wrong, and what fixes it."""

from __future__ import annotations

import click

from petstore_tools.cli import exits
from petstore_tools.cli.options import ENVIRONMENT
from petstore_tools.doctor import Finding
from petstore_tools.store import PetStore


@click.command("quota")
@ENVIRONMENT
def quota_(environment: str | None) -> None:
    """
    Show how many requests are left.

    The minute and the day are shown, and when more is left; this costs no request.

    \b
    Examples:
      petstore-tools quota
      petstore-tools quota --environment staging
    """
    with PetStore(environment=environment) as store:
        quota = store.quota()
    click.echo(quota.to_text())


@click.command("doctor")
@ENVIRONMENT
def doctor_(environment: str | None) -> int:
    """
    Check the settings and the service.

    Settings, folder, budget, service, key, clock and plan are checked with one request. Each line
    says ok, note (you can work) or error. The line below it says what helps.

    \b
    Examples:
      petstore-tools doctor
      petstore-tools doctor --environment staging
    """
    with PetStore(environment=environment) as store:
        errors = [show(finding).error for finding in store.examine()]
    return next((exits.of_error(error) for error in errors if error), exits.DONE)


def show(finding: Finding, *, err: bool = False) -> Finding:
    """Print a finding, and return it."""
    advice = f"\n{'':<17}{finding.advice}" if finding.advice else ""
    click.echo(f"{finding.state:<5}  {finding.subject:<8}  {finding.text}{advice}", err=err)
    return finding
