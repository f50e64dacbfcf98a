"""
A listing, page by page: the pager decides, the client sends, and `Listing` says what came of it
(§4.1).
"""

from __future__ import annotations

import itertools
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
from typing import Final

from pydantic import BaseModel, Field, RootModel, ValidationError

from petstore_tools import spec
from petstore_tools.errors import SettingsError
from petstore_tools.http.client import Client
from petstore_tools.http.responses import read_rows
from petstore_tools.http.transport import Reply
from petstore_tools.listing import schemes
from petstore_tools.listing.completeness import HOLE, Listing
from petstore_tools.listing.links import End, ListQuery, NextPage, Response
from petstore_tools.listing.pager import Pager, Proven
from petstore_tools.models import Pet, PetRow
from petstore_tools.tabular.atomic import replace_file
from petstore_tools.text import pluralize
from petstore_tools.throttle.gate import ALONE, CallOptions
from petstore_tools.throttle.quota import SLOW_S, connections

_log = logging.getLogger(__name__)
_KNOWN: Final = frozenset({*spec.STATUSES, None})
_WIDER_EVERY: Final = 50  # pages; where nobody knows the size, one more page is fetched ahead
_REFUSED: Final = frozenset(
    {HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND, HTTPStatus.UNPROCESSABLE_ENTITY}
)


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
        return self.remembered.of(self.client.place)

    def pages(self, query: ListQuery, *, call_options: CallOptions = ALONE) -> Pages:
        """Return a listing that sends its requests while it is iterated (§4.1)."""
        return Pages(partial(PageIterator, self, query, call_options))


class Pages:
    """
    A listing: iterate it for pages, then read `listing`.

    Each iteration reads from the first page on and costs its own requests; `listing` is about the
    one that began last.

    Args:
        begin: Begins an iteration.

    Raises:
        UnauthorizedError: The key is refused (§5).
        ProtocolError, TransportError, QuotaError: While iterating; what was read until
            then stays in `listing`, labelled as cut.

    Spec: §4.1.
    """

    def __init__(self, begin: Callable[[], PageIterator]) -> None:
        self._begin = begin
        self._current = begin()

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
    """

    def __init__(self, inventory: Inventory, query: ListQuery, call_options: CallOptions) -> None:
        self._inventory = inventory
        self._client = inventory.client
        self._query = query
        self._learnt = inventory.learnt  # before this listing
        self._closed = False
        self._sent = itertools.count(1)
        self._requests = 0

        def count() -> None:
            self._requests = next(self._sent)
            call_options.on_sent()

        self._call_options = replace(
            call_options,
            cancelled=lambda: self._closed or call_options.cancelled(),
            on_sent=count,
            more_follow=True,
        )
        told = inventory.pagination
        self._pager = Pager(
            f"{self._client.base_url}{spec.PETS_PATH}?{query.query}",
            limit=query.limit,
            first=query.first,
            proven=self._learnt.proven(told),
            fixed=told is not None,
        )
        self._end = End("cut", "the listing was not read to its end")
        self._started_at = self._ended_at = self._client.clock.now()
        self._notes: dict[str, None] = {}
        self._others = 0  # animals that do not bear the status asked for

    @property
    def size(self) -> int | None:
        """How many animals the service says there are, else how many there were last time."""
        total = self._pager.received.total
        return self._learnt.sizes.get(self._query.status or "") if total is None else total

    @property
    def listing(self) -> Listing:
        """What is known of the listing so far; it is cut until the last page is read."""
        notes = list(self._notes)
        received = self._pager.received
        may_have_hole = received.may_have_hole or received.moved or received.doubles > 0
        if self._others:
            others = pluralize(self._others, "animal")
            notes.append(
                f"the service returned {others} of another status, which are left out here"
            )
        if may_have_hole:
            notes.append(HOLE)
        return Listing(
            completeness=self._end.completeness,
            reason=self._end.reason,
            status=self._query.status,
            rows=int(min(self._pager.came, self._query.first or inf)) - self._others,
            digest="",
            requests=self._requests,
            pages=self._pager.pages,
            doubles=received.doubles,
            started_at=self._started_at,
            ended_at=self._ended_at,
            environment=self._client.environment,
            notes=tuple(notes),
            may_have_hole=may_have_hole,
        )

    def __iter__(self) -> Iterator[Page]:
        try:
            yield from self._pages(Prefetcher(self._call))
        except GeneratorExit:
            raise
        except BaseException as error:
            reason = "it was interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
            self._end = End("cut", reason)
            raise
        finally:
            self._closed = True
            self._client.gate.flush()

    def _pages(self, prefetcher: Prefetcher) -> Iterator[Page]:
        status = self._query.status
        while isinstance(step := self._pager.next, NextPage):
            reply = prefetcher.get(step.url, self._predicted())
            if step.trial and reply.status in _REFUSED:
                self._finish(self._pager.refused())
                continue
            rows = read_rows(reply)
            self._ended_at = self._client.clock.now()
            unfiltered = status is not None and any(row.get("status") != status for row in rows)
            ids = tuple([row["id"] for row in rows])
            self._finish(self._pager.feed(Response(step.url, ids, reply.headers, unfiltered)))
            yield Page(self._pager.pages, tuple(self._kept(rows)))

    def _call(self, url: str) -> Reply:
        return self._client.call("GET", url, call_options=self._call_options)

    def _finish(self, step: NextPage | End) -> None:
        """Remember what a listing has learnt that has ended."""
        if isinstance(step, NextPage):
            return
        if step.completeness != "complete" and self._query.first is None:
            _log.warning("A listing is %s: %s.", step.completeness, step.reason)
        self._end = step
        self._inventory.remembered.keep(
            self._client.place,
            self._pager.proven,
            told=self._inventory.pagination is not None,
            status=self._query.status,
            rows=self._pager.rows if step.completeness == "complete" else None,
        )

    def _predicted(self) -> list[str]:
        """
        Return the addresses to fetch ahead, as many as plan, latency and the known rest call for.
        """
        rows = self._pager.rows
        end = self._query.first or self.size
        latency_s = self._client.transport.fastest_s or 0.0
        if not rows or latency_s < SLOW_S:
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
        new = self._pager.new
        by_id = {row["id"]: row for row in reversed(rows)}
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
        scheme: Name of the paging scheme that its answers proved.
        signals, totals, filters_first: As in `Proven`.
        sizes: Animals in the last complete listing by filter, "" for none.
    """

    scheme: str | None = None
    signals: bool = False
    totals: bool = False
    filters_first: bool = False
    sizes: dict[str, int] = Field(default_factory=dict)

    def proven(self, told: str | None) -> Proven:
        """Return what is proved, with the scheme that the caller named in place of the learnt."""
        try:
            scheme = schemes.parse(told or self.scheme)
        except SettingsError:  # another version wrote the file
            scheme = None
        return Proven(scheme, self.signals, self.totals, self.filters_first)


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
        self, base_url: str, proven: Proven, *, told: bool, status: str | None, rows: int | None
    ) -> None:
        """
        Remember what is proved, and the rows of a complete listing; None for one that is not.

        Args:
            base_url: Of the service.
            proven: What its answers proved.
            told: The caller named the scheme, so it is not remembered.
            status: The filter of the listing.
            rows: Its animals.
        """
        before = self.of(base_url)
        scheme = before.scheme if told else proven.scheme and proven.scheme.name
        sizes = before.sizes if rows is None else {**before.sizes, status or "": rows}
        after = Learnt(
            scheme=scheme,
            signals=proven.signals,
            totals=proven.totals,
            filters_first=proven.filters_first,
            sizes=sizes,
        )
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
