"""Pure: what a listing has received so far, and whether the inventory moved meanwhile."""

from __future__ import annotations

import re
from collections.abc import Iterable

from petstore_tools.listing.links import End, Response
from petstore_tools.listing.schemes import TOTAL_HEADERS
from petstore_tools.text import pluralize


class Received:
    """
    The animals of one listing since it began, by their ids.

    Attributes:
        ids: The different ids, in the order they came.
        new: Ids of the last page that had not come before.
        last: Ids of the last page that was not empty; `size` is its length.
        repeated: Whether the last page equals the one before.
        signs: Whether the service has said where the next page is, or that there is none.
        full: Length of the longest page: what a service gives that clamps `limit`.
        ragged: Pages that brought something new after a short one: a short page is no end here.
        few: Pages in a row, each after a short one, with next to nothing new.
        empty: Empty pages in a row.
        doubles: Animals that came twice.
        moved: Whether a page began at another animal than it should have.
        total: How many animals the service says there are, None where it does not.
    """

    def __init__(self) -> None:
        self.ids: dict[int, None] = {}
        self.new: list[int] = []
        self.last: tuple[int, ...] = ()
        self.size = self.full = self.ragged = self.few = self.empty = self.doubles = 0
        self.signs = self.moved = self.repeated = False
        self.total: int | None = None

    def take(self, response: Response, overlap: int = 0) -> None:
        """Count a page in, whose first animals should repeat the end of the page before."""
        ids = response.ids
        repeats = overlap if overlap and ids[:overlap] == self.last[-overlap:] else 0
        self.moved |= repeats != overlap
        self.add(ids)
        self.repeated = ids == self.last
        self.doubles += 0 if self.repeated else len(ids) - len(self.new) - repeats
        self.full = max(self.full, len(ids))
        after_short = bool(self.new) and 0 < self.size < self.full
        few = after_short and len(self.new) <= max(1, self.full // 10) and len(ids) < self.full
        self.few = self.few + 1 if few else 0
        self.ragged += after_short
        self.empty = 0 if ids else self.empty + 1
        if ids:
            self.last, self.size = ids, len(ids)
        for name in TOTAL_HEADERS:
            if re.fullmatch(r"[0-9]{1,15}", total := response.headers.get(name, "")):
                self.total = int(total)

    def add(self, ids: Iterable[int]) -> None:
        """Keep those ids that have not come before; they are `new`."""
        self.new = [pet_id for pet_id in dict.fromkeys(ids) if pet_id not in self.ids]
        self.ids.update(dict.fromkeys(self.new))

    def done(self, why: str) -> End:
        """End as complete, unless what came shows that the inventory moved meanwhile."""
        if self.doubles or self.moved:
            twice = f"{pluralize(self.doubles, 'animal')} came twice"
            how = twice if self.doubles else "a page began at another animal than expected"
            return End(
                "unproven",
                f"the inventory changed while it was read: {how}, so some may be missing",
            )
        if self.total is not None and self.total > len(self.ids):
            return End(
                "unproven", f"{why}, but the service counts {pluralize(self.total, 'animal')}"
            )
        return End("complete", why)
