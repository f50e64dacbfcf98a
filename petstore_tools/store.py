"""PetStore: one key at one service; each method hands its work to a room."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from petstore_tools import settings as settings_
from petstore_tools import spec
from petstore_tools.clock import Clock, SystemClock
from petstore_tools.errors import ArgumentError
from petstore_tools.importing.options import ImportOptions, takes_options
from petstore_tools.listing.completeness import Listing
from petstore_tools.listing.query import ListQuery, check_status, parse_age
from petstore_tools.notebook import page_progress
from petstore_tools.plans import MAX_WAIT_S, Plan
from petstore_tools.settings import Settings

if TYPE_CHECKING:
    import pandas as pd
    import requests
    from pydantic import SecretStr

    from petstore_tools.doctor import Finding
    from petstore_tools.history.snapshots import Snapshot, Snapshots
    from petstore_tools.importing.preview import ImportPreview
    from petstore_tools.importing.results import ImportResult
    from petstore_tools.listing.pages import Pages
    from petstore_tools.models import Pet
    from petstore_tools.reporting.report import StatusReport
    from petstore_tools.throttle.quota import Quota


class PetStore:
    """
    One API key at one Animal Store Service.

    Args:
        base_url: Address that ends in `/v1`.
        api_key: The key. All three of these come from arguments, else `PETSTORE_*` variables, else the
            settings file.
        plan: `free`, `pro`, `business`, `"PER_MINUTE/PER_DAY"`, a Plan, or None: as the settings say,
            else learnt from the service's headers.
        environment: `production` (default) or `staging`.
        session: A `requests.Session` of yours, for its proxies, certificates and adapters.
        ledger: `shared`: one budget for all processes of this user, or of all machines that name the same
            `PETSTORE_LEDGER_URL`; `memory`: this process alone.
        max_wait_s: Longest wait in seconds of a call that was not told to wait.
        state_dir: Folder of budget, journals and snapshots.
        pagination: How this service reaches page two, None to learn it: `offset`, `skip`, `page`, `page0`,
            `after`, `starting_after`, `cursor=PARAMETER`, or `none`: never try.
        progress: False: show no progress and print no preview; None: a bar on a terminal and in a notebook,
            elsewhere a line a minute.

    Attributes:
        settings: What was resolved from arguments, variables and file; shows no key.
        client: Makes single calls, within the plan.
        inventory: What is listed, through that client.
        snapshot_store: The kept listings.
        journals: Folder of the journals of imports.
        progress: As given.

    Raises:
        SettingsError: Base address or key is missing or wrong.

    Spec: §1, §5, §8.2.
    """

    def __init__(
        self,
        *,
        base_url: str | None = None,
        api_key: str | SecretStr | None = None,
        plan: Plan | str | None = None,
        environment: str | None = None,
        session: requests.Session | None = None,
        ledger: Literal["shared", "memory"] = "shared",
        max_wait_s: float = MAX_WAIT_S,
        state_dir: str | Path | None = None,
        pagination: str | None = None,
        progress: bool | None = None,
    ) -> None:
        api_key = settings_.hidden(api_key)
        settings = settings_.load(
            base_url=base_url,
            api_key=api_key,
            plan=plan,
            environment=environment,
            state_dir=state_dir,
            pagination=pagination,
        )
        self._quiet = progress is False
        self._open(settings, SystemClock(), session, ledger, max_wait_s, progress=progress)

    _quiet = False  # no preview of an import is printed

    @classmethod
    def from_settings(
        cls, settings: Settings, *, clock: Clock | None = None, max_wait_s: float = MAX_WAIT_S
    ) -> Self:
        """Make a store from settings alone, without a progress bar; no variable and no file is read."""
        store = cls.__new__(cls)
        store._open(settings, clock or SystemClock(), max_wait_s=max_wait_s)
        return store

    def _open(
        self,
        settings: Settings,
        clock: Clock,
        session: requests.Session | None = None,
        ledger: Literal["shared", "memory"] = "shared",
        max_wait_s: float = MAX_WAIT_S,
        *,
        progress: bool | None = False,
    ) -> None:
        from petstore_tools.history.snapshots import SnapshotStore  # the class alone loads in a moment
        from petstore_tools.http.client import Client
        from petstore_tools.listing.fetch import Fetcher
        from petstore_tools.listing.pages import Inventory
        from petstore_tools.listing.remembered import RememberedServices

        self.settings, self.progress = settings, progress
        self.client = Client(settings, clock=clock, session=session, ledger=ledger, max_wait_s=max_wait_s)
        remembered = RememberedServices(settings.state_dir / "services.json")
        self.inventory = Inventory(self.client, remembered, settings.pagination)
        self.snapshot_store = SnapshotStore(settings.state_dir, settings.environment, settings.base_url)
        self.journals = settings.state_dir / "imports"
        self._fetcher = Fetcher(self.inventory, self.snapshot_store.checkpoints)

    def list_pets(
        self,
        *,
        status: str | None = None,
        first: int | None = None,
        require: Literal["complete"] | None = None,
        max_age: str | float | timedelta | None = None,
        max_requests: int | None = None,
        resume: bool = True,
        wait: bool = False,
        confirm: Callable[[int, int], None] | None = None,
    ) -> pd.DataFrame:
        """
        Fetch the inventory as a frame that says whether it is complete.

        A listing that was interrupted or met the day's quota keeps its pages: the same call within 26
        hours goes on, and the frame says that there was a pause.

        Args:
            status: One of the three values, None for all.
            first: Only so many animals, with as few requests as that needs.
            require: `complete`: raise where the listing is not complete.
            max_age: Answer from a snapshot that is not older (`"1h"`, seconds, a timedelta), else fetch and
                keep one; needs the extra `parquet`.
            max_requests: Stop after so many requests.
            resume: Go on with an interrupted listing.
            wait: Wait for the next day's quota in place of raising QuotaError.
            confirm: Called before the first request where the day leaves fewer requests than the listing
                needs, with the needed and the left number; it raises an exception to stop.

        Returns:
            Columns `id` (int64), `name` (string), `categoryId` (int64), `status` (ordered category,
            missing where unset); the same dtypes when empty. `attrs["listing"]` says whether it is complete.

        Raises:
            ArgumentError: An argument is none of these.
            IncompleteListingError: Completeness was required; the frame is in `last_partial`.
            UnauthorizedError, QuotaError, TransportError, ProtocolError, PagingError: What was read
                until then is in `last_partial`, labelled as cut.

        Warns:
            UserWarning: The listing is not complete, or holds what the document does not name.

        Spec: §4.1.
        """
        query = ListQuery.of(status, first=first, max_requests=max_requests, require=require)
        age = None if max_age is None else parse_age(max_age, query)
        if age is not None:
            kept = self.snapshot_store.younger(age, status=status, now=self.client.clock.now())
            if kept is not None:
                return kept
        with page_progress(self.progress) as show:
            frame = self._fetcher.fetch(query, wait=wait, resume=resume, confirm=confirm, show=show)
        listing = Listing.as_listed(frame)
        notes = list(listing.notes)
        if not listing.complete and first is None:
            notes.insert(0, listing.shortfall)
        if age is not None and listing.complete and (note := self.snapshot_store.try_keep(frame)[1]):
            notes.append(note)
        for note in notes:
            warnings.warn(note, UserWarning, stacklevel=2)
        return frame

    def pages(self, *, status: str | None = None, limit: int = spec.LIMIT_MAX, wait: bool = False) -> Pages:
        """
        Return a listing page by page: it sends requests as you iterate; `.listing` says what it is.

        Iterate it again and it reads again, from the first page on.

        Args:
            status: One of the three values, None for all.
            limit: Page size, 1 to 100.
            wait: Wait for the next day's quota in place of raising QuotaError.

        Raises:
            ArgumentError: Status or limit is none of these.

        Spec: §4.1, §8.1.
        """
        from petstore_tools.throttle.gate import CallOptions

        return self.inventory.pages(ListQuery.of(status, limit), call_options=CallOptions(wait=wait))

    def pets(self, *, status: str | None = None, wait: bool = False) -> Iterator[Pet]:
        """Return the animals one by one; asks for a page when the one before is used up (§4.1)."""
        return (pet for page in self.pages(status=status, wait=wait) for pet in page.pets)

    @property
    def last_partial(self) -> pd.DataFrame | None:
        """What the last listing had that was interrupted or not complete as required; None where it ended."""
        return self._fetcher.last_partial

    def snapshot(self, *, wait: bool = False) -> Snapshot:
        """
        List all animals and keep the listing, in Parquet files that grow with what changed.

        Args:
            wait: Wait for the next day's quota in place of raising QuotaError.

        Raises:
            IncompleteListingError: The listing is not complete, so it is not kept.
            MissingExtraError, OSError: Parquet is not installed, or its folder cannot be written; no request
                was sent.

        Spec: §4.1.
        """
        self.snapshot_store.check()
        return self.snapshot_store.keep(self.list_pets(require="complete", wait=wait))

    def snapshots(self, *, status: str | None = None) -> Snapshots:
        """
        Return the kept listings, oldest first; costs no request.

        Args:
            status: Of each, the animals with this status alone.

        Raises:
            MissingExtraError: The extra `parquet` is not installed.
        """
        check_status(status)
        return self.snapshot_store.all(status)

    def history(self, *, id: int | None = None, since: str | date | None = None) -> pd.DataFrame:  # noqa: A002
        """
        Return what the kept listings say about each animal over time; costs no request.

        Args:
            id: Of one animal.
            since: Leave out what had ended before: an age such as `90d`, a date, or a time.

        Returns:
            One row for each time that an animal stayed as it was, by id and time: `id` (int64), `name`
            (string), `categoryId` (int64), `status` (ordered category, missing where unset), `first_seen`,
            `last_seen` (datetime, UTC: the end of the first and of the last listing that showed it so),
            `ended_between` (interval of datetimes: the change lies between the end of that listing and the
            start of the next one; missing where it has not ended).

        Raises:
            ArgumentError: `since` is none of these, or in the future.
            MissingExtraError: The extra `parquet` is not installed.
            FrameError: A file of the history is damaged.
        """
        return self.snapshot_store.history(pet_id=id, since=since, now=self.client.clock.now())

    def create_pet(self, name: str, *, category_id: int, status: str | None = None) -> Pet:
        """
        Add one animal, with one request; the service cannot change or delete it afterwards.

        Args:
            name: Not blank.
            category_id: int64; an integer of numpy or pandas is one, too.
            status: One of the three values, None to leave it unset.

        Raises:
            ArgumentError: A value the document does not allow; nothing was sent.
            BadRequestError, UnauthorizedError, QuotaError: Nothing was created.
            TransportError, ApiError, ProtocolError: It may stand or not: look before trying again.

        Spec: §2.1, §4.2.
        """
        from pydantic import ValidationError

        from petstore_tools.http.responses import first_fault
        from petstore_tools.models import NewPet

        check_status(status)
        try:
            pet = NewPet(name=name, category_id=category_id, status=status)  # type: ignore[arg-type]
        except ValidationError as error:
            raise ArgumentError(f"no such animal can be added: {first_fault(error)}") from None
        return self.client.create(pet)

    def get_pet(self, pet_id: int) -> Pet:
        """
        Fetch one animal by its id.

        Raises:
            ArgumentError: No int64.
            NotFoundError: There is none, or the operation was removed as announced.

        Warns:
            DeprecationWarning: The operation is deprecated.

        Spec: §4.3.
        """
        from petstore_tools.models import whole

        warnings.warn(
            f"get_pet is deprecated, its removal is announced for {spec.REMOVAL_OF_GET_PET}; "
            "use list_pets(status=...)",
            DeprecationWarning,
            stacklevel=2,
        )
        pet_id = whole(pet_id)
        if type(pet_id) is not int or not spec.INT64_MIN <= pet_id <= spec.INT64_MAX:
            raise ArgumentError(f"an id is a whole number in int64, not {pet_id!r}")
        return self.client.get(pet_id)

    def status_report(
        self,
        *,
        status: str | None = None,
        categories: Mapping[int, str] | None = None,
        since: str | date | None = None,
        partial: bool = False,
        wait: bool = False,
        confirm: Callable[[int, int], None] | None = None,
    ) -> StatusReport:
        """
        List the inventory, keep it as a snapshot where Parquet can be written, and report on it.

        `petstore_tools.status_report` takes a frame that you have.

        Args:
            status: One of the three values, None for all.
            categories: Labels by categoryId.
            since: Compare with an earlier listing: `last`, that of the last report which was written to a
                file; or the newest snapshot that is as old as `7d`, or as a date or time (`2026-03-05`,
                `05.03.2026`, `2026-03-05T14:00+01:00`, a datetime; UTC where it names no zone, of a date
                its end). Where none is that old, with the oldest, and the report says so. Needs the extra
                `parquet`.
            partial: Report on a listing that is not complete; the report says so.
            wait: Wait for the next day's quota in place of raising QuotaError.
            confirm: As for `list_pets`.

        Raises:
            ArgumentError: Status or `since` is none of these, or in the future; nothing was asked.
            IncompleteListingError: The listing is not complete, and `partial` is not set.
            MissingExtraError: `since` without the extra `parquet`.

        Spec: §2.3, §4.1.
        """
        from petstore_tools.reporting.report import report_and_keep

        check_status(status)
        now = self.client.clock.now()
        older = None if since is None else self.snapshot_store.since(since, status=status, now=now)
        require: Literal["complete"] | None = None if partial else "complete"
        frame = self.list_pets(status=status, require=require, wait=wait, confirm=confirm)
        return report_and_keep(frame, self.snapshot_store, older, categories=categories, partial=partial)

    def quota(self) -> Quota:
        """Say what is left of minute and day, and when more is; costs no request (§8)."""
        from petstore_tools.throttle.quota import read_quota

        return read_quota(self.client.gate)

    @takes_options(ImportOptions)
    def preview_import(self, options: ImportOptions) -> ImportPreview:
        """
        Check a spreadsheet offline and estimate the cost of its import; sends and writes nothing.

        Raises:
            SheetError: The file cannot be used.
            JournalError: The record of an earlier run cannot be trusted.

        Spec: §2.1, §8.2.
        """
        from petstore_tools.importing.check import preview

        return preview(self.client, self.journals, options)

    @takes_options(ImportOptions)
    def import_pets(self, options: ImportOptions) -> ImportResult:
        """
        Create the animals of a spreadsheet, each once; the same call goes on where it stopped.

        The preview is printed first. Good rows go, bad ones never do. Beside the input are afterwards
        `NAME.created.csv`, `NAME.rejected.csv` (fix it and import it) and `NAME.unknown.csv`, as workbooks
        for a workbook, and with `.sandbox` or `.staging` behind NAME where the animals went there. One that
        a person changed is left alone, and the new one gets a number. A stop at the day's quota, a ban or
        a sick service is no exception: `stopped` tells.

        Raises:
            SheetError: The file cannot be used, or rows of it match animals that already exist.
            JournalError, LedgerError: What is on disk cannot be trusted; nothing was sent after that.
            UnauthorizedError, ApiError, ProtocolError: The key or our request is wrong.
            Interrupted: Ctrl-C, or the kernel was interrupted, so that nothing after this call runs; the
                result files are written, and the result is its `result`.

        Spec: §4.2, §8.
        """
        from petstore_tools.importing.run import run
        from petstore_tools.notebook import import_progress

        progress = self.progress if options.progress is None else options.progress
        quiet = self._quiet if options.progress is None else options.progress is False

        def announce(preview: ImportPreview) -> bool:
            if not quiet:
                print(preview)
            return True

        with import_progress(progress) as show:
            result = run(self.inventory, self.journals, options, announce=announce, progress=show)
        assert result is not None
        return result

    def examine(self) -> Iterator[Finding]:
        """Look at budget, service, key, clock and plan with one request; yields what is found as it comes."""
        from petstore_tools.doctor import examine

        return examine(self.client, self.settings)

    def close(self) -> None:
        """Close connections and files."""
        self.client.transport.close()
        self.client.gate.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _repr_html_(self) -> str:
        from petstore_tools.text import html_table

        plan = "learnt from headers" if self.settings.plan is None else str(self.settings.plan)
        row = (self.settings.environment, self.client.host, plan, self.client.ledger.shared)
        return html_table("PetStore", ("environment", "service", "plan", "budget counted"), [row])

    def __repr__(self) -> str:
        if not hasattr(self, "client"):  # a traceback of its making
            return "PetStore(not opened)"
        plan = "plan learnt from headers" if self.settings.plan is None else str(self.settings.plan)
        return f"PetStore({self.settings.environment}, {self.client.host}, {plan})"
