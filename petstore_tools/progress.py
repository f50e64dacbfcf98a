"""Live progress: a bar on a terminal and in Jupyter, text in marimo, elsewhere a line a minute."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from petstore_tools.text import utc_text

if TYPE_CHECKING:
    from petstore_tools.importing.send import Progress

Show: TypeAlias = "Callable[[Progress], None]"
Draw = Callable[[int, int | None, Mapping[str, object], tuple[str, str]], None]
Surface = Literal["bar", "marimo", "lines", "none"]
LINES: Final = {  # of tqdm: the first line after a minute, so that short runs write none
    "delay": 60.0,
    "mininterval": 60.0,
    "miniters": 0,
    "bar_format": "{l_bar}{bar}{r_bar}\n",
}

WAITING: Final = (
    "{l_bar}{bar}| {n_fmt}/{total_fmt}{postfix}"  # of a bar: no speed, so that it stays long
)


def show_text(shown: object) -> None:
    """
    Print, with what the terminal's encoding lacks spelt out: Windows writes cp1252 to a file or a
    pipe.
    """
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    print(str(shown).encode(encoding, "backslashreplace").decode(encoding))


def surface(progress: bool | None) -> Surface:
    """
    Say how progress is shown: as given, else as `PETSTORE_PROGRESS` and the place of output allow.
    """
    if progress is False or (progress is None and os.environ.get("PETSTORE_PROGRESS") == "0"):
        return "none"
    marimo = sys.modules.get("marimo")
    if marimo is not None and marimo.running_in_notebook():
        return "marimo"
    return "bar" if progress or sys.stderr.isatty() or "ipykernel" in sys.modules else "lines"


@contextmanager
def import_progress(progress: bool | Show | None) -> Iterator[Show]:
    """
    Give a function that shows how far an import is: on a surface, or by the caller's own function.
    """
    if callable(progress):
        yield progress
        return
    with _progress("import", "row", progress) as draw:

        def show(now: Progress) -> None:
            notes: dict[str, object] = {"created": now.created}
            notes |= {k: v for k, v in (("rejected", now.rejected), ("unknown", now.unknown)) if v}
            until = "" if now.waits_until is None else utc_text(now.waits_until)
            draw(now.done, now.total, notes, (until, now.waits_for))

        yield show


@contextmanager
def page_progress(progress: bool | None) -> Iterator[Callable[[int, int | None], None]]:
    """
    Give a function that takes each page's number of animals, and how many there may be, and shows
    them.
    """
    read = 0
    with _progress("list", "animal", progress) as draw:

        def show(animals: int, total: int | None) -> None:
            nonlocal read
            read += animals
            if animals:
                draw(read, total, {}, ("", ""))

        yield show


@contextmanager
def _progress(what: str, unit: str, progress: bool | None) -> Iterator[Draw]:
    """
    Give a function that shows how many of how many are done, notes, and until when and why it
    waits.

    It draws from its first call. On a terminal, each reason to wait is a line above the bar, once.
    """
    kind, bars, reasons = surface(progress), list[Any](), set[str]()
    on_a_terminal = kind == "bar" and sys.stderr.isatty()
    with ExitStack() as stack:

        def begin(done: int, total: int | None) -> Any:
            from tqdm.auto import tqdm

            class Bar(tqdm):  # type: ignore[type-arg]
                # no Python runs there, where Python loses a Ctrl-C
                __del__ = object.__hash__  # type: ignore[assignment]

            options: dict[str, Any] = LINES if kind == "lines" else {}
            if kind == "marimo":
                spinner = sys.modules["marimo"].status.spinner(title=what, remove_on_exit=True)
                options = {"file": _Subtitle(stack.enter_context(spinner))}
            return stack.enter_context(
                closing(Bar(total=total, initial=done, unit=unit, desc=what, **options))
            )

        def draw(
            done: int, total: int | None, notes: Mapping[str, object], wait: tuple[str, str]
        ) -> None:
            if kind == "none":
                return
            if not bars:
                bars.append(begin(done, total))
            bar = bars[0]
            bar.total = total
            until, why = wait
            if kind != "lines":
                bar.bar_format = WAITING if until else None
            if not until:
                bar.set_postfix(notes, refresh=False)
            elif not on_a_terminal:
                bar.set_postfix_str(f"waits until {until}: {why}", refresh=False)
            else:
                bar.set_postfix_str(f"waits until {until}", refresh=False)
                if why not in reasons:
                    reasons.add(why)
                    bar.write(f"Waiting until {until}: {why}.", file=sys.stderr)
            bar.update(done - bar.n)
            if until and kind != "lines":
                bar.refresh()

        yield draw


class _Subtitle:
    """A file whose text is shown below the title of a spinner of marimo."""

    def __init__(self, spinner: Any) -> None:
        self._spinner = spinner

    def write(self, text: str) -> None:
        """Show a text in place of the last one."""
        if text.strip():
            self._spinner.update(subtitle=text.strip())

    def flush(self) -> None:
        """Do nothing: what is written is shown."""
