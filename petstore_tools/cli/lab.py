"""`lab`: JupyterLab on the notebooks, with a sandbox running."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from petstore_tools.cli import exits
from petstore_tools.errors import MissingExtraError

if TYPE_CHECKING:
    from petstore_tools.sandbox import Sandbox

ENDS_WITHIN_S: Final = 10.0


@click.command("lab", context_settings={"ignore_unknown_options": True})
@click.argument(
    "arguments", metavar="[FOLDER] [OPTIONS OF JUPYTERLAB]...", nargs=-1, type=click.UNPROCESSED
)
def lab_(arguments: tuple[str, ...]) -> int:
    """
    Open JupyterLab on FOLDER, with a sandbox running.

    Without FOLDER it opens ./notebooks, or the current folder. In its notebooks and terminals,
    `PetStore()` and `petstore-tools` use the sandbox and no real service: 250 sample animals, the
    Pro plan and your clock. Ctrl-C ends JupyterLab and the sandbox, and deletes what was created in
    the sandbox. All options but
    --help go to JupyterLab.

    \b
    Examples:
      petstore-tools lab
      petstore-tools lab --no-browser --port 9999
      petstore-tools lab my_notebooks
    """
    if importlib.util.find_spec("jupyterlab") is None:
        raise MissingExtraError("notebook", "JupyterLab")
    from petstore_tools.sandbox import Sandbox

    folder, options = Path("notebooks" if Path("notebooks").is_dir() else "."), arguments
    if arguments and not arguments[0].startswith("-"):
        folder, options = Path(arguments[0]), arguments[1:]
    if not folder.is_dir():
        raise click.UsageError(f"there is no folder {str(folder)!r}")
    for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        signal.signal(number, signal.default_int_handler)  # they end it as Ctrl-C does
    with suppress(KeyboardInterrupt), Sandbox(plan="pro", clock="system") as sandbox:
        click.echo(f"The sandbox runs at {sandbox.base_url} until JupyterLab ends.", err=True)
        command = [sys.executable, "-m", "jupyterlab", "--notebook-dir", str(folder), *options]
        return _run(command, _variables(sandbox))
    return exits.DONE


def _variables(sandbox: Sandbox) -> dict[str, str]:
    """
    Return this environment with the sandbox's settings in the place of all that name a real
    service.
    """
    real = ("PETSTORE_LEDGER_URL", "PETSTORE_PAGINATION", "PETSTORE_STAGING_BASE_URL")
    return {name: value for name, value in os.environ.items() if name not in real} | {
        "PETSTORE_CONFIG": str(sandbox.state_dir / "config.toml"),
        "PETSTORE_ENVIRONMENT": "sandbox",
        "PETSTORE_BASE_URL": sandbox.base_url,
        "PETSTORE_API_KEY": sandbox.api_key,
        "PETSTORE_PLAN": "pro",
        "PETSTORE_STATE_DIR": str(sandbox.state_dir),
    }


def _run(command: list[str], variables: dict[str, str]) -> int:
    """
    Run a program until it ends or we do; Ctrl-C reaches it through us, since JupyterLab asks back.
    """
    process = subprocess.Popen(command, env=variables, start_new_session=True)
    try:
        return process.wait()
    finally:
        try:
            process.terminate()  # it ends its kernels and terminals
            with suppress(subprocess.TimeoutExpired):
                process.wait(ENDS_WITHIN_S)
        finally:
            process.kill()  # where it did not, or at a second Ctrl-C
            process.wait()
