"""The interface as an OpenAPI 3.1 document, with the document's names and our choices."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from pydantic.json_schema import models_json_schema

from petstore_tools import spec
from petstore_tools.models import ErrorBody
from petstore_tools.service import bodies

VERSION: Final = "1.0.0"  # §9
_REX: Final = {"id": 17, "name": "Rex", "categoryId": 3, "status": "available"}
_REF: Final = "#/components/schemas/"


def _whole(description: str) -> dict[str, Any]:
    return {"description": description, "required": True, "schema": {"type": "integer"}}


_RATE: Final = {
    spec.HEADER_LIMIT: _whole("The limit of the window with fewer requests left (§8.3)."),
    spec.HEADER_REMAINING: _whole("Requests left in it (§8.3)."),
    spec.HEADER_RESET: _whole("Unix seconds at which it ends (§8.3)."),
}
_ERRORS: Final = {
    400: ("InvalidRequest", "Body or parameter invalid (§4.2; for listPets our choice).", "invalid_body"),
    401: ("Unauthorized", "The API key is missing or invalid (§5).", "unauthorized"),
    404: ("NotFound", "The animal cannot be found (§4.3).", "not_found"),
    410: ("Gone", "The operation was removed as announced (§9; our choice).", "gone"),
    413: ("BodyTooLarge", "The body has more than a mebibyte (our choice).", "body_too_large"),
    429: ("TooManyRequests", "A limit is exceeded, or the key is banned (§8.4).", "rate_limited"),
    503: ("Unavailable", "The service cannot answer now, and did nothing (our choice).", "unavailable"),
}


def _error(status: int) -> dict[str, Any]:
    _, description, code = _ERRORS[status]
    headers: dict[str, Any] = dict(_RATE)
    if status == 401:
        headers["WWW-Authenticate"] = {"required": True, "schema": {"type": "string", "const": "Bearer"}}
    if status in (429, 503):
        headers[spec.HEADER_RETRY_AFTER] = _whole("Seconds to wait (§8.4).")
    example = {"code": code, "message": "What is wrong, for people.", "status": status}
    return {
        "description": description,
        "headers": headers,
        "content": {"application/json": {"schema": {"$ref": f"{_REF}Error"}, "example": example}},
    }


def _good(description: str, schema: str, example: Any, **headers: Any) -> dict[str, Any]:
    return {
        "description": description,
        "headers": {**_RATE, **headers},
        "content": {"application/json": {"schema": {"$ref": f"{_REF}{schema}"}, "example": example}},
    }


def _responses(good: dict[str, Any], *errors: int) -> dict[str, Any]:
    named = {str(status): {"$ref": f"#/components/responses/{_ERRORS[status][0]}"} for status in errors}
    return {**good, **named}


def _text(description: str) -> dict[str, Any]:
    return {"description": description, "required": True, "schema": {"type": "string"}}


def _list_pets() -> dict[str, Any]:
    limit = {
        "name": "limit",
        "in": "query",
        "description": "Maximum number of animals returned (§8.1).",
        "schema": {
            "type": "integer",
            "minimum": spec.LIMIT_MIN,
            "maximum": spec.LIMIT_MAX,
            "default": spec.LIMIT_DEFAULT,
        },
    }
    status = {
        "name": "status",
        "in": "query",
        "description": "Keep only animals with this status (§2.3).",
        "schema": {"$ref": f"{_REF}PetStatus"},
    }
    cursor = {
        "name": "cursor",
        "in": "query",
        "description": "Where a page begins: as a `Link` of the page before has it, with the same `status`"
        " (our choice, §4.1); any other is 400.",
        "schema": {"type": "string"},
    }
    link = _text('`rel="next"` leads to the next page, relative to this one; without it this is the last.')
    page = _good("A page of animals.", "Pets", [_REX], Link=link)
    return {
        "operationId": "listPets",
        "summary": "List animals",
        "parameters": [limit, status, cursor],
        "responses": _responses({"200": page}, 400, 401, 429, 503),
    }


def _create_pet() -> dict[str, Any]:
    body = {"name": "Rex", "categoryId": 3, "status": "available"}
    fetch = {"operationId": "getPet", "parameters": {"petId": "$response.body#/id"}}
    added = _good("The animal was added.", "Pet", _REX) | {"links": {"getPet": fetch}}
    content = {"application/json": {"schema": {"$ref": f"{_REF}NewPet"}, "example": body}}
    return {
        "operationId": "createPet",
        "summary": "Add an animal",
        "requestBody": {"required": True, "content": content},
        "responses": _responses({"201": added}, 400, 401, 413, 429, 503),
    }


def _get_pet() -> dict[str, Any]:
    bounds = {"minimum": spec.INT64_MIN, "maximum": spec.INT64_MAX}
    pet_id = {
        "name": "petId",
        "in": "path",
        "required": True,
        "description": "Identifier of the animal; what is no int64 is 404 (our choice).",
        "schema": {"type": "integer", "format": "int64"} | bounds,
    }
    found = _good(
        "The animal.",
        "Pet",
        _REX,
        Deprecation=_text("Since when (our choice)."),
        Sunset=_text(f"Removal announced for {spec.REMOVAL_OF_GET_PET} (§9)."),
        Link=_text('`rel="successor-version"`: the operation to use in its place.'),
    )
    return {
        "operationId": "getPet",
        "summary": "Get an animal",
        "description": "Use listPets with the `status` filter in its place.",
        "deprecated": True,
        "parameters": [pet_id],
        "responses": _responses({"200": found}, 401, 404, 410, 429, 503),
    }


def _schemas() -> dict[str, Any]:
    _, made = models_json_schema(
        [(bodies.NewPet, "validation"), (bodies.Pet, "validation"), (ErrorBody, "validation")],
        ref_template=_REF + "{model}",
    )
    schemas: dict[str, Any] = {}
    for name, schema in made["$defs"].items():
        fields = schema.get("properties", {})
        schemas[{"ErrorBody": "Error"}.get(name, name)] = {
            **{key: value for key, value in schema.items() if key not in ("title", "description")},
            **(
                {"properties": {k: {f: v[f] for f in v if f != "title"} for k, v in fields.items()}}
                if fields
                else {}
            ),
        }
    for schema in (schemas["NewPet"], schemas["Pet"]):
        for name in ("id", "categoryId"):
            if name in schema["properties"]:
                schema["properties"][name]["format"] = "int64"
    del schemas["Pet"]["additionalProperties"]
    schemas["Pets"] = {"type": "array", "items": {"$ref": f"{_REF}Pet"}, "maxItems": spec.LIMIT_MAX}
    return schemas


@cache
def tree() -> dict[str, Any]:
    """Return the document as plain JSON values."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Animal Store Service",
            "version": VERSION,
            "description": "Animals of a store: list, add, fetch. What the interface document leaves open is"
            " marked as our choice.",
        },
        "servers": [
            {
                "url": f"{{base}}{spec.PATH_PREFIX}",
                "description": name,
                "variables": {"base": {"default": f"http://127.0.0.1:{port}", "description": "Its address."}},
            }
            for name, port in (("production", 8765), ("staging", 8766))
        ],
        "security": [{"bearer": []}],
        "paths": {
            spec.PETS_PATH: {"get": _list_pets(), "post": _create_pet()},
            f"{spec.PETS_PATH}/{{petId}}": {"get": _get_pet()},
        },
        "components": {
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
            "responses": {name: _error(status) for status, (name, _, _) in _ERRORS.items()},
            "schemas": _schemas(),
        },
    }


@cache
def document() -> bytes:
    """Return the document as JSON."""
    return bodies.dump(tree())
