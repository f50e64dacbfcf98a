"""Live progress: a bar on a terminal and in Jupyter, elsewhere a line a minute."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from petstore_tools.text import utc_text

if TYPE_CHECKING:
    from petstore_tools.importing.options import Progress
    from petstore_tools.throttle.throttle import Wait

ShowProgress: TypeAlias = "Callable[[Progress], None]"
# of tqdm, without the speed, so that the bar stays long
WAITING = "{l_bar}{bar}| {n_fmt}/{total_fmt}{postfix}"


def show_text(message: object) -> None:
    """
    Print, with what the terminal's encoding lacks spelt out: Windows writes cp1252 to a
    file or a pipe.
    """
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    print(str(message).encode(encoding, "backslashreplace").decode(encoding))


@contextmanager
def import_progress(progress: bool | ShowProgress | None) -> Iterator[ShowProgress]:
    """
    Give a function that shows how far an import is, which may be the caller's own.
    """
    if callable(progress):
        yield progress
        return
    with closing(Display("import", " row", progress)) as display:

        def show(run_progress: Progress) -> None:
            notes = {"created": run_progress.created}
            if run_progress.rejected:
                notes["rejected"] = run_progress.rejected
            if run_progress.unknown:
                notes["unknown"] = run_progress.unknown
            if run_progress.total or run_progress.wait:  # else nothing is sent yet
                display.draw(
                    run_progress.done, run_progress.total, run_progress.wait, notes
                )

        yield show


class Display:
    """
    A bar, drawn from the first report on. If it cannot be drawn, tqdm writes a line a
    minute.

    Args:
        title: What goes on.
        unit: What is counted.
        progress: False: show nothing; None: a bar if it can be drawn, else a line a
            minute.
    """

    def __init__(self, title: str, unit: str, progress: bool | None) -> None:
        default = os.environ.get("PETSTORE_PROGRESS") != "0"
        wanted = default if progress is None else progress
        self._shows = wanted and sys.stderr is not None
        self._on_a_terminal = self._shows and sys.stderr.isatty()
        self._as_bar = progress or self._on_a_terminal or "ipykernel" in sys.modules
        self._options: dict[str, Any] = {"desc": title, "unit": unit}
        if not self._as_bar:
            # the first line after a minute, so that short runs write none
            self._options |= {"delay": 60.0, "mininterval": 60.0, "miniters": 0}
            self._options["bar_format"] = "{l_bar}{bar}{r_bar}\n"
        self._reasons = set[str]()
        self._bar: Any = None

    def draw(
        self,
        done: int,
        total: int | None,
        wait: Wait | None = None,
        notes: Mapping[str, int] | None = None,
    ) -> None:
        """
        Show how many of how many are done, until when and why it waits, and notes.
        """
        if not self._shows:
            return
        if self._bar is None:
            from tqdm.auto import tqdm

            self._bar = tqdm(total=total, initial=done, **self._options)
        self._bar.total = total
        if wait is None:
            self._bar.set_postfix(notes, refresh=False)
        else:
            self._bar.set_postfix_str(self._explain(wait), refresh=False)
        if self._as_bar:
            self._bar.bar_format = None if wait is None else WAITING
        self._bar.update(done - self._bar.n)
        if wait is not None and self._as_bar:
            self._bar.refresh()

    def _explain(self, wait: Wait) -> str:
        """
        Return the end of a wait and its reason. On a terminal, each reason is written
        once above the bar.
        """
        until = f"until {utc_text(wait.until)}"
        if not self._on_a_terminal:
            return f"waits {until}: {wait.reason}"
        if wait.reason not in self._reasons:
            self._reasons.add(wait.reason)
            self._bar.write(f"Waiting {until}: {wait.reason}.", file=sys.stderr)
        return f"waits {until}"

    def close(self) -> None:
        """End the bar. It stays on the screen."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None
