"""
What tests share that answer in place of a service: its address, the key, the time, an
animal, headers.
"""

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
