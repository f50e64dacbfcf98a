"""Settings: arguments first, then `PETSTORE_*` variables, then the settings file."""

from __future__ import annotations

import os
import re
import tomllib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Final, Literal, overload
from urllib.parse import urlsplit, urlunsplit

import platformdirs
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, SecretStr, ValidationError

from petstore_tools import plans, spec
from petstore_tools.errors import SettingsError
from petstore_tools.plans import Plan

APP: Final = "petstore_tools"
ENVIRONMENTS: Final = ("production", "staging", "sandbox")
_HOW = """no {what}. Give it in one of these ways:
{configure}  argument   PetStore({argument}=...)
  variable   {variable}=...
  file       {file}: {line}
Without a service of your own: petstore-tools demo, or in Python petstore_tools.Sandbox().store
For a service on this machine: petstore-tools serve, with a key from petstore-tools keys create"""
_CONFIGURE: Final = "  command    petstore-tools configure   (asks for it once and keeps it)\n"
_A_VERSION: Final = re.compile(r"(?<!/)/v\d[\d.]*(?=/|$)", re.IGNORECASE)

_FAULTS: Final = {  # pydantic's kinds, in words for people
    "extra_forbidden": "there is no such entry",
    "string_type": "must be text in quotes",
    "path_type": "must be the path of a folder, in quotes",
    "float_type": "must be a number of seconds",
    "float_parsing": "must be a number of seconds",
    "greater_than_equal": "must be a number of seconds from 0 on",
    "literal_error": 'must be "production" or "staging"',
}
Variables = Mapping[str, str] | None  # None: those of the process, which no frame should hold: one is the key


class SettingsFile(BaseModel):
    """The settings file, TOML; every entry may be left out."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    base_url: str | None = None
    staging_base_url: str | None = None
    api_key: SecretStr | None = None
    plan: str | None = None
    environment: Literal["production", "staging"] | None = None
    state_dir: Path | None = None
    ledger_url: SecretStr | None = None
    reconcile_after_s: float | None = Field(
        default=None, ge=0, strict=True, validation_alias=AliasChoices("reconcile_after_s", "settle_after_s")
    )  # the second is the name of version 0.1
    pagination: str | None = None


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
        reconcile_after_s: How late after a lost answer a look may call its row absent, None for the default.
        pagination: How the service reaches page two, None to learn it.
    """

    base_url: str
    environment: str
    api_key: SecretStr = field(repr=False)
    plan: Plan | None
    state_dir: Path
    ledger_url: SecretStr | None = field(default=None, repr=False)
    reconcile_after_s: float | None = None
    pagination: str | None = None


@overload
def hidden(key: None) -> None: ...
@overload
def hidden(key: str | SecretStr) -> SecretStr: ...
def hidden(key: str | SecretStr | None) -> SecretStr | None:
    """Return a key so that no traceback shows it; call it first of all."""
    return key if key is None or isinstance(key, SecretStr) else SecretStr(key)


def config_path(environ: Variables = None) -> Path:
    """Return the settings file's path: `PETSTORE_CONFIG`, else the user's settings folder."""
    given = _variable("PETSTORE_CONFIG", environ)
    return Path(given) if given else platformdirs.user_config_path(APP) / "config.toml"


def state_folder(
    given: str | Path | None = None, *, environ: Variables = None, file: SettingsFile | None = None
) -> Path:
    """Return the folder of budget, journals and service: as given, as set, or the user's state folder."""
    if given is not None and not isinstance(given, (str, Path)):
        raise SettingsError(f"state_dir must be the path of a folder, not {type(given).__name__}")
    stored = (file or read_file(config_path(environ))).state_dir
    folder = given or _variable("PETSTORE_STATE_DIR", environ) or stored
    return Path(folder) if folder else platformdirs.user_state_path(APP)


def ledger_url(*, environ: Variables = None, file: SettingsFile | None = None) -> SecretStr | None:
    """Return the database of a budget that many machines share, None where a file of this machine does."""
    given = hidden(_variable("PETSTORE_LEDGER_URL", environ))
    return given or (file or read_file(config_path(environ))).ledger_url


def load(
    *,
    base_url: str | None = None,
    api_key: str | SecretStr | None = None,
    plan: Plan | str | None = None,
    environment: str | None = None,
    state_dir: str | Path | None = None,
    pagination: str | None = None,
    environ: Variables = None,
) -> Settings:
    """
    Gather the settings.

    Raises:
        SettingsError: Base address or key is missing, or something given is wrong.
    """
    api_key = hidden(api_key)
    given = {"base_url": base_url, "api_key": api_key, "environment": environment, "pagination": pagination}
    check_texts({name: value for name, value in given.items() if value is not None})
    file = read_file(config_path(environ))
    name = environment or _variable("PETSTORE_ENVIRONMENT", environ) or file.environment or "production"
    if name not in ENVIRONMENTS:
        raise SettingsError(f"unknown environment {name!r:.80}: use production or staging")
    prefix = "STAGING_" if name == "staging" else ""
    stored = file.staging_base_url if prefix else file.base_url
    address = base_url or _variable(f"PETSTORE_{prefix}BASE_URL", environ) or stored
    entry = f"{prefix.lower()}base_url"
    if not address:
        what, argument = "base address", "base_url"
        if prefix:
            what, argument = "base address for staging", 'environment="staging", base_url'
        raise SettingsError(_missing(what, argument, entry, "https://HOST/v1", environ))
    key = api_key or hidden(_variable("PETSTORE_API_KEY", environ)) or file.api_key
    if key is None or not key.get_secret_value().strip():
        raise SettingsError(_missing("API key", "api_key", "api_key", "YOUR KEY", environ))
    address = check_base_url(address)
    if name == "sandbox" and not _is_here(urlsplit(address).hostname or ""):
        raise SettingsError("the environment sandbox is for a service on this machine (petstore-tools lab)")
    return Settings(
        base_url=address,
        environment=name,
        api_key=SecretStr(key.get_secret_value().strip()),
        plan=plans.parse(_variable("PETSTORE_PLAN", environ) or file.plan if plan in (None, "") else plan),
        state_dir=state_folder(state_dir, environ=environ, file=file),
        ledger_url=ledger_url(environ=environ, file=file),
        reconcile_after_s=_seconds(_variable("PETSTORE_RECONCILE_AFTER_S", environ), file.reconcile_after_s),
        pagination=pagination or _variable("PETSTORE_PAGINATION", environ) or file.pagination,
    )


def _variable(name: str, environ: Variables) -> str | None:
    return (os.environ if environ is None else environ).get(name)


def check_texts(given: Mapping[str, object]) -> None:
    """
    Look whether arguments are text.

    Raises:
        SettingsError: One is not.
    """
    for name, value in given.items():
        kind = type(value.get_secret_value()) if isinstance(value, SecretStr) else type(value)
        if not issubclass(kind, str):
            raise SettingsError(f"{name} must be text, not {kind.__name__}")


def _seconds(text: str | None, otherwise: float | None) -> float | None:
    if not text:
        return otherwise
    if not re.fullmatch(r"\d{1,6}(\.\d+)?", text.strip(), re.ASCII):
        raise SettingsError(f"PETSTORE_RECONCILE_AFTER_S is a number of seconds such as 60, not {text!r}")
    return float(text)


def check_base_url(address: str) -> str:
    """
    Return a base address in one spelling: small letters, no default port, no slash at its end.

    Budget, journals and snapshots are kept by it.

    Raises:
        SettingsError: Not http(s), without a host, with a password, or not ending in `/v1` (§9).
    """
    text = address.strip().rstrip("/")
    try:
        parts = urlsplit(text)
        host = parts.hostname
        port_is_fine = parts.port is None or parts.port > 0
    except ValueError:
        host, port_is_fine = None, False
    if not port_is_fine or host is None or parts.scheme not in ("http", "https"):
        raise SettingsError("the base address must look like https://HOST/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise SettingsError(
            f"the base address holds more than host and path; use {parts.scheme}://{host}{spec.PATH_PREFIX}"
        )
    if not parts.path.endswith(spec.PATH_PREFIX):
        root = _A_VERSION.split(text, maxsplit=1)[0]
        raise SettingsError(
            f"the base address must end in {spec.PATH_PREFIX}; did you mean {root}{spec.PATH_PREFIX} ?"
        )
    if parts.scheme == "http" and not _is_here(host):
        warnings.warn(f"the key travels unencrypted to {host}: use https", UserWarning, stacklevel=4)
    port = parts.port if parts.port != {"http": 80, "https": 443}[parts.scheme] else None
    name = f"[{host}]" if ":" in host else host
    return urlunsplit((parts.scheme, name if port is None else f"{name}:{port}", parts.path, "", ""))


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def read_file(path: Path) -> SettingsFile:
    """
    Read the settings file; one that is not there has no entries.

    Raises:
        SettingsError: It cannot be read, or holds what it should not.
    """
    try:
        return SettingsFile.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return SettingsFile()
    except ValidationError as error:
        fault = error.errors(include_input=False, include_url=False)[0]
        why = f": {fault['loc'][0]}: {_FAULTS.get(fault['type'], fault['msg'])}"
    except (OSError, ValueError, RecursionError) as error:
        why = f" cannot be read: {error}"
    # here, where the error and its frames are gone: they hold the text of the file, and so the key
    raise SettingsError(f"the settings file {path}{why}")


def _missing(what: str, argument: str, entry: str, example: str, environ: Variables) -> str:
    return _HOW.format(
        what=what,
        configure="" if entry == "staging_base_url" else _CONFIGURE,
        argument=argument,
        variable=f"PETSTORE_{entry.upper()}",
        file=config_path(environ),
        line=f'{entry} = "{example}"',
    )
