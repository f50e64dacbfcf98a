"""
The paging service of the tests as a process: PORT SPEAKS ANIMALS LATENCY_S fixed|clamped|moving.
"""

from __future__ import annotations

import sys

import uvicorn
from paging_server import PagingService, pets


def main() -> None:
    """Serve until killed."""
    port, speaks, animals, latency_s, kind = sys.argv[1:6]
    service = PagingService(
        pets(int(animals), step=2),
        speaks,
        latency_s=float(latency_s),
        rendered=kind == "fixed",
        cap=30 if kind == "clamped" else 100,
    )

    def staff(number: int) -> None:
        if number == 2:
            del service.rows[0]
        if number == 3:
            service.rows.insert(0, {"id": 0, "name": "New", "categoryId": 1, "status": "sold"})

    if kind == "moving":
        service.before = staff
    uvicorn.run(service, port=int(port), log_level="error", lifespan="off", access_log=False)


if __name__ == "__main__":
    main()
