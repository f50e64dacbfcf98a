"""
What tests share that answer in place of a service: its address, the key, the time, an
animal, headers, and a store.
"""

from pydantic import SecretStr

from petstore_tools import PetStore
from petstore_tools.clock import ManualClock
from petstore_tools.settings import load

BASE = "https://pets.example/v1"
KEY = "psk_never_shown"
T0 = 1_800_000_000.0
PET = {"id": 17, "name": "Rex", "categoryId": 3, "status": "sold"}


def rate_headers(remaining=59, **headers):
    """Return the rate headers of a minute on plan Free, and others."""
    return {
        "X-RateLimit-Limit": "60",
        "X-RateLimit-Remaining": str(remaining),
        "X-RateLimit-Reset": str(int(T0) + 60),
    } | headers


NO_MORE = rate_headers(**{"X-Next-Cursor": ""})  # of the last page


def store_at(base_url, key=KEY):
    """Return a store of a service, with a clock that moves by itself."""
    settings = load(base_url=base_url, api_key=SecretStr(key))
    return PetStore.from_settings(settings, clock=ManualClock(T0))
