"""
The OpenAPI document: field by field as the interface document has it, and fit for other
people's tools.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from services import serve_in_thread

from petstore_tools import spec
from petstore_tools.service.app import OPENAPI
from petstore_tools.service.limiter import windows

TREE = json.loads(OPENAPI)
INT64 = {
    "type": "integer",
    "format": "int64",
    "minimum": -(2**63),
    "maximum": 2**63 - 1,
}
# typed from INTERFACE.md: place in the document -> what it says (§ of the interface)
_TOO_MANY = "components > responses > TooManyRequests"
TABLE = {
    "info > version": "1.0.0",  # §9
    "paths > /pets > get > operationId": "listPets",  # §4.1
    "paths > /pets > get > parameters > 0 > name": "limit",
    "paths > /pets > get > parameters > 0 > in": "query",
    "paths > /pets > get > parameters > 0 > schema": {
        "type": "integer",
        "minimum": 1,
        "maximum": 100,
        "default": 20,
    },
    "paths > /pets > get > parameters > 1 > name": "status",
    "paths > /pets > get > parameters > 1 > schema": {
        "$ref": "#/components/schemas/PetStatus"
    },
    "paths > /pets > get > parameters > 2 > name": "cursor",  # ours
    "paths > /pets > get > parameters > 2 > schema": {"type": "string"},
    "paths > /pets > get > responses > 200 > json": "schemas/Pets",
    "paths > /pets > get > responses > 401 > $ref": "responses/Unauthorized",
    "paths > /pets > post > operationId": "createPet",  # §4.2
    "paths > /pets > post > requestBody > required": True,
    "paths > /pets > post > requestBody > json": "schemas/NewPet",
    "paths > /pets > post > responses > 201 > json": "schemas/Pet",
    "paths > /pets > post > responses > 400 > $ref": "responses/InvalidRequest",
    "paths > /pets > post > responses > 401 > $ref": "responses/Unauthorized",
    "paths > /pets/{petId} > get > operationId": "getPet",  # §4.3
    "paths > /pets/{petId} > get > deprecated": True,
    "paths > /pets/{petId} > get > parameters > 0 > name": "petId",
    "paths > /pets/{petId} > get > parameters > 0 > required": True,
    "paths > /pets/{petId} > get > parameters > 0 > schema": INT64,
    "paths > /pets/{petId} > get > responses > 200 > headers > Sunset > description": (
        "Removal announced for 5 December 2030 (§9)."
    ),
    "paths > /pets/{petId} > get > responses > 200 > json": "schemas/Pet",
    "paths > /pets/{petId} > get > responses > 401 > $ref": "responses/Unauthorized",
    "paths > /pets/{petId} > get > responses > 404 > $ref": "responses/NotFound",
    "components > securitySchemes > bearer": {"type": "http", "scheme": "bearer"},  # §5
    "security": [{"bearer": []}],
    "components > schemas > PetStatus > enum": ["available", "pending", "sold"],  # §2.3
    "components > schemas > NewPet > required": ["name", "categoryId"],  # §2.1
    "components > schemas > NewPet > properties > name > type": "string",
    "components > schemas > NewPet > properties > name > maxLength": 10_000,  # ours
    "components > schemas > NewPet > additionalProperties": False,  # ours
    "components > schemas > NewPet > properties > categoryId": INT64,
    "components > schemas > NewPet > properties > status": {
        "$ref": "#/components/schemas/PetStatus"
    },
    "components > schemas > Pet > properties > id": INT64,  # §2.2
    "components > schemas > Pet > properties > categoryId": INT64,
    "components > schemas > Pets > type": "array",  # §2.4
    "components > schemas > Pets > maxItems": 100,
    "components > schemas > Pets > items": {"$ref": "#/components/schemas/Pet"},
    "components > schemas > Error > required": ["code", "message", "status"],  # §2.5
    "components > schemas > Error > properties > code > type": "string",
    "components > schemas > Error > properties > message > type": "string",
    "components > schemas > Error > properties > status > type": "integer",
    f"{_TOO_MANY} > headers > Retry-After > schema > type": "integer",  # §8.4
}


def found(tree: Any, place: str) -> Any:
    """
    Walk to a place; `json` stands for the schema of a body, and a reference is what it
    names.
    """
    for part in place.split(" > "):
        if part == "json":
            tree = tree["content"]["application/json"]["schema"]["$ref"]
        else:
            tree = tree[int(part)] if isinstance(tree, list) else tree[part]
    return tree.removeprefix("#/components/") if isinstance(tree, str) else tree


def test_the_document_says_what_the_interface_says() -> None:
    """Field by field; and nothing beyond its operations and schemas."""
    said = {place: found(TREE, place) for place in TABLE}

    assert said == TABLE
    assert sorted(TREE["components"]["schemas"]) == [
        "Error",
        "NewPet",
        "Pet",
        "PetStatus",
        "Pets",
    ]
    assert sorted(TREE["components"]["schemas"]["Pet"]["required"]) == [
        "categoryId",
        "id",
        "name",
    ]
    assert [server["description"] for server in TREE["servers"]] == [
        "production",
        "staging",
    ]
    assert {server["url"] for server in TREE["servers"]} == {"{base}/v1"}
    assert sorted(TREE["paths"]) == ["/pets", "/pets/{petId}"]
    operations = [op for path in TREE["paths"].values() for op in path.values()]
    assert sorted(op["operationId"] for op in operations) == [
        "createPet",
        "getPet",
        "listPets",
    ]
    assert "deprecated" not in TREE["paths"]["/pets"]["get"]


def test_each_answer_it_names_carries_the_rate_headers() -> None:
    """Every API response does (§8.3)."""
    operations = [
        operation for path in TREE["paths"].values() for operation in path.values()
    ]
    named = [
        response
        for place in (TREE["components"], *operations)
        for response in place["responses"].values()
        if "$ref" not in response
    ]

    assert len(named) >= 10
    for response in named:
        assert {spec.HEADER_LIMIT, spec.HEADER_REMAINING, spec.HEADER_RESET} <= set(
            response["headers"]
        )
        assert "example" in response["content"]["application/json"]


@pytest.mark.case("P58", "P59")
def test_schemathesis_finds_nothing(tmp_path: Path) -> None:
    """
    All checks, examples, coverage, fuzzing and stateful, by a tool that knows nothing
    but the
    document: what it announces is what the service takes.
    """
    # no schema tells a cursor that the service gave from any other string: that one is
    # 400
    allowed = ["2xx", "400", "401", "403", "404", "409", "429", "5xx"]
    (tmp_path / "schemathesis.toml").write_text(
        '[[operations]]\ninclude-name = "GET /pets"\n'
        f"checks.positive_data_acceptance.expected-statuses = {allowed}\n"
    )
    command = [Path(sys.executable).with_name("schemathesis"), "run", "--checks", "all"]
    command += (
        "--phases examples,coverage,fuzzing,stateful --max-examples 20 --seed 1".split()
    )
    without_key = windows(10**9, 10**9)
    with serve_in_thread(str(tmp_path / "service.db"), without_key=without_key) as (
        _,
        caller,
    ):
        command += [f"{caller.base_url}/openapi.json", "--url", caller.base_url]
        command += ["--header", f"Authorization: Bearer {caller.key}"]
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=tmp_path, timeout=600
        )

    assert done.returncode == 0, done.stdout[-6_000:] + done.stderr[-1_000:]
    assert "No issues found" in done.stdout
