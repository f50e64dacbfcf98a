"""
The command line: data on stdout, messages on stderr, and an exit code that says what
happened.
"""

import json
import logging
import os
import signal
import sys
import time
import warnings
from _thread import interrupt_main
from importlib import import_module
from threading import Lock, Thread
from typing import Any

import click

from petstore_tools._version import __version__

COMMANDS = {
    "configure": "Ask for the settings once and keep them.",
    "demo": "Try the main job in a sandbox.",
    "doctor": "Check the settings and the service.",
    "history": "Show when each animal had which status.",
    "import": "Create the animals of a spreadsheet, each once.",
    "imports": "List the imports, and decide on unknown rows.",
    "keys": "Create, list and revoke the API keys of the service.",
    "list": "Show the inventory, or write it to a file.",
    "quota": "Show how many requests are left.",
    "report": "Count the animals by status and category.",
    "serve": "Run the Animal Store Service on this machine.",
    "template": "Write an empty workbook for an import.",
}
MODULES = {
    "demo": "serve",
    "doctor": "configure",
    "history": "report",
    "import": "import_",
    "keys": "serve",
    "quota": "configure",
    "template": "configure",
}


def _show_log(ctx: click.Context, _: click.Parameter, level: int) -> None:
    """Write what the client does to stderr: on a terminal above the progress bar."""
    if level:
        from tqdm.contrib.logging import logging_redirect_tqdm

        logger = logging.getLogger("petstore_tools")
        logger.setLevel(logging.INFO if level == 1 else logging.DEBUG)
        ctx.with_resource(logging_redirect_tqdm([logger]))
        logger.handlers[-1].setFormatter(
            logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S")
        )


_DROPPING = Lock()  # held while an interrupt is dropped
VERBOSE = click.Option(
    ["-v", "--verbose"],
    count=True,
    expose_value=False,
    callback=_show_log,
    help="Show waits and retries; -vv shows each request, too.",
)


class Commands(click.Group):
    """Commands whose modules load when they are called, so that help is quick."""

    def invoke(self, ctx: click.Context) -> None:
        """Run a command; every end is an exit code of the table below."""
        try:
            code = super().invoke(ctx) or 0
        except click.exceptions.Exit:
            raise
        except BrokenPipeError:  # no one reads stdout any more
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 0
        except BaseException as error:
            code = _fail(ctx, error)
        ctx.exit(code)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command, list[str]]:
        """Load a command, and give it and those below it the option `-v`."""
        name, _, arguments = super().resolve_command(ctx, args)
        ctx.invoked_subcommand = name
        _prepare_streams()
        module = import_module(f"{__name__}.{MODULES.get(str(name), name)}")
        command: click.Command = getattr(module, f"{name}_")
        for part in (command, *getattr(command, "commands", {}).values()):
            if VERBOSE not in part.params:
                part.params.append(VERBOSE)
        return name, command, arguments


@click.group(
    cls=Commands,
    commands=[click.Command(name, short_help=COMMANDS[name]) for name in COMMANDS],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__)
def cli() -> None:
    """
    Work with the inventory of an Animal Store Service.

    The settings are the variables PETSTORE_BASE_URL, PETSTORE_API_KEY and
    PETSTORE_PLAN, or the file that `petstore-tools configure` writes.

    \b
    Start here:
      petstore-tools demo                        the main job, without a service
      petstore-tools doctor                      what is wrong, and what fixes it
      petstore-tools list --status available     the animals that are available
      petstore-tools import animals.csv          create the animals of a file, each once
      petstore-tools report -o report.html       the status report

    \b
    Exit codes:
      0    done
      1    some rows are rejected, unknown or, in this run, skipped as doubtful, or a
           listing is not complete
      2    wrong usage or settings, or a budget file or an input that cannot be used;
           or a mistake of the toolkit, with a traceback
      3    the service refused the key
      4    stopped at a quota or by a block: run the same command again later
      5    the service cannot be reached, fails, or contradicts the interface document
      6    an alert of a report is met
      130  interrupted, by Ctrl-C or SIGTERM: run the same command again
    """


cli.params.append(VERBOSE)


def _prepare_streams() -> None:
    """Let the standard streams take every text; a warning is a line."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    warnings.showwarning = lambda message, *_, **__: click.echo(
        f"Warning: {message}", err=True
    )


def _fail(ctx: click.Context, error: BaseException) -> int:
    """Say what ended a command, and return its exit code."""
    from petstore_tools.cli import shared

    failure = shared.find_interrupt(error) or error
    if ctx.invoked_subcommand == "serve" and isinstance(failure, KeyboardInterrupt):
        return shared.DONE  # it has no other end
    shared.show_error(failure)
    if "--json" in sys.argv:
        click.echo(json.dumps(shared.error_facts(failure)))
    return shared.error_code(failure)


def _interrupt_again(dropped: Any) -> None:
    """Python drops an interrupt that comes inside a finalizer: send another one."""
    if dropped.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(dropped)
        return
    with _DROPPING:
        Thread(target=_interrupt_soon, daemon=True).start()


def _interrupt_soon() -> None:
    with _DROPPING:  # until the finalizer has ended
        time.sleep(0.01)
    interrupt_main()


def main() -> None:
    """Run the command line. SIGTERM ends it as Ctrl-C does."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.unraisablehook = _interrupt_again
    try:
        cli(prog_name="petstore-tools")
    except KeyboardInterrupt:  # it came before the command began, or after its end
        sys.exit(0 if sys.argv[1:2] == ["serve"] else 128 + signal.SIGINT)
