"""`doctor` and `lab`: what is wrong, and a place to begin."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import click

from petstore_tools import doctor
from petstore_tools.adapters import settings
from petstore_tools.cli import exits
from petstore_tools.cli.animals import ENVIRONMENT
from petstore_tools.errors import MissingExtraError, SettingsError
from petstore_tools.store import PetStore

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


@click.command("lab", context_settings={"ignore_unknown_options": True})
@click.argument("folder", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("jupyter", nargs=-1, type=click.UNPROCESSED)
def lab_(folder: Path | None, jupyter: tuple[str, ...]) -> int:
    """
    Open JupyterLab on FOLDER (./notebooks, else here), with a service of its own running.

    In its notebooks `PetStore()` finds that service: 250 sample animals, the Pro plan, your clock. It ends
    with JupyterLab. What follows FOLDER goes to JupyterLab.

    \b
    Examples:
      petstore-tools lab
      petstore-tools lab notebooks --no-browser --port 9999
    """
    if importlib.util.find_spec("jupyterlab") is None:
        raise MissingExtraError("notebook", "JupyterLab")
    from petstore_tools.sandbox import Sandbox

    there = folder or (Path("notebooks") if Path("notebooks").is_dir() else Path())
    with Sandbox(plan="pro", clock="system") as sandbox:
        variables = {
            "PETSTORE_BASE_URL": sandbox.base_url,
            "PETSTORE_API_KEY": sandbox.api_key,
            "PETSTORE_PLAN": "pro",
            "PETSTORE_STATE_DIR": str(sandbox.state_dir),
        }
        click.echo(f"A service of its own answers at {sandbox.base_url} until JupyterLab ends.", err=True)
        command = [sys.executable, "-m", "jupyterlab", "--notebook-dir", str(there), *jupyter]
        return subprocess.call(command, env={**os.environ, **variables})
