"""Options and questions that several commands share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from petstore_tools import spec
from petstore_tools._version import missing_extra
from petstore_tools.errors import SettingsError

if TYPE_CHECKING:
    from petstore_tools.store import PetStore

Command = TypeVar("Command", bound=Callable[..., Any])


def _open_store(
    context: click.Context, _: click.Parameter, environment: str | None
) -> PetStore:
    """Return the store of an environment, which is closed when the command ends."""
    from petstore_tools.store import PetStore

    return context.with_resource(PetStore(environment=environment))


environment_option = partial(
    click.option,
    "--environment",
    type=click.Choice(("production", "staging")),
    help="Which service to use.  [default: as the settings say]",
)
STORE = environment_option("store", callback=_open_store)
STATUS = click.option(
    "--status",
    type=click.Choice(spec.STATUSES, case_sensitive=False),
    help="Only animals with this status.",
)
flag = partial(click.option, is_flag=True)  # an option without a value
WAIT = flag("--wait", help="Wait for the next day's quota instead of stopping.")
write_message = partial(click.echo, err=True)  # to people; stdout is for data
YES = flag("--yes", help="Go ahead without asking.")


def output(*endings: str, multiple: bool = False) -> Callable[[Command], Command]:
    """
    Return the option `-o` for files of these kinds; the folder is checked before the
    first request.
    """

    def check_path(path: str) -> Path:
        from petstore_tools.tabular.atomic import check_writable

        file = Path(path)
        ending = file.suffix.casefold()
        if ending not in endings:
            is_page = ending == ".pdf" and ".html" in endings
            advice = "; for a PDF, print the page (.html)" if is_page else ""
            raise click.UsageError(
                f"{path!r} must end in one of {', '.join(endings)}{advice}"
            )
        if ending == ".parquet" and find_spec("pyarrow") is None:
            raise missing_extra("pyarrow", "a Parquet file")
        check_writable(file)
        return file

    help_ = f"Write a file that ends in {', '.join(endings)}."
    if multiple:
        help_ += " Repeat the option for more."
    return click.option(
        "-o", "--output", type=check_path, metavar="FILE", multiple=multiple, help=help_
    )


def confirm(question: str, *, yes: bool, refusal: str = "Nothing was sent") -> bool:
    """
    Ask a question on the terminal, unless `--yes` has answered it.

    Args:
        question: To be answered with yes or no.
        yes: Whether `--yes` was given.
        refusal: What is said after a no.

    Raises:
        SettingsError: There is no terminal, and no `--yes`.
    """
    if yes:
        return True
    if not sys.stdin.isatty():
        raise SettingsError(
            f"{refusal}: there is no terminal to ask in. Pass --yes to go ahead"
        )
    agreed = click.confirm(question, err=True)
    if not agreed:
        write_message(f"{refusal}.")
    return agreed


def pairs(flag: str, form: str, help: str) -> Callable[[Command], Command]:  # noqa: A002
    """
    Return an option such as `TITLE=FIELD` that may be repeated: a mapping, None for
    none. Where its form names a FILE, files may stand beside the pairs.
    """

    def read(_: object, __: object, words: Sequence[str]) -> Any:
        parts: list[Any] = []
        pairs = {}
        for word in words:
            left, sign, right = word.rpartition("=")
            if "FILE" in form and (not sign or Path(word).is_file()):
                parts.append(word)
            elif not (left and sign):
                raise click.UsageError(f'{word!r} must be written as "{form}"')
            else:
                pairs[left] = right
        if pairs:
            parts.append(pairs)
        return tuple(parts) if len(parts) > 1 else next(iter(parts), None)

    help_ = f"{help} Repeat the option for more."
    return click.option(
        flag, multiple=True, callback=read, metavar=f'"{form}"', help=help_
    )
