"""
A listing, page by page: the pager decides, the client sends, and `Listing` says what came of it
(§4.1).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from http import HTTPStatus
from math import ceil, inf
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, Field, RootModel, ValidationError

from petstore_tools import spec
from petstore_tools.errors import ApiError, SettingsError, TransportError
from petstore_tools.http.client import Client
from petstore_tools.http.responses import read_rows
from petstore_tools.http.transport import Reply
from petstore_tools.listing import schemes
from petstore_tools.listing.checkpoint import Checkpoint, CheckpointExpired
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.links import End, ListQuery, NextPage, Response
from petstore_tools.listing.pager import Pager
from petstore_tools.models import Pet, PetRow
from petstore_tools.tabular.atomic import replace_file
from petstore_tools.text import pluralize, utc_text
from petstore_tools.throttle.gate import ALONE, CallOptions
from petstore_tools.throttle.quota import SLOW_S, connections

_log = logging.getLogger(__name__)
_KNOWN: Final = frozenset({*spec.STATUSES, None})
_WIDER_EVERY: Final = 50  # pages; where nobody knows the size, one more page is fetched ahead
_REFUSED: Final = frozenset(range(400, 500)) - {HTTPStatus.UNAUTHORIZED}


@dataclass(frozen=True)
class Page:
    """
    One page of a listing, without animals that came before.

    Attributes:
        number: Of the answers so far, those included that taught how the service pages.
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
class Inventory:
    """
    What a store lists.

    Attributes:
        client: One key at one service.
        remembered: What earlier listings learnt of services.
        pagination: How the service pages, as the caller named it; None to learn it.
    """

    client: Client
    remembered: RememberedServices
    pagination: str | None

    def __post_init__(self) -> None:
        schemes.parse(self.pagination)

    @property
    def learnt(self) -> Learnt:
        """What earlier listings learnt of this service."""
        return self.remembered.of(self.client.base_url)

    def pages(self, query: ListQuery, *, call_options: CallOptions = ALONE) -> Pages:
        """Return a listing that sends its requests while it is iterated (§4.1)."""
        return Pages(partial(PageIterator, self, query, call_options, None))


class Pages:
    """
    A listing: iterate it for pages, then read `listing`.

    Each iteration reads from the first page on and costs its own requests; `listing` is about the
    one that began last.

    Args:
        begin: Begins an iteration.

    Raises:
        UnauthorizedError: The key is refused (§5).
        ProtocolError, PagingError, TransportError, QuotaError: While iterating; what was read until
            then stays in `listing`, labelled as cut.

    Spec: §4.1.
    """

    def __init__(self, begin: Callable[[], PageIterator]) -> None:
        self._begin, self._current = begin, begin()

    @property
    def listing(self) -> Listing:
        """What is known of the listing so far; it is cut until the last page is read."""
        return self._current.listing

    def __iter__(self) -> Iterator[Page]:
        self._current = self._begin()
        return iter(self._current)


class PageIterator:
    """
    Reads a listing once, from its first page to its end.

    Args:
        inventory: Whose animals.
        query: Which of them.
        call_options: How its calls wait.
        checkpoint: An interrupted listing to go on with; its pages do not come again.

    Raises:
        CheckpointExpired: The service no longer goes on there.
    """

    def __init__(
        self,
        inventory: Inventory,
        query: ListQuery,
        call_options: CallOptions,
        checkpoint: Checkpoint | None,
    ) -> None:
        self._inventory, self._client, self._query = inventory, inventory.client, query
        self._learnt = inventory.learnt  # before this listing
        self._closed = False
        self._tally = Tally(query.max_requests, on_count=call_options.on_sent)
        self._call_options = replace(
            call_options,
            cancelled=lambda: self._closed or call_options.cancelled(),
            on_sent=self._tally.count,
            may_retry=self._tally.may_retry,
        )
        self._pager = Pager(
            f"{self._client.base_url}{spec.PETS_PATH}?{query.query}",
            limit=query.limit,
            first=query.first,
            scheme=schemes.parse(inventory.pagination or self._learnt.known_scheme),
            fixed=inventory.pagination is not None,
        )
        self._end = End("cut", "the listing was not read to its end")
        self._started_at = self._ended_at = self._client.clock.now()
        self._notes: dict[str, None] = {}
        self._others = 0  # animals that do not bear the status asked for
        self._checkpoint, self._requests_before = checkpoint, 0
        if checkpoint is not None:
            self._resume(checkpoint)

    @property
    def size(self) -> int | None:
        """How many animals the service says there are, else how many there were last time."""
        total = self._pager.received.total
        return self._learnt.sizes.get(self._query.status or "") if total is None else total

    @property
    def listing(self) -> Listing:
        """What is known of the listing so far; it is cut until the last page is read."""
        notes, received = list(self._notes), self._pager.received
        if self._others:
            others = pluralize(self._others, "animal")
            notes.append(
                f"the service returned {others} of another status, which are left out here"
            )
        return Listing(
            completeness=self._end.completeness,
            reason=self._end.reason,
            status=self._query.status,
            rows=int(min(self._pager.came, self._query.first or inf)) - self._others,
            digest="",
            requests=self._requests_before + self._tally.sent,
            pages=self._pager.pages,
            doubles=received.doubles,
            started_at=self._started_at,
            ended_at=self._ended_at,
            environment=self._client.environment,
            notes=tuple(notes),
            may_have_hole=received.may_have_hole or received.moved or received.doubles > 0,
        )

    def state(self) -> dict[str, Any] | None:
        """Return what another listing needs to go on, None where it had better begin anew."""
        state = None if self._others else self._pager.state()
        return state and {
            **state,
            "listings": self._learnt.listings.get(self._query.status or "", 0),
        }

    def __iter__(self) -> Iterator[Page]:
        try:
            yield from self._pages(Prefetcher(self._call))
        except (GeneratorExit, CheckpointExpired):
            raise
        except BaseException as error:
            reason = "it was interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
            if self._tally.refused and isinstance(error, (ApiError, TransportError)):
                error.add_note(self._tally.refused)
                reason += f"; {self._tally.refused}"
            self._end = End("cut", reason)
            raise
        finally:
            self._closed = True

    def _pages(self, prefetcher: Prefetcher) -> Iterator[Page]:
        while isinstance(step := self._pager.next, NextPage):
            if self._tally.exhausted:
                self._end = End(
                    "cut", f"the listing was limited to {pluralize(self._tally.sent, 'request')}"
                )
                return
            self._tally.pages = ceil(
                min(self.size or 0, self._query.first or inf) / self._query.limit
            )
            reply = prefetcher.get(step.url, self._predicted())
            if step.trial and reply.status in _REFUSED:
                if self._checkpoint is not None:
                    raise CheckpointExpired
                self._finish(self._pager.refused())
                continue
            rows = read_rows(reply)
            self._ended_at = self._client.clock.now()
            step = self._pager.feed(
                Response(step.url, tuple([row["id"] for row in rows]), reply.headers)
            )
            self._note_pause()
            self._finish(step)
            yield Page(self._pager.pages, tuple(self._kept(rows)))

    def _call(self, url: str) -> Reply:
        return self._client.call("GET", url, call_options=self._call_options)

    def _resume(self, checkpoint: Checkpoint) -> None:
        try:
            self._pager.resume(checkpoint.state, checkpoint.frame["id"].tolist())
        except (KeyError, TypeError, SettingsError) as error:
            raise CheckpointExpired from error
        listing = checkpoint.listing
        self._started_at, self._ended_at = listing.started_at, listing.ended_at
        self._requests_before, self._notes = listing.requests, dict.fromkeys(listing.notes)

    def _note_pause(self) -> None:
        """Note the pause behind the first page that an interrupted listing went on with."""
        if self._checkpoint is None:
            return
        if self._pager.received.moved:
            raise CheckpointExpired
        pause = f"from {utc_text(self._checkpoint.listing.ended_at)} to {utc_text(self._ended_at)}"
        self._notes[f"the listing was interrupted and went on after a pause {pause}"] = None
        self._checkpoint = None

    def _finish(self, step: NextPage | End) -> None:
        """Remember what a listing has learnt that has ended."""
        if isinstance(step, NextPage):
            return
        if step.completeness != "complete" and self._query.first is None:
            _log.warning("A listing is %s: %s.", step.completeness, step.reason)
        self._end, proved = step, None if self._pager.scheme is None else self._pager.scheme.name
        self._inventory.remembered.keep(
            self._client.base_url,
            scheme=self._learnt.scheme if self._inventory.pagination else proved,
            status=self._query.status,
            rows=self._pager.rows if step.completeness == "complete" else None,
        )

    def _predicted(self) -> list[str]:
        """
        Return the addresses to fetch ahead, as many as plan, latency and the known rest call for.
        """
        rows, end = self._pager.rows, self._query.first or self.size
        latency_s = self._client.transport.fastest_s or 0.0
        if self._query.max_requests is not None or not rows or latency_s < SLOW_S:
            return []
        wide = (
            1 + self._pager.pages // _WIDER_EVERY
            if end is None
            else ceil((end - rows) / self._pager.step)
        )
        wide = min(wide, connections(self._client.plan.per_minute, latency_s))
        return self._pager.predicted(wide) if wide > 1 else []

    def _kept(self, rows: list[PetRow]) -> list[PetRow]:
        """Return the rows that are new, and note what the document does not name."""
        statuses = {row.get("status") for row in rows}
        for status in statuses - _KNOWN:
            self._notes[f"the interface document does not name the status {str(status)[:40]!r}"] = (
                None
            )
        for name in {name for row in rows for name in row} - set(spec.PET_FIELDS):
            self._notes[f"the interface document does not name the field {name[:40]!r}"] = None
        new, by_id = self._pager.new, {row["id"]: row for row in reversed(rows)}
        rows = [by_id[pet_id] for pet_id in new]
        if self._query.first is not None:
            rows = rows[: max(0, self._query.first - self._pager.came + len(new))]
        if self._query.status is not None and statuses != {self._query.status}:
            kept = [row for row in rows if row.get("status") == self._query.status]
            self._others += len(rows) - len(kept)
            rows = kept
        return rows


class Learnt(BaseModel):
    """
    Of one base address.

    Attributes:
        scheme: Name of the paging scheme that its answers proved, None where it names the next page
            itself.
        sizes: Animals in the last complete listing by filter, "" for none.
        listings: Complete listings so far by filter: an interrupted one goes on while there is none
            since.
    """

    scheme: str | None = None
    sizes: dict[str, int] = Field(default_factory=dict)
    listings: dict[str, int] = Field(default_factory=dict)

    @property
    def known_scheme(self) -> str | None:
        """The scheme, where this version knows it: another one may have written the file."""
        try:
            return self.scheme if schemes.parse(self.scheme) else None
        except SettingsError:
            return None


_File = RootModel[dict[str, Learnt]]


@dataclass
class RememberedServices:
    """
    A small file in the state folder; where it cannot be written, it lasts as long as the process.

    Args:
        path: The file.
    """

    path: Path
    _known: dict[str, Learnt] = field(default_factory=dict)

    def of(self, base_url: str) -> Learnt:
        """Return what is known of a base address."""
        with suppress(OSError, ValidationError):
            self._known = _File.model_validate_json(self.path.read_bytes()).root
        return self._known.get(base_url, Learnt())

    def keep(
        self, base_url: str, *, scheme: str | None, status: str | None, rows: int | None
    ) -> None:
        """
        Remember the scheme, and a complete listing with its rows; None for one that is not
        complete.
        """
        before, of = self.of(base_url), status or ""
        after = before.model_copy(update={"scheme": scheme})
        if rows is not None:
            after.sizes = {**before.sizes, of: rows}
            after.listings = {**before.listings, of: before.listings.get(of, 0) + 1}
        if after == before:
            return
        self._known[base_url] = after
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(self.path, _File(self._known).model_dump_json().encode())


class Prefetcher:
    """
    Fetches addresses in threads of its own, and returns each reply when it is asked for.

    The threads are daemons: an interrupted listing ends without waiting for them.

    Args:
        call: Gets an address; raises at once where the listing has ended.
    """

    def __init__(self, call: Callable[[str], Reply]) -> None:
        self._call = call
        self._fetched: dict[str, Future[Reply]] = {}

    def get(self, url: str, predicted: Iterable[str] = ()) -> Reply:
        """
        Return the reply of an address; meanwhile those that are predicted to follow are fetched,
        too.
        """
        for address in predicted:
            if address not in self._fetched:
                future = self._fetched[address] = Future[Reply]()
                threading.Thread(
                    target=self._fetch, args=(address, future), name="page", daemon=True
                ).start()
        return self._fetched.pop(url).result() if url in self._fetched else self._call(url)

    def _fetch(self, url: str, future: Future[Reply]) -> None:
        try:
            future.set_result(self._call(url))
        except BaseException as error:
            future.set_exception(error)


LEAST_RETRIES: Final = 10  # of one listing; a long one may retry a tenth of its requests


class Tally:
    """
    Counts the requests of one listing, whichever thread sends them, and bounds its retries.

    Args:
        most: Requests that the listing may send, None for no bound.
        on_count: Called with each request.

    Attributes:
        sent: Requests that may have reached the service, retries included.
        retries: Requests that were sent again after a failure, those included that never left.
        pages: Pages that the listing is expected to have; a retry for every tenth is allowed.
        refused: Why a retry was refused, "" while none was.
    """

    def __init__(
        self, most: int | None = None, *, on_count: Callable[[], None] = lambda: None
    ) -> None:
        self._most, self._on_count, self._lock = most, on_count, threading.Lock()
        self.sent = self.retries = self.pages = 0
        self.refused = ""

    def count(self) -> None:
        """Count a request."""
        with self._lock:
            self.sent += 1
        self._on_count()

    @property
    def exhausted(self) -> bool:
        """Whether the listing has sent as many requests as it may."""
        return self._most is not None and self.sent >= self._most

    def may_retry(self) -> bool:
        """
        Say whether a request may be sent again, and count it: each costs a unit of the day (§8.2).
        """
        with self._lock:
            if self.exhausted:
                self.refused = (
                    f"it was not retried, since the listing was limited to {self.sent:,} requests"
                )
            elif self.retries >= max(LEAST_RETRIES, max(self.sent, self.pages) // 10):
                self.refused = (
                    f"it was not retried, since this listing had {self.retries:,} retries"
                )
            else:
                self.retries += 1
            return not self.refused
