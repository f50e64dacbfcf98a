"""The status report: counts and shares with their time, their completeness and their filter."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from petstore_tools import text
from petstore_tools.listing.completeness import Listing
from petstore_tools.reporting.breakdown import named_statuses
from petstore_tools.reporting.chart import figure
from petstore_tools.reporting.excel import workbook
from petstore_tools.reporting.mail import mail
from petstore_tools.reporting.page import page
from petstore_tools.reporting.tables import LONG, TITLES, cut, for_people, named, plain_times, shown
from petstore_tools.tabular.atomic import write_output

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_RENAMED: Final = {"history": "counts", "face": "headline", "cost": "cost_text"}
_UNCERTAIN: Final = (
    "A change happened between two listings, so only the times of those two listings are "
    "known. Days in a "
    "status are counted only for what began and ended while listings were kept."
)

_ONE_STATUS: Final = (
    "In a report on one status, an animal that is new may have had another status before, and "
    "one that is "
    "gone may have another one now."
)


@dataclass(frozen=True)
class StatusReport:
    """
    A breakdown of one listing.

    Attributes:
        listing: What was listed, when, and whether it is complete.
        animals: The frame that was counted.
        breakdown: Index `status` (the three values in the document's order, values it does not
            name,
            `unset`), columns `count` (int64) and `share` (float64, 0 to 1). Zero rows are kept.
        by_category: Index `categoryId` (int64, ascending), one int64 column per status and `total`,
            and
            `label` (text) in front where labels were given.
        since: The older listing it is compared with, None for none; the next five are None then,
            too.
        summary: How many animals, how many came, were sold, are gone: `what`, `animals`, `share`.
        changes: Index `status`, columns `before`, `now`, `change` (int64).
        changes_by_category: Index `categoryId`, the same columns.
        moved: Animals whose status differs, are new or gone: `id`, `name`, `categoryId`, `from`,
            `to`.
        flow: How many moved from which status (index) to which (columns), with totals.
        counts: Counts over time: index `as_of` (datetime, UTC), an int64 column per status; None
            without snapshots, as the next three are.
        time_in_status: `status`, `animals`, `median_days`, `days_90` (90 % stayed no longer).
        time_in_status_by_category: The same, with `categoryId` in front.
        longest_available: The 20 that have been available for longest: `id`, `name`, `categoryId`,
            `first_seen` (datetime, UTC), `days` (at least).
        notes: What else the reader must know.
        title, note: Of the author.
        timezone: In which times are written, None for that of this machine.
        categories: Names by categoryId.
        mark: Called when it was written to a file: from then on `since="last"` means its listing.

    Spec: §2.3 status values; §2.1 states no default, hence `unset` (our choice).
    """

    listing: Listing
    animals: pd.DataFrame = field(repr=False)
    breakdown: pd.DataFrame
    by_category: pd.DataFrame
    since: Listing | None = None
    summary: pd.DataFrame | None = None
    changes: pd.DataFrame | None = None
    changes_by_category: pd.DataFrame | None = None
    moved: pd.DataFrame | None = None
    flow: pd.DataFrame | None = None
    counts: pd.DataFrame | None = None
    time_in_status: pd.DataFrame | None = None
    time_in_status_by_category: pd.DataFrame | None = None
    longest_available: pd.DataFrame | None = None
    notes: tuple[str, ...] = ()
    title: str = "Status report"
    note: str = ""
    timezone: tzinfo | None = None
    categories: Mapping[int, str] = field(default_factory=dict, repr=False)
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
    def pending(self) -> pd.DataFrame:
        """The pending animals: `id`, `name`, `categoryId`."""
        pets = self.animals
        return pets.loc[pets["status"] == "pending", ["id", "name", "categoryId"]].reset_index(
            drop=True
        )

    @property
    def made(self) -> list[str]:
        """How the report was made, in sentences."""
        listing, reason = self.listing, self.listing.reason
        times = f"from {self.when(listing.started_at)} to {self.when(listing.ended_at)}"
        uncertain = [_UNCERTAIN] if self.since is not None or self.counts is not None else []
        unset = "Animals without a status are counted as unset."
        if self.since is not None and listing.status is not None:
            uncertain.append(_ONE_STATUS)
        return [
            f"{reason[:1].upper()}{reason[1:]}.",
            f"Read {times}, {self.cost_text}.",
            *uncertain,
            *listing.notes,
            unset,
        ]

    def when(self, at: float) -> str:
        """Write a time in the report's time zone, which it names."""
        return text.zone_text(at, self.timezone)

    @property
    def _facts(self) -> list[str]:
        """The lines that stand above the tables."""
        as_of = f"As of {self.when(self.listing.ended_at)}"
        return [self.headline, as_of, *filter(None, [self.note]), *self.notes]

    @property
    def _since_text(self) -> str:
        return "" if self.since is None else f" since {self.when(self.since.ended_at)}"

    def tables(self) -> dict[str, pd.DataFrame]:
        """
        Return its tables by the names of its attributes, without an index: those that there are.
        """
        tables = {name: getattr(self, name) for name in TITLES}
        return {
            name: table if isinstance(table.index, pd.RangeIndex) else table.reset_index()
            for name, table in tables.items()
            if table is not None
        }

    def for_people(self) -> dict[str, pd.DataFrame]:
        """Return its tables as every writer shows them, by the names of its attributes."""
        return shown(self.tables(), self.categories, one_status=self.listing.status is not None)

    def to_html(self, path: str | Path | None = None) -> str:
        """
        Return one self-contained HTML page (no script, no network); write it whole where asked.
        """
        return self._write_text(path, page("report.html", report=self, sections=self._sections()))

    def to_excel(self, path: str | Path) -> None:
        """
        Write a workbook: real numbers, native charts, text that no spreadsheet runs; or nothing.
        """
        self._write(path, self._workbook())

    def to_markdown(self, path: str | Path | None = None) -> str:
        """Return Markdown; write it whole where asked."""
        parts = [
            f"# {text.markdown_text(self.title)}",
            "  \n".join(map(text.markdown_text, self._facts)),
        ]
        for title, table in self._read_tables():
            parts += [f"## {text.markdown_text(title)}", text.markdown_table(*for_people(table))]
        parts += ["## How this was made", text.markdown_text(" ".join(self.made))]
        return self._write_text(path, "\n\n".join(parts) + "\n")

    def to_json(self, path: str | Path | None = None) -> str:
        """Return JSON with the same numbers; write it whole where asked. Times are UTC."""
        document: dict[str, Any] = {
            "title": self.title,
            "note": self.note,
            "as_of": text.utc_text(self.listing.ended_at),
            "complete": self.listing.complete,
            "listing": self.listing.to_dict(),
            "notes": list(self.notes),
            "since": None if self.since is None else text.utc_text(self.since.ended_at),
        }
        document |= {name: table.to_dict("records") for name, table in self.tables().items()}
        written = json.dumps(document, ensure_ascii=False, indent=2, default=_time)
        return self._write_text(path, written + "\n")

    def to_mail(
        self, path: str | Path | None = None, *, to: str | Sequence[str] = (), subject: str = ""
    ) -> bytes:
        """
        Return a ready mail: tables in its body, page and workbook attached; write it whole where
            asked.

        Args:
            path: A file that ends in .eml; `sendmail -t` sends it, and a mail program opens it as a
                draft.
            to: One address or more, each such as `Ann <ann@example.org>`.
            subject: One line; default: the title and the date.

        Raises:
            ArgumentError: An address or the subject cannot stand in a mail.
        """
        subject = subject or f"{self.title}, {self.when(self.listing.ended_at)[:10]}"
        body = {"facts": self._facts, "tables": self._read_tables(), "end": self.made}
        content = mail(
            to=[to] if isinstance(to, str) else to,
            subject=subject,
            text=f"{self.to_text()}\n\n{' '.join(self.made)}",
            html=page("mail.html", title=self.title, **body),
            page=self.to_html(),
            workbook=self._workbook(),
        )
        self._write(path, content)
        return content

    def figure(self) -> Figure:
        """
        Draw the shares, and the counts over time where there are any.

        Raises:
            MissingExtraError: The extra `plot` is not installed.
        """
        return figure(self.headline, self.when(self.listing.ended_at), self.breakdown, self.counts)

    def to_text(self) -> str:
        """Return the report for a terminal, without its long tables."""
        parts = ["\n".join([self.title, *self._facts])]
        for title, table in self._read_tables(long=False):
            parts += [f"{title}:", text.text_table(*for_people(table))]
        return "\n\n".join(parts)

    def __repr__(self) -> str:
        parts = ", ".join(
            f"{status} {count:,}" for status, count in self.breakdown["count"].items()
        )
        return f"StatusReport({self.headline}; {parts}; as of {self.when(self.listing.ended_at)})"

    def _repr_html_(self) -> str:
        table, facts = self.breakdown, self._facts[1:]
        if self.since is not None and self.changes is not None:
            table = table.assign(change=self.changes["change"])
            facts.append(f"change since {self.when(self.since.ended_at)}")
        return text.html_table(
            self.headline, *for_people(table.reset_index()), note="\n".join(facts)
        )

    def _workbook(self) -> bytes:
        animals = self.animals.assign(status=named_statuses(self.animals))
        tables = self.for_people() | {"animals": named(animals, self.categories)}
        return workbook(
            self.title,
            self._facts,
            tables,
            zone=self.timezone,
            complete=self.listing.complete,
            since=self._since_text,
            end=self.made,
        )

    def _sections(self) -> list[tuple[str, str, pd.DataFrame]]:
        """Return name, title and table of each section of a page; long tables are cut."""
        sections = []
        for name, whole in self.for_people().items():
            more, table = cut(name, whole)
            title = TITLES[name].format(since=self._since_text) + more
            sections.append(
                (name, title, table if name == "counts" else plain_times(table, self.when))
            )
        return sections

    def _read_tables(self, *, long: bool = True) -> list[tuple[str, pd.DataFrame]]:
        """Return titles and tables where nothing is drawn; long ones are left out unless `long`."""
        left_out = ("counts",) if long else ("counts", *LONG)
        return [(title, table) for name, title, table in self._sections() if name not in left_out]

    def _write_text(self, path: str | Path | None, content: str) -> str:
        self._write(path, content.encode())
        return content

    def _write(self, path: str | Path | None, content: bytes) -> None:
        if path is not None:
            write_output(Path(path), content)
            if self.mark is not None:
                self.mark()


def _time(value: Any) -> str:
    return text.utc_text(value.timestamp())
