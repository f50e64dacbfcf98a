"""
A listing, page by page: the pager decides, the client sends, and `Listing` says what
came of it (§4.1).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from pathlib import Path
from queue import SimpleQueue

from pydantic import TypeAdapter

from petstore_tools import spec
from petstore_tools.http.client import Client
from petstore_tools.http.responses import NO_CHARACTER, read_rows
from petstore_tools.http.transport import Reply
from petstore_tools.listing import schemes
from petstore_tools.listing.completeness import (
    HOLE,
    End,
    Listing,
    ListQuery,
    is_variant,
)
from petstore_tools.listing.evidence import Evidence, NextPage, PageReply
from petstore_tools.listing.pager import Pager
from petstore_tools.models import Pet, PetRow
from petstore_tools.tabular.atomic import replace_file
from petstore_tools.text import pluralize, quoted
from petstore_tools.throttle.gate import CallOptions
from petstore_tools.throttle.quota import SLOW_S, connections
from petstore_tools.throttle.throttle import Wait

_log = logging.getLogger(__name__)
_STATUSES = frozenset({*spec.STATUSES, None})
# pages; where nobody knows the size, one more page is fetched ahead
_WIDER_EVERY = 50
_TICK_S = 0.5  # how often is shown what a page that is fetched ahead waits for


@dataclass(frozen=True, repr=False)
class Page:
    """
    One page of a listing, without animals that came before.

    Attributes:
        rows: Animals as plain dicts with the document's names.
    """

    __module__ = "petstore_tools"

    rows: tuple[PetRow, ...]

    @property
    def pets(self) -> tuple[Pet, ...]:
        """The animals as models."""
        return tuple(Pet.model_validate(row) for row in self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"Page({pluralize(len(self), 'animal')})"


_FILE = TypeAdapter(dict[str, Evidence])


class PagingMemory:
    """
    How services page, as listings have proved it.

    Args:
        path: The file; where it cannot be written, that lasts as long as the process.
        service_id: Of the service that is listed.
        pagination: How it pages, as the caller named it; None to learn it.
    """

    def __init__(self, path: Path, service_id: str, pagination: str | None) -> None:
        self._path = path
        self._service_id = service_id
        self._by_service: dict[str, Evidence] = {}
        self.pagination = schemes.parse(pagination)

    @property
    def evidence(self) -> Evidence:
        """What earlier listings proved of the service."""
        with suppress(OSError, ValueError):
            self._by_service = _FILE.validate_json(self._path.read_bytes())
        return self._by_service.get(self._service_id, Evidence())

    def keep(self, evidence: Evidence) -> None:
        """Keep what is proved of the service by now."""
        if evidence != self.evidence:
            self._by_service[self._service_id] = evidence
            with suppress(OSError):
                self._path.parent.mkdir(parents=True, exist_ok=True)
                replace_file(self._path, _FILE.dump_json(self._by_service))


class Pages:
    """
    A listing: iterate it for pages, then read `listing`.

    Each iteration reads from the first page on and costs its own requests; `listing` is
    about the one that began last.

    Args:
        begin: Begins to read it, without a request.

    Raises:
        UnauthorizedError: The key is refused (§5).
        ProtocolError, TransportError, QuotaError: While iterating; what was read until
            then stays in `listing`, labelled as cut.

    >>> pages = store.pages(limit=100)
    >>> [len(page) for page in pages], pages.listing.complete
    ([100, 100, 50], True)

    Spec: §4.1.
    """

    __module__ = "petstore_tools"

    def __init__(self, begin: Callable[[], PageReader]) -> None:
        self._begin = begin
        self._reader = begin()

    @property
    def listing(self) -> Listing:
        """
        What is known of the listing so far; it is cut until the last page is read.
        """
        return self._reader.listing

    def __iter__(self) -> Iterator[Page]:
        self._reader = self._begin()
        return iter(self._reader)

    def __repr__(self) -> str:
        return f"Pages({self.listing})"


class PageReader:
    """
    Reads a listing once, from its first page to its end.

    Args:
        client: One key at one service.
        memory: How that service pages.
        query: Which of its animals.
        call_options: How its calls wait.
    """

    def __init__(
        self,
        client: Client,
        memory: PagingMemory,
        query: ListQuery,
        call_options: CallOptions,
    ) -> None:
        self._client = client
        self._memory = memory
        self._query = query
        self._earlier_evidence = memory.evidence
        self._is_closed = False
        # an item for each request, whichever thread has sent it
        self._requests: list[None] = []
        self._call_options = replace(
            call_options,
            cancelled=lambda: self._is_closed or call_options.cancelled(),
            on_sent=lambda: self._requests.append(None),
            more_follow=True,
        )
        self._prefetcher = Prefetcher(client, self._call_options)
        self._pager = Pager(
            schemes.with_query(
                client.base_url + spec.PETS_PATH,
                {"limit": query.limit, "status": query.status},
            ),
            first=query.first,
            evidence=self._earlier_evidence,
            pagination=memory.pagination,
        )
        self._end = End("cut", "the listing was not read to its end")
        self._started_at = self._ended_at = self._client.clock.now()
        self._notes: dict[str, None] = {}
        self._row_count = 0
        self._other_status_count = 0
        # the status asked for, as the service writes it: in capitals or with blanks
        self._variant = ""

    @property
    def expected_count(self) -> int | None:
        """
        How many animals the service says there are, else how many there were last time.
        """
        sizes = self._earlier_evidence.sizes
        total = self._pager.record.total
        return sizes.get(self._query.status or "") if total is None else total

    @property
    def listing(self) -> Listing:
        """
        What is known of the listing so far; it is cut until the last page is read.
        """
        notes = list(self._notes)
        record = self._pager.record
        if self._other_status_count:
            animals = pluralize(self._other_status_count, "animal")
            notes.append(
                f"the service returned {animals} of another status, which are left out"
                " here"
            )
        if record.may_have_hole:
            notes.append(HOLE)
        return Listing(
            completeness=self._end.completeness,
            reason=self._end.reason,
            status=self._query.status,
            rows=self._row_count,
            digest="",
            requests=len(self._requests),
            started_at=self._started_at,
            ended_at=self._ended_at,
            environment=self._client.environment,
            notes=tuple(notes),
            may_have_hole=record.may_have_hole,
        )

    def __iter__(self) -> Iterator[Page]:
        try:
            yield from self._read_pages()
        except (Exception, KeyboardInterrupt) as error:
            self._end = End("cut", str(error) or "it was interrupted")
            raise
        finally:
            self._is_closed = True
            self._prefetcher.close()
            # a frame is built next, and they may be many
            self._pager.record.ids.clear()
            self._client.gate.flush()

    def _read_pages(self) -> Iterator[Page]:
        status = self._query.status
        while isinstance(page := self._pager.next, NextPage):
            self._prefetcher.fetch(self._predict_urls())
            reply = self._prefetcher.get(page.url) or self._client.call(
                "GET",
                page.url,
                call_options=self._call_options,
                retry_5xx=page.retries_5xx,
            )
            is_refused = page.is_refused(reply.status)
            is_end = page.is_end(reply.status)
            rows = [] if is_refused or is_end else read_rows(reply)
            ids = tuple([row["id"] for row in rows])
            has_other_status = status is not None and any(
                row.get("status") != status for row in rows
            )
            page_reply = PageReply(
                page.url, ids, reply.headers, has_other_status, is_end
            )
            self._ended_at = self._client.clock.now()
            end = self._pager.feed(None if is_refused else page_reply)
            rows = self._take_rows(rows)
            if isinstance(end, End):
                self._remember(end)
            if rows:
                yield Page(tuple(rows))

    def _remember(self, end: End) -> None:
        """Keep how the listing ended, and what it has proved of the service."""
        if end.completeness == "complete" and self._variant:
            reason = f"{end.reason}, but the service writes the status {self._variant}"
            end = End("unproven", reason)
        if end.completeness != "complete" and self._query.first is None:
            _log.warning("A listing is %s: %s.", end.completeness, end.reason)
        self._end = end
        evidence = self._pager.record.evidence
        if pagination := self._memory.pagination:  # what was named is not remembered
            evidence.scheme = self._earlier_evidence.scheme
            if pagination.header:
                evidence.signals = self._earlier_evidence.signals
        if end.completeness == "complete":
            size = {self._query.status or "": self._pager.record.row_count}
            evidence.sizes = evidence.sizes | size
        self._memory.keep(evidence)

    def _predict_urls(self) -> list[str]:
        """
        Return the addresses to fetch ahead, as many as plan, latency and what is still
        to come call for.
        """
        record = self._pager.record
        latency_s = self._client.transport.fastest_s or 0.0
        if latency_s < SLOW_S:
            return []
        expected_count = self._query.first or self.expected_count or -1
        rows_to_come = expected_count - record.row_count
        page_count = ceil(rows_to_come / record.rows_per_page)
        if rows_to_come < 0:  # or a total is capped, or there were fewer last time
            page_count = 1 + record.page_count // _WIDER_EVERY
        at_once = connections(self._client.plan.per_minute, latency_s)
        return self._pager.predict_urls(min(page_count, at_once))

    def _take_rows(self, rows: list[PetRow]) -> list[PetRow]:
        """Count the rows that did not come before, and return those to hand out."""
        self._note_surprises(rows)
        new_ids = self._pager.record.new_ids
        if len(new_ids) < len(rows):  # some came before
            by_id = {row["id"]: row for row in reversed(rows)}
            rows = [by_id[pet_id] for pet_id in new_ids]
        if self._query.first is not None:
            rows = rows[
                : self._query.first - self._row_count - self._other_status_count
            ]
        status = self._query.status
        with_status = [row for row in rows if status in (None, row.get("status"))]
        self._other_status_count += len(rows) - len(with_status)
        self._row_count += len(with_status)
        return with_status

    def _note_surprises(self, rows: list[PetRow]) -> None:
        """Note what the document does not name, and characters that were broken."""
        statuses = {row.get("status") for row in rows} - _STATUSES
        fields = set[str]().union(*rows) - spec.PET_FIELDS.keys()
        surprises = [f"status {quoted(str(status))}" for status in statuses]
        for status in statuses:
            if is_variant(str(status), self._query.status):
                self._variant = quoted(str(status))
        surprises += [f"field {quoted(name)}" for name in fields]
        for surprise in surprises:
            self._notes[f"the interface document does not name the {surprise}"] = None
        if any(NO_CHARACTER in row["name"] for row in rows):
            note = f"a broken character in a name is shown as {NO_CHARACTER}"
            self._notes[note] = None


class Prefetcher:
    """
    Fetches addresses in threads of its own, each with its connection, and returns each
    reply when it is asked for.

    The threads are daemons: an interrupted listing ends without waiting for them.

    Args:
        client: One key at one service.
        call_options: How its calls wait; `on_wait` is called from the caller's thread
            alone, and `cancelled` says whether the listing has ended.
    """

    def __init__(self, client: Client, call_options: CallOptions) -> None:
        self._call = partial(client.call, "GET")
        self._call_options = call_options
        self._wait: Wait | None = None  # of a thread
        self._futures: dict[str, Future[Reply]] = {}
        self._queue: SimpleQueue[tuple[str, Future[Reply]] | None] = SimpleQueue()
        self._thread_count = 0

    def fetch(self, urls: Iterable[str]) -> None:
        """Begin to fetch addresses that may follow."""
        for url in urls:
            if url not in self._futures:
                future = self._futures[url] = Future()
                self._queue.put((url, future))
        while self._thread_count < len(self._futures):
            self._thread_count += 1
            threading.Thread(target=self._work, name="page", daemon=True).start()

    def get(self, url: str) -> Reply | None:
        """Return the reply to an address, None where it is not fetched ahead."""
        future = self._futures.pop(url, None)
        if future is None:
            return None
        while not future.done():
            wait([future], _TICK_S)
            self._call_options.on_wait(None if future.done() else self._wait)
        return future.result()

    def close(self) -> None:
        """End the threads, each behind the address that it fetches."""
        for _ in range(self._thread_count):
            self._queue.put(None)

    def _work(self) -> None:
        on_wait = partial(setattr, self, "_wait")
        options = replace(self._call_options, on_wait=on_wait)
        while task := self._queue.get():
            url, future = task
            try:
                future.set_result(self._call(url, call_options=options))
            except BaseException as error:
                future.set_exception(error)
