"""
Options and questions that several commands share.

A new option of an import touches three files: `importing/options.py`, where it is a field of
`ImportOptions` (the calls in Python take it from there), `cli/import_.py`, where it is a row with
the name of that field, and a test.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from petstore_tools import spec
from petstore_tools.cli import exits
from petstore_tools.errors import SettingsError
from petstore_tools.text import pluralize

Command = TypeVar("Command", bound=Callable[..., Any])
SHOWN_ROWS = 20
ENVIRONMENTS = click.Choice(("production", "staging"))
ENVIRONMENT = click.option(
    "--environment", type=ENVIRONMENTS, help="Which service to use.  [default: as the settings say]"
)
EXISTING = click.option(
    "--existing",
    type=click.Choice(("ask", "skip", "send")),
    default="ask",
    show_default=True,
    help="What happens to rows that match animals that already exist: skip leaves them out, "
    "send creates them anyway, ask stops before anything is sent so that you can choose.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
NO_PROGRESS = click.option("--no-progress", is_flag=True, help="Show no progress.")
STATUS = click.option(
    "--status",
    type=str.casefold,
    metavar="|".join(spec.STATUSES),
    help="Only animals with this status.",
)
WAIT = click.option(
    "--wait", is_flag=True, help="Wait for the next day's quota instead of stopping."
)
YES = click.option("--yes", is_flag=True, help="Go ahead without asking.")


def output(*endings: str) -> Callable[[Command], Command]:
    """
    Return the option `-o` for files of these kinds; the folder is checked before the first request.
    """

    def check(_: click.Context, __: click.Parameter, path: Path | None) -> Path | None:
        from petstore_tools.listing.parquet import load_parquet
        from petstore_tools.tabular.atomic import check_writable

        if path is None:
            return None
        ending = path.suffix.casefold()
        if ending not in endings:
            raise click.BadParameter(f"{str(path)!r} cannot be written: use {', '.join(endings)}")
        if ending == ".parquet":
            load_parquet()
        check_writable(path)
        return path

    kinds = f"{', '.join(endings[:-1])} or {endings[-1]}"
    path = click.Path(path_type=Path)
    return click.option(
        "-o", "--output", type=path, metavar="FILE", callback=check, help=f"Write a file: {kinds}."
    )


def confirmed(question: str, *, yes: bool = False, otherwise: str = "Nothing was sent") -> bool:
    """
    Ask a question on the terminal, unless `--yes` has answered it.

    Args:
        question: To be answered with yes or no.
        yes: Whether `--yes` was given.
        otherwise: What is said after a no.

    Raises:
        SettingsError: There is no terminal, and no `--yes`.
    """
    if not yes and not sys.stdin.isatty():
        raise SettingsError(f"{otherwise}: there is no terminal to ask in. Pass --yes to go ahead")
    if yes or click.confirm(question, default=False, err=True):
        return True
    click.echo(f"{otherwise}.", err=True)
    return False


def confirm_cost(needed: int, left: int) -> None:
    """Ask whether a listing is started that needs more requests than the day has left."""
    cost = f"The listing needs about {pluralize(needed, 'request')}, and {left:,} are left today."
    if not sys.stdin.isatty():
        raise SettingsError(
            f"{cost} Nothing was sent. Choose: --yes starts it (it stops at the quota, and the "
            "same command "
            "continues it the next day), --wait waits for the next day's quota"
        )
    click.echo(
        f"{cost} It stops at the quota, and the same command continues it the next day.", err=True
    )
    if not confirmed("Use the requests that are left today?"):
        raise click.exceptions.Exit(exits.DONE)


def pairs(flag: str, what: str, *name: str, help: str) -> Callable[[Command], Command]:  # noqa: A002
    """
    Return an option that may be given again and again, such as `TITLE=FIELD`: a mapping, None for
    none.
    """

    def read(
        _: click.Context, param: click.Parameter, given: tuple[str, ...]
    ) -> dict[str, str] | None:
        for pair in given:
            if not pair.rpartition("=")[0]:
                raise click.BadParameter(f'{pair!r} must be written as "{what}"', param=param)
        return {pair.rpartition("=")[0]: pair.rpartition("=")[2] for pair in given} or None

    return click.option(flag, *name, multiple=True, callback=read, metavar=f'"{what}"', help=help)
