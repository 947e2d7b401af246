"""What is sent, and what is refused before anything is."""

from __future__ import annotations

import json
import math
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import MappingProxyType
from typing import Any
from uuid import UUID

import httpx
import pytest

from peer import JOB_ID
from tintype import ArgumentError, BatchResult, Tintype, TintypeError, _calls
from tintype._settings import Settings, replacing
from variants import Variant

BODY: dict[str, Any] = {"prompt": "a fox", "aspect_ratio": "1:1"}


def settings(base_url: str = "http://h", **options: Any) -> Settings:
    return Settings.of(options.get("api_key", "tt_k"), base_url, options.get("timeout", 60.0), options.get("max_retries", 2))


@pytest.mark.parametrize(
    ("tier", "urls", "path"),
    [
        ("pro", None, "/api/v1/text-generations"),
        ("pro", ["http://h/a.png"], "/api/v1/url-generations"),
        ("quality", None, "/api/v1/nb2/text-generations"),
        ("quality", ["http://h/a.png"], "/api/v1/nb2/url-generations"),
        ("fast", None, "/api/v1/nb/text-generations"),
        ("fast", ["http://h/a.png"], "/api/v1/nb/url-generations"),
    ],
)
def test_tier_and_input_images_choose_one_of_the_six_paths(tier: Any, urls: list[str] | None, path: str) -> None:
    call = _calls.generation("k", tier=tier, input_images_urls=urls, **BODY)
    assert (call.method, call.path, call.query) == ("POST", path, ())
    assert json.loads(call.body or b"") == BODY | ({} if urls is None else {"input_images_urls": urls})
    assert call.idempotency_key == "k"


def test_what_is_none_is_not_sent_and_what_is_empty_is() -> None:
    call = _calls.generation("k", tier="pro", resolution=None, metadata={}, input_images_urls=[], **BODY)
    assert json.loads(call.body or b"") == BODY | {"metadata": {}, "input_images_urls": []}
    assert call.path == "/api/v1/url-generations"


def test_metadata_may_be_of_any_mapping_and_any_sequence() -> None:
    metadata = MappingProxyType({"order": MappingProxyType({"lines": range(3), "tags": ("a", "b")})})
    call = _calls.generation("k", tier="pro", metadata=metadata, **BODY)
    assert json.loads(call.body or b"")["metadata"] == {"order": {"lines": [0, 1, 2], "tags": ["a", "b"]}}


def test_a_body_is_as_short_as_it_can_be() -> None:
    call = _calls.generation("k", tier="pro", prompt="狐狸", aspect_ratio="1:1")
    assert call.body == '{"prompt":"狐狸","aspect_ratio":"1:1"}'.encode()


def test_a_dry_run_uses_no_idempotency_key() -> None:
    call = _calls.generation(None, tier="fast", **BODY)
    assert call.query == (("dry_run", "true"),)
    assert call.idempotency_key is None


def test_what_cannot_be_meant_is_refused_here() -> None:
    with pytest.raises(ArgumentError, match="tier must be one of fast, quality, pro"):
        _calls.generation("k", tier="best", **BODY)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="a list of URLs"):
        _calls.generation("k", tier="pro", input_images_urls="http://h/a.png", **BODY)
    with pytest.raises(ArgumentError, match="not JSON compliant"):
        _calls.generation("k", tier="pro", metadata={"a": float("nan")}, **BODY)
    with pytest.raises(ArgumentError, match="cannot be written as JSON"):
        _calls.generation("k", tier="pro", metadata={"a": b"bytes"}, **BODY)
    with pytest.raises(ArgumentError, match="surrogates not allowed"):
        _calls.generation("k", tier="pro", prompt="a \ud800 fox", aspect_ratio="1:1")
    with pytest.raises(ArgumentError, match="tier must be one of"):
        _calls.generation("k", **BODY)
    with pytest.raises(ArgumentError, match="tier must be one of"):
        _calls.generation("k", tier=["fast"], **BODY)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="job_id is empty"):
        _calls.for_job("")


@pytest.mark.parametrize("key", [4711, b"k", "a\nb", "é", "\udcff", " a", "a ", "a b", "\x7f"])
def test_a_key_that_cannot_be_sent_is_refused(key: Any) -> None:
    with pytest.raises(ArgumentError, match="idempotency_key must"):
        Tintype(api_key="tt_k").generations.create(idempotency_key=key, tier="pro", **BODY)


@pytest.mark.parametrize("seconds", [0, -1, math.nan, math.inf, "30s"])
def test_a_time_that_is_none_is_refused(seconds: Any) -> None:
    with pytest.raises(ArgumentError, match="cancel_after must be"):
        _calls.generation("k", seconds, tier="pro", **BODY)


def test_a_limit_for_queueing_is_sent_in_whole_seconds() -> None:
    call = _calls.generation("k", 0.4, tier="pro", **BODY)
    assert (call.headers["Cancel-After"], call.headers["Content-Type"]) == ("1s", "application/json")


@pytest.mark.parametrize("seconds", ["5", math.nan])
def test_a_time_to_wait_that_is_none_is_refused_before_anything_is_sent(seconds: Any) -> None:
    client = Tintype(api_key="tt_k", base_url="http://127.0.0.1:1")
    with pytest.raises(ArgumentError, match="time to wait"):
        client.jobs.wait("j", timeout=seconds)
    with pytest.raises(ArgumentError, match="time to wait"):
        client.generations.create_and_wait(wait_timeout=seconds, tier="pro", **BODY)


@pytest.mark.parametrize("job", [None, 5, b"id", ["id"], {"job_id": "id"}])
def test_what_names_no_job_is_refused(job: Any) -> None:
    with pytest.raises(ArgumentError, match="pass a job_id, or an object that has one"):
        _calls.for_job(job)


def test_a_job_may_be_named_by_a_uuid_or_by_a_result_of_a_batch() -> None:
    result = BatchResult(custom_id="0", job_id=JOB_ID, status="done", result=None, error=None)
    assert _calls.for_job(UUID(JOB_ID)) == _calls.for_job(result) == _calls.for_job(JOB_ID)


@pytest.mark.parametrize(
    ("requests", "text"),
    [
        ("[]", "requests must be a list of dicts, not str"),
        (BODY, "requests must be a list of dicts, not dict"),
        (None, "requests must be a list of dicts, not NoneType"),
        ([BODY, "a fox"], r"requests\[1\] must be a dict, not str"),
        ([{**BODY, "input_images_urls": "http://h/a.png"}], "a list of URLs"),
    ],
)
def test_what_is_no_list_of_requests_is_refused(requests: Any, text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        _calls.batch(requests, "k", None, None)


def test_a_time_out_may_be_unlimited() -> None:
    request = settings(timeout=math.inf).request(httpx.Client(), _calls.get("/balance"))
    assert set(request.extensions["timeout"].values()) == {None}


def test_options_of_a_call_are_checked_like_those_of_the_client() -> None:
    with Tintype(api_key="tt_k") as client:
        for options in ({"timeout": -1}, {"max_retries": -1}):
            with pytest.raises(ArgumentError, match="must be"):
                client.with_options(**options)


def test_a_closed_client_says_that_it_is_closed(variant: Variant) -> None:
    client = variant.client(api_key="tt_k", base_url="http://127.0.0.1:1")
    client.close()
    with pytest.raises(TintypeError, match="the client is closed"):
        client.balance()
    with pytest.raises(TintypeError, match="the client is closed"):
        list(client.jobs.events("j"))


def test_an_empty_address_in_the_environment_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINTYPE_URL", "")
    assert repr(Tintype(api_key="tt_k")) == "Tintype(base_url='http://127.0.0.1:8080')"


def test_a_job_id_stays_one_part_of_the_path() -> None:
    assert _calls.for_job("../key?x").path == "/api/v1/jobs/..%2Fkey%3Fx"


def test_filters_are_told_as_the_list_reads_them() -> None:
    moment = datetime(2026, 11, 18, 12, 6, 40, tzinfo=timezone(timedelta(hours=1)))
    metadata: dict[str, str | int | bool | None] = {"order": "4711", "n": 7, "paid": True, "note": None}
    query = _calls.filtered(status="done", tier="fast", created_after=moment, metadata=metadata)
    assert query == (
        ("status", "done"),
        ("tier", "fast"),
        ("created_after", "2026-11-18T11:06:40Z"),
        ("metadata[order]", "4711"),
        ("metadata[n]", "7"),
        ("metadata[paid]", "true"),
        ("metadata[note]", "null"),
    )
    assert _calls.filtered(status=None, tier=None, created_after=None, metadata=None) == ()
    with pytest.raises(ArgumentError, match="created_before needs a time zone"):
        _calls.filtered(created_before=datetime(2026, 11, 18))


@pytest.mark.parametrize("url", ["http://h", "http://h/", "http://h/api/v1", "http://h/api/v1/"])
def test_the_address_may_have_the_version_or_not(url: str) -> None:
    request = settings(url).request(httpx.Client(), _calls.get("/balance"))
    assert str(request.url) == "http://h/api/v1/balance"


def test_a_prefix_of_the_address_is_kept() -> None:
    request = settings("https://h/pictures/api/v1").request(httpx.Client(), _calls.waiting(_calls.for_job("j"), 30))
    assert str(request.url) == "https://h/pictures/api/v1/jobs/j?wait=30"


def test_the_key_goes_only_to_the_service() -> None:
    own = settings().request(httpx.Client(), _calls.get("/balance"))
    assert own.headers["Authorization"] == "Bearer tt_k"
    signed = "http://bucket.example/results%2Fa.png?expires=1&signature=00ff"
    foreign = settings().request(httpx.Client(), _calls.image(signed, JOB_ID, None))
    assert "Authorization" not in foreign.headers
    assert (foreign.url.host, foreign.url.raw_path) == ("bucket.example", b"/results%2Fa.png?expires=1&signature=00ff")


def test_a_lookup_that_waits_is_given_the_time() -> None:
    request = settings().request(httpx.Client(), _calls.waiting(_calls.for_job("j"), 30))
    assert request.extensions["timeout"]["read"] == 90
    assert request.extensions["timeout"]["connect"] == 60


def test_what_is_left_out_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINTYPE_KEY", "tt_env\n")
    monkeypatch.setenv("TINTYPE_URL", "https://env.example")
    with Tintype() as client:
        assert client._transport.settings.api_key == "tt_env"
        assert repr(client) == "Tintype(base_url='https://env.example')"
        assert "tt_env" not in repr(client._transport.settings)
    monkeypatch.delenv("TINTYPE_KEY")
    with pytest.raises(TintypeError, match="TINTYPE_KEY"):
        Tintype()


def test_a_client_that_cannot_work_is_not_made() -> None:
    with pytest.raises(TintypeError, match="must begin with http"):
        Tintype(api_key="tt_k", base_url="127.0.0.1:8080")
    with pytest.raises(TintypeError, match="max_retries"):
        Tintype(api_key="tt_k", max_retries=-1)


def test_a_client_of_the_callers_own_is_left_open() -> None:
    with httpx.Client() as own:
        with Tintype(api_key="tt_k", http_client=own) as client:
            client.with_options(max_retries=0).close()
        assert not own.is_closed
    with Tintype(api_key="tt_k") as client:
        client.with_options(timeout=1.0).close()
        assert not client._transport.http.is_closed
    assert client._transport.http.is_closed


def test_a_file_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "fox.png"
    target.write_bytes(b"old")
    with pytest.raises(OSError, match="disk"), replacing(target) as file:
        file.write(b"ne")
        raise OSError("disk")
    with replacing(target):
        pass
    assert target.read_bytes() == b"old"
    with replacing(target) as file:
        file.write(b"new")
    assert target.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [target]


def test_a_replaced_file_keeps_its_mode_and_its_links(tmp_path: Path) -> None:
    target, link = tmp_path / "fox.png", tmp_path / "link.png"
    target.write_bytes(b"old")
    target.chmod(0o600)
    link.symlink_to("fox.png")
    with replacing(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert target.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("path", ["", "a\0b", b"fox.png", 5, None])
def test_a_path_that_names_no_file_is_refused_before_anything_is_sent(variant: Variant, path: Any) -> None:
    with pytest.raises(ArgumentError, match="path must be"):
        variant.client(api_key="tt_k", base_url="http://127.0.0.1:1").jobs.download_to("j", path)
