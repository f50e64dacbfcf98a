"""
Pure: the document's numbers, each once, with its section.

Sections of the interface document:

- 1 What the service does
- 2 Resources and their fields
- 2.1 NewPet
- 2.2 Pet
- 2.3 PetStatus
- 2.4 Pets
- 2.5 Error
- 2.6 Gaps in the resource definitions
- 3 States and transitions
- 4 Endpoints
- 4.1 List animals
- 4.2 Add an animal
- 4.3 Get an animal (deprecated)
- 4.4 Other operations
- 5 Authentication
- 6 Events
- 7 Errors
- 8 Limits
- 8.1 Request parameter limits
- 8.2 Rate limits by plan
- 8.3 Rate limit headers
- 8.4 Behaviour when a limit is exceeded
- 9 Versioning
"""

from typing import Literal, get_args

PATH_PREFIX = "/v1"  # §1, §9
PETS_PATH = "/pets"  # §4.1, §4.2
ORDERS_PATH = "/store/orders"  # §1: exists; operations not shown

Status = Literal["available", "pending", "sold"]  # §2.3, exactly these
STATUSES: tuple[Status, ...] = get_args(Status)
# §2.2: the fields of a Pet, in the order of a listing's columns: whole numbers (int64)
# and texts
PET_FIELDS: dict[str, type] = {
    "id": int,
    "name": str,
    "categoryId": int,
    "status": str,
}
NEW_PET_FIELDS = ("name", "categoryId", "status")  # §2.1: what a create sends
REQUIRED = ("name", "categoryId")  # §2.1

INT64_MIN = -(2**63)  # §2.1, §2.2, §4.3: format int64
INT64_MAX = 2**63 - 1

LIMIT_MIN = 1  # §8.1
LIMIT_MAX = 100  # §8.1
LIMIT_DEFAULT = 20  # §8.1

MINUTE_S = 60
DAY_S = 86_400
# §8.2: requests per minute, requests per day; Enterprise is custom and has no row.
PLANS: dict[str, tuple[int, int]] = {
    "free": (60, 1_000),
    "pro": (300, 10_000),
    "business": (1_000, 100_000),
}

HEADER_LIMIT = "X-RateLimit-Limit"  # §8.3
HEADER_REMAINING = "X-RateLimit-Remaining"
HEADER_RESET = "X-RateLimit-Reset"
HEADER_RETRY_AFTER = "Retry-After"  # §8.4

REMOVAL_OF_GET_PET = "5 December 2030"  # §4.3, §9
# 2030-12-05T00:00:00Z (the instant is our choice)
REMOVAL_OF_GET_PET_AT = 1_922_659_200
