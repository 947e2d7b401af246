"""The conventional design: the same transaction with FastAPI, asyncpg and PostgreSQL, as their documentation recommends.

One transaction accepts a job: it reserves the price and inserts the job, and is on disk before the answer. The service checks the
key and the balance and honours idempotency keys, and does nothing else of what Tintype does.
"""

import contextlib
import hashlib
import os
import uuid
from decimal import Decimal
from typing import Any

import asyncpg
import fastapi
import pydantic

PRICES = {"pro": Decimal("0.134")}


@contextlib.asynccontextmanager
async def with_database(app: fastapi.FastAPI):
    app.state.pool = await asyncpg.create_pool(os.environ["BASELINE_DATABASE"], min_size=16, max_size=16)
    yield
    await app.state.pool.close()


app = fastapi.FastAPI(lifespan=with_database, openapi_url=None)


class Order(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")
    prompt: str = pydantic.Field(min_length=1, max_length=32_000)
    aspect_ratio: str = "1:1"
    metadata: dict[str, Any] | None = None


async def account_of(request: fastapi.Request) -> uuid.UUID:
    """The account of the caller's key. Keys are in memory, like Tintype's."""
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    known = app.state.__dict__.setdefault("keys", {})
    digest = hashlib.sha256(key.encode()).digest()
    if digest not in known:
        found = await app.state.pool.fetchval("SELECT account FROM keys WHERE digest = $1 AND active", digest)
        if scheme != "Bearer" or found is None:
            raise fastapi.HTTPException(401, "the key is not known")
        known[digest] = found
    return known[digest]


@app.post("/api/v1/text-generations", status_code=202)
async def create(order: Order, request: fastapi.Request) -> dict[str, str]:
    account = await account_of(request)
    price, job, name = PRICES["pro"], uuid.uuid4(), request.headers.get("idempotency-key")
    async with app.state.pool.acquire() as connection, connection.transaction():
        held = await connection.fetchval(
            "UPDATE accounts SET reserved = reserved + $2 WHERE id = $1 AND balance - reserved >= $2 RETURNING id", account, price
        )
        if held is None:
            raise fastapi.HTTPException(402, "insufficient funds")
        if name is not None:
            first = await connection.fetchval(
                "INSERT INTO idempotency (account, name, job) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING job", account, name, job
            )
            if first is None:
                raise fastapi.HTTPException(409, "the idempotency key was used")
        await connection.execute(
            "INSERT INTO jobs (id, account, status, prompt, aspect_ratio, metadata, price) VALUES ($1, $2, 'queued', $3, $4, $5, $6)",
            job,
            account,
            order.prompt,
            order.aspect_ratio,
            pydantic.TypeAdapter(dict).dump_json(order.metadata or {}).decode(),
            price,
        )
    return {"job_id": str(job), "status": "queued", "status_url": f"/api/v1/jobs/{job}"}


@app.get("/api/v1/jobs/{job}")
async def look_up(job: uuid.UUID, request: fastapi.Request) -> dict[str, Any]:
    account = await account_of(request)
    row = await app.state.pool.fetchrow("SELECT status, created_at FROM jobs WHERE id = $1 AND account = $2", job, account)
    if row is None:
        raise fastapi.HTTPException(404, "there is no such job")
    return {"job_id": str(job), "status": row["status"], "created_at": row["created_at"].isoformat()}
