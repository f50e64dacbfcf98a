"""
Starlette on granian with our routes, and constants as answers: what it costs alone.
PORT.
"""

import json
import sys
from functools import partial
from typing import Any

from granian import Granian
from granian.constants import Interfaces
from starlette.applications import Starlette
from starlette.endpoints import HTTPEndpoint
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

ROWS = [
    {"id": n, "name": f"Pet {n}", "categoryId": n % 7, "status": "sold"}
    for n in range(100)
]
PAGE = json.dumps(ROWS).encode()
PET = json.dumps(ROWS[0]).encode()
HEADERS = {f"X-RateLimit-{name}": "100" for name in ("Limit", "Remaining", "Reset")}


class Pets(HTTPEndpoint):
    async def get(self, request: Request) -> Response:
        assert request.query_params.get("limit") == "100"
        return Response(PAGE, 200, HEADERS, "application/json")

    async def post(self, request: Request) -> Response:
        assert await request.body()
        return Response(PET, 201, HEADERS, "application/json")


def load(*_: Any) -> Starlette:
    return Starlette(routes=[Route("/v1/pets", Pets)])


if __name__ == "__main__":
    port = int(sys.argv[1])
    server = Granian("bare", port=port, interface=Interfaces.ASGINL, log_enabled=False)
    server.serve(target_loader=partial(load), wrap_loader=False)
