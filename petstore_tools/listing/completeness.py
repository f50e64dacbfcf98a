"""The verdict on a listing: whether it is whole, of what, and why we think so (§4.1)."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from html import escape
from typing import Any, Final, Literal, Self

from petstore_tools import spec
from petstore_tools.errors import FrameError
from petstore_tools.text import pluralize, utc_text

Completeness = Literal["complete", "cut", "unproven"]
_NAMES_OF_0_1: Final = {"verdict": "completeness"}


def digest(
    ids: Sequence[int], names: Sequence[Any], categories: Sequence[Any], statuses: Sequence[Any]
) -> str:
    """
    Return a digest of animals by all four columns, the same in any order; what is no text counts as missing.

    Raises:
        TypeError, OverflowError: An id or a category is no int64.
    """
    in_order = sorted(ids)
    if list(ids) != in_order:
        order = sorted(range(len(ids)), key=ids.__getitem__)
        names, categories, statuses = ([column[n] for n in order] for column in (names, categories, statuses))
    told = sha256(array("q", in_order))
    told.update(array("q", categories))
    for texts in (names, statuses):
        told.update(array("q", [len(text) if isinstance(text, str) else -1 for text in texts]))
        told.update("".join([t for t in texts if isinstance(t, str)]).encode("utf-8", "surrogatepass"))
    return told.hexdigest()[:32]


def _digest_0_1(ids: Sequence[int]) -> str:
    """Return the digest that version 0.1 wrote: of the ids alone."""
    return sha256(array("q", sorted(ids)).tobytes()).hexdigest()[:16]


@dataclass(frozen=True)
class Listing:
    """
    What a frame of animals is a listing of.

    Attributes:
        completeness: `complete`: the service said that there is no next page, or the last page was short;
            `cut`: it is known that rows are missing; `unproven`: a page without any sign of paging.
        reason: Why, in words.
        status: The filter asked for, None for all.
        rows: Animals in the frame.
        digest: Of their four columns, in any order; "" before there is a frame. Version 0.1: of their ids.
        requests: Requests spent, retries included.
        pages: Pages read.
        doubles: Animals that came twice and were kept once.
        holes_suspected: The inventory moved while it was read, so animals may be missing in the middle.
        started_at, ended_at: Service's or machine's Unix seconds of the first and last request.
        environment: `production`, `staging` or `sandbox`.
        notes: What else was seen: unknown fields, unknown statuses.

    Spec: §4.1 does not show how further pages are reached; see the README's table.
    """

    completeness: Completeness
    reason: str
    status: str | None
    rows: int
    digest: str
    requests: int
    pages: int
    doubles: int
    started_at: float
    ended_at: float
    environment: str
    notes: tuple[str, ...] = ()
    holes_suspected: bool = False

    @classmethod
    def of(cls, frame: Any) -> Self:
        """
        Say what a frame of `list_pets` is a listing of, as it is now.

        Rows and digest are counted again: a frame that was filtered or edited since it was listed is cut. Its
        order, its index and further columns do not matter.

        Raises:
            FrameError: The frame carries no listing in `attrs["listing"]`.
        """
        listing = cls.as_listed(frame)
        if len(frame) == listing.rows and listing._is_of(frame):
            return listing
        animals = pluralize(len(frame), "animal")
        reason = f"{animals}; the listing had {listing.rows:,} (filtered or edited since)"
        return replace(listing, completeness="cut", reason=reason, rows=len(frame))

    def _is_of(self, frame: Any) -> bool:
        try:
            if len(self.digest) == len(_digest_0_1([])):
                return _digest_0_1(frame["id"].tolist()) == self.digest
            return digest(*[frame[name].tolist() for name in spec.COLUMNS]) == self.digest
        except (
            AttributeError,
            KeyError,
            TypeError,
            OverflowError,
        ):  # a column is gone, or holds something else
            return False

    @classmethod
    def as_listed(cls, frame: Any) -> Self:
        """
        Read what a frame was when it was listed, whatever became of it since.

        Raises:
            FrameError: The frame carries no listing.
        """
        carried = getattr(frame, "attrs", {}).get("listing")
        if not isinstance(carried, dict):
            raise FrameError("this frame carries no listing: take one from list_pets(), or keep its attrs")
        try:
            return cls.from_dict(carried)
        except TypeError as error:
            raise FrameError(f"the frame's listing cannot be read: {error}") from error

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """
        Undo `to_dict`.

        Raises:
            TypeError: A field is missing or unknown.
        """
        renamed = {_NAMES_OF_0_1.get(name, name): value for name, value in fields.items()}
        return cls(**{**renamed, "notes": tuple(fields.get("notes", ()))})

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain JSON values, as frames carry it."""
        return {**asdict(self), "notes": list(self.notes)}

    def filtered(self, status: str) -> Self:
        """Return the verdict on those of a complete listing that bear a status, before there is a frame."""
        note = f"filtered here from a listing of {pluralize(self.rows, 'animal')}"
        return replace(self, status=status, notes=(*self.notes, note))

    @property
    def complete(self) -> bool:
        """Whether every animal asked for is in it."""
        return self.completeness == "complete"

    @property
    def of_what(self) -> str:
        """The inventory that was asked for, in words."""
        what = "the inventory of" if self.status is None else f"those with status {self.status} in"
        return f"{what} {self.environment}"

    def _repr_html_(self) -> str:
        told = [f"{self.completeness}: {pluralize(self.rows, 'row')} of {self.of_what}", self.reason]
        told += [f"{pluralize(self.requests, 'request')}, as of {utc_text(self.ended_at)}", *self.notes]
        return f"<div><strong>{escape(told[0])}</strong><br>{'<br>'.join(map(escape, told[1:]))}</div>"

    def __str__(self) -> str:
        return (
            f"{self.completeness}: {pluralize(self.rows, 'row')} of {self.of_what}, {self.reason} "
            f"({pluralize(self.requests, 'request')}, as of {utc_text(self.ended_at)})"
        )
