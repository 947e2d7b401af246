"""Batches, against the real program."""

from __future__ import annotations

from decimal import Decimal

import pytest

from peer import Peer
from relay import losing
from service import Service
from tintype import (
    BatchRequest,
    BatchWaitTimeoutError,
    ConflictError,
    InsufficientBalanceError,
    Tintype,
    ValidationError,
    webhooks,
)
from variants import Variant

FOX: BatchRequest = {"model": "fast", "prompt": "a red fox", "aspect_ratio": "1:1"}
OWL: BatchRequest = {"model": "quality", "prompt": "an owl", "aspect_ratio": "16:9", "custom_id": "owl", "resolution": "2K"}
PNG = b"\x89PNG\r\n\x1a\n"


def test_a_batch_is_made_waited_for_and_fetched(client: Tintype) -> None:
    estimate = client.batches.dry_run([FOX, OWL])
    assert (estimate.price, estimate.requests, estimate.available) == (Decimal("0.14"), 2, Decimal("10.00"))
    made = client.batches.create([FOX, OWL], metadata={"catalogue": "autumn"})
    assert (made.price, made.counts.total, made.metadata) == (Decimal("0.14"), 2, {"catalogue": "autumn"})
    assert not made.replayed
    ended = client.batches.wait(made)
    assert ended.is_over
    assert (ended.counts.done, ended.counts.failed) == (2, 0)
    assert (ended.price, ended.charged) == (Decimal("0.14"), Decimal("0.14"))
    assert ended.ended_at is not None
    fox, owl = client.batches.results(made)
    assert (fox.custom_id, owl.custom_id, owl.status) == ("0", "owl", "done")
    assert client.jobs.download(owl.job_id).startswith(PNG)
    listed = list(client.jobs.iterate(batch_id=made.batch_id))
    assert {(it.batch_id, it.custom_id) for it in listed} == {(made.batch_id, "0"), (made.batch_id, "owl")}
    assert [it.batch_id for it in client.batches.iterate()] == [made.batch_id]


def test_a_lost_answer_is_one_batch_and_one_charge(variant: Variant, service: Service, peer: Peer) -> None:
    account = service.account(balance="1.00")
    client = variant.client(api_key=account.key, base_url=losing(peer, service.url, answers=2))
    made = client.batches.create([FOX, FOX])
    assert made.replayed
    client.batches.wait(made)
    assert client.balance().balance == Decimal("0.922")


def test_faults_name_their_request(client: Tintype) -> None:
    with pytest.raises(ValidationError) as caught:
        client.batches.create([FOX, {**FOX, "prompt": ""}])
    assert [it.field for it in caught.value.errors] == ["requests[1].prompt"]
    with pytest.raises(InsufficientBalanceError):
        client.batches.dry_run([FOX] * 1_000)


def test_what_is_queued_is_canceled(client: Tintype, service: Service) -> None:
    with service.held():
        made = client.batches.create([FOX] * 50)
        with pytest.raises(BatchWaitTimeoutError) as caught:
            client.batches.wait(made, timeout=0)
        assert caught.value.batch_id == made.batch_id
        canceled = client.batches.cancel(made.batch_id)
        assert canceled.counts.queued == 0
        assert canceled.status in ("canceling", "ended")
    ended = client.batches.wait(made)
    assert ended.counts.failed >= 1
    assert ended.charged == ended.counts.done * Decimal("0.039")
    assert client.batches.results(made)[-1].error == "canceled"
    finished = client.batches.create([FOX])
    client.batches.wait(finished)
    with pytest.raises(ConflictError):
        client.batches.cancel(finished)


def test_the_end_of_a_batch_is_told_to_the_webhook(service: Service, peer: Peer) -> None:
    account = service.account()
    hook = service.admin("POST", f"/accounts/{account.account_id}/webhooks", {"url": f"{peer.url}/hook"})
    with Tintype(api_key=account.key, base_url=service.url) as client:
        made = client.batches.create([FOX, FOX], metadata={"catalogue": "autumn", "_own": 1})
        ended = client.batches.wait(made)
    peer.heard.acquire(timeout=30)
    (request,) = peer.requests
    event = webhooks.verify(request.body, request.headers, hook["secret"])
    assert (event.job_id, event.batch_id, event.status) == (None, made.batch_id, "ended")
    assert (event.counts, event.metadata) == (ended.counts, {"catalogue": "autumn"})
