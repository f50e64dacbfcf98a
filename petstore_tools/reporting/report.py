"""The status report: counts and shares that carry their time, their completeness and their filter."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from petstore_tools import spec
from petstore_tools._version import __version__
from petstore_tools.errors import FrameError
from petstore_tools.listing import frames
from petstore_tools.listing.completeness import Listing
from petstore_tools.reporting import breakdown as compare
from petstore_tools.reporting import excel as report_files
from petstore_tools.reporting.page import page
from petstore_tools.tabular.atomic import write_output
from petstore_tools.text import (
    html_table,
    markdown_table,
    markdown_text,
    option,
    pluralize,
    text_table,
    utc_text,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from petstore_tools.history.snapshots import SnapshotStore

_HEADER: Final = ("status", "count", "share")
_CHANGES: Final = ("status", "before", "now", "change")
_MOVES: Final = ("from", "to", "animals")
TOP: Final = 20  # categories, and moved animals, that a page shows


@dataclass(frozen=True)
class StatusReport:
    """
    A breakdown of one listing.

    Attributes:
        listing: What was listed, when, and whether it is whole.
        breakdown: Index `status` (the three values in the document's order, values it does not name,
            `unset`), columns `count` (int64) and `share` (float64, 0 to 1). Zero rows are kept.
        by_category: Index `categoryId` (int64, ascending), one int64 column per status and `total`, and
            `label` (string) in front where labels were given.
        since: The older listing it is compared with, None for none.
        changes: Index `status`, columns `before`, `now`, `change` (int64); None without an older listing.
        moved: Animals whose status differs, are new or gone: `id`, `name`, `categoryId`, `from`, `to`.
        history: Index `as_of` (datetime, UTC), an int64 column per status; None without snapshots.
        notes: What else stands on its face.
        mark: Called when it was written to a file: from then on `since="last"` means its listing.

    Spec: §2.3 status values; §2.1 states no default, hence `unset` (our choice).
    """

    listing: Listing
    breakdown: pd.DataFrame
    by_category: pd.DataFrame
    since: Listing | None = None
    changes: pd.DataFrame | None = None
    moved: pd.DataFrame | None = None
    history: pd.DataFrame | None = None
    notes: tuple[str, ...] = ()
    mark: Callable[[], None] | None = field(default=None, repr=False, compare=False)

    @property
    def face(self) -> str:
        """What this is a report on, in the words that stand on it."""
        listing = self.listing
        if listing.complete:
            return f"Complete: {pluralize(listing.rows, 'animal')} of {listing.of_what}"
        return (
            f"Not complete ({listing.completeness}): {pluralize(listing.rows, 'animal')} of {listing.of_what}"
        )

    @property
    def cost(self) -> str:
        """What it cost, in words."""
        return f"{pluralize(self.listing.requests, 'request')} spent"

    def to_html(self, path: str | Path | None = None) -> str:
        """Return one self-contained HTML page (no script, no network); write it whole where asked."""
        return self._write_text(path, self._html())

    def to_excel(self, path: str | Path) -> None:
        """Write a workbook: real numbers, a native chart, text that no spreadsheet runs; or nothing."""
        self._write(path, report_files.to_excel(self))

    def to_markdown(self, path: str | Path | None = None) -> str:
        """Return Markdown; write it whole where asked."""
        facts = [self.face, self.listing.reason, *self.notes]
        parts = [
            "# Status report",
            "  \n".join(map(markdown_text, facts)),
            f"As of {utc_text(self.listing.ended_at)}, {self.cost}.",
            markdown_table(_HEADER, self._rows()),
            markdown_table(self._category_header(), self._category_rows()),
        ]
        if self.since is not None:
            parts += [
                f"## Since {utc_text(self.since.ended_at)}",
                markdown_table(_CHANGES, self._changes()),
                markdown_table(_MOVES, self._moves()),
            ]
        return self._write_text(path, "\n\n".join(parts) + "\n")

    def to_json(self, path: str | Path | None = None) -> str:
        """Return JSON with the same numbers; write it whole where asked."""
        document: dict[str, Any] = {
            "as_of": utc_text(self.listing.ended_at),
            "complete": self.listing.complete,
            "listing": self.listing.to_dict(),
            "notes": list(self.notes),
            "breakdown": [dict(zip(_HEADER, row, strict=True)) for row in self._rows()],
            "by_category": [
                dict(zip(self._category_header(), row, strict=True))
                for row in self._category_rows(whole=True)
            ],
        }
        if self.since is not None and self.changes is not None and self.moved is not None:
            document["since"] = utc_text(self.since.ended_at)
            document["changes"] = self.changes.reset_index().to_dict("records")
            document["moved"] = self.moved.to_dict("records")
        if self.history is not None:
            rows = zip(self.history.index, self.history.to_dict("records"), strict=True)
            document["history"] = [{"as_of": utc_text(at.timestamp()), **counts} for at, counts in rows]
        return self._write_text(path, json.dumps(document, ensure_ascii=False, indent=2) + "\n")

    def figure(self) -> Figure:
        """
        Draw the shares, and the history where there is one.

        Raises:
            MissingExtraError: The extra `plot` is not installed.
        """
        return report_files.figure(self)

    def to_text(self) -> str:
        """Return the breakdown for a terminal, with what changed."""
        parts = [f"{self.face}\n{self.listing.reason}; as of {utc_text(self.listing.ended_at)}", *self.notes]
        parts.append(text_table(_HEADER, self._rows()))
        if self.since is not None:
            table = text_table(_CHANGES, self._changes())
            parts.append(f"Since {utc_text(self.since.ended_at)}:\n\n{table}")
            if moves := self._moves():
                parts.append(text_table(_MOVES, moves))
        return "\n\n".join(parts)

    def __repr__(self) -> str:
        parts = ", ".join(f"{status} {count:,}" for status, count, _ in self._rows())
        return f"StatusReport({self.face}; {parts}; as of {utc_text(self.listing.ended_at)})"

    def _repr_html_(self) -> str:
        note = f"{self.listing.reason}; as of {utc_text(self.listing.ended_at)}"
        header: tuple[str, ...] = _HEADER
        rows: list[tuple[object, ...]] = [*self._rows()]
        if self.since is not None:
            change = {name: text for name, _, _, text in self._changes()}
            header, rows = (*header, "change"), [(*row, change[row[0]]) for row in self._rows()]
            note += f"; change since {utc_text(self.since.ended_at)}"
        return html_table(self.face, header, rows, note="; ".join([note, *self.notes]))

    def _changes(self) -> list[tuple[str, int, int, str]]:
        if self.changes is None:
            return []
        columns = [self.changes[name].tolist() for name in ("before", "now", "change")]
        rows = zip(self.changes.index.tolist(), *columns, strict=True)
        return [(name, before, now, f"{change:+,}") for name, before, now, change in rows]

    def _moves(self) -> list[tuple[str, str, int]]:
        return [] if self.moved is None else compare.moves(self.moved)

    def _rows(self) -> list[tuple[str, int, float]]:
        counts, shares = self.breakdown["count"].tolist(), self.breakdown["share"].tolist()
        return list(zip(self.breakdown.index.tolist(), counts, shares, strict=True))

    def _category_header(self) -> list[str]:
        return ["categoryId", *map(str, self.by_category.columns)]

    def _category_rows(self, *, whole: bool = False) -> list[list[object]]:
        """Return rows of plain values; ids as text for people, whole numbers for programs."""
        columns = [self.by_category[name].tolist() for name in self.by_category.columns]
        ids = self.by_category.index.tolist()
        return [[i if whole else str(i), *values] for i, *values in zip(ids, *columns, strict=True)]

    def _html(self) -> str:
        moved = [] if self.moved is None else self.moved.head(TOP).to_numpy().tolist()
        whole = self._category_rows()
        most = sorted(whole, key=lambda row: -int(str(row[-1])))[:TOP]
        return page(
            "report.html",
            title="Status report",
            face=self.face,
            verdict=self.listing.completeness,
            reason=self.listing.reason,
            notes=[*self.notes, *self.listing.notes],
            environment=self.listing.environment,
            rows=self.listing.rows,
            requests=self.listing.requests,
            started=utc_text(self.listing.started_at),
            as_of=utc_text(self.listing.ended_at),
            breakdown=[
                {"status": name, "count": count, "share": share, "css": _css(name)}
                for name, count, share in self._rows()
            ],
            category_header=self._category_header(),
            categories=whole,
            top=most if len(whole) > TOP else [],
            since=None if self.since is None else utc_text(self.since.ended_at),
            changes=self._changes(),
            moves=self._moves(),
            moved=moved,
            moved_in_all=0 if self.moved is None else len(self.moved),
            areas=_areas(self.history),
            history=[] if self.history is None else [utc_text(at.timestamp()) for at in self.history.index],
            version=__version__,
        )

    def _write_text(self, path: str | Path | None, text: str) -> str:
        if path is not None:
            self._write(path, text.encode())
        return text

    def _write(self, path: str | Path, content: bytes) -> None:
        write_output(Path(path), content)
        if self.mark is not None:
            self.mark()


def _css(status: str) -> str:
    return status if status in (*spec.STATUSES, compare.UNSET) else "other"


def _areas(history: pd.DataFrame | None) -> list[dict[str, str]]:
    """Return the history as stacked polygons in a box of 100 by 100."""
    if history is None or len(history) < 2:
        return []
    times = [at.timestamp() for at in history.index]
    span, highest = times[-1] - times[0] or 1.0, int(history.sum(axis=1).max()) or 1
    across = [100 * (at - times[0]) / span for at in times]
    below = [0.0] * len(times)
    areas = []
    for name in history.columns:
        above = [low + 100 * n / highest for low, n in zip(below, history[name].tolist(), strict=True)]
        there = zip(across, above, strict=True)
        back = zip(reversed(across), reversed(below), strict=True)
        points = " ".join(f"{x:.2f},{100 - y:.2f}" for x, y in (*there, *back))
        areas.append({"css": _css(name), "status": name, "points": points})
        below = above
    return areas


def status_report(
    pets: pd.DataFrame,
    *,
    partial: bool = False,
    categories: Mapping[int, str] | None = None,
    since: pd.DataFrame | None = None,
    history: pd.DataFrame | None = None,
) -> StatusReport:
    """
    Report on a listed frame.

    Args:
        pets: Frame as `list_pets` gives it, `attrs["listing"]` included.
        partial: Report on a frame that is not the whole of what was listed; the report says so.
        categories: Labels by categoryId (ours; §2.6 shows no category record).
        since: An older listing to compare with, such as `store.snapshots()[0].frame()`.
        history: Counts of many listings, as `compare.history` makes them.

    Raises:
        FrameError: A column is missing or has another dtype, the frame carries no listing, it is
            not whole and `partial` is not set, or the older one is of something else.

    Spec: §2.3, §4.1.
    """
    listing = frames.listing_of(pets)
    if not listing.complete and not partial:
        raise FrameError(
            f"this frame is not whole ({listing.completeness}: {listing.reason}); "
            f"for a report that says so: {option('partial=True')}"
        )
    counts = compare.breakdown(pets)
    categories_counted = compare.by_category(pets, categories or {})
    if since is None:
        return StatusReport(listing, counts, categories_counted, history=history)
    older = frames.listing_of(since)
    if not older.complete or (older.status, older.environment) != (listing.status, listing.environment):
        raise FrameError(f"nothing to compare with: the older frame is {older}")
    if not listing.complete:
        raise FrameError("a part cannot be compared with a whole: what is missing would look gone")
    return StatusReport(
        listing,
        counts,
        categories_counted,
        older,
        compare.changes(compare.breakdown(since), counts),
        compare.moved(since, pets),
        history,
    )


def report_and_keep(
    pets: pd.DataFrame,
    snapshots: SnapshotStore,
    since: tuple[pd.DataFrame | None, tuple[str, ...]] | None,
    *,
    categories: Mapping[int, str] | None,
    partial: bool,
) -> StatusReport:
    """Report on a fresh listing, which becomes a snapshot where it is complete and Parquet can be written."""
    older, notes = since or (None, ())
    history = snapshot = None
    status = frames.listing_of(pets).status
    if frames.listing_of(pets).complete:
        snapshot, note = snapshots.try_keep(pets)
        notes += (note,) if note else ()
        kept = [] if snapshot is None else snapshots.history(status)
        history = compare.history(kept) if len(kept) > 1 else None
    else:
        older, notes = None, () if since is None else ("not whole, so compared with nothing",)
    report = status_report(pets, partial=partial, categories=categories, since=older, history=history)
    mark = None if snapshot is None else functools.partial(snapshots.mark_reported, snapshot)
    return replace(report, notes=notes, mark=mark)
