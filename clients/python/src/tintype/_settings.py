"""What a client is told when it is made, and what of that goes into each request."""

from __future__ import annotations

import math
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlencode

import httpx

from ._calls import PREFIX, Call
from ._retry import Answer, Fault
from ._version import __version__
from .errors import ArgumentError, TintypeError

DEFAULT_URL = "http://127.0.0.1:8080"
DEFAULT_TIMEOUT = 60.0
DEFAULT_MAX_RETRIES = 2
USER_AGENT = f"tintype-python/{__version__}"
# As many as there are waiting calls, each of which has one. The most that are kept open are those of httpx itself.
CONNECTIONS = httpx.Limits(max_connections=None, max_keepalive_connections=20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where the service is, who calls, and with how much patience."""

    address: str
    api_key: str = field(repr=False)
    timeout: float
    max_retries: int

    @classmethod
    def of(cls, api_key: str | None, base_url: str | None, timeout: float, max_retries: int) -> Settings:
        """From the arguments of a client, and from the environment where those are left out."""
        key = (api_key if api_key is not None else os.environ.get("TINTYPE_KEY", "")).strip()
        if not key:
            raise TintypeError("no API key: give api_key, or set the environment variable TINTYPE_KEY")
        url = (base_url if base_url is not None else os.environ.get("TINTYPE_URL", DEFAULT_URL)).strip()
        # With the version or without it.
        address = url.rstrip("/").removesuffix(PREFIX).rstrip("/")
        if not address.startswith(("http://", "https://")):
            raise TintypeError(f"base_url must begin with http:// or https://, unlike {url!r}")
        try:
            httpx.URL(address)
        except (httpx.InvalidURL, UnicodeError) as error:
            raise TintypeError(f"base_url {url!r} is no address: {error}") from None
        if not (key.isascii() and key.isprintable()):
            # Without the key: this goes into logs.
            raise TintypeError("the API key holds characters that no key has; has something been pasted along with it?")
        if max_retries < 0:
            raise TintypeError("max_retries must be 0 or more")
        return cls(address=address, api_key=key, timeout=timeout, max_retries=max_retries)

    def request(self, http: httpx.Client | httpx.AsyncClient, call: Call, silence: float | None = None) -> httpx.Request:
        """A call as it is sent. `silence` is how long a stream may say nothing."""
        headers = {"Accept": "application/json", "User-Agent": USER_AGENT, **call.headers}
        url = call.path
        if not call.is_foreign:
            headers["Authorization"] = f"Bearer {self.api_key}"
            url = self.address + url
        if call.query:
            url = f"{url}?{urlencode(call.query)}"
        read = self.timeout + call.patience if silence is None else silence
        limit = math.inf if call.limit is None else call.limit
        # Not for a place among the connections, which is nothing that the service could give: whoever waits for many jobs
        # at once would be told that it does not answer.
        timeout = httpx.Timeout(min(self.timeout, limit), read=min(read, limit), pool=None)
        try:
            return http.build_request(call.method, url, content=call.body, headers=headers, timeout=timeout)
        except (httpx.InvalidURL, UnicodeError) as error:
            raise ArgumentError(f"{call.method} {call.path.partition('?')[0]} cannot be sent: {error}") from None


def fault_of(error: httpx.RequestError) -> Fault:
    """What a failed exchange says of a further one."""
    return Fault(
        cause=error,
        is_timeout=isinstance(error, httpx.TimeoutException),
        is_final=isinstance(error, httpx.LocalProtocolError | httpx.UnsupportedProtocol),
    )


def answer_of(response: httpx.Response, body: bytes, saved_to: Path | None = None) -> Answer:
    """An answer without its ties to the connection."""
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Answer(status=response.status_code, headers=headers, body=body, saved_to=saved_to)


def is_stream(response: httpx.Response) -> bool:
    """Is it a stream of events?"""
    kind = response.headers.get("content-type", "")
    return response.status_code == httpx.codes.OK and kind.startswith("text/event-stream")


@contextmanager
def taking_the_place_of(path: Path) -> Iterator[BinaryIO]:
    """A file that becomes `path` once it is whole, and leaves nothing behind when it is not to be."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as file:
            yield file
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
