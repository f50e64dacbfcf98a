"""
How long to wait before asking again after a fault that is not a limit (§8.4: exponential backoff).
"""

from __future__ import annotations

import random
from typing import Final

ATTEMPTS: Final = 5
BASE_S: Final = 0.5
LONGEST_S: Final = 30.0


def backoff_s(attempt: int, rng: random.Random) -> float:
    """
    Return seconds before the next attempt.

    Args:
        attempt: How many have failed, from 1.
        rng: Source of the jitter, between half and the whole of the doubled time.
    """
    ceiling = min(LONGEST_S, BASE_S * 2.0 ** (attempt - 1))
    return ceiling * (1.0 + rng.random()) / 2.0
