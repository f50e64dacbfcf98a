"""
The command line: data on stdout, messages on stderr, and an exit code that says what
happened.
"""

import json
import logging
import os
import signal
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from types import FrameType
from typing import Any

import click

from petstore_tools._version import __version__
from petstore_tools.clock import SIGNALS

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


VERBOSE = click.Option(
    ["-v", "--verbose"],
    count=True,
    expose_value=False,
    callback=_show_log,
    help="Show waits and retries; -vv shows each request, too.",
)


class Commands(click.Group):
    """Commands whose modules load when they are called, so that help is quick."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command, list[str]]:
        """Load a command, and give it and those below it the option `-v`."""
        name, _, arguments = super().resolve_command(ctx, args)
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
      130  interrupted, by Ctrl-C or SIGTERM: run the same command again
    """


cli.params.append(VERBOSE)


def _tolerant(write: Callable[..., Any]) -> Callable[..., Any]:
    """
    Return a method of stderr that ends no command where a line is lost (a full disk, a
    closed pipe).
    """

    def attempt(*arguments: object) -> Any:
        with suppress(OSError):
            return write(*arguments)

    return attempt


def _take_signals(*, serves: bool) -> None:
    """
    Let SIGTERM end a command as Ctrl-C does, and note both; `serve` has no other end,
    and ends with 0.
    """
    SIGNALS.clear()

    def end(number: int, frame: FrameType | None) -> None:
        SIGNALS.append(number)
        if serves:
            sys.exit(0)
        signal.default_int_handler(number, frame)

    with suppress(ValueError):  # only the main thread may say what a signal does
        signal.signal(signal.SIGTERM, end)
        # else it is ignored
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, end)


def _prepare_streams() -> None:
    """Let the standard streams take every text, also where one of them is closed."""
    for name in ("stdin", "stdout", "stderr"):
        # it was closed: the next file opened takes its number
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r+", encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    for name in ("write", "flush"):
        setattr(sys.stderr, name, _tolerant(getattr(sys.stderr, name)))
    warnings.showwarning = lambda message, *_, **__: click.echo(
        f"Warning: {message}", err=True
    )


def main() -> None:
    """Run the command line; every end is an exit code of the table above."""
    words = sys.argv[1:]
    serves = "serve" in words[:1]
    _take_signals(serves=serves)
    try:
        from petstore_tools.cli import shared

        _prepare_streams()
        stdout = sys.stdout
    except BaseException as error:
        if not SIGNALS or isinstance(error, SystemExit):  # `serve` ends by itself
            raise
        if serves:
            sys.exit(0)
        click.echo("Interrupted.", err=True)  # while modules load
        sys.exit(128 + signal.SIGINT)
    try:
        code = cli.main(words, prog_name="petstore-tools", standalone_mode=False)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as error:
        if isinstance(error, SystemExit) and sys.stdout is stdout:
            raise
        # nobody reads stdout any more: click has put another in its place, and exits
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = shared.DONE
    except BaseException as error:
        # a library made an error of its own of it
        is_signal = SIGNALS and shared.is_bug(error)
        if is_signal and serves:
            sys.exit(shared.DONE)
        failure = KeyboardInterrupt() if is_signal else error
        code = shared.error_code(failure)
        shared.show_error(failure)
        if "--json" in words:
            with suppress(OSError):  # stdout may be on a disk that is full
                click.echo(json.dumps(shared.error_facts(failure)))
    sys.exit(code if isinstance(code, int) else shared.DONE)
