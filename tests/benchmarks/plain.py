"""
The routes as people write them: FastAPI, SQLite, a model a row, a minute's and a day's
quota of a key, creates that survive a power loss. PORT FOLDER.
"""

import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import uvicorn
from fastapi import FastAPI, Header, HTTPException, Query, Response
from pydantic import BaseModel

Status = Literal["available", "pending", "sold"]
app = FastAPI()
db = sqlite3.connect(
    f"{sys.argv[2]}/plain.db", isolation_level=None, check_same_thread=False
)


class NewPet(BaseModel):
    name: str
    categoryId: int  # noqa: N815
    status: Status | None = None


class Pet(NewPet):
    id: int


def quota(response: Response, authorization: str) -> None:
    now = int(time.time())
    for period_s in (60, 86_400):
        used = db.execute(
            "INSERT INTO usage VALUES (?, ?, 1)"
            " ON CONFLICT (key, start) DO UPDATE SET used = used + 1 RETURNING used",
            (f"{authorization} {period_s}", now // period_s),
        ).fetchone()[0]
        if used > 100_000_000:
            raise HTTPException(429)
    response.headers["X-RateLimit-Limit"] = "100000000"
    response.headers["X-RateLimit-Remaining"] = str(100_000_000 - used)
    response.headers["X-RateLimit-Reset"] = str((now // 86_400 + 1) * 86_400)


@contextmanager
def transaction(level: str) -> Iterator[None]:
    db.execute(f"PRAGMA synchronous = {level}")
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


@app.get("/v1/pets", response_model=list[Pet], response_model_exclude_none=True)
async def list_pets(
    response: Response,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    after: int = 0,
    *,
    authorization: Annotated[str, Header()],
) -> list[dict[str, object]]:
    with transaction("NORMAL"):
        quota(response, authorization)
        rows = db.execute(
            "SELECT id, name, category, status FROM pet"
            " WHERE id > ? ORDER BY id LIMIT ?",
            (after, limit),
        ).fetchall()
    return [
        dict(zip(("id", "name", "categoryId", "status"), row, strict=True))
        for row in rows
    ]


@app.post(
    "/v1/pets", response_model=Pet, status_code=201, response_model_exclude_none=True
)
async def create_pet(
    pet: NewPet, response: Response, authorization: Annotated[str, Header()]
) -> dict[str, object]:
    with transaction("FULL"):
        quota(response, authorization)
        cursor = db.execute(
            "INSERT INTO pet (name, category, status) VALUES (?, ?, ?)",
            (pet.name, pet.categoryId, pet.status),
        )
    return {"id": cursor.lastrowid, **pet.model_dump()}


def main() -> None:
    db.executescript(Path(__file__).with_suffix(".sql").read_text("utf-8"))
    rows = [(f"Pet {n}", n % 7, "sold") for n in range(1_000)]
    db.executemany("INSERT INTO pet (name, category, status) VALUES (?, ?, ?)", rows)
    uvicorn.run(app, port=int(sys.argv[1]), log_level="error", access_log=False)


if __name__ == "__main__":
    main()
