"""The settings of a client, and the HTTP requests and answers."""

from __future__ import annotations

import math
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlencode

import httpx

from . import _arguments
from ._calls import PREFIX, Call
from ._retry import Answer, Fault
from ._version import __version__
from .errors import ArgumentError, TintypeError

DEFAULT_URL = "http://127.0.0.1:8080"
DEFAULT_TIMEOUT = 60.0
DEFAULT_MAX_RETRIES = 2
USER_AGENT = f"tintype-python/{__version__}"
# One connection per waiting call, without a limit. httpx keeps up to 20 idle ones.
CONNECTIONS = httpx.Limits(max_connections=None, max_keepalive_connections=20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The address of the service, the API key, and how long and how often to try."""

    address: str
    api_key: str = field(repr=False)
    timeout: float
    max_retries: int

    @classmethod
    def of(cls, api_key: str | None, base_url: str | None, timeout: float, max_retries: int) -> Settings:
        """The settings from the arguments of a client, and from the environment."""
        return cls(
            address=_address(base_url if base_url is not None else os.environ.get("TINTYPE_URL", "")),
            api_key=_api_key(api_key if api_key is not None else os.environ.get("TINTYPE_KEY", "")),
            timeout=_arguments.timeout(timeout),
            max_retries=_arguments.max_retries(max_retries),
        )

    def with_options(self, timeout: float | None, max_retries: int | None) -> Settings:
        """The same settings with another timeout or number of retries."""
        return replace(
            self,
            timeout=self.timeout if timeout is None else _arguments.timeout(timeout),
            max_retries=self.max_retries if max_retries is None else _arguments.max_retries(max_retries),
        )

    def request(self, http: httpx.Client | httpx.AsyncClient, call: Call, silence: float | None = None) -> httpx.Request:
        """The HTTP request of a call. `silence` limits the pauses of a stream."""
        if http.is_closed:
            raise TintypeError("the client is closed; create a new one, or close it later")
        headers = {"Accept": "application/json", "User-Agent": USER_AGENT, **call.headers}
        if call.idempotency_key is not None:
            headers["Idempotency-Key"] = call.idempotency_key
        url = call.path
        if not call.is_foreign:
            headers["Authorization"] = f"Bearer {self.api_key}"
            url = self.address + url
        if call.query:
            url = f"{url}?{urlencode(call.query)}"
        read = self.timeout + call.patience if silence is None else silence
        limit = math.inf if call.limit is None else call.limit
        # Getting a connection says nothing about the service, so only the caller's own limit applies to it.
        timeout = httpx.Timeout(_finite(min(self.timeout, limit)), read=_finite(min(read, limit)), pool=_finite(limit))
        try:
            request = http.build_request(call.method, url, content=call.body, headers=headers, timeout=timeout)
            if call.is_foreign:
                request.url = SignedUrl(request.url)
            return request
        except (httpx.InvalidURL, UnicodeError) as error:
            raise ArgumentError(f"{call} cannot be sent: {error}") from None


class SignedUrl(httpx.URL):
    """The URL of an image. httpx logs it as text, so the text lacks the query, whose signature gives access to the image."""

    def __str__(self) -> str:
        """The URL without its query."""
        return super().__str__().partition("?")[0]

    __repr__ = __str__


def _api_key(text: str) -> str:
    if not isinstance(text, str):
        raise ArgumentError(f"api_key must be text, not {type(text).__name__}")
    key = text.strip()
    if not key:
        raise ArgumentError("no API key: pass api_key, or set the environment variable TINTYPE_KEY")
    if not (key.isascii() and key.isprintable()):
        # Without the key, because messages go into logs.
        raise ArgumentError("the API key contains characters that no key has; was something else pasted with it?")
    return key


def _address(base_url: str) -> str:
    if not isinstance(base_url, str):
        raise ArgumentError(f"base_url must be text, not {type(base_url).__name__}")
    text = base_url.strip() or DEFAULT_URL
    # With or without the version.
    address = text.rstrip("/").removesuffix(PREFIX).rstrip("/")
    if not address.startswith(("http://", "https://")):
        raise ArgumentError(f"base_url must begin with http:// or https://, unlike {text!r}")
    try:
        url = httpx.URL(address)
    except (httpx.InvalidURL, UnicodeError) as error:
        raise ArgumentError(f"base_url {text!r} is not a valid URL: {error}") from None
    if url.userinfo:
        # Without the URL, because it contains a password. httpx would send it instead of the API key.
        raise ArgumentError("base_url must not contain a user or a password")
    if not url.host or url.query or url.fragment:
        raise ArgumentError(f"base_url must be the address of the service, such as https://pictures.example, unlike {text!r}")
    return address


def _finite(seconds: float) -> float | None:
    return None if seconds == math.inf else seconds


def late() -> httpx.ReadTimeout:
    """The error of an answer that is not complete when the caller no longer needs it."""
    return httpx.ReadTimeout("the answer was not complete at the end of the wait")


def fault_of(error: httpx.RequestError) -> Fault:
    """A failed exchange, and whether it makes sense to repeat it."""
    return Fault(
        cause=error,
        is_timeout=isinstance(error, httpx.TimeoutException),
        is_final=isinstance(error, httpx.LocalProtocolError | httpx.UnsupportedProtocol),
    )


def answer_of(response: httpx.Response, body: bytes, is_saved: bool = False) -> Answer:
    """An answer, independent of its connection."""
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Answer(status=response.status_code, headers=headers, body=body, is_saved=is_saved)


def is_stream(response: httpx.Response) -> bool:
    """Whether an answer is a stream of events."""
    kind = response.headers.get("content-type", "")
    return response.status_code == httpx.codes.OK and kind.startswith("text/event-stream")


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file that replaces `path` when it is complete, and is removed after a failure or if it is empty."""
    path = path.resolve()
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as file:
            with suppress(FileNotFoundError):
                shutil.copymode(path, part)
            yield file
            is_empty = file.tell() == 0
        if is_empty:
            part.unlink()
        else:
            part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
