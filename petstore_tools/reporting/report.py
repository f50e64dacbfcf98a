"""The status report: what one listing shows, and what happened before it."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, AnyStr

import pandas as pd

from petstore_tools import spec, text
from petstore_tools.errors import ArgumentError, FrameError, HistoryError
from petstore_tools.history.database import Moment, Snapshot, Snapshots
from petstore_tools.history.reading import History
from petstore_tools.listing import frames
from petstore_tools.listing.completeness import Listing
from petstore_tools.reporting import facts, sentences, tables
from petstore_tools.reporting.mail import mail
from petstore_tools.reporting.presentation import Presentation, json_text
from petstore_tools.reporting.workbook import workbook
from petstore_tools.tabular.atomic import write_output

_NOT_MARKED = "the report is written, but since='last' (--since last) will not mean it"


@dataclass(frozen=True)
class StatusReport(facts.Facts):
    """
    What one listing shows, and what happened since an earlier one.

    >>> print(status_report(store.list_pets(), title="Animals", timezone="UTC"))
    250 animals: 129 available, 50 pending, 59 sold, 12 without a status.
    ...

    Spec: §2.3 status values; §2.1 states no default, hence `unset` (our choice).
    """

    __module__ = "petstore_tools"

    # is called once the report was written to a file: from then on `since="last"` is
    # its listing
    _mark: Callable[[], None] | None = field(default=None, repr=False, compare=False)

    @property
    def headline(self) -> str:
        """What happened, or what there is, in one to three sentences."""
        return sentences.headline(self)

    @property
    def provenance(self) -> str:
        """
        Whether the listing is complete, of what if it is not all of production, as of
        when, and what it is compared with.
        """
        return sentences.provenance(self)

    @property
    def caution(self) -> str:
        """What a reader must know of a listing that may lack animals, else ""."""
        return sentences.caution(self)

    @property
    def alerts(self) -> tuple[str, ...]:
        """A sentence for each alert that is met."""
        return sentences.alerts(self)

    @cached_property
    def _presentation(self) -> Presentation:
        return Presentation(self)

    def to_html(self, path: str | Path | None = None) -> str | None:
        """Return one HTML page (no script, no network), or write it whole to a file."""
        return self._write(path, self._presentation.fill("report.html"))

    def to_excel(self, path: str | Path) -> None:
        """
        Write a workbook: the report with its chart, lists of single animals, and how
        it was made.

        Raises:
            ArgumentError: The file does not end in .xlsx.
        """
        if Path(path).suffix.casefold() != ".xlsx":
            raise ArgumentError(
                f"{Path(path).name!r} must end in .xlsx: it is a workbook"
            )
        self._write(path, workbook(self._presentation))

    def to_markdown(self, path: str | Path | None = None) -> str | None:
        """
        Return the same numbers as Markdown, or write it whole to a file.

        >>> print(status_report(store.list_pets()).to_markdown())
        # 250 animals: 129 available, 50 pending, 59 sold, 12 without a status.
        ...
        | status    |   now |   share |
        ...
        """
        return self._write(path, self._presentation.fill("report.md"))

    def to_json(self, path: str | Path | None = None) -> str | None:
        """
        Return JSON with the same numbers, or write it whole to a file. Times are UTC.

        >>> print(status_report(store.list_pets()).to_json())
        {
          "title": "Status report",
        ...
        """
        return self._write(path, json_text(self))

    def to_mail(
        self,
        path: str | Path | None = None,
        *,
        to: str | Sequence[str] = (),
        subject: str = "",
    ) -> bytes | None:
        """
        Return a ready mail: picture and first tables in its body, page and workbook
        attached; or write it whole to a file.

        >>> report = status_report(store.list_pets())
        >>> report.to_mail(to="ann@example.org").splitlines()[0]
        b'To: ann@example.org'

        Args:
            path: A file that ends in .eml; `sendmail -t` sends it, and a mail program
                opens it as a draft.
            to: One address or more, each such as `Ann <ann@example.org>`.
            subject: One line; default: the title and the headline, and whether an alert
                is met or the listing is not complete.

        Raises:
            ArgumentError: An address or the subject cannot stand in a mail.
        """
        addresses = [to] if isinstance(to, str) else to
        alert = "Alert: " if self.alerts else ""
        end = "" if self.listing.complete else ", not complete"
        subject = subject or f"{alert}{self.looks.title}{end}: {self.headline}"
        return self._write(path, mail(self._presentation, addresses, subject))

    def chart(self, name: str) -> str | None:
        """
        Return a picture as SVG text to embed; None if there is nothing to see.

        >>> status_report(store.list_pets()).chart("status")[:34]
        '<svg xmlns="http://www.w3.org/2000'

        Args:
            name: `status` (a bar for each status), `flow` (the ways between statuses),
                `counts` (a line for each status), `category` (a bar for each category)
                or `ageing` (how long animals have been pending).

        Raises:
            ArgumentError: There is no such picture.
        """
        return self._presentation.picture(name)

    @property
    def colours(self) -> dict[str, str]:
        """
        The colour of each status, the same in every format.

        >>> status_report(store.list_pets()).colours["sold"]
        '#4a79b8'
        """
        return self._presentation.colours

    def __str__(self) -> str:
        """Return the report for a terminal, without its long tables."""
        return self._presentation.fill("report.txt")

    def __repr__(self) -> str:
        return f"StatusReport({self.headline} {self.provenance})"

    def _repr_html_(self) -> str:
        return self._presentation.fill("notebook.html")

    def _write(self, path: str | Path | None, content: AnyStr) -> AnyStr | None:
        """Return the content, or write it, and return None: a cell shows nothing."""
        if path is None:
            return content
        whole = content.encode() if isinstance(content, str) else content
        write_output(Path(path), whole)
        if self._mark is not None:
            try:
                self._mark()
            except HistoryError as error:
                warnings.warn(f"{_NOT_MARKED}: {error}", UserWarning, stacklevel=3)
        return None


def status_report(
    pets: pd.DataFrame,
    *,
    partial: bool = False,
    categories: Mapping[int, str] | None = None,
    title: str = "Status report",
    note: str = "",
    timezone: str | None = None,
    alert: str | Sequence[str] = (),
) -> StatusReport:
    """
    Report on a listed frame.

    >>> report = status_report(store.list_pets(), categories={1: "Dogs"})
    >>> report.by_category.loc[[1], ["label", "available", "total"]]
               label  available  total
    categoryId
    1           Dogs         21     49

    Args:
        pets: Frame as `list_pets` gives it, `attrs["listing"]` included.
        partial: Report on a listing that is not complete; the report says so.
        categories: Labels by categoryId (ours; §2.6 shows no category record): a dict
            or a Series.
        title: One line.
        note: One line below the title.
        timezone: In which times are written, such as `Europe/Berlin`; None for that of
            this machine.
        alert: A condition that needs someone, or several, such as `available<20`.

    Raises:
        ArgumentError: As `read_looks`, or a column is there twice.
        FrameError: A column is missing or has another dtype, the frame carries no
            listing, or it is not complete and `partial` is not set.

    Spec: §2.3, §4.1.
    """
    looks = facts.read_looks(categories, title, note, timezone, alert)
    return _with_remarks(count_animals(pets, looks, partial=partial))


def count_animals(
    pets: pd.DataFrame, looks: facts.Looks, *, partial: bool = False
) -> StatusReport:
    """Report on a frame alone, as `status_report` does."""
    Listing.as_listed(pets)  # else it is no such frame
    pets = pets.infer_objects().copy()
    frames.check_columns(pets)
    listing = Listing.of(pets)
    pets = frames.without_arrow(pets)
    facts.check_alerts(looks, listing.status)
    if not listing.complete and not partial:
        raise FrameError(
            f"this listing is not complete ({listing.completeness}: {listing.reason}). "
            f"For a report that says so, pass {text.option('partial', True)}."
        )
    return StatusReport(
        listing,
        pets,
        tables.breakdown(pets),
        tables.by_category(pets, looks.categories),
        tables.pending_animals(pets) if listing.status in (None, "pending") else None,
        looks=looks,
    )


def report_and_keep(
    pets: pd.DataFrame,
    history: History,
    since: Moment | None,
    looks: facts.Looks,
    *,
    partial: bool = False,
) -> StatusReport:
    """
    Report on a fresh listing, which is kept where it is complete and of all animals,
    and compared as `History.older` says. Where it cannot be kept, the report says so.
    """
    report = count_animals(pets, looks, partial=partial)
    listing = report.listing
    if listing.status is not None or not listing.complete:
        note = "only complete listings of all animals are compared with earlier ones"
        return _with_remarks(report, [] if since is None else [note])
    notes = list[str]()
    words = "not compared with an earlier listing"
    with history.noting(notes, f"not kept as a snapshot, and {words}"):
        newest = history.keep(pets).number
        with history.noting(notes, words):
            kept = history.snapshots()
            snapshots = Snapshots(s for s in kept if s.number <= newest)
            report = _with_history(report, history, snapshots, since, kept.damage)
    return _with_remarks(report, notes)


def report_on_snapshot(
    history: History,
    since: Moment | None,
    until: Moment,
    looks: facts.Looks,
    status: str | None,
    now: float,
) -> StatusReport:
    """
    Report on a snapshot and on what happened before it, as it was done at its time; no
    request is sent. `last` means what it meant.

    Raises:
        ArgumentError: A status is asked for, or one of the two cannot be used.
        HistoryError: The history cannot be read.
    """
    if status is not None:
        raise ArgumentError(
            f"{text.option('until', until)} is for all animals: leave"
            f" {text.option('status')} out"
        )
    whole = history.snapshots()
    snapshots, note = whole.until(until, now, looks.timezone)
    report = count_animals(history.animals(snapshots[-1]), looks)
    notes = whole.damage, note
    report = _with_history(report, history, snapshots, since, *notes)
    return _with_remarks(replace(report, _mark=None))


def _with_remarks(report: StatusReport, notes: Sequence[str] = ()) -> StatusReport:
    """Add notes, also about alerts that cannot be judged."""
    remarks = sentences.alert_remarks(report)
    return replace(report, notes=(*report.notes, *notes, *remarks))


def _with_history(
    report: StatusReport,
    history: History,
    snapshots: Snapshots,
    since: Moment | None,
    *notes: str,
) -> StatusReport:
    """
    Add what the snapshots show: counts, days of the last 30, since when animals are
    pending, and what happened since an older one, if any. The last snapshot is the
    listing that is reported on. Notes may be "".
    """
    listing, animals = report.listing, report.animals
    older, advice = history.older(listing, snapshots[:-1], since, report.looks.timezone)
    report = replace(report, notes=(*filter(None, [*notes, advice]),))
    newest = snapshots[-1].number
    parts: dict[str, Any] = {"_mark": partial(history.database.mark_reported, newest)}
    if len(snapshots) > 1:
        # so that a report costs the same however much is kept
        first_s = listing.ended_at - 30 * spec.DAY_S
        earlier = [0, *(s.number for s in snapshots.ended_by(first_s))]
        times = history.status_times(earlier[-1], newest)
        order = [*report.breakdown.index]
        parts["counts"] = snapshots.counts()
        parts["ageing"] = tables.ageing(times, newest, report.looks.ages, order)
        parts["days"] = tables.days_in_status(times, newest, order)
        parts["pending"] = tables.pending_animals(animals, times)
    if older is not None:
        parts |= _comparison(report, history, older, snapshots)
    return replace(report, **parts)


def _comparison(
    report: StatusReport, history: History, older: Snapshot, snapshots: Snapshots
) -> dict[str, Any]:
    """
    Return the fields of a report that say what happened since an older snapshot.

    Args:
        report: On a listing, by itself.
        history: It has all snapshots.
        older: What the listing is compared with.
        snapshots: The last one is the listing.
    """
    listing, animals, newest = report.listing, report.animals, snapshots[-1]
    before = history.animals(older, unseen=True)
    unseen = animals[:0]
    if listing.may_have_hole:
        present = history.animals(newest, unseen=True)
        unseen = present[~present["id"].isin(animals["id"])]
    oldest = snapshots.period_before(older, newest)
    period_before = None
    if oldest is None:
        events = history.events_between(older.number, newest.number)
    else:
        numbers = oldest.number, older.number, newest.number
        events_before, events = history.events_of_periods(*numbers)
        sizes_before = sum(oldest.present.values()), len(before)
        period_before = events_before, sizes_before
    sizes = len(before), len(animals)
    parts = {
        "since": older.listing,
        "events": events,
        "transitions": tables.transitions(events),
        "summary": tables.summary(events, sizes, len(unseen), period_before),
        "breakdown": tables.breakdown(animals, before),
        "by_category": tables.by_category(animals, report.looks.categories, before),
    }
    if listing.may_have_hole:
        parts["unseen"] = unseen.assign(status=frames.named_statuses(unseen))
    return parts
