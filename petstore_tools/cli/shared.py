"""What commands share: options, questions, and exit codes."""

from __future__ import annotations

import os
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

from petstore_tools import errors, spec
from petstore_tools._version import missing_extra
from petstore_tools.errors import SettingsError

if TYPE_CHECKING:
    from petstore_tools.importing.results import ImportResult
    from petstore_tools.store import PetStore

DONE = 0
# some rows rejected, unknown or skipped as doubtful in this run, or a listing not
# complete
INCOMPLETE = 1
# wrong usage or settings, a budget file or an input that cannot be used, a bug of ours
USAGE = 2
KEY_REFUSED = 3
# stopped at a quota or by a block; the same command continues later
AT_A_LIMIT = 4
SERVICE = 5  # cannot be reached, fails, or contradicts the interface document
ALERT = 6  # an alert of a report is met, and nothing else is wrong
INTERRUPTED = 130

_ERROR_CODES = {  # the nearest kind first
    INCOMPLETE: errors.IncompleteListingError,
    KEY_REFUSED: errors.UnauthorizedError,
    AT_A_LIMIT: errors.KeyBannedError | errors.QuotaError,
    SERVICE: errors.ApiError | errors.ProtocolError | errors.TransportError,
    INTERRUPTED: click.Abort | KeyboardInterrupt,
}
_STOP_CODES = {
    "key refused": KEY_REFUSED,
    "quota": AT_A_LIMIT,
    "banned": AT_A_LIMIT,
    "service": SERVICE,
    "interrupted": INTERRUPTED,
    "unknown rows": INCOMPLETE,
}

Function = TypeVar("Function", bound=Callable[..., Any])


class Command(click.Command):
    """A command that refuses a second value of an option that takes one value."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments."""
        _, _, parameters = self.make_parser(ctx).parse_args([*args])
        for parameter, count in Counter(parameters).items():
            takes_one = isinstance(parameter, click.Option) and not (
                parameter.multiple or parameter.is_flag or parameter.count
            )
            if takes_one and count > 1:
                raise click.UsageError(
                    f"{parameter.opts[-1]} takes one value, but it is given {count}"
                    " times",
                    ctx,
                )
        return super().parse_args(ctx, args)


class Group(Command, click.Group):
    """A command that has commands of its own."""

    command_class = Command


command = partial(click.command, cls=Command)


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
JSON = flag("--json", "as_json", help="Print JSON.")
STDOUT = Path("-")


def read_path(text: str) -> Path:
    """Return a path; `~` is the home folder, also where no shell sees it."""
    return Path(os.path.expanduser(text))


def output(*endings: str, multiple: bool = False) -> Callable[[Function], Function]:
    """
    Return the option `-o` for files of these kinds. The folder is checked before the
    first request. An option that is not repeated takes `-`, too: standard output, which
    is the default in a pipe.
    """

    def check_path(path: str) -> Path:
        from petstore_tools.tabular.atomic import check_writable

        file = read_path(path)
        if file == STDOUT and not multiple:
            return file
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

    def choose_place() -> str | None:
        return None if is_terminal(sys.stdout) else str(STDOUT)

    help_ = f"Write a file that ends in {', '.join(endings)}."
    help_ += " Repeat it for more." if multiple else " - is CSV on standard output."
    return click.option(
        "-o",
        "--output",
        type=check_path,
        metavar="FILE",
        multiple=multiple,
        default=None if multiple else choose_place,
        help=help_,
    )


def is_terminal(stream: TextIO | None) -> bool:
    """Say whether a standard stream is a terminal; one that is closed is None."""
    return stream is not None and stream.isatty()


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
    if not is_terminal(sys.stdin):
        raise SettingsError(
            f"{refusal}: there is no terminal to ask in. Pass --yes to go ahead"
        )
    agreed = click.confirm(question, err=True)
    if not agreed:
        write_message(f"{refusal}.")
    return agreed


def pairs(flag: str, form: str, help: str) -> Callable[[Function], Function]:  # noqa: A002
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


def error_code(error: BaseException) -> int:
    """Return the exit code of an error: that of its nearest kind in the table."""
    for code, kinds in _ERROR_CODES.items():
        if isinstance(error, kinds):
            return code
    return USAGE


def show_error(error: BaseException) -> None:
    """Write what ended a command to stderr; an unexpected error, with its traceback."""
    if isinstance(error, click.ClickException):
        error.show()
    elif error_code(error) == INTERRUPTED:
        write_message("Interrupted.")
    elif is_bug(error):
        traceback.print_exception(error)
        write_message("This is a mistake of petstore_tools. Please report these lines.")
    else:
        write_message("\n".join([f"Error: {error}", *getattr(error, "__notes__", ())]))


def is_bug(error: BaseException) -> bool:
    """Say whether an error is unexpected, and so a bug."""
    expected_errors = (click.ClickException, errors.PetstoreError, OSError)
    return error_code(error) != INTERRUPTED and not isinstance(error, expected_errors)


def find_interrupt(error: BaseException) -> KeyboardInterrupt | None:
    """Return the interrupt of which a library made an error of its own."""
    cause: BaseException | None = error
    while cause is not None and is_bug(cause):
        cause = cause.__cause__ or cause.__context__
    return cause if isinstance(cause, KeyboardInterrupt) else None


def error_facts(error: BaseException) -> dict[str, Any]:
    """Return what `--json` prints of an error, with what is known of an import."""
    message = str(error) or "Interrupted."
    if isinstance(error, click.ClickException):
        message = error.format_message()
    summary = getattr(error, "result", None) or getattr(error, "preview", None)
    facts = {} if summary is None else summary.to_dict()
    return {**facts, "error": type(error).__name__, "message": message}


def result_code(result: ImportResult) -> int:
    """Return the exit code of an import."""
    kind = result.stopped.kind if result.stopped else ""
    uncreated_rows = result.rejected or result.unknown or result.skipped_now
    return _STOP_CODES.get(kind, INCOMPLETE if uncreated_rows else DONE)
