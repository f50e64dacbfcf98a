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
from typing import Final

from pydantic import TypeAdapter

from petstore_tools import spec
from petstore_tools.http.client import Client
from petstore_tools.http.responses import NO_CHARACTER, read_rows
from petstore_tools.http.transport import Reply
from petstore_tools.listing import schemes
from petstore_tools.listing.completeness import HOLE, Listing
from petstore_tools.listing.pager import Evidence, Pager
from petstore_tools.listing.protocol import End, ListQuery, NextPage, PageReply
from petstore_tools.models import Pet, PetRow
from petstore_tools.tabular.atomic import replace_file
from petstore_tools.text import pluralize, quoted
from petstore_tools.throttle.gate import CallOptions
from petstore_tools.throttle.quota import SLOW_S, connections
from petstore_tools.throttle.throttle import Wait

_log = logging.getLogger(__name__)
_KNOWN: Final = frozenset({*spec.STATUSES, None})
# pages; where nobody knows the size, one more page is fetched ahead
_WIDER_EVERY: Final = 50
_TICK_S: Final = 0.5  # how often is shown what a page that is fetched ahead waits for


@dataclass(frozen=True, repr=False)
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

    def __repr__(self) -> str:
        return f"Page({self.number}, {pluralize(len(self), 'animal')})"


_FILE: Final = TypeAdapter(dict[str, Evidence])


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
        if evidence == self.evidence:
            return
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
        client: One key at one service.
        memory: How that service pages.
        query: Which of them.
        call_options: How its calls wait.

    Raises:
        UnauthorizedError: The key is refused (§5).
        ProtocolError, TransportError, QuotaError: While iterating; what was read until
            then stays in `listing`, labelled as cut.

    Spec: §4.1.
    """

    def __init__(
        self,
        client: Client,
        memory: PagingMemory,
        query: ListQuery,
        call_options: CallOptions,
    ) -> None:
        self._begin = partial(PageReader, client, memory, query, call_options)
        self._current = self._begin()

    @property
    def listing(self) -> Listing:
        """
        What is known of the listing so far; it is cut until the last page is read.
        """
        return self._current.listing

    @property
    def size(self) -> int | None:
        """How many animals there may be, None where nothing says so."""
        return self._current.size

    def __iter__(self) -> Iterator[Page]:
        self._current = self._begin()
        return iter(self._current)

    def __repr__(self) -> str:
        return f"Pages({self.listing})"


class PageReader:
    """
    Reads a listing once, from its first page to its end.

    Args:
        client: One key at one service.
        memory: How that service pages.
        query: Which of them.
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
        self._earlier = memory.evidence  # before this listing
        self._closed = False
        # an item for each request, whichever thread has sent it
        self._sent: list[None] = []
        self._call_options = replace(
            call_options,
            cancelled=lambda: self._closed or call_options.cancelled(),
            on_sent=lambda: self._sent.append(None),
            more_follow=True,
        )
        self._pager = Pager(
            f"{self._client.base_url}{spec.PETS_PATH}?{query.query}",
            first=query.first,
            evidence=self._earlier,
            pagination=memory.pagination,
        )
        self._end = End("cut", "the listing was not read to its end")
        self._started_at = self._ended_at = self._client.clock.now()
        self._notes: dict[str, None] = {}
        self._rows = 0  # animals that were given
        self._others = 0  # animals that do not bear the status asked for

    @property
    def size(self) -> int | None:
        """
        How many animals the service says there are, else how many there were last time.
        """
        total = self._pager.state.total
        return (
            self._earlier.sizes.get(self._query.status or "")
            if total is None
            else total
        )

    @property
    def listing(self) -> Listing:
        """
        What is known of the listing so far; it is cut until the last page is read.
        """
        notes = list(self._notes)
        state = self._pager.state
        if self._others:
            others = pluralize(self._others, "animal")
            notes.append(
                f"the service returned {others} of another status, which are left out"
                " here"
            )
        if state.may_have_hole:
            notes.append(HOLE)
        return Listing(
            completeness=self._end.completeness,
            reason=self._end.reason,
            status=self._query.status,
            rows=self._rows,
            digest="",
            requests=len(self._sent),
            pages=self._pager.pages,
            doubles=state.doubles,
            started_at=self._started_at,
            ended_at=self._ended_at,
            environment=self._client.environment,
            notes=tuple(notes),
            may_have_hole=state.may_have_hole,
        )

    def __iter__(self) -> Iterator[Page]:
        try:
            call = partial(self._client.call, "GET")
            yield from self._pages(Prefetcher(call, self._call_options))
        except (Exception, KeyboardInterrupt) as error:
            self._end = End("cut", str(error) or "it was interrupted")
            raise
        finally:
            self._closed = True
            # a frame is built next, and they may be many
            self._pager.state.ids.clear()
            self._client.gate.flush()

    def _pages(self, prefetcher: Prefetcher) -> Iterator[Page]:
        while isinstance(step := self._pager.next, NextPage):
            reply = prefetcher.get(step, self._predicted())
            rows: list[PetRow] = []
            response = None
            if not step.is_refused(reply.status):
                rows = [] if step.is_end(reply.status) else read_rows(reply)
                ids = tuple([row["id"] for row in rows])
                unfiltered = self._with_status(rows) != rows
                response = PageReply(step.url, ids, reply.headers, unfiltered)
            self._ended_at = self._client.clock.now()
            end = self._pager.feed(response)
            if isinstance(end, End):
                self._remember(end)
            yield Page(self._pager.pages, tuple(self._kept(rows)))

    def _remember(self, end: End) -> None:
        """Keep how the listing ended, and what it has learnt of the service."""
        if end.completeness != "complete" and self._query.first is None:
            _log.warning("A listing is %s: %s.", end.completeness, end.reason)
        self._end = end
        evidence = self._pager.evidence
        if self._memory.pagination:  # what the caller named is not remembered
            evidence = replace(evidence, scheme=self._earlier.scheme)
        if end.completeness == "complete":
            sizes = {**evidence.sizes, self._query.status or "": self._pager.rows}
            evidence = replace(evidence, sizes=sizes)
        self._memory.keep(evidence)

    def _predicted(self) -> list[str]:
        """
        Return the addresses to fetch ahead, as many as plan, latency and the known rest
        call for.
        """
        rows = self._pager.rows
        step = self._pager.step
        latency_s = self._client.transport.fastest_s or 0.0
        if latency_s < SLOW_S:
            return []
        unknown = rows + step * (1 + self._pager.pages // _WIDER_EVERY)
        end = self._query.first or self.size or unknown
        if end < rows:  # a total that is capped, or more animals than last time
            end = unknown
        wide = min(
            ceil((end - rows) / step),
            connections(self._client.plan.per_minute, latency_s),
        )
        return self._pager.predicted(wide)

    def _with_status(self, rows: list[PetRow]) -> list[PetRow]:
        """Return the animals with the status asked for."""
        return [row for row in rows if self._query.status in (None, row.get("status"))]

    def _kept(self, rows: list[PetRow]) -> list[PetRow]:
        """Return the rows that are new, and note what the document does not name."""
        statuses = {row.get("status") for row in rows} - _KNOWN
        fields = set[str | None]().union(*rows) - spec.PET_FIELDS.keys()
        for kind, names in (("status", statuses), ("field", fields)):
            for name in names:
                note = (
                    f"the interface document does not name the {kind}"
                    f" {quoted(str(name))}"
                )
                self._notes[note] = None
        if any(NO_CHARACTER in row["name"] for row in rows):
            note = f"a broken character in a name is shown as {NO_CHARACTER}"
            self._notes[note] = None
        by_id = {row["id"]: row for row in reversed(rows)}
        rows = [by_id[pet_id] for pet_id in self._pager.new]
        if self._query.first is not None:
            rows = rows[: self._query.first - self._rows - self._others]
        kept = self._with_status(rows)
        self._others += len(rows) - len(kept)
        self._rows += len(kept)
        return kept


class Prefetcher:
    """
    Fetches addresses in threads of its own, and returns each reply when it is asked
    for.

    The threads are daemons: an interrupted listing ends without waiting for them.

    Args:
        call: Gets an address; raises at once where the listing has ended.
        call_options: How it waits; `on_wait` is called from the caller's thread alone.
    """

    def __init__(self, call: Callable[..., Reply], call_options: CallOptions) -> None:
        self._call = partial(call, call_options=call_options)
        self._on_wait = call_options.on_wait
        self._wait: Wait | None = None  # of a thread
        ahead = replace(call_options, on_wait=partial(setattr, self, "_wait"))
        self._call_ahead = partial(call, call_options=ahead)
        self._fetched: dict[str, Future[Reply]] = {}

    def get(self, page: NextPage, predicted: Iterable[str]) -> Reply:
        """
        Return the reply to a page; meanwhile the addresses that are predicted to follow
        are fetched, too.
        """
        for address in predicted:
            if address not in self._fetched:
                future = Future[Reply]()
                self._fetched[address] = future
                threading.Thread(
                    target=self._fetch, args=(address, future), name="page", daemon=True
                ).start()
        if page.url not in self._fetched:
            return self._call(page.url, retry_5xx=page.retries_5xx)
        future = self._fetched.pop(page.url)
        while not future.done():
            wait([future], _TICK_S)
            self._on_wait(None if future.done() else self._wait)
        return future.result()

    def _fetch(self, url: str, future: Future[Reply]) -> None:
        try:
            future.set_result(self._call_ahead(url))
        except BaseException as error:
            future.set_exception(error)
