"""The operations of the document (§4) on the database; pages are kept as they were sent."""

from __future__ import annotations

from email.utils import formatdate
from typing import Final
from urllib.parse import parse_qsl, urlencode

from petstore_tools import spec
from petstore_tools.service import bodies
from petstore_tools.service.database import Database
from petstore_tools.service.messages import Request, Response, error, wrong_method

DEPRECATED_SINCE: Final = 1_764_547_200  # Unix seconds; a constant of ours, §4.3 states none
MAX_PAGES, MAX_PAGE_BYTES = 1_000, 32 << 10  # that are kept, of either kind; larger pages are not
_LIST, _PETS = spec.PATH_PREFIX + spec.PETS_PATH, spec.PATH_PREFIX + spec.PETS_PATH + "/"


class Operations:
    """
    What a valid key may ask.

    Args:
        database: Animals; a transaction is open while a request is answered.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._pages: dict[bytes, Response] = {}  # with a next one: what is created comes behind them
        self._last_pages: dict[bytes, Response] = {}  # without: they hold until the next create
        self._state = [-1, -1]  # of the database, when the pages were read

    def respond(self, request: Request, now: float) -> Response:
        """Answer a request that has a valid key, is within its quota, and has been read."""
        try:
            return self._route(request, now)
        except bodies.InvalidError as invalid:
            return error(400, invalid.code, str(invalid))

    def forget_pages(self, state: list[int]) -> None:
        """Drop the pages that are no longer right in a state of the database (`Database.state`)."""
        if state[0] != self._state[0]:
            self._pages.clear()
        if state != self._state:
            self._last_pages.clear()
        self._state = state

    def _route(self, request: Request, now: float) -> Response:
        path, method = request.path, request.method
        if path == _LIST:
            if method == "GET":
                return self._list(request)
            return self._create(request) if method == "POST" else wrong_method("GET, POST")
        if path.startswith(_PETS) and "/" not in path.removeprefix(_PETS) and path != _PETS:
            return self._get(request, now) if method == "GET" else wrong_method("GET")
        if path == spec.PATH_PREFIX + spec.ORDERS_PATH:
            return error(501, "not_implemented", "the interface document does not show store orders")
        if not path.startswith(spec.PATH_PREFIX + "/"):
            return error(404, "not_found", f"all paths begin with {spec.PATH_PREFIX}")
        return error(404, "not_found", "there is no such path")

    def _list(self, request: Request) -> Response:
        kept = self._pages.get(request.query) or self._last_pages.get(request.query)
        if kept is not None:
            return Response(200, kept.body, kept.headers.copy())
        query = dict(parse_qsl(request.query.decode("latin-1"), keep_blank_values=True))
        limit = bodies.read_limit(query.get("limit"))
        status = bodies.read_status(query.get("status"))
        after = bodies.read_cursor(query.get("cursor"), status)
        pets = self._database.page(after=after, limit=limit + 1, status=status)
        page, pages = pets[:limit], self._last_pages
        first = {"limit": limit} | ({} if status is None else {"status": status})
        link = f'<?{urlencode(first)}>; rel="first"'
        if len(pets) > limit:
            onward = first | {"cursor": bodies.write_cursor(page[-1][0], status)}
            link += f', <?{urlencode(onward)}>; rel="next"'
            pages = self._pages
        response = Response(200, bodies.pets_json(page)).add("Link", link)
        if len(response.body) + len(request.query) <= MAX_PAGE_BYTES:
            if len(pages) >= MAX_PAGES:
                pages.clear()
            pages[request.query] = Response(200, response.body, response.headers.copy())
        return response

    def _create(self, request: Request) -> Response:
        pet = bodies.read_new_pet(request.body or b"", request.content_type)
        (pet_id,) = self._database.add([pet])
        self._last_pages.clear()
        return Response(201, bodies.pet_json((pet_id, *pet)))

    def _get(self, request: Request, now: float) -> Response:
        pet_id = bodies.read_int64(request.path.removeprefix(_PETS))
        pet = None if pet_id is None else self._database.pet(pet_id)
        if now >= spec.REMOVAL_OF_GET_PET_AT:
            response = error(410, "gone", "this operation was removed; use GET /pets with the status filter")
        elif pet is None:
            response = error(404, "not_found", "there is no such animal")
        else:
            response = Response(200, bodies.pet_json(pet))
        response.add("Deprecation", f"@{DEPRECATED_SINCE}")
        response.add("Sunset", formatdate(spec.REMOVAL_OF_GET_PET_AT, usegmt=True))
        return response.add("Link", '<../pets>; rel="successor-version"')
