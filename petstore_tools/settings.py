"""Settings: arguments first, then `PETSTORE_*` variables, then the settings file."""

import os
import re
import tomllib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import platformdirs
from pydantic import SecretStr

from petstore_tools import plans, spec
from petstore_tools.errors import SettingsError
from petstore_tools.plans import Plan

APP = "petstore_tools"
RECONCILE_AFTER_S = 60.0
_THIS_MACHINE = re.compile(r"(?<=://)(127\.0\.0\.1|\[::1\])(?=[:/])")
_A_VERSION = re.compile(r"(?<!/)/v\d[\d.]*(?=/|$)", re.IGNORECASE)

STAGING = "staging_"
SECRET_ENTRIES = ("api_key", f"{STAGING}api_key", "ledger_url")


@dataclass(frozen=True)
class Settings:
    """
    What a store needs to know.

    Attributes:
        base_url: Address that ends in `/v1`.
        environment: `production`, `staging` or `sandbox`.
        api_key: Masked in any repr.
        plan: None to learn it from the headers.
        state_dir: Folder of budget and journals.
        ledger_url: Database of a budget that many machines share; holds a password.
        reconcile_after_s: Seconds after a lost answer until a listing may prove its row
            absent.
        pagination: How the service reaches page two, None to learn it.
        categories: File with id and name of each category, for imports, listings and
            reports.
    """

    base_url: str
    environment: str
    api_key: SecretStr = field(repr=False)
    plan: Plan | None
    state_dir: Path
    ledger_url: SecretStr | None = field(default=None, repr=False)
    reconcile_after_s: float = RECONCILE_AFTER_S
    pagination: str | None = None
    categories: Path | None = None

    @property
    def service_id(self) -> str:
        """
        What budget, history and imports belong to: the base address, in which each
        name of this machine is `localhost`.
        """
        return _THIS_MACHINE.sub("localhost", self.base_url)


# of which staging has its own: no key is sent to a service that it is not for
OF_A_SERVICE = ("base_url", "api_key", "plan")
# of the settings file, TOML; each may be left out, or be a variable
ENTRIES = {*Settings.__annotations__, *(f"{STAGING}{name}" for name in OF_A_SERVICE)}


def entry_name(name: str, environment: str) -> str:
    """
    Return the entry of a setting in the file.

    >>> entry_name("plan", "staging"), entry_name("categories", "staging")
    ('staging_plan', 'categories')
    """
    is_own = environment == "staging" and name in OF_A_SERVICE
    return f"{STAGING}{name}" if is_own else name


def variable(name: str, environment: str) -> str:
    """
    Return the variable of what a service has of its own.

    >>> variable("plan", "staging")
    'PETSTORE_STAGING_PLAN'
    """
    return f"PETSTORE_{entry_name(name, environment)}".upper()


def hide_key(key: str | SecretStr) -> SecretStr:
    """Return a key so that no traceback shows it; call it first of all."""
    return key if isinstance(key, SecretStr) else SecretStr(key)


def _in_full(path: str | Path) -> Path:
    """Return a path with the home folder in place of its sign."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise SettingsError(
            f"no home folder: {error}. Set HOME, or write PETSTORE_CONFIG and"
            " PETSTORE_STATE_DIR in full"
        ) from error


def config_path() -> Path:
    """
    Return the settings file's path: `PETSTORE_CONFIG`, else the user's settings folder.
    """
    default = platformdirs.user_config_path(APP) / "config.toml"
    return _in_full(os.environ.get("PETSTORE_CONFIG") or default)


def state_folder(
    path: str | Path | None = None, entries: Mapping[str, Any] | None = None
) -> Path:
    """
    Return the folder of budget, journals and service: as given, as set, or the user's
    state folder.

    Args:
        path: An argument, which comes first.
        entries: The file and the variables, None to read them here.

    Raises:
        SettingsError: It is no absolute path.
    """
    if not isinstance(path, str | Path | None) or "\0" in str(path):
        raise SettingsError(f"state_dir must be the path of a folder, not {path!r:.80}")
    path = path or (entries or _entries()).get("state_dir")
    folder = _in_full(path or platformdirs.user_state_path(APP))
    if not folder.is_absolute():
        raise SettingsError(
            "the state folder must not depend on where a program starts: write "
            f"{str(folder.absolute())!r} in place of {str(folder)!r}"
        )
    return folder


def load(
    *,
    base_url: str | None = None,
    api_key: str | SecretStr | None = None,
    plan: Plan | str | None = None,
    environment: str | None = None,
    state_dir: str | Path | None = None,
    pagination: str | None = None,
) -> Settings:
    """
    Gather the settings; the file is read once.

    >>> settings = load(base_url="http://LOCALHOST:8765/v1/", api_key="psk_1")
    >>> settings.base_url, settings.environment
    ('http://localhost:8765/v1', 'production')

    Raises:
        SettingsError: Base address or key is missing, or something given is wrong.
    """
    texts = {
        "base_url": base_url,
        "api_key": api_key and hide_key(api_key),
        "environment": environment,
        "pagination": pagination,
    }
    arguments = {name: text for name, text in texts.items() if text}
    check_texts(arguments)
    entries = _entries()
    name = environment or entries.get("environment", "production")
    if name not in ("production", "staging"):
        raise SettingsError(
            f"unknown environment {name!r:.80}: use production or staging"
        )
    for entry in OF_A_SERVICE:
        entries[entry] = entries.get(entry_name(entry, name))
    entries |= arguments
    for entry in ("base_url", "api_key"):
        if not entries.get(entry):
            raise _missing(entry, name)
    return Settings(
        base_url=check_base_url(entries["base_url"]),
        environment=name,
        api_key=SecretStr(entries["api_key"].get_secret_value().strip()),
        plan=plans.parse(plan)
        or plans.parse(entries.get("plan"), variable("plan", name)),
        state_dir=state_folder(state_dir, entries),
        ledger_url=entries.get("ledger_url"),
        reconcile_after_s=_read_delay(entries),
        pagination=entries.get("pagination"),
        categories=category_file(entries),
    )


def _read_delay(entries: Mapping[str, Any]) -> float:
    seconds = str(entries.get("reconcile_after_s", RECONCILE_AFTER_S))
    if not re.fullmatch(r"\s*\d{1,6}(\.\d+)?\s*", seconds, re.ASCII):
        raise SettingsError(
            "PETSTORE_RECONCILE_AFTER_S must be a number of seconds such as 60, not"
            f" {seconds!r}"
        )
    return float(seconds)


def category_file(entries: Mapping[str, Any] | None = None) -> Path | None:
    """
    Return the file with the names of the categories; where the settings file names it,
    from its folder.

    Args:
        entries: The file and the variables, None to read them here.
    """
    path = (entries or _entries()).get("categories")
    return path and _in_full(path)


def _missing(entry: str, environment: str) -> SettingsError:
    name, example = {
        "base_url": ("base address", "https://HOST/v1"),
        "api_key": ("API key", "YOUR KEY"),
    }[entry]
    argument, flag = entry, f"--environment {environment}"
    if environment == "staging":
        name = f"{name} for staging"
        argument = f'environment="staging", {argument}'
    entry = entry_name(entry, environment)
    return SettingsError(f"""\
no {name}. Give it in one of these ways:
  command    petstore-tools configure {flag}   (asks for it once)
  argument   PetStore({argument}=...)
  variable   PETSTORE_{entry.upper()}=...
  file       {config_path()}: {entry} = "{example}"
Without a service of your own: petstore-tools demo, or in Python \
petstore_tools.Sandbox().store
For a service on this machine, and a key for it:
  petstore-tools keys create {flag}
  petstore-tools serve {flag}""")


def _entries() -> dict[str, Any]:
    """Return what the settings file says, and in its place what variables say."""
    entries = read_settings_file()
    for entry in ENTRIES:
        if text := os.environ.get(f"PETSTORE_{entry.upper()}"):
            entries[entry] = hide_key(text) if entry in SECRET_ENTRIES else text
    return entries


def check_texts(entries: Mapping[str, object]) -> None:
    """
    Check that arguments or entries of the settings file are text.

    Raises:
        SettingsError: One is not.
    """
    for name, text in entries.items():
        kind = type(text.get_secret_value() if isinstance(text, SecretStr) else text)
        if not issubclass(kind, str):
            raise SettingsError(f"{name} must be text, not {kind.__name__}")


def check_base_url(address: str) -> str:
    """
    Return a base address in one spelling: small letters, no default port, no slash at
    its end.

    >>> check_base_url("HTTPS://API.example:443/v1/")
    'https://api.example/v1'

    Raises:
        SettingsError: Not http(s), without a host, with a password, or not ending in
            `/v1` (§9).
    """
    try:
        parts = urlsplit(address.strip().rstrip("/"))
        port = parts.port
        host = parts.hostname if parts.scheme in ("http", "https") else None
        (host or "").encode("idna")  # refuses a part that is empty or too long
    except ValueError:
        host = None
    if not host:
        raise SettingsError("the base address must look like https://HOST/v1")
    netloc = parts.netloc.rpartition("@")[2]
    plain = parts._replace(netloc=netloc, query="", fragment="").geturl()
    root = _A_VERSION.split(plain, maxsplit=1)[0]
    advice = f"use {root}{spec.PATH_PREFIX}"
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise SettingsError(
            f"the base address must hold no user name, password or query: {advice}"
        )
    if not parts.path.endswith(spec.PATH_PREFIX):
        raise SettingsError(
            f"the base address must end in {spec.PATH_PREFIX}: {advice}"
        )
    if parts.scheme == "http" and not _is_this_machine(host):
        warnings.warn(
            f"the key is sent unencrypted to {host}: use https",
            UserWarning,
            stacklevel=4,
        )
    netloc = f"[{host}]" if ":" in host else host
    if port not in (None, {"http": 80, "https": 443}[parts.scheme]):
        netloc += f":{port}"
    return parts._replace(netloc=netloc).geturl()


def _is_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return f".{host}".endswith(".localhost")


def read_settings_file() -> dict[str, Any]:
    """
    Read the settings file; a missing file gives {}, and the path of a category file is
    one from its folder.

    Raises:
        SettingsError: It cannot be read, or holds what it should not.
    """
    path = config_path()
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        for entry in entries.keys() & SECRET_ENTRIES:
            entries[entry] = SecretStr(entries[entry])
        if unknown := entries.keys() - ENTRIES:
            raise SettingsError(f"it has an unknown entry {min(unknown)!r}")
        check_texts({**entries, "reconcile_after_s": ""})  # it may be a number
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError, SettingsError) as error:
        reason = str(error)
    else:
        if "categories" in entries:
            entries["categories"] = path.parent / _in_full(entries["categories"])
        return entries
    # here, where the error and its frames are gone: they hold the text of the file, and
    # so the key
    raise SettingsError(
        f"the settings file {path} cannot be used: {reason.rstrip('.')}. Correct it, or"
        " delete it and type petstore-tools configure"
    )
