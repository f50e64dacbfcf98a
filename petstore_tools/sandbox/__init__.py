"""
The embedded service: real HTTP, a real database, sample animals, and a clock that can
be advanced.
"""

from __future__ import annotations

import tempfile
import threading
import weakref
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import SecretStr

from petstore_tools import plans, spec
from petstore_tools.clock import Clock, ManualClock, SystemClock
from petstore_tools.errors import ArgumentError
from petstore_tools.listing.frames import text_dtype
from petstore_tools.plans import MAX_WAIT_S, Plan
from petstore_tools.sandbox import samples
from petstore_tools.settings import Settings
from petstore_tools.store import PetStore

if TYPE_CHECKING:
    import pandas as pd

    from petstore_tools.sandbox.faults import Fault

STARTS_AT = 1_767_603_600.0  # Monday, 5 January 2026, 09:00 UTC
CLOSED = "this sandbox is closed; make another one"


class Sandbox:
    """
    The service of the document in this process, and a store wired to it.

    Args:
        plan: Plan of its key.
        clock: `manual`: time moves with `advance`, and by itself when all wait for it.
            `system`: the clock of the machine.
        animals: How many sample animals it has at first; or a frame of
            `store.list_pets()`: then it is a copy of that shop, with the same ids. The
            next animal gets an id above the highest one.
        faults: What goes wrong (`petstore_tools.sandbox.faults.Fault`).
        database: `postgresql://` address, None for SQLite in a temporary folder; the
            sample animals are added where it has no animals.

    Attributes:
        store: Wired to it.
        base_url, api_key, state_dir: What another client needs: address, key, folder of
            the shared budget.
        clock: The time of the service and of its stores.
        faults: What goes wrong from now on: a list that may be changed.

    Raises:
        ArgumentError: There is no such clock, or the number of animals is negative.
        FrameError: The frame has other columns than a listing, or an id twice.
        SettingsError: There is no such plan.
        ValueError: Something else than a `Fault` is among the faults.

    Use it as a context manager, or keep it or one of its stores: when none of them is
    kept, or the process ends, it ends too, and leaves no file, thread or port.
    """

    __module__ = "petstore_tools"

    def __init__(
        self,
        *,
        plan: Plan | str = "free",
        clock: Literal["manual", "system"] = "manual",
        animals: int | pd.DataFrame = 250,
        faults: Sequence[Fault] = (),
        database: str | None = None,
    ) -> None:
        from petstore_tools.sandbox.faults import FaultyService
        from petstore_tools.service.database import Database
        from petstore_tools.service.server import ThreadedServer

        if clock not in ("manual", "system"):
            raise ArgumentError(f"clock must be manual or system, not {clock!r}")
        key_plan = plans.parse(plan) or plans.DOCUMENTED["free"]
        pets = samples.read_animals(animals)
        self.clock: Clock = (
            ManualClock(STARTS_AT) if clock == "manual" else SystemClock()
        )
        with ExitStack() as resources:  # whatever fails in it, nothing is left behind
            temporary = tempfile.TemporaryDirectory(
                prefix="petstore-sandbox-", ignore_cleanup_errors=True
            )
            folder = Path(resources.enter_context(temporary))
            location = database or folder / "service.db"
            self._database = Database(location, durability="OFF")
            resources.callback(self._database.close)
            samples.fill(self._database, pets)
            _, self.api_key = self._database.create_key(
                key_plan, label="sandbox", now=self.clock.now()
            )
            # what serves leads not to this object: when nobody keeps that, it ends
            service = FaultyService(faults, self._database, self.clock)
            self.faults = service.faults
            self._traffic = service.traffic
            resources.callback(service.close)
            server = ThreadedServer(service).start()
            resources.callback(server.stop)
            self.base_url = server.base_url
            self.state_dir = folder / "state"
            key = SecretStr(self.api_key)
            settings = Settings(self.base_url, "sandbox", key, key_plan, self.state_dir)
            self.store = self._wire(settings, resources)
            self._resources = resources.pop_all()
        self._finalizer = weakref.finalize(self, _close, self._resources)

    def advance(
        self,
        *,
        days: float = 0,
        hours: float = 0,
        minutes: float = 0,
        seconds: float = 0,
    ) -> None:
        """
        Advance the manual clock.

            >>> with Sandbox(plan="60/5") as sandbox:
            ...     _ = sandbox.store.list_pets(first=1)
            ...     sandbox.advance(days=1)
            ...     sandbox.store.quota().day.left
            5

        Raises:
            ArgumentError: The sandbox runs on the machine's clock, or the time is
                negative, no number, or leads beyond the year 9999.
        """
        if not isinstance(self.clock, ManualClock):
            raise ArgumentError(
                "this sandbox runs on the machine's clock; make it with clock='manual'"
            )
        try:
            duration = timedelta(
                days=days, hours=hours, minutes=minutes, seconds=seconds
            )
            datetime.fromtimestamp(self.clock.now(), UTC) + duration
        except (TypeError, ValueError, OverflowError) as error:
            raise ArgumentError(
                f"the clock is advanced by numbers, at most to the year 9999: {error}"
            ) from error
        self.clock.advance(duration.total_seconds())

    def connect(
        self,
        *,
        plan: Plan | str | None = None,
        max_wait_s: float = MAX_WAIT_S,
        **settings: Any,
    ) -> PetStore:
        """
        Return another store on this service and its clock; it is closed with the
        sandbox, or before.

            >>> with Sandbox() as sandbox:
            ...     colleague = sandbox.connect()  # the same key: both share one budget
            ...     other = sandbox.connect(plan="pro")  # a key and a budget of its own
            ...     _ = colleague.list_pets(first=1)
            ...     sandbox.store.quota().day.left, other.quota().day.left
            (999, 10000)

        Args:
            plan: It gets a new key on this plan; None: the sandbox's key.
            max_wait_s: Longest wait in seconds of a call without `wait=True`.
            settings: Other settings, by the names of `Settings`: `base_url` of a proxy,
                `state_dir` as on another machine, `pagination` ...

        Raises:
            SettingsError: There is no such plan, or it does not name both numbers.
            ArgumentError: The sandbox is closed.
        """
        if not self._finalizer.alive:
            raise ArgumentError(CLOSED)
        if "state_dir" in settings:
            settings["state_dir"] = Path(settings["state_dir"])
        key_plan = plans.parse(plan)
        if key_plan is not None:
            _, key = self._database.create_key(
                key_plan, label="connected", now=self.clock.now()
            )
            settings |= {"plan": key_plan, "api_key": SecretStr(key)}
        store_settings = replace(self.store.settings, **settings)
        return self._wire(store_settings, self._resources, max_wait_s=max_wait_s)

    def _wire(
        self, settings: Settings, resources: ExitStack, **options: Any
    ) -> PetStore:
        """Return a store that keeps this sandbox, and is closed with it."""
        store = PetStore.from_settings(settings, clock=self.clock, **options)
        store.client.owner = self
        resources.callback(setattr, store.client.gate, "ledger", _Closed())
        # not store.close: through the store, the stack would keep the sandbox
        resources.callback(store.client.gate.close)
        resources.callback(store.client.transport.close)
        return store

    def add(self, animals: Iterable[tuple[str, int, spec.Status | None]]) -> list[int]:
        """
        Add animals outside the interface, as other people would meanwhile: no request,
        no quota.

            >>> with Sandbox(animals=0) as sandbox:
            ...     sandbox.add([("Rex", 3, "sold"), ("Mia", 2, None)])
            [1, 2]

        Args:
            animals: Name, categoryId and status of each; a status of None is left out
                (§2.1). Nothing is checked.

        Returns:
            Their ids, in order.
        """
        return self._database.add_many(animals)

    def change(self, pet_id: int, *, status: spec.Status | None) -> None:
        """
        Set the status of an animal outside the interface, which has no such operation
        (§3).

            >>> with Sandbox(animals=3) as sandbox:
            ...     sandbox.change(1, status="sold")
            ...     sandbox.remove(2)
            ...     sandbox.store.list_pets()["status"].to_dict()
            {0: 'sold', 1: 'available'}

        Raises:
            LookupError: There is no such animal.
        """
        change = "UPDATE pet SET status = ? WHERE id = ? RETURNING id"
        if not self._database.execute(change, status, pet_id):
            raise LookupError(f"there is no animal {pet_id}")

    def remove(self, pet_id: int) -> None:
        """
        Remove an animal outside the interface, which has no such operation (§4.4).

        Raises:
            LookupError: There is no such animal.
        """
        remove = "DELETE FROM pet WHERE id = ? RETURNING id"
        if not self._database.execute(remove, pet_id):
            raise LookupError(f"there is no animal {pet_id}")

    def traffic(self) -> pd.DataFrame:
        """
        Return what the service has answered, to all callers.

            >>> with Sandbox() as sandbox:
            ...     _ = sandbox.store.list_pets(first=1)
            ...     sandbox.traffic()
                                     at method      path  status
            0 2026-01-05 09:00:00+00:00    GET  /v1/pets     200

        Returns:
            Columns `at` (datetime, UTC), `method`, `path` (string), `status` (int64),
            in order.
        """
        import pandas as pd

        text = text_dtype()
        time = "datetime64[us, UTC]"
        dtypes = {"at": time, "method": text, "path": text, "status": "int64"}
        return pd.DataFrame(list(self._traffic), columns=list(dtypes)).astype(dtypes)

    def close(self) -> None:
        """Stop the service and delete its files."""
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Sandbox({self.store!r})"


class _Closed:
    """The budget of a store whose sandbox is closed."""

    def update(self, _: object) -> None:
        raise ArgumentError(CLOSED)

    def close(self) -> None:
        """Do nothing."""


def _close(resources: ExitStack) -> None:
    # garbage is collected in any thread, and none of a service can wait for its end
    if threading.current_thread().name.startswith("petstore service"):
        threading.Thread(target=resources.close).start()
    else:
        resources.close()
