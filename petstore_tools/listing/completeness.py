"""
Pure: what a listing is asked for; whether it is complete, of what, and how that is
known (§4.1).
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Literal, Self

from petstore_tools import spec
from petstore_tools.errors import ArgumentError, FrameError
from petstore_tools.text import html_table, plain_integer, pluralize, utc_text

Completeness = Literal["complete", "cut", "unproven"]
HOLE = "an animal that was removed while the listing was read may hide another one"
_CELL_TYPES = {int, bool, str}


@dataclass(frozen=True)
class End:
    """The end of a listing: whether it is complete, and why."""

    completeness: Completeness
    reason: str


@dataclass(frozen=True)
class ListQuery:
    """
    What a listing is asked for.

    Attributes:
        status: The filter, None for all.
        limit: Page size, 1 to 100.
        first: Stop when so many animals came, None for all.
        require: `complete`: raise where the listing is not complete.

    Integers of numpy and pandas are whole numbers, too.

    Raises:
        ArgumentError: The document does not allow it.

    >>> ListQuery("sold", limit=20)
    ListQuery(status='sold', limit=20, first=None, require=None)
    """

    status: str | None = None
    limit: int = spec.LIMIT_MAX
    first: int | None = None
    require: str | None = None

    def __post_init__(self) -> None:
        check_status(self.status)
        limit = plain_integer(self.limit)
        if type(limit) is not int or not spec.LIMIT_MIN <= limit <= spec.LIMIT_MAX:
            raise ArgumentError(
                f"limit must be between {spec.LIMIT_MIN} and {spec.LIMIT_MAX}, not"
                f" {self.limit!r}"
            )
        first = plain_integer(self.first)
        if first is not None and (type(first) is not int or first < 1):
            raise ArgumentError(
                f"first must be a whole number of at least 1, not {self.first!r}"
            )
        if self.require not in (None, "complete"):
            raise ArgumentError(
                f"require must be 'complete' or None, not {self.require!r}"
            )


def check_status(status: str | None) -> None:
    """Refuse a status that the document does not have (§2.3)."""
    if status is not None and status not in spec.STATUSES:
        raise ArgumentError(
            f"status must be one of {', '.join(spec.STATUSES)}, not {status!r}"
        )


def is_variant(status: str, asked: str | None) -> bool:
    """Say whether a service writes the status asked for in capitals or with blanks."""
    return status != asked and status.strip().casefold() == asked


def digest(*columns: Sequence[Any]) -> str:
    """
    Return a digest of animals by the columns of a listing, the same in any order; a
    cell that is neither text nor a whole number counts as missing.

    >>> one_order = digest([1, 2], ["Rex", "Ida"], [3, 4], ["sold", None])
    >>> one_order == digest([2, 1], ["Ida", "Rex"], [4, 3], [None, "sold"])
    True

    Raises:
        TypeError: The ids cannot be put in order.
    """
    content = sha256()
    ids = columns[0]
    order = sorted(range(len(ids)), key=ids.__getitem__)
    for column in columns:
        cells = map(column.__getitem__, order)
        values = [cell if type(cell) in _CELL_TYPES else None for cell in cells]
        content.update(ascii(values).encode())
    return content.hexdigest()[:32]


@dataclass(frozen=True, repr=False)
class Listing:
    """
    What a frame of animals is a listing of.

    Attributes:
        completeness: `complete`: every page was read; `cut`: animals are known to be
            missing;
            `unproven`: nothing shows whether more pages exist, or the inventory changed
            while it was read.
        reason: Why, in words.
        status: The filter asked for, None for all.
        rows: Animals in the frame.
        digest: Of their four columns, in any order; "" before there is a frame.
        requests: Requests spent, retries included.
        may_have_hole: An animal that was removed between two answers may hide another
            one: not each next request held the id of the last animal, or repeated that
                animal.
        started_at, ended_at: Service's or machine's Unix seconds of the first and last
            request.
        environment: `production`, `staging` or `sandbox`.
        notes: What else was seen: unknown fields, unknown statuses.

    Spec: §4.1 does not show how further pages are reached; the README.md beside this
    file does.
    """

    __module__ = "petstore_tools"

    completeness: Completeness
    reason: str
    status: str | None
    rows: int
    digest: str
    requests: int
    started_at: float
    ended_at: float
    environment: str
    notes: tuple[str, ...] = ()
    may_have_hole: bool = False

    @classmethod
    def of(cls, frame: Any) -> Self:
        """
        Return what a frame of `list_pets` is a listing of, as it is now.

        Rows and digest are computed again: a frame that was filtered or edited since it
        was listed is cut. Its order, its index and further columns do not matter.

        >>> pets = store.list_pets()
        >>> Listing.of(pets).completeness, Listing.of(pets.head(10)).completeness
        ('complete', 'cut')

        Raises:
            FrameError: The frame carries no listing in `attrs["listing"]`.
        """
        listing = cls.as_listed(frame)
        try:
            current_digest = digest(*[frame[name].tolist() for name in spec.PET_FIELDS])
        except (AttributeError, KeyError, TypeError):
            current_digest = None  # a column is gone, or another one
        if current_digest == listing.digest:
            return listing
        animals = pluralize(len(frame), "animal")
        reason = (
            f"{animals}; the listing had {listing.rows:,}, and was filtered or edited"
            " since"
        )
        return replace(listing, completeness="cut", reason=reason, rows=len(frame))

    @classmethod
    def as_listed(cls, frame: Any) -> Self:
        """
        Return what a frame was when it was listed, whatever became of it since.

        Raises:
            FrameError: The frame carries no listing.
        """
        carried = getattr(frame, "attrs", {}).get("listing")
        if not (isinstance(carried, dict) and hasattr(frame, "columns")):
            raise FrameError(
                "this frame does not say what it is a listing of: pass a frame of"
                " list_pets(). A merge drops that: keep it with merged.attrs = df.attrs"
            )
        try:
            return cls(**{**carried, "notes": tuple(carried.get("notes", ()))})
        except TypeError as error:
            raise FrameError(f"the frame's listing cannot be read: {error}") from error

    def to_dict(self) -> dict[str, Any]:
        """Return the listing as plain JSON values, as frames carry it."""
        return {**asdict(self), "notes": list(self.notes)}

    @property
    def complete(self) -> bool:
        """Whether every animal asked for is in it."""
        return self.completeness == "complete"

    @property
    def subject(self) -> str:
        """The inventory that was asked for, in words."""
        animals = (
            "the inventory of" if self.status is None else f"status {self.status} in"
        )
        return f"{animals} {self.environment}"

    @property
    def as_of(self) -> datetime:
        """When its last page was read (UTC)."""
        return datetime.fromtimestamp(self.ended_at, UTC)

    @property
    def shortfall(self) -> str:
        """What is missing, or may be, as a sentence for a warning."""
        is_ = "is" if self.completeness == "cut" else "may be"
        animals = pluralize(self.rows, "animal")
        return f"This listing of {animals} {is_} incomplete: {self.reason.rstrip('.')}."

    @property
    def label(self) -> str:
        """Its completeness, and whether it may have a hole, as a headline begins."""
        hole = ", may have a hole" if self.complete and self.may_have_hole else ""
        return f"{self.completeness}{hole}"

    def __repr__(self) -> str:
        cost = f"{pluralize(self.requests, 'request')}, as of {utc_text(self.ended_at)}"
        facts = "; ".join((self.reason, *self.notes))
        return f"{self.label}: {self._animals} ({cost}): {facts}"

    def _repr_html_(self) -> str:
        rows = [
            ("why", "; ".join((self.reason, *self.notes))),
            ("cost", pluralize(self.requests, "request")),
            ("as of", utc_text(self.ended_at)),
        ]
        return html_table(("", ""), rows, f"{self.label}: {self._animals}")

    @property
    def _animals(self) -> str:
        return f"{pluralize(self.rows, 'animal')} of {self.subject}"
