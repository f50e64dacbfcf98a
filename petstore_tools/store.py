"""PetStore: one key at one service; each method hands its work to a room."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, overload

from petstore_tools import settings as settings_
from petstore_tools import spec
from petstore_tools.importing.options import ImportOptions, takes_options
from petstore_tools.listing.completeness import ListQuery, check_status
from petstore_tools.plans import MAX_WAIT_S, Plan
from petstore_tools.progress import Display, import_progress, show_text
from petstore_tools.settings import Settings

if TYPE_CHECKING:
    import pandas as pd
    from pydantic import SecretStr

    from petstore_tools.doctor import Finding
    from petstore_tools.history.database import Snapshot, Snapshots
    from petstore_tools.importing.preview import ImportPreview
    from petstore_tools.importing.results import ImportResult
    from petstore_tools.importing.run import Announce, Ask
    from petstore_tools.listing.pages import Pages
    from petstore_tools.models import Pet
    from petstore_tools.reporting.report import StatusReport
    from petstore_tools.throttle.quota import Quota


class PetStore:
    """
    One API key at one Animal Store Service (§1, §5, §8.2).

    >>> store.preview_import("animals.csv").to_send
    10
    >>> store.import_pets("animals.csv", progress=False)
    animals.csv → sandbox: 10 rows: 10 created; go on with animals.sandbox.imported.csv

    Args:
        base_url, api_key, plan: Address that ends in `/v1`, key, and `free`, `pro`,
            `business`, `"PER_MINUTE/PER_DAY"` or a Plan. Each comes from the argument,
            else its `PETSTORE_*` variable, else the settings file; a plan that nobody
            names is learnt from the service's headers.
        environment: `production` (default) or `staging`.
        max_wait_s: Longest wait in seconds of a call without `wait=True`.
        state_dir: Folder of budget, journals and snapshots.
        pagination: How this service pages (`offset`, `page=p`, `after=since_id`,
            `cursor=HEADER:PARAMETER` ...), None to learn it.
        progress: False: no progress and no preview; None: a bar where it can be drawn,
            else a line a minute.

    Attributes:
        settings, progress: As given by arguments, variables and file.
        client, inventory: The first sends requests within the plan, the second lists
            through it.
        history_database, journal_folder: What the snapshots say, and where the journals
            of imports are.

    Raises:
        SettingsError: Base address or key is missing or wrong.
    """

    __module__ = "petstore_tools"

    _prints_previews = True

    def __init__(
        self,
        *,
        base_url: str | None = None,
        api_key: str | SecretStr | None = None,
        plan: Plan | str | None = None,
        environment: str | None = None,
        max_wait_s: float = MAX_WAIT_S,
        state_dir: str | Path | None = None,
        pagination: str | None = None,
        progress: bool | None = None,
    ) -> None:
        api_key = settings_.hide_key(api_key) if api_key else None
        settings = settings_.load(
            base_url=base_url,
            api_key=api_key,
            plan=plan,
            environment=environment,
            state_dir=state_dir,
            pagination=pagination,
        )
        self._set_up(settings, progress, max_wait_s=max_wait_s)
        self._prints_previews = progress is not False

    @classmethod
    def from_settings(cls, settings: Settings, **options: Any) -> Self:
        """
        Make a store from settings alone, and from the options of a `Client`: no
        variable, no file, no progress bar.
        """
        store = cls.__new__(cls)
        store._set_up(settings, False, **options)  # noqa: SLF001 - a store of this class
        return store

    def _set_up(
        self, settings: Settings, progress: bool | None, **options: Any
    ) -> None:
        from petstore_tools.history.database import HistoryDatabase
        from petstore_tools.history.reading import History
        from petstore_tools.http.client import Client
        from petstore_tools.listing.inventory import Inventory

        self.settings = settings
        self.progress = progress
        self.client = Client(settings, **options)
        place = settings.state_dir, settings.environment, settings.service_id
        self.history_database = History(HistoryDatabase.of(*place))
        self.inventory = Inventory(self.client, settings)
        self.journal_folder = settings.state_dir / "imports"

    def list_pets(
        self,
        *,
        status: str | None = None,
        first: int | None = None,
        require: Literal["complete"] | None = None,
        max_age: str | None = None,
        wait: bool = False,
    ) -> pd.DataFrame:
        """
        Fetch the inventory as a frame that says whether it is complete (§4.1).

        >>> len(store.list_pets(status="available"))
        134
        >>> store.list_pets(first=2)
           id   name  categoryId     status
        0   1  Tulip           5       sold
        1   2  Poppy           1  available

        Args:
            status: One of the three values, None for all.
            first: Only so many animals, with as few requests as that needs.
            require: `complete`: raise where the listing is not complete.
            max_age: Of the whole inventory: answer from a snapshot not older than an
                age such as `1h`; else keep one.
            wait: Wait for the next day's quota instead of raising QuotaError.

        Returns:
            Columns `id` (int64), `name` (string), `categoryId` (int64), `status`
            (ordered category, missing where unset); the same dtypes when empty.
            `attrs["listing"]` says whether it is complete, and a warning says so where
            it is not.

        Raises:
            ArgumentError: An argument is none of these.
            IncompleteListingError, UnauthorizedError, QuotaError, TransportError,
                ProtocolError: It ended early, or is not complete as required; what was
                read is in `last_partial`.
        """
        query = ListQuery(status, first=first, require=require)
        with closing(Display("list", " animal", self.progress)) as display:
            show = display.draw
            if max_age is None:
                return self.inventory.list_pets(query, wait=wait, show=show)
            return self.history_database.list_pets(
                self.inventory, query, max_age, wait=wait, show=show
            )

    def pages(
        self,
        *,
        status: str | None = None,
        limit: int = spec.LIMIT_MAX,
        wait: bool = False,
    ) -> Pages:
        """
        Return a listing page by page; requests are sent as you iterate; `.listing` says
        what it is (§4.1). A wait is not shown; the log of `petstore_tools` tells it.

        >>> [len(page) for page in store.pages()]
        [100, 100, 61]

        Raises:
            ArgumentError: Status or limit is none that the interface document allows.
        """
        from petstore_tools.throttle.gate import CallOptions

        return self.inventory.pages(ListQuery(status, limit), CallOptions(wait=wait))

    def pets(self, *, status: str | None = None, wait: bool = False) -> Iterator[Pet]:
        """
        Return the animals one by one; pages are asked for as they are used up (§4.1).

        >>> next(store.pets(status="sold"))
        Pet(id=1, name='Tulip', category_id=5, status='sold')
        """
        pages = self.pages(status=status, wait=wait)
        return (pet for page in pages for pet in page.pets)

    @property
    def last_partial(self) -> pd.DataFrame | None:
        """What the last listing had where it was cut, or not complete as required."""
        return self.inventory.last_partial

    def snapshot(self, *, wait: bool = False) -> Snapshot:
        """
        List all animals and keep the listing (§4.1).

        >>> store.snapshot().counts["sold"]
        60

        Raises:
            HistoryError: It cannot be kept; no request was sent where that is known
                before.
        """
        self.history_database.database.check(self.client.clock.now())
        return self.history_database.keep(self.list_pets(require="complete", wait=wait))

    @overload
    def snapshots(self) -> Snapshots: ...

    @overload
    def snapshots(self, *, date: str | date) -> pd.DataFrame: ...

    def snapshots(self, *, date: str | date | None = None) -> Snapshots | pd.DataFrame:
        """
        Return the snapshots, oldest first; costs no request.

        With a `date`, the animals of one of them, as `list_pets` gives them: of a date
        (its end) or a time, the newest that had ended by then; of an age such as `7d`,
        the nearest one, with a warning where that is not within half of the age. What
        names no offset is read in the time zone of this machine.

        >>> store.snapshots()[-1].listing.rows
        261
        >>> len(store.snapshots(date="0s"))
        261

        Raises:
            ArgumentError: No snapshot is that old, or the date cannot be read.
        """
        history = self.history_database
        if date is None:
            return history.snapshots()
        return history.animals_of(date, self.client.clock.now())

    def events(
        self, *, since: str | date | None = None, until: str | date | None = None
    ) -> pd.DataFrame:
        """
        Return what happened to animals between two snapshots, a row an event; costs no
        request.

        `since`, `until`: the first and the last snapshot, else the oldest and the
        newest. An age such as `7d` means the nearest one, in `until` from now, in
        `since` from begin to begin; where that is not within half of the age, a warning
        says so. A date (its end) or a time means the newest that had ended by then, in
        the time zone of this machine; `last` the last report that was written to a
        file.

        `event`: `new` (the first snapshot did not show it, or it returns after it was
        gone; its `to` may be `sold`), `became sold`, `changed status`, `gone`; `id`,
        `name`, `categoryId`; `from`, `to` (a status, `unset`; missing where there is
        none); it happened after `after` (missing where nobody can say) and by `by`
        (datetime, UTC). A corrected name or category is no event.

        >>> snapshot = store.snapshot()
        >>> store.events()["event"].tolist()
        []

        Raises:
            ArgumentError: `until` is before the first snapshot, `since` after `until`,
                or one cannot be read.
        """
        return self.history_database.events(since, until, now=self.client.clock.now())

    def history(self, *, id: int | None = None) -> pd.DataFrame:  # noqa: A002
        """
        Return what the snapshots say about each animal, or the one with this id; costs
        no request.

        A row is a stay: the columns of a listing, and times (datetime, UTC). It began
        between `began_after` (missing where nobody saw it begin) and `first_seen`;
        `last_seen` is the end of the last one that showed it so; it ended between
        `ended_after` and `ended_by` (missing while open).

        >>> snapshot = store.snapshot()
        >>> store.history(id=1)[["status", "first_seen"]]
          status                first_seen
        0   sold 2026-01-05 09:00:00+00:00
        """
        return self.history_database.history(id)

    def create_pet(
        self, name: str, *, category_id: int, status: str | None = None
    ) -> Pet:
        """
        Create one animal, with one request; the service cannot change or delete it
        afterwards (§2.1, §4.2).

        >>> store.create_pet("Rex", category_id=3, status="pending")
        Pet(id=261, name='Rex', category_id=3, status='pending')

        Raises:
            ArgumentError: The name is blank, or another value is not allowed; nothing
                was sent.
            BadRequestError, UnauthorizedError, QuotaError: Nothing was created.
            TransportError, ApiError, ProtocolError: It may have been created: list
                before you try again.
        """
        from petstore_tools.models import NewPet

        pet = NewPet.of(name, category_id, status)
        return self.client.create(pet)

    def get_pet(self, pet_id: int) -> Pet:
        """
        Fetch one animal by its id; deprecated, with a warning (§4.3).

        Raises:
            ArgumentError, NotFoundError: No int64; no such animal, or removed as
                announced.
        """
        warnings.warn(
            "get_pet is deprecated: its removal is announced for"
            f" {spec.REMOVAL_OF_GET_PET}. Use list_pets(status=...) instead",
            DeprecationWarning,
            stacklevel=2,
        )
        return self.client.get(pet_id)

    def status_report(
        self,
        *,
        status: str | None = None,
        categories: Mapping[int, str] | str | Path | None = None,
        since: str | date | None = None,
        until: str | date | None = None,
        partial: bool = False,
        title: str = "Status report",
        note: str = "",
        timezone: str | None = None,
        alert: str | Sequence[str] = (),
        wait: bool = False,
    ) -> StatusReport:
        """
        List the inventory, keep the listing, and report on it (§2.3, §4.1).

        `status` reports on the animals with one status; that listing is not kept, and
        not compared.

        `since` compares with an earlier snapshot: `last`, that of the last report which
        was written to a file; of an age such as `7d`, the nearest one, from begin to
        begin; of a date (its end) or a time (`2026-03-05`, `05.03.2026`, a datetime),
        the newest that had ended by then. Where none is within half of the age, or as
        old as the date, the report says so. `until` reports on a snapshot of the past,
        and sends no request: of an age, the nearest; of a date, the newest that had
        ended by then.
        `categories`: names by categoryId or a file of them, else those of the settings.
        `partial` reports on a listing that is not complete, and says so. `title`,
        `note`: a line each. `timezone`: in which times are written, and dates without
        an offset are read, such as `Europe/Berlin`; else that of this machine. A frame
        is reported on by `petstore_tools.status_report(df)`.
        `alert`: a condition that needs someone, or several: `pending>14d` (animals that
        have been pending for more than 14 days), `pending>100`, `available<20`. If an
        alert is met, every format begins with it, and `report.alerts` holds it.

        >>> store.status_report().breakdown["count"].tolist()
        [134, 52, 60, 15]

        Raises:
            ArgumentError: An argument cannot be used; no request was sent.
            IncompleteListingError: It is not complete, and `partial` is not set.
        """
        from petstore_tools.history.reading import check_since
        from petstore_tools.reporting import facts, report

        check_status(status)
        source = self.settings.categories if categories is None else categories
        looks = facts.read_looks(source, title, note, timezone, alert)
        facts.check_alerts(looks, status)
        history, now = self.history_database, self.client.clock.now()
        if until is not None:
            return report.report_on_snapshot(history, since, until, looks, status, now)
        check_since(since, now, looks.timezone)  # before a request is spent
        require: Literal["complete"] | None = None if partial else "complete"
        pets = self.list_pets(status=status, require=require, wait=wait)
        return report.report_and_keep(pets, history, since, looks, partial=partial)

    def quota(self) -> Quota:
        """
        Return what is left of minute and day, and when more is; costs no request (§8).

        >>> store.quota().day.left, store.quota().plan
        (..., 'free (60 requests a minute, 1,000 a day)')
        """
        from petstore_tools.throttle.quota import read_quota

        return read_quota(self.client.gate)

    @takes_options(ImportOptions)
    def preview_import(self, options: ImportOptions) -> ImportPreview:
        """
        Check a spreadsheet offline and estimate the cost of its import; sends nothing
        (§2.1, §8.2).

        Raises:
            SheetError, JournalError: The file cannot be used, or the record of an
                earlier run.
        """
        from petstore_tools.importing.run import preview

        options = options.with_categories(self.settings.categories)
        return preview(self.inventory, self.journal_folder, options)

    @takes_options(ImportOptions)
    def import_pets(self, options: ImportOptions) -> ImportResult:
        """
        Create the animals of a spreadsheet, each once; the same call goes on where it
        stopped (§4.2, §8).

        The preview is printed first. Good rows are sent, bad ones never.
        Your list comes back as `NAME.imported.csv` (or .xlsx) beside the input, with
        `.sandbox` or `.staging` after NAME: the whole list with the columns
        `petstore_id` and `petstore_note`. Go on with it: correct it, add rows, and
        import it again. It is filled in place from then on. A stop at the day's quota,
        by a block or by a failing service raises nothing: `stopped` says why.

        Raises:
            SheetError: The file cannot be used.
            DoubtfulRowsError: Rows may exist already: `doubtful=` says what happens to
                them.
            JournalError, LedgerError: What is on disk cannot be trusted; nothing was
                sent after that.
            UnauthorizedError, ApiError, ProtocolError: The key or our request is wrong.
            Interrupted: By Ctrl-C or the kernel; the list is written, the result is
                its `result`.
        """
        progress = options.progress
        prints = self._prints_previews if progress is None else progress is not False
        announce = show_text if prints else lambda _: None
        result = run_import(self, options, announce=announce, ask=lambda _: "ask")
        assert result is not None
        return result

    def imports(self) -> pd.DataFrame:
        """
        Return what became of each import to this place, the last changed first; costs
        no request.

        >>> result = store.import_pets("animals.csv", progress=False)
        >>> store.imports()[["file", "created", "rejected", "unknown"]]
                  file  created  rejected  unknown
        0  animals.csv       10         0        0

        Returns:
            Columns `import` (text: the ID that `petstore-tools imports show` takes),
            `file`, `environment` (text), `created`, `rejected`, `unknown`, `not_sent`,
            `left_out`, `ambiguous` (int64, rows; `created` are those that it made
            itself; `ambiguous` are unknown ones for a person to decide, and count there
            alone), `changed_at` (datetime, UTC).

        Raises:
            JournalError: Their record cannot be read.
        """
        from petstore_tools.importing.imports import Target, imports_frame, read_imports

        service = (self.settings.environment, self.client.service_id)
        name = Target(*service, Path()).database_name
        return imports_frame(read_imports(self.journal_folder / f"{name}.db"))

    def examine(self) -> Iterator[Finding]:
        """Yield findings on settings, folder, service and plan, with one request."""
        from petstore_tools.doctor import examine

        return examine(self.client, self.settings)

    def close(self) -> None:
        """Close connections and files."""
        self.client.transport.close()
        self.client.gate.close()

    def __dir__(self) -> list[str]:  # what users call
        return dir(type(self))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if not hasattr(self, "client"):  # a traceback of its making
            return "PetStore(not opened)"
        plan = self.settings.plan or "plan learnt from the service's answers"
        return f"PetStore({self.settings.environment}, {self.client.host}, {plan})"


def run_import(
    store: PetStore, options: ImportOptions, *, announce: Announce, ask: Ask
) -> ImportResult | None:
    """Import as a store is set up, with the arguments of `importing.run`; show it."""
    from petstore_tools.importing.run import run

    progress = store.progress if options.progress is None else options.progress
    with import_progress(progress) as show:
        return run(
            store.inventory,
            store.journal_folder,
            options.with_categories(store.settings.categories),
            announce=announce,
            ask=ask,
            progress=show,
        )
