"""The clients against the real program."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from peer import Peer, Reply
from relay import losing
from service import Service
from tintype import (
    AspectRatio,
    ConflictError,
    GoneError,
    IdempotencyKeyReusedError,
    InsufficientBalanceError,
    JobFailedError,
    JobUnfinishedError,
    KeyLimitReachedError,
    ModelNotAllowedError,
    NotFoundError,
    PausedError,
    ProgressEvent,
    RateLimitedError,
    StatusEvent,
    Tier,
    Tintype,
    UnauthorizedError,
    ValidationError,
    WaitTimeoutError,
    webhooks,
)
from variants import Variant

FOX: dict[str, Any] = {"prompt": "a red fox", "tier": "fast", "aspect_ratio": "1:1"}
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize("tier", ["fast", "quality", "pro"])
@pytest.mark.parametrize("is_from_image", [False, True])
def test_all_six_generation_calls_make_a_picture(client: Tintype, service: Service, tier: Tier, is_from_image: bool) -> None:
    urls = [f"{service.back_end}/picture.png"] if is_from_image else None
    ratio: AspectRatio = "auto" if is_from_image and tier != "fast" else "3:2"
    job = client.generations.create_and_wait(prompt="a fox", tier=tier, aspect_ratio=ratio, input_images_urls=urls)
    assert job.status == "done"
    assert client.jobs.download(job).startswith(PNG)
    (listed,) = client.jobs.list().data
    assert (listed.job_id, listed.tier, listed.aspect_ratio) == (job.job_id, tier, "3:2")
    assert listed.mode == ("image-to-image" if is_from_image else "text-to-image")


def test_a_lost_answer_is_one_job_and_one_charge(variant: Variant, service: Service, peer: Peer) -> None:
    account = service.account(balance="1.00")
    client = variant.client(api_key=account.key, base_url=losing(peer, service.url, answers=2))
    made = client.generations.create(**FOX)
    assert made.replayed
    assert [it.method for it in peer.requests] == ["POST"] * 3
    assert client.jobs.wait(made).status == "done"
    assert [it.job_id for it in client.jobs.iterate()] == [made.job_id]
    balance = client.balance()
    assert (balance.balance, balance.reserved, balance.available) == (Decimal("0.961"), Decimal(0), Decimal("0.961"))


def test_a_lost_answer_to_a_cancel_is_a_canceled_job(variant: Variant, service: Service, peer: Peer) -> None:
    client = variant.client(api_key=service.account().key, base_url=losing(peer, service.url, answers=0))
    with service.held():
        client.generations.create(**FOX)
        queued = client.generations.create(**FOX)
        losing(peer, service.url, answers=1)
        assert client.jobs.cancel(queued).error == "canceled"


def test_a_key_is_good_for_one_request(client: Tintype) -> None:
    first = client.generations.create(idempotency_key="order-4711", **FOX)
    again = client.generations.create(idempotency_key="order-4711", **FOX)
    assert (again.job_id, first.replayed, again.replayed) == (first.job_id, False, True)
    with pytest.raises(IdempotencyKeyReusedError):
        client.generations.create(idempotency_key="order-4711", **{**FOX, "prompt": "another"})


def test_a_dry_run_tells_the_price_and_keeps_nothing(client: Tintype, service: Service) -> None:
    estimate = client.generations.dry_run(
        prompt="a fox",
        tier="quality",
        aspect_ratio="auto",
        resolution="2K",
        input_images_urls=[f"{service.back_end}/picture.png"],
    )
    assert (estimate.price, estimate.available) == (Decimal("0.101"), Decimal("10.00"))
    assert (estimate.tier, estimate.mode, estimate.resolution) == ("quality", "image-to-image", "2K")
    assert estimate.aspect_ratio == "3:2"
    assert client.jobs.list().data == ()


def test_a_job_is_seen_queued_processed_and_done(client: Tintype, service: Service) -> None:
    with service.held():
        first, second = client.generations.create(**FOX), client.generations.create(**FOX)
        heard = client.jobs.events(first)
        # Its progress tells that it is being made; the second one waits for its place.
        states = []
        for event in heard:
            if isinstance(event, ProgressEvent):
                assert event.progress == 0.42
                break
            assert isinstance(event, StatusEvent)
            states.append(event.job.status)
        waiting = client.jobs.get(second)
        assert (waiting.status, waiting.queue_position, waiting.started_at) == ("queued", 1, None)
        with pytest.raises(WaitTimeoutError) as caught:
            client.jobs.wait(second, timeout=0)
        assert caught.value.job is not None
        assert caught.value.job.status == "queued"
        with pytest.raises(JobUnfinishedError):
            client.jobs.download(second)
        with pytest.raises(ConflictError):
            client.jobs.cancel(first)
        canceled = client.jobs.cancel(second)
        assert (canceled.status, canceled.error) == ("failed", "canceled")
        assert client.balance().reserved == Decimal("0.039")
    states += [event.job.status for event in heard if isinstance(event, StatusEvent)]
    assert states in (["queued", "processing", "done"], ["processing", "done"])
    done = client.jobs.get(first)
    assert done.finished_at is not None
    assert done.created_at.tzinfo is not None
    assert done.created_at <= done.finished_at
    assert len(client.jobs.download(done)) > 0
    client.jobs.delete_image(done)
    with pytest.raises(GoneError):
        client.jobs.download(done)
    with pytest.raises(ConflictError):
        client.jobs.delete_image(second)


def test_a_job_that_waits_too_long_is_canceled(client: Tintype, service: Service) -> None:
    with service.held():
        client.generations.create(**FOX)
        expired = client.jobs.wait(client.generations.create(cancel_after=1, **FOX))
    assert (expired.status, expired.error) == ("failed", "expired before it started")


def test_a_failed_job_costs_nothing(client: Tintype) -> None:
    with pytest.raises(JobFailedError) as caught:
        client.generations.create_and_wait(**{**FOX, "prompt": "refuse this"})
    assert caught.value.job.error
    assert client.balance().available == 10
    with pytest.raises(JobFailedError):
        client.jobs.download(caught.value.job)


def test_a_picture_goes_into_a_file(client: Tintype, tmp_path: Path) -> None:
    job = client.generations.create_and_wait(**FOX)
    path = client.jobs.download_to(job.job_id, str(tmp_path / "fox.png"))
    assert path.read_bytes().startswith(PNG)
    assert [it.name for it in tmp_path.iterdir()] == ["fox.png"]


def test_the_history_is_filtered_and_turned_page_by_page(client: Tintype) -> None:
    made = [client.generations.create(metadata={"n": number, "of": "list"}, **FOX).job_id for number in range(5)]
    for job_id in made:
        client.jobs.wait(job_id)
    pages, cursor = [], None
    for _ in range(3):
        page = client.jobs.list(limit=2, cursor=cursor)
        pages.append([it.job_id for it in page.data])
        cursor = page.next_cursor
    assert cursor is None
    newest_first = made[::-1]
    assert pages == [newest_first[:2], newest_first[2:4], newest_first[4:]]
    assert [it.job_id for it in client.jobs.iterate(metadata={"n": 3})] == [made[3]]
    assert [it.job_id for it in client.jobs.iterate(metadata={"of": "list"}, status="done", tier="fast")] == newest_first
    now = datetime.now(UTC)
    assert list(client.jobs.iterate(created_after=now + timedelta(hours=1))) == []
    assert len(list(client.jobs.iterate(created_before=now + timedelta(hours=1), mode="text-to-image"))) == 5
    (listed,) = client.jobs.list(limit=1, key=client.key().key_id).data
    assert listed.price == Decimal("0.039")


def test_the_ledger_tells_deposits_and_charges(client: Tintype) -> None:
    job = client.generations.create_and_wait(**FOX)
    charge, deposit = client.transactions.iterate()
    assert (charge.kind, charge.amount, charge.balance_after, charge.job_id) == (
        "charge",
        Decimal("-0.039"),
        Decimal("9.961"),
        job.job_id,
    )
    assert (deposit.kind, deposit.amount) == ("deposit", Decimal(10))
    assert list(client.transactions.iterate(kind="deposit")) == [deposit]
    assert list(client.transactions.iterate(job_id=job.job_id)) == [charge]
    assert client.transactions.list(from_time=charge.created_at, to_time=charge.created_at, kind="charge").data == (charge,)
    assert list(client.transactions.iterate(from_time=charge.created_at + timedelta(hours=1))) == []
    page = client.transactions.list(limit=1)
    assert (page.data, page.next_cursor is None) == ((charge,), False)
    assert client.transactions.list(cursor=page.next_cursor).data == (deposit,)


def test_the_usage_tells_images_and_charges_of_each_day(client: Tintype) -> None:
    before = datetime.now(UTC).date()
    client.generations.create_and_wait(**FOX)
    (line,) = client.usage(from_day=before)
    assert before <= line.day <= datetime.now(UTC).date()
    assert (line.model, line.resolution, line.images, line.failed, line.charged) == ("fast", "1K", 1, 0, Decimal("0.039"))
    key = client.key()
    assert (line.key_id, line.key_name) == (key.key_id, key.name)
    assert list(client.usage(key=key.key_id, to_day=line.day)) == [line]
    assert list(client.usage(to_day=before - timedelta(days=1))) == []


def test_models_and_key_tell_what_is_allowed(variant: Variant, service: Service) -> None:
    rate_limit = {"per_second": 50, "burst": 100}
    limits: dict[str, Any] = {"spend_limit": "5.00", "spend_limit_daily": "1.00", "rate_limit": rate_limit}
    account = service.account(models=["fast"], **limits)
    client = variant.client(api_key=account.key, base_url=service.url)
    models = {it.id: it for it in client.models()}
    assert {name: it.allowed for name, it in models.items()} == {"fast": True, "quality": False, "pro": False}
    assert models["fast"].prices == {"1K": Decimal("0.039")}
    assert "auto" in models["pro"].aspect_ratios
    assert not models["pro"].paused
    key = client.key()
    assert (key.models, key.active, key.spend_limit) == (("fast",), True, Decimal(5))
    assert (key.spent, key.reserved) == (Decimal(0), Decimal(0))
    assert (key.spend_limit_daily, key.spent_today, key.spend_limit_monthly) == (Decimal(1), Decimal(0), None)
    assert key.rate_limit is not None
    assert (key.rate_limit.per_second, key.rate_limit.burst) == (50, 100)


# Errors, as the real program makes them


def test_a_wrong_key_is_unauthorized(variant: Variant, service: Service) -> None:
    with pytest.raises(UnauthorizedError) as caught:
        variant.client(api_key="tt_wrong", base_url=service.url).balance()
    assert "tt_wrong" not in str(caught.value)
    assert caught.value.request_id


def test_an_empty_account_and_an_exhausted_key_are_told_apart(variant: Variant, service: Service) -> None:
    poor = variant.client(api_key=service.account(balance="0.01").key, base_url=service.url)
    with pytest.raises(InsufficientBalanceError):
        poor.generations.create(**FOX)
    limited = variant.client(api_key=service.account(spend_limit="0.01").key, base_url=service.url)
    with pytest.raises(KeyLimitReachedError):
        limited.generations.create(**FOX)


def test_a_model_out_of_scope_is_refused(variant: Variant, service: Service) -> None:
    client = variant.client(api_key=service.account(models=["fast"]).key, base_url=service.url)
    with pytest.raises(ModelNotAllowedError):
        client.generations.create(prompt="a fox", tier="pro", aspect_ratio="1:1")


def test_a_wrong_request_hears_of_all_its_faults(client: Tintype) -> None:
    with pytest.raises(ValidationError) as caught:
        client.generations.create(prompt="", tier="fast", aspect_ratio="1:8", resolution="1K", callback_url="http://h/")
    assert {it.field for it in caught.value.errors} == {"prompt", "aspect_ratio", "resolution"}
    with pytest.raises(ValidationError) as caught:
        client.generations.create(input_images_urls=["http://127.0.0.1:1/a.png"], **FOX)
    assert [it.field for it in caught.value.errors] == ["input_images_urls[0]"]
    with pytest.raises(ValidationError) as caught:
        client.jobs.list(limit=101)
    assert [it.field for it in caught.value.errors] == ["limit"]


def test_an_unknown_job_is_not_found(client: Tintype) -> None:
    for job in ("01a1fa95-0000-7000-8000-000000000001", "no id", "../key"):
        with pytest.raises(NotFoundError):
            client.jobs.get(job)


def test_a_paused_tier_says_when_to_come_back(client: Tintype, service: Service) -> None:
    with service.paused("fast"):
        with pytest.raises(PausedError) as caught:
            client.with_options(max_retries=0).generations.create(**FOX)
        assert caught.value.retry_after == 30
        assert [it.paused for it in client.models()] == [True, False, False]
    made = client.generations.create(idempotency_key=caught.value.idempotency_key, **FOX)
    assert not made.replayed


def test_a_rate_limit_is_waited_out(variant: Variant, service: Service) -> None:
    account = service.account(rate_limit={"per_second": 1, "burst": 1})
    client = variant.client(api_key=account.key, base_url=service.url, max_retries=1)
    with pytest.raises(RateLimitedError) as caught:
        for _ in range(10):
            client.balance()
    assert caught.value.retry_after == 1
    assert variant.pauses[-1] == 1


# Webhooks


def test_a_delivery_of_the_real_program_verifies(variant: Variant, service: Service, peer: Peer) -> None:
    account = service.account()
    client = variant.client(api_key=account.key, base_url=service.url)
    peer.will(Reply(204))
    hook = service.admin("POST", f"/accounts/{account.account_id}/webhooks", {"url": f"{peer.url}/hook"})
    job = client.generations.create_and_wait(metadata={"order": "4711", "_own": 1, "é": "☃"}, **FOX)
    peer.heard.acquire(timeout=30)
    (request,) = peer.requests
    event = webhooks.verify(request.body, request.headers, hook["secret"])
    assert (event.job_id, event.status, event.metadata) == (job.job_id, "done", {"order": "4711", "é": "☃"})
    assert event.delivery_id == request.headers["webhook-id"]
    assert client.jobs.download(job).startswith(PNG)
