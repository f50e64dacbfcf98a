"""The command line: data on stdout, talk on stderr, and an exit code that tells what happened."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from typing import Final

import click

from petstore_tools import text as words
from petstore_tools._version import __version__
from petstore_tools.errors import PetstoreError

HELP = """
Work with the inventory of an Animal Store Service.

Settings come from PETSTORE_BASE_URL, PETSTORE_API_KEY and PETSTORE_PLAN, or from the file that
`petstore-tools configure` writes.

\b
Begin here:
  petstore-tools demo                        the main job, without a service of yours
  petstore-tools lab                         the notebooks, with a sandbox
  petstore-tools doctor                      what is wrong, and what helps
  petstore-tools list --status available     what stands there
  petstore-tools import animals.csv          create animals, each once
  petstore-tools report -o report.html       the status report

\b
Exit codes:
  0    done
  1    some rows rejected or unknown, or a listing that is not complete
  2    usage, settings, ledger, or input that cannot be used
  3    the key is refused
  4    stopped at a quota or by a block: the same command goes on
  5    the service is unreachable, sick, or contradicts its document
  130  interrupted: the same command goes on
"""


class Lazy(click.Group):
    """Commands whose modules load when they are called: help stays quick."""

    summaries: Final = {
        "configure": "Ask for base address, key and plan, and keep them for this user.",
        "demo": "Import, list and report 1,000 animals, without a service of yours.",
        "doctor": "Check settings, budget, service, key, clock and plan.",
        "import": "Create the animals of a spreadsheet, each once.",
        "imports": "Show earlier imports, and go on with them.",
        "keys": "Make, list and revoke the API keys of the service.",
        "lab": "Open JupyterLab on the notebooks, with a sandbox running.",
        "list": "Show the inventory, or write it to a file.",
        "quota": "Show what is left of the minute and the day.",
        "report": "Count the inventory by status and category.",
        "serve": "Run the Animal Store Service on this machine.",
    }

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Name the commands."""
        return list(self.summaries)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the list of commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.summaries.items()))

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        """Load a command."""
        from importlib import import_module

        if name not in self.summaries:
            return None
        module = "import_" if name == "import" else name
        command: click.Command = getattr(import_module(f"petstore_tools.cli.{module}"), f"{name}_")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; where there is none of that name, suggest the nearest."""
        from difflib import get_close_matches

        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            near = "".join(
                f" Did you mean {name!r}?" for name in get_close_matches(args[0], self.summaries, 1)
            )
            ctx.fail(f"No such command {args[0]!r}.{near}")
        return super().resolve_command(ctx, args)


@click.group(cls=Lazy, help=HELP, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def cli() -> None:
    """Hold the commands together."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; every end is an exit code of the table above."""
    from petstore_tools.cli import exits

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    warnings.showwarning = _say
    stdout = sys.stdout
    try:
        with words.at_the_command_line():
            code = cli.main(arguments, prog_name="petstore-tools", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        code = exits.USAGE
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        code = exits.INTERRUPTED
    except PetstoreError as error:
        click.echo("; ".join([f"Error: {error}", *getattr(error, "__notes__", ())]), err=True)
        code = exits.of_error(error)
    except (BrokenPipeError, SystemExit) as error:
        if isinstance(error, SystemExit) and sys.stdout is stdout:
            raise
        # nobody reads stdout any more: click has put another in its place, and exits
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = exits.DONE
    except OSError as error:
        click.echo(f"Error: {error.strerror or error}: {error.filename or ''}".rstrip(": "), err=True)
        code = exits.USAGE
    sys.exit(code if isinstance(code, int) else exits.DONE)


def _say(message: Warning | str, *_: object, **__: object) -> None:
    click.echo(f"Warning: {message}", err=True)
