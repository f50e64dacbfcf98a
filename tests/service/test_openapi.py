"""
The OpenAPI document: field by field as the interface document has it, and fit for other
people's tools.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from services import serve_in_thread
from tables import read_json

from petstore_tools import spec
from petstore_tools.service.app import HEADER_POLICY, OPENAPI
from petstore_tools.service.models import NewPetBody, PageQuery, write_cursor

TREE = json.loads(OPENAPI)
# typed from INTERFACE.md: § of the interface -> path in the document -> what it says
FIELDS = read_json(__file__, "openapi_fields.json")


def resolve(tree, path):
    """
    Follow a path. `json` stands for the schema of a body, `keys` for the names in an
    object, and a reference is what it names.
    """
    for part in path.split(" > "):
        if part == "json":
            tree = tree["content"]["application/json"]["schema"]["$ref"]
        elif part == "keys":
            tree = sorted(tree)
        else:
            tree = tree[int(part)] if isinstance(tree, list) else tree[part]
    return tree.removeprefix("#/components/") if isinstance(tree, str) else tree


@pytest.mark.parametrize("section", FIELDS)
def test_the_document_says_what_the_interface_says(section):
    """Field by field; and nothing beyond its operations and schemas."""
    fields = FIELDS[section]

    assert {path: resolve(TREE, path) for path in fields} == fields


def test_each_answer_it_names_carries_the_rate_headers():
    """
    Every API response does (§8.3), if it could be counted. What needs no key (our
    choice) is no operation of the interface document.
    """
    operations = [
        operation
        for path in TREE["paths"].values()
        for operation in path.values()
        if "security" not in operation
    ]
    responses = [
        (name, response)
        for owner in (TREE["components"], *operations)
        for name, response in owner["responses"].items()
        if "$ref" not in response
    ]
    rate = {spec.HEADER_LIMIT, spec.HEADER_REMAINING, spec.HEADER_RESET, HEADER_POLICY}

    assert {
        name
        for name, response in responses
        if not rate <= set(response.get("headers", ()))
    } == {"Failed", "Unavailable"}
    for _, response in responses:
        assert "example" in response["content"]["application/json"]


def test_the_document_has_the_models():
    """Its parameters and fields are those that are checked."""
    query = PageQuery.model_json_schema()["properties"]
    listed = TREE["paths"]["/pets"]["get"]["parameters"]
    body = NewPetBody.model_json_schema()["properties"]
    described = TREE["components"]["schemas"]["NewPet"]["properties"]

    assert {parameter["name"] for parameter in listed} == query.keys()
    limit = listed[0]["schema"]
    assert limit.items() <= query["limit"].items()
    cursor = write_cursor(spec.INT64_MIN, "available")
    assert re.fullmatch(listed[2]["schema"]["pattern"], cursor)
    assert described.keys() == body.keys()
    assert described["name"].items() <= body["name"].items()
    numbers = {name: body["categoryId"][name] for name in ("minimum", "maximum")}
    assert numbers.items() <= described["categoryId"].items()


@pytest.mark.parametrize(
    "where",
    ["sqlite", pytest.param("postgresql", marks=pytest.mark.soak, id="part001")],
    indirect=True,
)
def test_schemathesis_finds_nothing(tmp_path, where):
    """
    All checks, examples, coverage, fuzzing and stateful, by a tool that knows nothing
    but the document: what it announces is what the service takes.
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
        "--phases examples,coverage,fuzzing,stateful --max-examples 8 --seed 1".split()
    )
    with serve_in_thread(where) as (_, caller):
        command += [f"{caller.base_url}/openapi.json", "--url", caller.base_url]
        command += ["--header", f"Authorization: Bearer {caller.key}"]
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=tmp_path, timeout=600
        )

    assert done.returncode == 0, done.stdout[-6_000:] + done.stderr[-1_000:]
    assert "No issues found" in done.stdout
