"""A listing under way: joins the pager with a client's calls, and keeps the verdict (§4.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final
from urllib.parse import urlencode

from petstore_tools import spec
from petstore_tools.adapters.http import Reply
from petstore_tools.adapters.replies import expect, read_rows, request_line
from petstore_tools.clock import Clock
from petstore_tools.core.listing import Listing, digest
from petstore_tools.core.paging import Ask, End, Page, Pager
from petstore_tools.models import Pet, PetRow

_KNOWN: Final = frozenset(spec.COLUMNS)


@dataclass(frozen=True)
class PageOfPets:
    """
    One page of a listing, doubles left out.

    Attributes:
        number: From 1.
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


class Listed:
    """
    A listing under way: iterate it for pages, then read `listing`.

    Args:
        call: Gets an address.
        spent: Counts the requests of the client.
        clock: Tells time.
        base_url: Ends in `/v1`.
        environment: Names what is listed.
        status: The filter, None for all.
        limit: Page size.
        first: Stop when so many animals came, None for all.

    Raises:
        UnauthorizedError: The key is refused (§5).
        ProtocolError, PagingError, TransportError, QuotaError: While iterating; what was read until
            then stays in `listing`, labelled as cut.

    Spec: §4.1.
    """

    def __init__(
        self,
        call: Callable[[str], Reply],
        spent: Callable[[], int],
        clock: Clock,
        *,
        base_url: str,
        environment: str,
        status: str | None,
        limit: int,
        first: int | None,
    ) -> None:
        self._call, self._spent, self._clock = call, spent, clock
        self._url, self._environment = base_url + spec.PETS_PATH, environment
        self._status = status
        self._limit = limit if first is None else min(limit, first)
        self._pager = Pager(limit=self._limit, first=first)
        self._first = first
        self._ids: list[int] = []
        self._end = End("cut", "the listing was not read to its end")
        self._spent_before = spent()
        self._started_at = self._ended_at = clock.now()
        self._notes: dict[str, None] = {}

    def __iter__(self) -> Iterator[PageOfPets]:
        query = {"limit": str(self._limit)}
        if self._status is not None:
            query["status"] = self._status
        step: Ask | End = Ask(f"{self._url}?{urlencode(query)}")
        with self._reasons():
            while isinstance(step, Ask):
                rows, link = self._read(step.url)
                new = self._new(rows)
                step = self._pager.feed(Page(step.url, tuple(row["id"] for row in rows), link))
                self._ids += [row["id"] for row in new]
                self._ended_at = self._clock.now()
                if isinstance(step, End):
                    self._end = step
                yield PageOfPets(self._pager.pages, tuple(new))

    @property
    def listing(self) -> Listing:
        """The verdict so far; cut until the last page is read."""
        return Listing(
            verdict=self._end.verdict,
            reason=self._end.reason,
            status=self._status,
            rows=len(self._ids),
            digest=digest(self._ids),
            requests=self._spent() - self._spent_before,
            pages=self._pager.pages,
            doubles=self._pager.doubles,
            started_at=self._started_at,
            ended_at=self._ended_at,
            environment=self._environment,
            notes=tuple(self._notes),
        )

    def _read(self, url: str) -> tuple[list[PetRow], str | None]:
        reply = expect(self._call(url), HTTPStatus.OK, "GET", url)
        return read_rows(reply, request_line("GET", url)), reply.headers.get("Link")

    def _new(self, rows: list[PetRow]) -> list[PetRow]:
        new: dict[int, PetRow] = {}
        for row in rows:
            if not self._pager.knows(row["id"]):
                new.setdefault(row["id"], row)
            status = row.get("status")
            if status is not None and status not in spec.STATUSES:
                self._notes[f"a status the document does not name: {status[:40]!r}"] = None
            for name in row.keys() - _KNOWN:
                self._notes[f"a field the document does not name: {name[:40]!r}"] = None
        kept = list(new.values())
        if self._first is not None:
            kept = kept[: self._first - len(self._ids)]
        return kept

    @contextmanager
    def _reasons(self) -> Iterator[None]:
        try:
            yield
        except GeneratorExit:
            raise
        except BaseException as error:
            what = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
            self._end = End("cut", what)
            raise
