"""The status report: counts and shares with their time, their completeness and their filter."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from petstore_tools import text
from petstore_tools.errors import FrameError, MissingExtraError
from petstore_tools.listing import frames
from petstore_tools.listing.completeness import Listing
from petstore_tools.reporting import breakdown as counting
from petstore_tools.reporting.chart import figure
from petstore_tools.reporting.excel import workbook
from petstore_tools.reporting.page import page
from petstore_tools.reporting.tables import for_people
from petstore_tools.tabular.atomic import write_output

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from petstore_tools.history.snapshots import SnapshotStore

_RENAMED: Final = {"history": "counts", "face": "headline", "cost": "cost_text"}


@dataclass(frozen=True)
class StatusReport:
    """
    A breakdown of one listing.

    Attributes:
        listing: What was listed, when, and whether it is complete.
        breakdown: Index `status` (the three values in the document's order, values it does not name,
            `unset`), columns `count` (int64) and `share` (float64, 0 to 1). Zero rows are kept.
        by_category: Index `categoryId` (int64, ascending), one int64 column per status and `total`, and
            `label` (text) in front where labels were given.
        since: The older listing it is compared with, None for none.
        changes: Index `status`, columns `before`, `now`, `change` (int64); None without an older listing.
        moved: Animals whose status differs, are new or gone: `id`, `name`, `categoryId`, `from`, `to`.
        counts: Counts over time: index `as_of` (datetime, UTC), an int64 column per status; None without
            snapshots.
        notes: What else the reader must know.
        mark: Called when it was written to a file: from then on `since="last"` means its listing.

    Spec: §2.3 status values; §2.1 states no default, hence `unset` (our choice).
    """

    listing: Listing
    breakdown: pd.DataFrame
    by_category: pd.DataFrame
    since: Listing | None = None
    changes: pd.DataFrame | None = None
    moved: pd.DataFrame | None = None
    counts: pd.DataFrame | None = None
    notes: tuple[str, ...] = ()
    mark: Callable[[], None] | None = field(default=None, repr=False, compare=False)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            renamed = f"; it is called {_RENAMED[name]}" if name in _RENAMED else ""
            raise AttributeError(f"a StatusReport has no {name}{renamed}")

    @property
    def headline(self) -> str:
        """What this is a report on."""
        listing = self.listing
        start = "Complete" if listing.complete else f"Not complete ({listing.completeness})"
        return f"{start}: {text.pluralize(listing.rows, 'animal')} of {listing.of_what}"

    @property
    def cost_text(self) -> str:
        """What it cost, in words."""
        return f"{text.pluralize(self.listing.requests, 'request')} spent"

    @property
    def _as_of(self) -> str:
        return text.utc_text(self.listing.ended_at)

    @property
    def _facts(self) -> str:
        return f"{self.listing.reason}; as of {self._as_of}"

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables that there are by name, without an index; `moves` counts `moved`."""
        found = {"breakdown": self.breakdown.reset_index(), "by_category": self.by_category.reset_index()}
        if self.changes is not None and self.moved is not None:
            found["changes"] = self.changes.reset_index()
            found |= {"moves": counting.moves(self.moved), "moved": self.moved}
        if self.counts is not None:
            found["counts"] = self.counts.reset_index()
        return found

    def to_html(self, path: str | Path | None = None) -> str:
        """Return one self-contained HTML page (no script, no network); write it whole where asked."""
        notes = [*self.notes, *self.listing.notes]
        html = page(
            headline=self.headline,
            cost_text=self.cost_text,
            listing=self.listing,
            tables=self.tables(),
            since=self.since,
            notes=notes,
        )
        return self._write_text(path, html)

    def to_excel(self, path: str | Path) -> None:
        """Write a workbook: real numbers, a native chart, text that no spreadsheet runs; or nothing."""
        facts = f"{self._facts}, {self.cost_text}"
        self._write(path, workbook(self.headline, facts, self.tables(), complete=self.listing.complete))

    def to_markdown(self, path: str | Path | None = None) -> str:
        """Return Markdown; write it whole where asked."""
        facts = [self.headline, self.listing.reason, *self.notes]
        parts = ["# Status report", "  \n".join(map(text.markdown_text, facts))]
        parts.append(f"As of {self._as_of}, {self.cost_text}.")
        for title, table in self._sections("breakdown", "by_category", "changes", "moves"):
            parts += [f"## {title}"] if title else []
            parts.append(text.markdown_table(*for_people(table)))
        return self._write_text(path, "\n\n".join(parts) + "\n")

    def to_json(self, path: str | Path | None = None) -> str:
        """Return JSON with the same numbers; write it whole where asked."""
        document: dict[str, Any] = {
            "as_of": self._as_of,
            "complete": self.listing.complete,
            "listing": self.listing.to_dict(),
            "notes": list(self.notes),
            "since": None if self.since is None else text.utc_text(self.since.ended_at),
        }
        document |= {name: table.to_dict("records") for name, table in self.tables().items()}
        written = json.dumps(document, ensure_ascii=False, indent=2, default=_time)
        return self._write_text(path, written + "\n")

    def figure(self) -> Figure:
        """
        Draw the shares, and the counts over time where there are any.

        Raises:
            MissingExtraError: The extra `plot` is not installed.
        """
        return figure(self.headline, self._as_of, self.breakdown, self.counts)

    def to_text(self) -> str:
        """Return the breakdown for a terminal, with what changed."""
        parts = [f"{self.headline}\n{self._facts}", *self.notes]
        for title, table in self._sections("breakdown", "changes", "moves"):
            parts += [f"{title}:"] if title else []
            parts.append(text.text_table(*for_people(table)))
        return "\n\n".join(parts)

    def __repr__(self) -> str:
        parts = ", ".join(f"{status} {count:,}" for status, count in self.breakdown["count"].items())
        return f"StatusReport({self.headline}; {parts}; as of {self._as_of})"

    def _repr_html_(self) -> str:
        table, facts = self.breakdown, [self._facts]
        if self.since is not None and self.changes is not None:
            table = table.assign(change=self.changes["change"])
            facts.append(f"change since {text.utc_text(self.since.ended_at)}")
        note = "; ".join([*facts, *self.notes])
        return text.html_table(self.headline, *for_people(table.reset_index()), note=note)

    def _sections(self, *names: str) -> list[tuple[str, pd.DataFrame]]:
        """Return tables that have rows, each with the title above it, "" for none."""
        titles = {} if self.since is None else {"changes": f"Since {text.utc_text(self.since.ended_at)}"}
        tables = self.tables()
        return [(titles.get(name, ""), tables[name]) for name in names if len(tables.get(name, ()))]

    def _write_text(self, path: str | Path | None, content: str) -> str:
        if path is not None:
            self._write(path, content.encode())
        return content

    def _write(self, path: str | Path, content: bytes) -> None:
        write_output(Path(path), content)
        if self.mark is not None:
            self.mark()


def _time(at: pd.Timestamp) -> str:
    return text.utc_text(at.timestamp())


def status_report(
    pets: pd.DataFrame,
    *,
    partial: bool = False,
    categories: Mapping[int, str] | None = None,
    since: pd.DataFrame | None = None,
) -> StatusReport:
    """
    Report on a listed frame.

    Args:
        pets: Frame as `list_pets` gives it, `attrs["listing"]` included.
        partial: Report on a listing that is not complete; the report says so.
        categories: Labels by categoryId (ours; §2.6 shows no category record).
        since: An older listing to compare with, such as `store.snapshots()[0].frame()`.

    Raises:
        FrameError: A column is missing or has another dtype, the frame carries no listing, it is
            not complete and `partial` is not set, or the older one is of something else.

    Spec: §2.3, §4.1.
    """
    listing = frames.listing_of(pets)
    if not listing.complete and not partial:
        raise FrameError(
            f"this listing is not complete ({listing.completeness}: {listing.reason}). "
            f"For a report that says so, pass {text.option('partial=True')}."
        )
    breakdown = counting.breakdown(pets)
    report = StatusReport(listing, breakdown, counting.by_category(pets, categories or {}))
    if since is None:
        return report
    older = frames.listing_of(since)
    if not older.complete or (older.status, older.environment) != (listing.status, listing.environment):
        raise FrameError(
            f"only a complete listing of {listing.of_what} can be compared with this one, not this: {older}"
        )
    if not listing.complete:
        raise FrameError(
            "a listing that is not complete cannot be compared: animals that were not read would look gone"
        )
    changes = counting.changes(counting.breakdown(since), breakdown)
    return replace(report, since=older, changes=changes, moved=counting.moved(since, pets))


def report_and_keep(
    pets: pd.DataFrame,
    snapshots: SnapshotStore,
    since: tuple[pd.DataFrame | None, tuple[str, ...]] | None,
    *,
    categories: Mapping[int, str] | None,
    partial: bool,
) -> StatusReport:
    """Report on a fresh listing, which becomes a snapshot where it is complete and Parquet can be written."""
    listing = frames.listing_of(pets)
    older, notes = since or (None, ())
    if not listing.complete:
        notes = () if since is None else ("this listing is not complete, so it is compared with nothing",)
        report = status_report(pets, partial=partial, categories=categories)
        return replace(report, notes=notes)
    report = status_report(pets, categories=categories, since=older)
    _, note = snapshots.try_keep(pets)
    notes += (note,) if note else ()
    counts = None
    with suppress(MissingExtraError, FrameError, OSError):  # the report holds without them
        kept = [(snapshot.listing.ended_at, snapshot.counts) for snapshot in snapshots.all(listing.status)]
        counts = counting.counts_over_time(kept) if len(kept) > 1 else None
    mark = functools.partial(snapshots.mark_reported, listing)
    return replace(report, notes=notes, counts=counts, mark=mark)
