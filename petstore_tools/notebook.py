"""Live progress, in a terminal or a notebook, quiet where nobody looks."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from petstore_tools.text import utc_text

if TYPE_CHECKING:
    from petstore_tools.importing.send import Progress

Show: TypeAlias = "Callable[[Progress], None]"
Progressing: TypeAlias = "bool | Show | None"


def is_wanted(progress: Progressing) -> bool:
    """Say whether a bar is drawn: as told, else where stderr is a terminal or a notebook is live."""
    if isinstance(progress, bool):
        return progress
    return os.environ.get("PETSTORE_PROGRESS") != "0" and (sys.stderr.isatty() or "ipykernel" in sys.modules)


@contextmanager
def _bar(unit: str, what: str) -> Iterator[Callable[[int | None], Any]]:
    """Give a function that returns a bar for so many; drawn when it is first called, closed at the end."""
    bars: list[Any] = []

    def drawn(of: int | None) -> Any:
        if not bars:
            from tqdm.auto import tqdm

            class Bar(tqdm):  # type: ignore[type-arg]
                # no Python runs there, where Python loses a Ctrl-C
                __del__ = object.__hash__  # type: ignore[assignment]

            bars.append(Bar(total=of, unit=unit, desc=what))
        bars[0].total = of
        return bars[0]

    try:
        yield drawn
    finally:
        for bar in bars:
            bar.close()


@contextmanager
def import_progress(progress: Progressing) -> Iterator[Show]:
    """Give a function that shows how far an import is: a bar, the caller's own, or nothing."""
    if callable(progress):
        yield progress
        return
    if not is_wanted(progress):
        yield lambda progress: None  # noqa: ARG005
        return
    with _bar("row", "import") as drawn:

        def show(now: Progress) -> None:
            bar = drawn(now.total)
            told: dict[str, Any] = {"created": now.created}
            told |= {k: v for k, v in (("rejected", now.rejected), ("unknown", now.unknown)) if v}
            if now.waits_until is not None:
                told["waits"] = f"until {utc_text(now.waits_until)}, {now.waits_for}"
            bar.set_postfix(told, refresh=False)
            bar.update(now.done - bar.n)
            if now.waits_until is not None:
                bar.refresh()

        yield show


@contextmanager
def page_progress(progress: Progressing) -> Iterator[Callable[[int, int | None], None]]:
    """Give a function that is told of each page's animals, and how many there may be, and shows them."""
    if not is_wanted(progress):
        yield lambda animals, of: None  # noqa: ARG005
        return
    with _bar("animal", "list") as drawn:

        def show(animals: int, of: int | None) -> None:
            if animals:
                drawn(of).update(animals)

        yield show
