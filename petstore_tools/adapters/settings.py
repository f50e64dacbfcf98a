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
from typing import Final, Literal
from urllib.parse import urlsplit

import platformdirs
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from petstore_tools import spec
from petstore_tools.core import plan as plans
from petstore_tools.core.plan import Plan
from petstore_tools.errors import SettingsError

APP: Final = "petstore_tools"
ENVIRONMENTS: Final = ("production", "staging", "sandbox")
_HOW = """no {what}. Give it in one of these ways:
  command    petstore-tools configure   (asks for it once and keeps it)
  argument   PetStore({argument}=...)
  variable   {variable}=...
  file       {file}: {line}
Without a service of your own: petstore-tools demo, or in Python petstore_tools.Sandbox().store"""


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
    settle_after_s: float | None = Field(default=None, ge=0)
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
        settle_after_s: How late after a lost answer a look may call its row absent, None for the default.
        pagination: How the service reaches page two, None to learn it.
    """

    base_url: str
    environment: str
    api_key: SecretStr = field(repr=False)
    plan: Plan | None
    state_dir: Path
    ledger_url: SecretStr | None = field(default=None, repr=False)
    settle_after_s: float | None = None
    pagination: str | None = None


def config_path(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the settings file's path: `PETSTORE_CONFIG`, else the user's settings folder."""
    given = environ.get("PETSTORE_CONFIG")
    return Path(given) if given else platformdirs.user_config_path(APP) / "config.toml"


def state_folder(
    given: str | Path | None = None,
    *,
    environ: Mapping[str, str] = os.environ,
    file: SettingsFile | None = None,
) -> Path:
    """Return the folder of budget, journals and service: as given, as set, or the user's state folder."""
    stored = (file or read_file(config_path(environ))).state_dir
    folder = given or environ.get("PETSTORE_STATE_DIR") or stored
    return Path(folder) if folder else platformdirs.user_state_path(APP)


def ledger_url(
    *, environ: Mapping[str, str] = os.environ, file: SettingsFile | None = None
) -> SecretStr | None:
    """Return the database of a budget that many machines share, None where a file of this machine does."""
    given = environ.get("PETSTORE_LEDGER_URL")
    return SecretStr(given) if given else (file or read_file(config_path(environ))).ledger_url


def load(
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    plan: Plan | str | None = None,
    environment: str | None = None,
    state_dir: str | Path | None = None,
    pagination: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Settings:
    """
    Gather the settings.

    Raises:
        SettingsError: Base address or key is missing, or something given is wrong.
    """
    file = read_file(config_path(environ))
    name = environment or environ.get("PETSTORE_ENVIRONMENT") or file.environment or "production"
    if name not in ENVIRONMENTS:
        raise SettingsError(f"unknown environment {name!r}: use production or staging")
    prefix = "STAGING_" if name == "staging" else ""
    stored = file.staging_base_url if prefix else file.base_url
    address = base_url or environ.get(f"PETSTORE_{prefix}BASE_URL") or stored
    entry = f"{prefix.lower()}base_url"
    if not address:
        raise SettingsError(_missing("base address", "base_url", entry, "https://HOST/v1", environ))
    key = api_key or environ.get("PETSTORE_API_KEY")
    secret = SecretStr(key) if key else file.api_key
    if secret is None or not secret.get_secret_value().strip():
        raise SettingsError(_missing("API key", "api_key", "api_key", "YOUR KEY", environ))
    address = check_base_url(address)
    if name == "sandbox" and not _is_here(urlsplit(address).hostname or ""):
        raise SettingsError("the environment sandbox is for a service on this machine (petstore-tools lab)")
    return Settings(
        base_url=address,
        environment=name,
        api_key=SecretStr(secret.get_secret_value().strip()),
        plan=plans.parse(plan or environ.get("PETSTORE_PLAN") or file.plan),
        state_dir=state_folder(state_dir, environ=environ, file=file),
        ledger_url=ledger_url(environ=environ, file=file),
        settle_after_s=_seconds(environ.get("PETSTORE_SETTLE_AFTER_S"), file.settle_after_s),
        pagination=pagination or environ.get("PETSTORE_PAGINATION") or file.pagination,
    )


def _seconds(text: str | None, otherwise: float | None) -> float | None:
    if not text:
        return otherwise
    if not re.fullmatch(r"\d{1,6}(\.\d+)?", text.strip(), re.ASCII):
        raise SettingsError(f"PETSTORE_SETTLE_AFTER_S is a number of seconds such as 60, not {text!r}")
    return float(text)


def check_base_url(address: str) -> str:
    """
    Return a base address without a slash at its end.

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
        root = text.partition(spec.PATH_PREFIX + "/")[0] if spec.PATH_PREFIX + "/" in text else text
        raise SettingsError(
            f"the base address must end in {spec.PATH_PREFIX}; did you mean {root}{spec.PATH_PREFIX} ?"
        )
    if parts.scheme == "http" and not _is_here(host):
        warnings.warn(f"the key travels unencrypted to {host}: use https", UserWarning, stacklevel=4)
    return text


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
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"the settings file {path} cannot be read: {error}") from error
    except ValidationError as error:
        fault = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(str(part) for part in fault["loc"])
        raise SettingsError(f"the settings file {path}: {place}: {fault['msg']}") from error


def _missing(what: str, argument: str, entry: str, example: str, environ: Mapping[str, str]) -> str:
    return _HOW.format(
        what=what,
        argument=argument,
        variable=f"PETSTORE_{entry.upper()}",
        file=config_path(environ),
        line=f'{entry} = "{example}"',
    )
