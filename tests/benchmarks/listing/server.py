"""
The paging service of the tests as a process: SPEAKS ANIMALS LATENCY_S fixed|clamped|moving.

It prints its base address, and serves until its standard input ends.
"""

from __future__ import annotations

import sys

from paging_server import PagingService, pets

from petstore_tools.service.server import ThreadedServer


def main() -> None:
    """Serve."""
    speaks, animals, latency_s, kind = sys.argv[1:5]
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
    server = ThreadedServer(service).start()
    print(server.base_url, flush=True)
    sys.stdin.read()
    server.stop()


if __name__ == "__main__":
    main()
