"""
The routes as people write them, with the same duties: FastAPI, SQLite, a model a row;
keys, quotas of a minute and a day, creates that survive a power loss, and a slow disk
holds up no answer that needs none. PORT FOLDER.
"""

import hashlib
import sqlite3
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import uvicorn
from fastapi import FastAPI, Header, HTTPException, Query, Response
from pydantic import BaseModel

Status = Literal["available", "pending", "sold"]
app = FastAPI()
lock = threading.Lock()
db = sqlite3.connect(
    f"{sys.argv[2]}/plain.db", isolation_level=None, check_same_thread=False
)
db.row_factory = sqlite3.Row


class NewPet(BaseModel):
    name: str
    categoryId: int  # noqa: N815
    status: Status | None = None


class Pet(NewPet):
    id: int


def quota(response, authorization):
    digest = hashlib.sha256(authorization.encode()).hexdigest()
    key = db.execute(
        "SELECT id, per_minute, per_day FROM key WHERE digest = ?", (digest,)
    )
    row = key.fetchone()
    if row is None:
        raise HTTPException(401)
    key_id, per_minute, per_day = row
    now = int(time.time())
    for period_s, limit in ((60, per_minute), (86_400, per_day)):
        used = db.execute(
            "INSERT INTO usage VALUES (?, ?, ?, 1)"
            " ON CONFLICT (key, period, start) DO UPDATE SET used = used + 1"
            " RETURNING used",
            (key_id, period_s, now // period_s),
        ).fetchone()[0]
        if used > limit:
            raise HTTPException(429)
    response.headers["X-RateLimit-Limit"] = str(per_day)
    response.headers["X-RateLimit-Remaining"] = str(per_day - used)
    response.headers["X-RateLimit-Reset"] = str((now // 86_400 + 1) * 86_400)


@contextmanager
def transaction(level):
    with lock:
        db.execute(f"PRAGMA synchronous = {level}")
        db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            db.execute("ROLLBACK")
            raise
        db.execute("COMMIT")


@app.get("/v1/pets", response_model=list[Pet], response_model_exclude_none=True)
def list_pets(
    response: Response,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    after: int = 0,
    *,
    authorization: Annotated[str, Header()],
):
    with transaction("NORMAL"):
        quota(response, authorization)
        rows = db.execute(
            "SELECT id, name, category AS categoryId, status FROM pet"
            " WHERE id > ? ORDER BY id LIMIT ?",
            (after, limit),
        ).fetchall()
    return [dict(row) for row in rows]


@app.post(
    "/v1/pets", response_model=Pet, status_code=201, response_model_exclude_none=True
)
def create_pet(
    pet: NewPet, response: Response, authorization: Annotated[str, Header()]
):
    with transaction("FULL"):
        quota(response, authorization)
        cursor = db.execute(
            "INSERT INTO pet (name, category, status) VALUES (?, ?, ?)",
            (pet.name, pet.categoryId, pet.status),
        )
    return {"id": cursor.lastrowid, **pet.model_dump()}


def main():
    db.executescript(Path(__file__).with_suffix(".sql").read_text("utf-8"))
    digest = hashlib.sha256(b"Bearer k").hexdigest()
    db.execute("INSERT INTO key VALUES ('k', 1000000000, 1000000000, ?)", (digest,))
    rows = [(f"Pet {n}", n % 7, "sold") for n in range(1_000)]
    db.executemany("INSERT INTO pet (name, category, status) VALUES (?, ?, ?)", rows)
    uvicorn.run(app, port=int(sys.argv[1]), log_level="error", access_log=False)


if __name__ == "__main__":
    main()
