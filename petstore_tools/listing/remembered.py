"""
What is remembered of a service: how it pages, and how many animals it had. Losing it costs
requests.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, Field, RootModel, ValidationError

from petstore_tools.errors import SettingsError
from petstore_tools.listing import schemes
from petstore_tools.tabular.atomic import replace_file


class Learnt(BaseModel):
    """
    Of one base address.

    Attributes:
        scheme: Name of the paging scheme that its answers proved, None where it names the next page
            itself.
        sizes: Animals in the last complete listing by filter, "" for none.
        listings: Complete listings so far by filter: an interrupted one goes on while there is none
            since.
    """

    scheme: str | None = None
    sizes: dict[str, int] = Field(default_factory=dict)
    listings: dict[str, int] = Field(default_factory=dict)

    @property
    def known_scheme(self) -> str | None:
        """The scheme, where this version knows it: another one may have written the file."""
        try:
            return self.scheme if schemes.parse(self.scheme) else None
        except SettingsError:
            return None


_File = RootModel[dict[str, Learnt]]


@dataclass
class RememberedServices:
    """
    A small file in the state folder; where it cannot be written, it lasts as long as the process.

    Args:
        path: The file.
    """

    path: Path
    _known: dict[str, Learnt] = field(default_factory=dict)

    def of(self, base_url: str) -> Learnt:
        """Return what is known of a base address."""
        with suppress(OSError, ValidationError):
            self._known = _File.model_validate_json(self.path.read_bytes()).root
        return self._known.get(base_url, Learnt())

    def keep(
        self, base_url: str, *, scheme: str | None, status: str | None, rows: int | None
    ) -> None:
        """
        Remember the scheme, and a complete listing with its rows; None for one that is not
        complete.
        """
        before, of = self.of(base_url), status or ""
        after = before.model_copy(update={"scheme": scheme})
        if rows is not None:
            after.sizes = {**before.sizes, of: rows}
            after.listings = {**before.listings, of: before.listings.get(of, 0) + 1}
        if after == before:
            return
        self._known[base_url] = after
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(self.path, _File(self._known).model_dump_json().encode())
