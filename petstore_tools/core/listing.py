"""The verdict on a listing: whether it is whole, of what, and why we think so (§4.1)."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from html import escape
from typing import Any, Literal, Self

from petstore_tools.errors import FrameError
from petstore_tools.words import counted, utc_text

Verdict = Literal["complete", "cut", "unproven"]


def digest(ids: Iterable[int]) -> str:
    """Return a digest of a set of int64 ids, the same in any order."""
    return hashlib.sha256(array("q", sorted(ids)).tobytes()).hexdigest()[:16]


@dataclass(frozen=True)
class Listing:
    """
    What a frame of animals is a listing of.

    Attributes:
        verdict: `complete`: the service said that there is no next page, or the last page was short;
            `cut`: it is known that rows are missing; `unproven`: a page without any sign of paging.
        reason: Why, in words.
        status: The filter asked for, None for all.
        rows: Animals in the frame.
        digest: Digest of their ids, in any order.
        requests: Requests spent, retries included.
        pages: Pages read.
        doubles: Animals that came twice and were kept once.
        holes_suspected: The inventory moved while it was read, so animals may be missing in the middle.
        started_at, ended_at: Service's or machine's Unix seconds of the first and last request.
        environment: `production`, `staging` or `sandbox`.
        notes: What else was seen: unknown fields, unknown statuses.

    Spec: §4.1 does not show how further pages are reached; see the README's table.
    """

    verdict: Verdict
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
        Read the verdict that a frame carries in `attrs["listing"]`.

        Raises:
            FrameError: The frame carries none.
        """
        carried = getattr(frame, "attrs", {}).get("listing")
        if not isinstance(carried, dict):
            raise FrameError("this frame carries no listing: take one from list_pets(), or keep its attrs")
        try:
            return cls.from_dict(carried)
        except TypeError as error:
            raise FrameError(f"the frame's listing cannot be read: {error}") from error

    @classmethod
    def from_dict(cls, told: dict[str, Any]) -> Self:
        """
        Undo `to_dict`.

        Raises:
            TypeError: A field is missing or unknown.
        """
        return cls(**{**told, "notes": tuple(told.get("notes", ()))})

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain JSON values, as frames carry it."""
        return {**asdict(self), "notes": list(self.notes)}

    def with_rows(self, rows: int, reason: str) -> Self:
        """Return the verdict on a part of this listing: cut, and why."""
        return replace(self, verdict="cut", reason=reason, rows=rows)

    def filtered(self, status: str, ids: Iterable[int]) -> Self:
        """Return the verdict on those of a complete listing that bear a status, given their ids."""
        kept = list(ids)
        note = f"filtered here from a listing of {counted(self.rows, 'animal')}"
        return replace(self, status=status, rows=len(kept), digest=digest(kept), notes=(*self.notes, note))

    @property
    def complete(self) -> bool:
        """Whether every animal asked for is in it."""
        return self.verdict == "complete"

    @property
    def of_what(self) -> str:
        """The inventory that was asked for, in words."""
        what = "the inventory of" if self.status is None else f"those with status {self.status} in"
        return f"{what} {self.environment}"

    def _repr_html_(self) -> str:
        told = [f"{self.verdict}: {counted(self.rows, 'row')} of {self.of_what}", self.reason]
        told += [f"{counted(self.requests, 'request')}, as of {utc_text(self.ended_at)}", *self.notes]
        return f"<div><strong>{escape(told[0])}</strong><br>{'<br>'.join(map(escape, told[1:]))}</div>"

    def __str__(self) -> str:
        return (
            f"{self.verdict}: {counted(self.rows, 'row')} of {self.of_what}, {self.reason} "
            f"({counted(self.requests, 'request')}, as of {utc_text(self.ended_at)})"
        )
