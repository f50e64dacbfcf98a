"""`configure`: asks for the settings once and keeps them in the settings file."""

from __future__ import annotations

import json
import os
import tomllib

import click

from petstore_tools.adapters import settings
from petstore_tools.adapters.files import replace_file
from petstore_tools.cli import exits
from petstore_tools.core import plan as plans
from petstore_tools.store import PetStore


@click.command("configure")
def configure_() -> int:
    """
    Ask for base address, key and plan, keep them for this user, and check them with one request.

    \b
    Example:
      petstore-tools configure
    """
    base_url = settings.check_base_url(click.prompt("Base address (https://HOST/v1)", err=True))
    key = click.prompt("API key (not shown)", hide_input=True, err=True)
    plan = click.prompt("Plan (free, pro, business, PER_MINUTE/PER_DAY)", default="free", err=True)
    plans.parse(plan)
    with PetStore(base_url=base_url, api_key=key, plan=plan) as store:
        store.list_pets(first=1)
    path = settings.config_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        kept = tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        kept = {}
    entries = {**kept, "base_url": base_url, "api_key": key, "plan": plan}
    # a JSON string is a TOML basic string
    text = "".join(f"{name} = {json.dumps(value)}\n" for name, value in entries.items())
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    path.chmod(0o600)
    replace_file(path, text.encode())
    click.echo(f"The service knows the key. Settings are in {path}.", err=True)
    return exits.DONE
