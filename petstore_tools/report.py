"""The status report: counts and shares that carry their time, their completeness and their filter."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from petstore_tools import frames, render, spec
from petstore_tools._version import __version__
from petstore_tools.adapters.files import replace_file
from petstore_tools.core.listing import Listing
from petstore_tools.errors import FrameError
from petstore_tools.words import counted, utc_text

if TYPE_CHECKING:
    import pandas as pd

UNSET: Final = "unset"  # §2.1 states no default, so a missing status is counted apart


@dataclass(frozen=True)
class StatusReport:
    """
    A breakdown of one listing.

    Attributes:
        listing: What was listed, when, and whether it is whole.
        breakdown: Index `status` (the three values in the document's order, values it does not name,
            `unset`), columns `count` (int64) and `share` (float64, 0 to 1). Zero rows are kept.
        by_category: Index `categoryId` (int64, ascending), one int64 column per status and `total`, and
            `label` (string) in front where labels were given.

    Spec: §2.3 status values; §2.1 states no default, hence `unset` (our choice).
    """

    listing: Listing
    breakdown: pd.DataFrame
    by_category: pd.DataFrame

    @property
    def face(self) -> str:
        """What this is a report on, in the words that stand on it."""
        listing = self.listing
        if listing.complete:
            return f"Complete: {counted(listing.rows, 'animal')} of {listing.of_what}"
        return f"Not complete ({listing.verdict}): {counted(listing.rows, 'animal')} of {listing.of_what}"

    def to_html(self, path: str | Path | None = None) -> str:
        """Return one self-contained HTML page (no script, no network); write it whole where asked."""
        return self._write(path, self._html())

    def to_markdown(self, path: str | Path | None = None) -> str:
        """Return Markdown; write it whole where asked."""
        by_category = render.markdown_table(self._category_header(), self._category_rows())
        return self._write(
            path,
            f"# Status report\n\n{self.face}  \n{self.listing.reason}  \nAs of "
            f"{utc_text(self.listing.ended_at)}, {counted(self.listing.requests, 'request')}.\n\n"
            f"{render.markdown_table(('status', 'count', 'share'), self._rows())}\n\n{by_category}\n",
        )

    def to_json(self, path: str | Path | None = None) -> str:
        """Return JSON with the same numbers; write it whole where asked."""
        document = {
            "as_of": utc_text(self.listing.ended_at),
            "complete": self.listing.complete,
            "listing": self.listing.to_dict(),
            "breakdown": [
                {"status": status, "count": count, "share": share} for status, count, share in self._rows()
            ],
            "by_category": [
                dict(zip(self._category_header(), row, strict=True))
                for row in self._category_rows(whole=True)
            ],
        }
        return self._write(path, json.dumps(document, ensure_ascii=False, indent=2) + "\n")

    def to_text(self) -> str:
        """Return the breakdown for a terminal."""
        table = render.text_table(("status", "count", "share"), self._rows())
        return f"{self.face}\n{self.listing.reason}; as of {utc_text(self.listing.ended_at)}\n\n{table}"

    def __repr__(self) -> str:
        parts = ", ".join(f"{status} {count:,}" for status, count, _ in self._rows())
        return f"StatusReport({self.face}; {parts}; as of {utc_text(self.listing.ended_at)})"

    def _repr_html_(self) -> str:
        note = f"{self.listing.reason}; as of {utc_text(self.listing.ended_at)}"
        return render.html_table(self.face, ("status", "count", "share"), self._rows(), note=note)

    def _rows(self) -> list[tuple[str, int, float]]:
        counts, shares = self.breakdown["count"].tolist(), self.breakdown["share"].tolist()
        return list(zip(self.breakdown.index.tolist(), counts, shares, strict=True))

    def _category_header(self) -> list[str]:
        return ["categoryId", *map(str, self.by_category.columns)]

    def _category_rows(self, *, whole: bool = False) -> list[list[object]]:
        """Return rows of plain values; ids as text for people, whole numbers for programs."""
        columns = [self.by_category[name].tolist() for name in self.by_category.columns]
        ids = self.by_category.index.tolist()
        return [[i if whole else str(i), *values] for i, *values in zip(ids, *columns, strict=True)]

    def _html(self) -> str:
        known = {*spec.STATUSES, UNSET}
        return render.page(
            "report.html",
            title="Status report",
            face=self.face,
            verdict=self.listing.verdict,
            reason=self.listing.reason,
            notes=self.listing.notes,
            environment=self.listing.environment,
            rows=self.listing.rows,
            requests=self.listing.requests,
            started=utc_text(self.listing.started_at),
            as_of=utc_text(self.listing.ended_at),
            breakdown=[
                {"status": s, "count": n, "share": share, "css": s if s in known else "other"}
                for s, n, share in self._rows()
            ],
            category_header=self._category_header(),
            categories=self._category_rows(),
            version=__version__,
        )

    @staticmethod
    def _write(path: str | Path | None, text: str) -> str:
        if path is not None:
            replace_file(Path(path), text.encode())
        return text


def status_report(
    pets: pd.DataFrame, *, partial: bool = False, categories: Mapping[int, str] | None = None
) -> StatusReport:
    """
    Report on a listed frame.

    Args:
        pets: Frame as `list_pets` gives it, `attrs["listing"]` included.
        partial: Report on a frame that is not the whole of what was listed; the report says so.
        categories: Labels by categoryId (ours; §2.6 shows no category record).

    Raises:
        FrameError: A column is missing or has another dtype, the frame carries no listing, or it is
            not whole and `partial` is not set.

    Spec: §2.3, §4.1.
    """
    listing = frames.listing_of(pets)
    if not listing.complete and not partial:
        raise FrameError(
            f"this frame is not whole ({listing.verdict}: {listing.reason}); "
            "pass partial=True for a report that says so"
        )
    return StatusReport(listing, _breakdown(pets), _by_category(pets, categories or {}))


def _codes(pets: pd.DataFrame) -> tuple[Any, list[str]]:
    """Return a code per row and the name of each code; the last is `unset`."""
    import pandas as pd

    status = pets["status"]
    found = status if isinstance(status.dtype, pd.CategoricalDtype) else status.astype("category")
    others = [str(value) for value in found.cat.categories if value not in spec.STATUSES]
    names = [*spec.STATUSES, *others, UNSET]
    categories = pd.CategoricalDtype([*spec.STATUSES, *others], ordered=True)
    codes = found.astype(categories).cat.codes.to_numpy().astype("int64")
    codes[codes < 0] = len(names) - 1
    return codes, names


def _breakdown(pets: pd.DataFrame) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    codes, names = _codes(pets)
    counts = np.bincount(codes, minlength=len(names)).astype("int64")
    shares = counts / len(pets) if len(pets) else np.zeros(len(names))
    index = pd.Index(names, name="status", dtype="str")
    return pd.DataFrame({"count": counts, "share": shares}, index=index)


def _by_category(pets: pd.DataFrame, labels: Mapping[int, str]) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    codes, names = _codes(pets)
    ids, places = np.unique(pets["categoryId"].to_numpy(), return_inverse=True)
    cells = np.bincount(places * len(names) + codes, minlength=len(ids) * len(names))
    table = pd.DataFrame(
        cells.reshape(len(ids), len(names)).astype("int64"),
        index=pd.Index(ids, name="categoryId", dtype="int64"),
        columns=names,
    )
    table["total"] = table.sum(axis=1)
    if labels:
        named = [labels.get(i, "") for i in ids.tolist()]
        table.insert(0, "label", pd.Series(named, index=table.index, dtype="str"))
    return table
