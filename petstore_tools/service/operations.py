"""The operations of the document (§4) on the database; pages are kept as they were sent."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from email.utils import formatdate
from functools import partial
from typing import Final
from urllib.parse import parse_qsl, urlencode

from petstore_tools import spec
from petstore_tools.service import bodies
from petstore_tools.service.database import Database
from petstore_tools.service.engine import NewPet
from petstore_tools.service.messages import Request, Response, error, wrong_method

DEPRECATED_SINCE: Final = 1_764_547_200  # Unix seconds; a constant of ours, §4.3 states none
MAX_PAGES, MAX_PAGE_BYTES = 1_000, 32 << 10  # that are kept, of either kind; larger pages are not
LIST_PATH: Final = spec.PATH_PREFIX + spec.PETS_PATH
PET_PATH: Final = re.compile(re.escape(LIST_PATH) + "/([^/]+)")


class Operations:
    """
    What a valid key may ask.

    Args:
        database: Animals; a transaction is open while a request is answered.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._pages: dict[
            bytes, Response
        ] = {}  # with a next one: what is created comes behind them
        self._last_pages: dict[bytes, Response] = {}  # without: they hold until the next create
        self._state = (-1, -1)  # of the database, when the pages were read
        self.new: list[
            tuple[NewPet, Response]
        ] = []  # not added yet: all of a transaction are, in one go

    def respond(self, request: Request, now: float) -> Response:
        """Answer a request that has a valid key, is within its quota, and has been read."""
        if request.method == "GET" and request.path == LIST_PATH:
            kept = self._pages.get(request.query) or self._last_pages.get(request.query)
            if kept is not None:
                return Response(200, kept.body, kept.headers.copy())
        asked = self.read(request, now)
        return asked if isinstance(asked, Response) else asked()

    def read(self, request: Request, now: float) -> Response | Callable[[], Response]:
        """Return how a request is refused, whatever animals there are, or what answers it."""
        try:
            return self._route(request, now)
        except bodies.InvalidError as invalid:
            return error(400, *invalid.args)

    def begin(self, changes: int, newest: int) -> None:
        """
        Begin a transaction: drop the pages that are no longer right (`Standing`), and what was
        undone.
        """
        if changes != self._state[0]:
            self._pages.clear()
        if (changes, newest) != self._state:
            self._last_pages.clear()
        self._state, self.new = (changes, newest), []

    def created(self, ids: Iterable[int]) -> None:
        """Put into the responses which ids the new animals have."""
        for (pet, response), pet_id in zip(self.new, ids, strict=True):
            response.body = bodies.pet_json((pet_id, *pet)).encode()
        self.new = []

    def _route(self, request: Request, now: float) -> Response | Callable[[], Response]:
        path, method = request.path, request.method
        if path == LIST_PATH:
            if method == "GET":
                return self._list(request.query)
            return self._create(request) if method == "POST" else wrong_method("GET, POST")
        if of_pet := PET_PATH.fullmatch(path):
            return partial(self._get, of_pet[1], now) if method == "GET" else wrong_method("GET")
        if path == spec.PATH_PREFIX + spec.ORDERS_PATH:
            return error(
                501, "not_implemented", "the interface document does not show store orders"
            )
        if not path.startswith(spec.PATH_PREFIX + "/"):
            return error(404, "not_found", f"all paths begin with {spec.PATH_PREFIX}")
        return error(404, "not_found", "there is no such path")

    def _list(self, raw: bytes) -> Callable[[], Response]:
        query = dict(parse_qsl(raw.decode("latin-1"), keep_blank_values=True))
        limit = bodies.read_limit(query.get("limit"))
        status = bodies.read_status(query.get("status"))
        after = bodies.read_cursor(query.get("cursor"), status)

        def read_page() -> Response:
            self._add_new()
            pets = self._database.page(after=after, limit=limit + 1, status=status)
            page, pages = pets[:limit], self._last_pages
            first = {"limit": limit} | ({} if status is None else {"status": status})
            link = f'<?{urlencode(first)}>; rel="first"'
            if len(pets) > limit:
                onward = first | {"cursor": bodies.write_cursor(page[-1][0], status)}
                link += f', <?{urlencode(onward)}>; rel="next"'
                pages = self._pages
            body = f"[{','.join(map(bodies.pet_json, page))}]".encode()
            response = Response(200, body).add("Link", link)
            if len(response.body) + len(raw) <= MAX_PAGE_BYTES:
                if len(pages) >= MAX_PAGES:
                    pages.clear()
                pages[raw] = Response(200, response.body, response.headers.copy())
            return response

        return read_page

    def _create(self, request: Request) -> Callable[[], Response]:
        pet = bodies.read_new_pet(request.body or b"", request.content_type)

        def create() -> Response:
            response = Response(201, b"")  # its body comes with the id
            self.new.append((pet, response))
            self._last_pages.clear()
            return response

        return create

    def _add_new(self) -> None:
        """Add the animals that what is read now must show."""
        self.created(self._database.add([pet for pet, _ in self.new]))

    def _get(self, pet_id: str, now: float) -> Response:
        self._add_new()
        number = bodies.read_int64(pet_id)
        pet = None if number is None else self._database.pet(number)
        if now >= spec.REMOVAL_OF_GET_PET_AT:
            response = error(
                410, "gone", "this operation was removed; use GET /pets with the status filter"
            )
        elif pet is None:
            response = error(404, "not_found", "there is no such animal")
        else:
            response = Response(200, bodies.pet_json(pet).encode())
        response.add("Deprecation", f"@{DEPRECATED_SINCE}")
        response.add("Sunset", formatdate(spec.REMOVAL_OF_GET_PET_AT, usegmt=True))
        return response.add("Link", '<../pets>; rel="successor-version"')
