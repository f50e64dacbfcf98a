"""
The operations of the document (§4) on the database; pages are kept as they were sent.
"""

from collections.abc import Mapping
from email.utils import formatdate
from urllib.parse import urlencode
from weakref import WeakSet

from petstore_tools import spec
from petstore_tools.service import messages
from petstore_tools.service.database import Database
from petstore_tools.service.engine import PetFields
from petstore_tools.service.limiter import Usage
from petstore_tools.service.messages import (
    LIST_PATH,
    Request,
    Response,
    error_response,
    wrong_method,
)

# Unix seconds; a constant of ours, §4.3 states none
DEPRECATED_SINCE = 1_764_547_200
MAX_PAGES = 1_000  # that are kept; those that go out in parts are not
MAX_UNREAD_BYTES = 128 << 20  # of these, on their way
PET_PATH = LIST_PATH + "/"


class Operations:
    """
    The answers to requests that have a valid key.

    Args:
        database: Holds the animals; a transaction is open while a request is answered.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        # full ones: what is created comes behind them
        self._pages: dict[bytes, Response] = {}
        self._unread_pages = WeakSet[Response]()
        self._changes = -1  # of the database, when the pages were read
        # not added yet: those of a transaction are added together
        self._unsaved_pets: list[tuple[PetFields, Response]] = []

    def begin(self, now: float, changes: int) -> None:
        """
        Begin a transaction: drop the pages that are no longer right, and new animals of
        one that was undone.

        Args:
            now: Its time (Unix seconds).
            changes: That of `TransactionState`.
        """
        self._now = now
        if changes != self._changes:
            self._pages.clear()
        self._changes = changes
        self._unsaved_pets = []

    def add_new_pets(self, usages: Mapping[str, Usage] = {}) -> None:
        """
        Add the new animals and put their ids into the responses; store what was used,
        at the end of a batch.
        """
        ids = self._database.save(usages, [pet for pet, _ in self._unsaved_pets])
        for (pet, response), pet_id in zip(self._unsaved_pets, ids, strict=True):
            response.body = messages.pet_json((pet_id, *pet)).encode()
        self._unsaved_pets = []

    def respond(self, request: Request) -> Response:
        """
        Answer a request that has a valid key, is within its quota, and has been read.
        """
        if request.refusal is not None:
            return request.refusal
        path = request.path
        if path == LIST_PATH:
            operations = {"GET": self._list, "POST": self._create}
        elif path.startswith(PET_PATH):
            operations = {"GET": self._get}
        elif path == spec.PATH_PREFIX + spec.ORDERS_PATH:
            return error_response(
                501,
                "not_implemented",
                "the interface document does not show store orders",
            )
        else:
            return error_response(
                404, "not_found", f"there is no such path below {spec.PATH_PREFIX}"
            )
        if request.method not in operations:
            return wrong_method(", ".join(operations))
        return operations[request.method](request)

    def _list(self, request: Request) -> Response:
        cached_page = self._pages.get(request.query)
        if cached_page is not None:
            return Response(200, cached_page.body, cached_page.headers)
        try:
            limit, status, after = messages.read_page_query(request.query)
        except ValueError as invalid:
            return error_response(400, "invalid_parameter", str(invalid))
        self.add_new_pets()  # this read sees animals of the same batch
        pets = self._database.page(after=after, limit=limit + 1, status=status)
        page = pets[:limit]
        query = {"limit": str(limit)}
        if status is not None:
            query["status"] = status
        link = f'<?{urlencode(query)}>; rel="first"'
        has_more = len(pets) > limit
        if has_more:
            query["cursor"] = messages.write_cursor(page[-1][0], status)
            link += f', <?{urlencode(query)}>; rel="next"'
        body = f"[{','.join(map(messages.pet_json, page))}]".encode()
        response = Response(200, body).add("Link", link)
        if len(body) > messages.PART_BYTES:
            unread_bytes = sum(len(unread.body) for unread in self._unread_pages)
            if unread_bytes > MAX_UNREAD_BYTES:
                return messages.busy("too many long pages are on their way")
            self._unread_pages.add(response)
        elif has_more:
            if len(self._pages) >= MAX_PAGES:
                self._pages.clear()
            self._pages[request.query] = Response(200, body, response.headers)
        return response

    def _create(self, request: Request) -> Response:
        assert request.pet is not None
        response = Response(201, b"")  # its body comes with the id
        self._unsaved_pets.append((request.pet, response))
        return response

    def _get(self, request: Request) -> Response:
        self.add_new_pets()  # as in `_list`
        pet_id = messages.read_int64(request.path.removeprefix(PET_PATH))
        pet = None if pet_id is None else self._database.pet(pet_id)
        if self._now >= spec.REMOVAL_OF_GET_PET_AT:
            response = error_response(
                410,
                "gone",
                "this operation was removed; use GET /pets with the status filter",
            )
        elif pet is None:
            response = error_response(404, "not_found", "there is no such animal")
        else:
            response = Response(200, messages.pet_json(pet).encode())
        response.add("Deprecation", f"@{DEPRECATED_SINCE}")
        response.add("Sunset", formatdate(spec.REMOVAL_OF_GET_PET_AT, usegmt=True))
        return response.add("Link", '<../pets>; rel="successor-version"')
