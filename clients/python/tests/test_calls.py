"""What is sent, and what is refused before anything is."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import httpx
import pytest

from tintype import ArgumentError, Tintype, TintypeError, _calls
from tintype._settings import Settings, taking_the_place_of

BODY: dict[str, Any] = {"prompt": "a fox", "aspect_ratio": "1:1"}


def settings(base_url: str = "http://h", **options: Any) -> Settings:
    return Settings.of(options.get("api_key", "tt_k"), base_url, 60.0, options.get("max_retries", 2))


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
    assert call.headers["Idempotency-Key"] == "k"


def test_what_is_none_is_not_sent_and_what_is_empty_is() -> None:
    call = _calls.generation("k", tier="pro", resolution=None, metadata={}, input_images_urls=[], **BODY)
    assert json.loads(call.body or b"") == BODY | {"metadata": {}, "input_images_urls": []}
    assert call.path == "/api/v1/url-generations"


def test_a_dry_run_uses_no_idempotency_key() -> None:
    call = _calls.generation(None, tier="fast", **BODY)
    assert call.query == (("dry_run", "true"),)
    assert "Idempotency-Key" not in call.headers


def test_what_cannot_be_meant_is_refused_here() -> None:
    with pytest.raises(ArgumentError, match="tier must be one of fast, quality, pro"):
        _calls.generation("k", tier="best", **BODY)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="a list of URLs"):
        _calls.generation("k", tier="pro", input_images_urls="http://h/a.png", **BODY)
    with pytest.raises(ArgumentError, match="not JSON compliant"):
        _calls.generation("k", tier="pro", metadata={"a": float("nan")}, **BODY)
    with pytest.raises(ArgumentError, match="cannot be written as JSON"):
        _calls.generation("k", tier="pro", metadata={"a": b"bytes"}, **BODY)
    with pytest.raises(ArgumentError, match="tier must be one of"):
        _calls.generation("k", **BODY)
    with pytest.raises(ArgumentError, match="job_id is empty"):
        _calls.lookup("")


def test_a_job_id_stays_one_part_of_the_path() -> None:
    assert _calls.lookup("../key?x").path == "/api/v1/jobs/..%2Fkey%3Fx"


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
    with pytest.raises(ArgumentError, match="created_before needs a time zone"):
        _calls.filtered(created_before=datetime(2026, 11, 18))


@pytest.mark.parametrize("url", ["http://h", "http://h/", "http://h/api/v1", "http://h/api/v1/"])
def test_the_address_may_have_the_version_or_not(url: str) -> None:
    request = settings(url).request(httpx.Client(), _calls.get("/balance"))
    assert str(request.url) == "http://h/api/v1/balance"


def test_a_prefix_of_the_address_is_kept() -> None:
    request = settings("https://h/pictures/api/v1").request(httpx.Client(), _calls.lookup("j", wait=30))
    assert str(request.url) == "https://h/pictures/api/v1/jobs/j?wait=30"


def test_the_key_goes_to_the_service_and_to_nobody_else() -> None:
    own = settings().request(httpx.Client(), _calls.get("/balance"))
    assert own.headers["Authorization"] == "Bearer tt_k"
    signed = "http://bucket.example/results%2Fa.png?expires=1&signature=00ff"
    foreign = settings().request(httpx.Client(), _calls.picture(signed, None))
    assert "Authorization" not in foreign.headers
    assert str(foreign.url) == signed


def test_a_lookup_that_waits_is_given_the_time() -> None:
    request = settings().request(httpx.Client(), _calls.lookup("j", wait=30))
    assert request.extensions["timeout"]["read"] == 90
    assert request.extensions["timeout"]["connect"] == 60


def test_what_is_left_out_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINTYPE_KEY", "tt_env\n")
    monkeypatch.setenv("TINTYPE_URL", "https://env.example")
    with Tintype() as client:
        assert client._line.settings.api_key == "tt_env"
        assert repr(client) == "Tintype(base_url='https://env.example')"
        assert "tt_env" not in repr(client._line.settings)
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
        assert not client._line.http.is_closed
    assert client._line.http.is_closed


def test_a_file_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "fox.png"
    target.write_bytes(b"old")
    with pytest.raises(OSError, match="disk"), taking_the_place_of(target) as file:
        file.write(b"ne")
        raise OSError("disk")
    assert target.read_bytes() == b"old"
    with taking_the_place_of(target) as file:
        file.write(b"new")
    assert target.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [target]
