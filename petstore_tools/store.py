"""PetStore: the face of the toolkit, one line a method."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from pydantic import ValidationError

from petstore_tools import settings as settings_
from petstore_tools.clock import Clock, SystemClock
from petstore_tools.errors import ArgumentError
from petstore_tools.history.snapshots import Shelf
from petstore_tools.http.client import SETTLE_AFTER_S, Client
from petstore_tools.http.responses import first_fault
from petstore_tools.http.transport import Transport
from petstore_tools.listing.remembered import KnownServices
from petstore_tools.models import NewPet, Pet
from petstore_tools.plans import Plan
from petstore_tools.reading import Reading, check_status
from petstore_tools.settings import Settings
from petstore_tools.throttle.gate import MAX_WAIT_S
from petstore_tools.throttle.ledger import open_ledger

if TYPE_CHECKING:
    import pandas as pd
    import requests
    from pydantic import SecretStr

    from petstore_tools.doctor import Finding
    from petstore_tools.importing import ImportPreview, ImportResult, Order, Progress
    from petstore_tools.importing.options import Known
    from petstore_tools.throttle.quota import Quota


class PetStore(Reading):
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
        progress: False: draw no bar and print no preview; None: a bar where someone looks.

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
        clock = SystemClock()
        self._quiet = progress is False
        self._open(settings, clock, session, ledger, max_wait_s, progress=progress)

    _quiet = False  # a sandbox draws no bar, and shows the preview

    @classmethod
    def _with(cls, settings: Settings, clock: Clock) -> Self:
        """Make a store on another clock, quiet: for the sandbox."""
        store = cls.__new__(cls)
        store._open(settings, clock, None, "shared", MAX_WAIT_S, progress=False)
        return store

    def _open(
        self,
        settings: Settings,
        clock: Clock,
        session: requests.Session | None,
        ledger: Literal["shared", "memory"],
        max_wait_s: float,
        *,
        progress: bool | None,
    ) -> None:
        key, self._settings = settings.api_key, settings
        client = Client(
            base_url=settings.base_url,
            environment=settings.environment,
            transport=Transport(settings.base_url, key, session=session),
            ledger=open_ledger(ledger, settings.state_dir, settings.base_url, key, url=settings.ledger_url),
            plan=settings.plan,
            clock=clock,
            max_wait_s=max_wait_s,
            settle_after_s=SETTLE_AFTER_S if settings.settle_after_s is None else settings.settle_after_s,
            known=KnownServices(settings.state_dir / "services.json"),
            pagination=settings.pagination,
        )
        shelf = Shelf(settings.state_dir, settings.environment, settings.base_url)
        super().__init__(client, shelf, progress=progress)

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
        check_status(status)
        try:
            pet = NewPet(name=name, category_id=category_id, status=status)  # type: ignore[arg-type]
        except ValidationError as error:
            raise ArgumentError(f"no such animal can be added: {first_fault(error)}") from None
        return self._client.create(pet)

    def quota(self) -> Quota:
        """Say what is left of minute and day, and when more is; costs no request (§8)."""
        from petstore_tools.throttle.quota import look

        return look(self._client)

    def preview_import(
        self,
        source: str | Path | pd.DataFrame,
        *,
        name: str | None = None,
        sheet: str | None = None,
        mapping: Mapping[str, str] | None = None,
        allow_totals: bool = False,
        strict: bool = False,
        allow_bad: bool = False,
        send_edited: bool = False,
        drop_twins: bool = False,
        known: Known = "ask",
        baseline: bool = True,
        leave: int | None = None,
    ) -> ImportPreview:
        """
        Check a spreadsheet offline and tell the price of its import; sends and writes nothing.

        What can be given is described at `import_pets`.

        Raises:
            SheetError: The file cannot be used.
            JournalError: The record of an earlier run cannot be trusted.

        Spec: §2.1, §8.2.
        """
        from petstore_tools import importing as bulk

        order = bulk.Order.of(
            source,
            name=name,
            sheet=sheet,
            mapping=mapping,
            allow_totals=allow_totals,
            strict=strict,
            allow_bad=allow_bad,
            send_edited=send_edited,
            drop_twins=drop_twins,
            known=known,
            baseline=baseline,
            leave=leave,
        )
        return self._preview(order)

    def import_pets(
        self,
        source: str | Path | pd.DataFrame,
        *,
        name: str | None = None,
        sheet: str | None = None,
        mapping: Mapping[str, str] | None = None,
        allow_totals: bool = False,
        strict: bool = False,
        allow_bad: bool = False,
        send_edited: bool = False,
        drop_twins: bool = False,
        known: Known = "ask",
        baseline: bool = True,
        resend: bool = True,
        leave: int | None = None,
        wait: bool = False,
        progress: bool | Callable[[Progress], None] | None = None,
    ) -> ImportResult:
        """
        Create the animals of a spreadsheet, each once; the same call goes on where it stopped.

        The preview is printed first. Good rows go, bad ones never do. Beside the input are afterwards
        `NAME.created.csv`, `NAME.rejected.csv` (fix it and import it) and `NAME.unknown.csv`, as workbooks
        for a workbook, and with `.sandbox` or `.staging` behind NAME where the animals went there. One that
        a person changed is left alone, and the new one gets a number. A stop at the day's quota, a ban or
        a sick service is no exception: `stopped` tells.

        Args:
            source: .csv, .tsv, .xlsx or .ods, or a DataFrame; delimiter, encoding and header row are found.
            name: What a DataFrame is called: the same name goes on with the same import.
            sheet: Which sheet of a workbook; default: the visible one that has the columns.
            mapping: Field (`name`, `categoryId`, `status`) by column title, where titles do not tell.
            allow_totals: Send rows whose name is a word for a total (`Summe`, `Grand total`).
            strict: Send nothing while a row has a problem.
            allow_bad: Go on although more than half of the rows have problems.
            send_edited: Send rows that look like created ones edited since, as further animals.
            drop_twins: Of rows with the same three values, send one.
            known: New rows whose animal seems to stand already, by another import or in the inventory: `skip`
                or `send` them; `ask` refuses.
            baseline: Look before the first create what stands, for at most a tenth of the requests.
            resend: Send rows again that a look proved absent after their answer was lost.
            leave: Requests of each day kept for others; default 20, or a tenth of a smaller day.
            wait: Wait for the next day's quota in place of stopping.
            progress: False: nothing is printed; True: a bar; a function: called with Progress.

        Raises:
            SheetError: The file cannot be used, or rows of it seem to stand already.
            JournalError, LedgerError: What is on disk cannot be trusted; nothing was sent after that.
            UnauthorizedError, ApiError, ProtocolError: The key or our request is wrong.
            Interrupted: Ctrl-C, or the kernel was interrupted, so that nothing after this call runs; the
                result files are written, and the result is its `result`.

        Spec: §4.2, §8.
        """
        from petstore_tools import importing as bulk

        quiet = progress is False or (progress is None and self._quiet)

        def announce(preview: ImportPreview) -> bool:
            if not quiet:
                print(preview)
            return True

        order = bulk.Order.of(
            source,
            name=name,
            sheet=sheet,
            mapping=mapping,
            allow_totals=allow_totals,
            strict=strict,
            allow_bad=allow_bad,
            send_edited=send_edited,
            drop_twins=drop_twins,
            known=known,
            baseline=baseline,
            resend=resend,
            leave=leave,
            wait=wait,
        )
        result = self._import(order, announce, progress)
        assert result is not None
        return result

    def examine(self) -> Iterator[Finding]:
        """Look at budget, service, key, clock and plan with one request; yields what is found as it comes."""
        from petstore_tools.doctor import examine

        return examine(self._client, self._settings.plan)

    def close(self) -> None:
        """Close connections and files."""
        self._client.transport.close()
        self._client.admission.close()

    def _preview(self, order: Order) -> ImportPreview:
        from petstore_tools import importing as bulk

        return bulk.preview(self._client, self._journals, order)

    def _import(
        self,
        order: Order,
        announce: Callable[[ImportPreview], bool],
        progress: bool | Callable[[Progress], None] | None,
    ) -> ImportResult | None:
        from petstore_tools import importing as bulk
        from petstore_tools.notebook import import_progress

        with import_progress(self._progress if progress is None else progress) as show:
            return bulk.run(self._client, self._journals, order, announce=announce, progress=show)

    @property
    def _journals(self) -> Path:
        return self._settings.state_dir / "imports"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _repr_html_(self) -> str:
        from petstore_tools.render import html_table

        plan = "learnt from headers" if self._settings.plan is None else str(self._settings.plan)
        row = (self._settings.environment, self._client.host, plan, self._client.ledger.shared)
        return html_table("PetStore", ("environment", "service", "plan", "budget counted"), [row])

    def __repr__(self) -> str:
        if not hasattr(self, "_client"):  # a traceback of its making
            return "PetStore(not opened)"
        plan = "plan learnt from headers" if self._settings.plan is None else str(self._settings.plan)
        return f"PetStore({self._settings.environment}, {self._client.host}, {plan})"
