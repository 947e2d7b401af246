"""Fixtures: a test that takes `variant` or `client` runs with the client that blocks, and with the other on both loops."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache

import httpx
import pytest
from httpx._transports import default

from peer import Peer
from service import Service
from tintype import Tintype
from variants import VARIANTS, Variant


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line for all, as every part of the repository's tests ends with."""
    count = {name: len(terminalreporter.getreports(name)) for name in ("passed", "failed", "error")}
    terminalreporter.write_line(f"{count['passed']} passed, {count['failed'] + count['error']} failed")


@pytest.fixture(scope="session", autouse=True)
def certificates() -> Iterator[None]:
    """Each client reads the certificates of all authorities, which takes longer than most tests: here they are read once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(default, "create_ssl_context", cache(httpx.create_ssl_context))
        yield


@pytest.fixture(params=VARIANTS)
def variant(request: pytest.FixtureRequest) -> Iterator[Variant]:
    with VARIANTS[request.param]() as made:
        yield made


@pytest.fixture
def peer() -> Iterator[Peer]:
    with Peer() as started:
        yield started


@pytest.fixture(scope="session")
def service() -> Service:
    """The real program, which tests/clients/service.py of the repository starts."""
    if "TINTYPE_TEST_PEER" not in os.environ:
        pytest.fail("run this by `tests/clients/service.py pytest clients/python`, which starts the service")
    return Service(os.environ["TINTYPE_URL"], os.environ["TINTYPE_ADMIN_TOKEN"], os.environ["TINTYPE_TEST_PEER"])


@pytest.fixture
def client(variant: Variant, service: Service) -> Tintype:
    """A client of the real program, with a key of a fresh account that has 10.00."""
    return variant.client(api_key=service.account().key, base_url=service.url)
