"""A listing: joins the pager with a client's calls, and keeps the verdict (§4.1)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from math import ceil, inf
from typing import Any, Final

from petstore_tools import spec
from petstore_tools.errors import ApiError, SettingsError, TransportError
from petstore_tools.http.client import Client
from petstore_tools.http.responses import expect, read_rows
from petstore_tools.http.transport import Reply
from petstore_tools.listing import schemes
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.links import Ask, End, Page
from petstore_tools.listing.pager import Pager
from petstore_tools.listing.prefetch import Ahead
from petstore_tools.listing.query import EVERYTHING, ListQuery
from petstore_tools.listing.remembered import Learnt, RememberedServices
from petstore_tools.models import Pet, PetRow
from petstore_tools.text import pluralize, utc_text
from petstore_tools.throttle.forecast import SLOW_S, connections
from petstore_tools.throttle.gate import ALONE, CallOptions

_KNOWN: Final = frozenset({*spec.STATUSES, None})
_WIDER_EVERY: Final = 50  # pages; where nobody knows the size, one more page is fetched ahead
_AS_IT_CAME: Final = "kept as it came: "
_REFUSED: Final = range(400, 500)
LEAST_RETRIES: Final = 10  # of one listing; a long one may retry a tenth of its requests


@dataclass(frozen=True)
class PetPage:
    """
    One page of a listing, doubles left out.

    Attributes:
        number: Of the answers so far, those that taught how to page included.
        rows: Animals as plain dicts with the document's names.
    """

    number: int
    rows: tuple[PetRow, ...]

    @property
    def pets(self) -> tuple[Pet, ...]:
        """The animals as models."""
        return tuple(Pet.model_validate(row) for row in self.rows)

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class Checkpoint:
    """
    A pass that was interrupted, to go on with.

    Attributes:
        state: What its pager told.
        ids: Of the animals that came.
        listing: Its verdict.
    """

    state: Mapping[str, Any]
    ids: Iterable[int]
    listing: Listing


class CheckpointExpired(Exception):  # noqa: N818 - no fault: the pass begins anew
    """The service no longer goes on where an interrupted pass stopped."""


class Tally:
    """
    Counts the requests of one listing, whichever thread sends them, and bounds its retries.

    Args:
        most: Requests that the listing may spend, None for no bound.
        on_count: Called with each request.

    Attributes:
        sent: Requests that may have reached the service, retries included.
        retries: Of these, and of those that never left, the ones asked again after a failure.
        pages: Pages that the listing is expected to have; a retry for every tenth is allowed.
        refused: Why a retry was refused, "" while none was.
    """

    def __init__(self, most: int | None = None, *, on_count: Callable[[], None] = lambda: None) -> None:
        self._most, self._on_count, self._lock = most, on_count, threading.Lock()
        self.sent = self.retries = self.pages = 0
        self.refused = ""

    def count(self) -> None:
        """Count a request."""
        with self._lock:
            self.sent += 1
        self._on_count()

    def may_retry(self) -> bool:
        """Say whether a request may be asked again, and count it: each costs a unit of the day (§8.2)."""
        with self._lock:
            if self._most is not None and self.sent >= self._most:
                self.refused = (
                    f"not asked again, since the listing may spend {pluralize(self._most, 'request')}"
                )
            elif self.retries >= max(LEAST_RETRIES, max(self.sent, self.pages) // 10):
                self.refused = f"not asked again, after {self.retries:,} retries in this listing"
            else:
                self.retries += 1
            return not self.refused


@dataclass(frozen=True)
class Inventory:
    """
    What a store lists.

    Attributes:
        client: One key at one service.
        known: What earlier listings learnt of services.
        pagination: How the service pages, as the caller told; None to learn it.
    """

    client: Client
    known: RememberedServices = field(default_factory=RememberedServices)
    pagination: str | None = None

    def __post_init__(self) -> None:
        if self.pagination is not None:
            schemes.parse(self.pagination)

    @property
    def learnt(self) -> Learnt:
        """What earlier listings learnt of this service."""
        return self.known.of(self.client.base_url)

    def pages(
        self,
        wanted: ListQuery = EVERYTHING,
        *,
        call_options: CallOptions = ALONE,
        begun: Checkpoint | None = None,
    ) -> Pages:
        """Begin a listing, or go on with one (§4.1); it asks as it is iterated."""
        return Pages(self, wanted, call_options, begun)

    def connections(self) -> int:
        """Return how many pages may be under way at once: as many as the plan and the latency call for."""
        latency_s = self.client.transport.fastest_s
        if latency_s is None or latency_s < SLOW_S:
            return 1
        return connections(self.client.plan.per_minute, latency_s)


class Pages:
    """
    A listing: iterate it for pages, then read `listing`.

    Each iteration reads from the first page on and costs its own requests; `listing` is about the one that
    was begun last.

    Args:
        inventory: Whose animals.
        wanted: Which of them.
        call_options: How its calls wait.
        begun: An interrupted pass that the first iteration goes on with; its pages do not come again.

    Raises:
        UnauthorizedError: The key is refused (§5).
        ProtocolError, PagingError, TransportError, QuotaError: While iterating; what was read until
            then stays in `listing`, labelled as cut.

    Spec: §4.1.
    """

    def __init__(
        self,
        inventory: Inventory,
        wanted: ListQuery,
        call_options: CallOptions,
        begun: Checkpoint | None = None,
    ) -> None:
        self._inventory, self._wanted, self._manner, self._begun = inventory, wanted, call_options, begun
        self._pass = _Pass(inventory, wanted, call_options, begun)

    @property
    def size(self) -> int | None:
        """How many animals the service says there are, else how many there were last time."""
        return self._pass.size

    @property
    def listing(self) -> Listing:
        """The verdict so far; cut until the last page is read."""
        return self._pass.listing

    def state(self) -> dict[str, Any] | None:
        """Return what a later pass needs to go on, None where it had better begin anew."""
        return self._pass.state()

    def __iter__(self) -> Iterator[PetPage]:
        begun, self._begun = self._begun, None
        self._pass = own = _Pass(self._inventory, self._wanted, self._manner, begun)
        return own.pages()


class _Pass:
    """One pass over a listing, from its first page to its end."""

    def __init__(
        self, inventory: Inventory, wanted: ListQuery, call_options: CallOptions, begun: Checkpoint | None
    ) -> None:
        self._inventory, self._wanted, self._begun = inventory, wanted, begun
        self._client = inventory.client
        self._ended = threading.Event()
        self._tally = Tally(wanted.max_requests, on_count=call_options.on_sent)
        self._manner = replace(
            call_options,
            cancelled=lambda: self._ended.is_set() or call_options.cancelled(),
            on_sent=self._tally.count,
            may_retry=self._tally.may_retry,
        )
        learnt = inventory.learnt
        told = inventory.pagination or learnt.known_scheme
        self._learnt, self._size = learnt.scheme, learnt.sizes.get(wanted.status or "")
        self._listings = learnt.listings.get(wanted.status or "", 0)  # complete ones, when this one began
        self._pager = Pager(
            f"{self._client.base_url}{spec.PETS_PATH}?{wanted.query}",
            limit=wanted.limit if wanted.first is None else min(wanted.limit, wanted.first),
            first=wanted.first,
            scheme=None if told is None else schemes.parse(told),
            told=inventory.pagination is not None,
        )
        self._end = End("cut", "the listing was not read to its end")
        self._requests_before = 0
        self._started_at = self._ended_at = self._client.clock.now()
        self._notes: dict[str, None] = {}
        self._others: set[int] = set()  # ids of animals that do not bear the status asked for
        self._given: set[int] = set()  # ids of animals that came before the pager began anew
        self._rows = 0  # that were given
        if begun is not None:
            try:
                self._pager.resume(begun.state, begun.ids)
            except (KeyError, TypeError, SettingsError) as error:
                raise CheckpointExpired from error
            self._started_at, self._ended_at = begun.listing.started_at, begun.listing.ended_at
            self._requests_before = begun.listing.requests
            self._notes |= dict.fromkeys(begun.listing.notes)

    def _call(self, url: str) -> Reply:
        return self._client.call("GET", url, call_options=self._manner)

    @property
    def size(self) -> int | None:
        """How many animals the service says there are, else how many there were last time."""
        return self._size if self._pager.total is None else self._pager.total

    def pages(self) -> Iterator[PetPage]:
        """Ask for page after page."""
        with self._reasons(), Ahead(self._call, self._ended.set) as ahead:
            while isinstance(step := self._pager.next, Ask):
                most = self._wanted.max_requests
                if most is not None and self._tally.sent >= most:
                    self._end = End("cut", f"asked for at most {pluralize(most, 'request')}")
                    return
                self._tally.pages = self._pages_expected()
                reply = ahead.get(step.url, self._following())
                paused_at, self._ended_at = self._ended_at, self._client.clock.now()
                if step.trial and reply.status in _REFUSED and reply.status != HTTPStatus.UNAUTHORIZED:
                    if self._begun is not None:
                        raise CheckpointExpired
                    self._fed(self._pager.refused())
                    continue
                if self._begun is not None:
                    pause = f"from {utc_text(paused_at)} to {utc_text(self._ended_at)}"
                    self._notes[f"stitched over a pause {pause}"] = None
                rows = read_rows(expect(reply, HTTPStatus.OK, "GET", step.url), step.url)
                before, ids = self._pager.rows, self._pager.ids
                self._fed(self._pager.feed(Page(step.url, tuple([r["id"] for r in rows]), reply.headers)))
                if self._pager.ids is not ids:
                    self._given.update(ids[:before])
                yield PetPage(self._pager.pages, tuple(self._kept(rows, before)))

    @property
    def listing(self) -> Listing:
        """The verdict so far; cut until the last page is read."""
        ids = self._given.union(self._pager.ids) if self._given else self._pager.ids
        rows = min(len(ids), self._wanted.first or inf) - len(self._others)
        notes = list(self._notes)
        if self._others:
            notes.append(f"{pluralize(len(self._others), 'animal')} of another status came and were left out")
        return Listing(
            completeness=self._end.completeness,
            reason=self._end.reason,
            status=self._wanted.status,
            rows=int(rows),
            digest="",
            requests=self._requests_before + self._tally.sent,
            pages=self._pager.pages,
            doubles=self._pager.doubles,
            started_at=self._started_at,
            ended_at=self._ended_at,
            environment=self._client.environment,
            notes=tuple(notes),
            holes_suspected=self._pager.moved or self._pager.doubles > 0,
        )

    def state(self) -> dict[str, Any] | None:
        """Return what a later pass needs to go on, None where it had better begin anew."""
        state = None if self._others or self._given else self._pager.state()
        return state and {**state, "listings": self._listings}

    def _pages_expected(self) -> int:
        """Return how many pages the listing will have, 0 where nobody knows."""
        animals = min(self.size or 0, self._wanted.first or inf)
        return ceil(animals / self._wanted.limit)

    def _fed(self, step: Ask | End) -> None:
        begun, self._begun = self._begun, None
        if begun is not None and self._pager.moved:
            raise CheckpointExpired
        if not isinstance(step, End):
            return
        self._end = step
        whole = step.completeness == "complete"
        scheme = self._pager.scheme
        proved = None if scheme is None else scheme.name
        self._inventory.known.keep(
            self._client.base_url,
            scheme=proved if self._inventory.pagination is None else self._learnt,
            status=self._wanted.status,
            rows=self._pager.rows if whole else None,
        )

    def _following(self) -> list[str]:
        """Return the addresses to fetch ahead: as many as connections and what is known to be left allow."""
        if self._wanted.max_requests is not None or not self._pager.rows:
            return []
        connections = self._inventory.connections()
        if connections == 1:
            return []
        most = 1 + self._pager.pages // _WIDER_EVERY
        if (end := self._wanted.first or self.size) is not None:
            most = ceil((end - self._pager.rows) / self._pager.step)
        wide = min(most, connections)
        return [ask.url for ask in self._pager.following(wide)] if wide > 1 else []

    def _kept(self, rows: list[PetRow], before: int) -> list[PetRow]:
        """Return the rows that are new, and note what the document does not name."""
        statuses = {row.get("status") for row in rows}
        for status in statuses - _KNOWN:
            self._notes[f"{_AS_IT_CAME}a status the document does not name: {str(status)[:40]!r}"] = None
        if rows and max(map(len, rows)) > len(spec.REQUIRED) + 1:
            for name in {name for row in rows for name in row} - set(spec.COLUMNS):
                self._notes[f"{_AS_IT_CAME}a field the document does not name: {name[:40]!r}"] = None
        came = self._pager.rows - before
        if came != len(rows):
            new = set(self._pager.ids[before:])
            first: dict[int, PetRow] = {}
            for row in rows:
                if row["id"] in new:
                    first.setdefault(row["id"], row)
            rows = list(first.values())
        if self._given:
            rows = [row for row in rows if row["id"] not in self._given]
        if self._wanted.first is not None:
            rows = rows[: self._wanted.first - self._rows]
        self._rows += len(rows)
        if self._wanted.status is not None and statuses != {self._wanted.status}:
            others = [row["id"] for row in rows if row.get("status") != self._wanted.status]
            self._others.update(others)
            rows = [row for row in rows if row["id"] not in self._others]
        return rows

    @contextmanager
    def _reasons(self) -> Iterator[None]:
        try:
            yield
        except (GeneratorExit, CheckpointExpired):
            raise
        except BaseException as error:
            what = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
            if self._tally.refused and isinstance(error, (ApiError, TransportError)):
                error.add_note(self._tally.refused)
                what += f"; {self._tally.refused}"
            self._end = End("cut", what)
            raise
