"""The types of this package, against the document that the real program serves of itself."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime
from typing import Any, get_args

import httpx
import pytest

import tintype
from service import Service
from tintype import (
    AspectRatio,
    BatchRequest,
    GenerationParams,
    JobFilter,
    Mode,
    Resolution,
    Status,
    Tier,
    TransactionKind,
    _calls,
)
from tintype.errors import BY_CODE

# What a created job tells beside the body of its answer.
OF_HEADERS = {"idempotency_key", "replayed"}


@pytest.fixture(scope="module")
def document(service: Service) -> Any:
    return httpx.get(f"{service.url}/api/v1/openapi.json", timeout=30).raise_for_status().json()


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        *((it, it) for it in ("Balance", "CreatedJob", "Estimate", "Job", "Key", "ListedJob", "Model", "Transaction", "Usage")),
        *((it, it) for it in ("Batch", "BatchCounts", "BatchEstimate")),
        ("JobResult", "Result"),
        ("Rate", "RateLimit"),
        ("ListedJobPage", "Page"),
    ],
)
def test_every_field_of_an_answer_has_its_place(document: Any, schema: str, name: str) -> None:
    kind = getattr(tintype, name)
    assert {it.name for it in fields(kind)} - OF_HEADERS == document["components"]["schemas"][schema]["properties"].keys()


def test_the_words_are_those_of_the_service(document: Any) -> None:
    schemas = document["components"]["schemas"]
    listed = {it["name"]: it["schema"] for it in document["paths"]["/api/v1/jobs"]["get"]["parameters"]}
    ledger = {it["name"]: it["schema"] for it in document["paths"]["/api/v1/transactions"]["get"]["parameters"]}
    words = {Tier: listed["tier"], Mode: listed["mode"], Status: listed["status"], TransactionKind: ledger["kind"]}
    for kind, schema in words.items():
        assert list(get_args(kind)) == schema["enum"]
    asked = body(document, "/nb2/url-generations")["properties"]
    assert list(get_args(AspectRatio)) == asked["aspect_ratio"]["enum"]
    assert [*get_args(Resolution), None] == asked["resolution"]["enum"]
    assert list(BY_CODE) == schemas["Problem"]["properties"]["code"]["allOf"][0]["enum"]
    assert {*JobFilter.__annotations__, "limit", "cursor"} == listed.keys()


def test_every_parameter_of_a_lookup_can_be_asked_for(document: Any) -> None:
    moment = datetime(2026, 11, 18, tzinfo=UTC)
    window = _calls.window(1, "c")
    jobs: JobFilter = {
        "status": "done",
        "tier": "fast",
        "mode": "text-to-image",
        "key": "k",
        "batch_id": "b",
        "created_after": moment,
        "created_before": moment,
        "metadata": {"n": 1},
    }
    asked = {
        "/jobs": window + _calls.filtered(**jobs),
        "/jobs/{job_id}": _calls.waiting(_calls.for_job("j"), 30).query,
        "/batches": window,
        "/batches/{batch_id}": _calls.waiting(_calls.for_batch("b"), 30).query,
        "/transactions": _calls.ledger(1, "c", kind="charge", job_id="j", from_time=moment, to_time=moment).query,
        "/usage": _calls.usage(moment, moment, "k", "c").query,
    }
    calls = {path.removeprefix("/api/v1"): it["get"] for path, it in document["paths"].items() if "get" in it}
    told = {path: {it["name"] for it in call.get("parameters", []) if it["in"] == "query"} for path, call in calls.items()}
    # The clients do not build the URLs of images.
    del told["/files/results/{file}"]
    assert {path: names for path, names in told.items() if names} == {
        path: {name.partition("[")[0] for name, _ in query} for path, query in asked.items()
    }


@pytest.mark.parametrize("mode", ["text", "url"])
@pytest.mark.parametrize("tier", get_args(Tier))
def test_every_generation_call_can_be_asked_for_in_full(document: Any, tier: Tier, mode: str) -> None:
    schema = body(document, f"{_calls.PATHS[tier]}/{mode}-generations")
    assert schema["properties"].keys() <= GenerationParams.__annotations__.keys()
    parameters = {
        it["name"] for it in document["paths"][f"/api/v1{_calls.PATHS[tier]}/{mode}-generations"]["post"]["parameters"]
    }
    assert parameters == {"dry_run", "Idempotency-Key", "Cancel-After"}
    assert set(schema["required"]) == {"prompt", "aspect_ratio"} | ({"input_images_urls"} if mode == "url" else set())


def test_every_request_of_a_batch_can_be_asked_for_in_full(document: Any) -> None:
    asked = body(document, "/batches")["properties"]
    fields = {name for it in asked["requests"]["items"]["anyOf"] for name in it["properties"]}
    assert fields == BatchRequest.__annotations__.keys()
    assert asked.keys() == {"requests", "metadata", "callback_url"}


def body(document: Any, path: str) -> Any:
    return document["paths"][f"/api/v1{path}"]["post"]["requestBody"]["content"]["application/json"]["schema"]
