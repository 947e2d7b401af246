"""The client that blocks and the asynchronous one are the same to their callers, and all packages are of one version."""

from __future__ import annotations

import inspect
import json
import re
import tomllib
from pathlib import Path

import pytest

from tintype import AsyncTintype, Tintype, __version__
from tintype.async_client import AsyncBatches, AsyncGenerations, AsyncJobs, AsyncTransactions
from tintype.client import Batches, Generations, Jobs, Transactions

REPOSITORY = Path(__file__).resolve().parents[3]
TWINS = [
    (Tintype, AsyncTintype),
    (Generations, AsyncGenerations),
    (Jobs, AsyncJobs),
    (Batches, AsyncBatches),
    (Transactions, AsyncTransactions),
]


def public(kind: type) -> dict[str, object]:
    return {name: value for name, value in vars(kind).items() if not name.startswith("_")}


@pytest.mark.parametrize(("blocking", "other"), TWINS)
def test_twins_have_the_same_methods_with_the_same_parameters(blocking: type, other: type) -> None:
    assert public(blocking).keys() == public(other).keys()
    for name, method in public(blocking).items():
        twin = public(other)[name]
        assert inspect.getdoc(method) == inspect.getdoc(twin), name
        if inspect.isfunction(method) and inspect.isfunction(twin):
            assert inspect.signature(method).parameters == inspect.signature(twin).parameters, name


def test_all_packages_have_the_version_of_the_service() -> None:
    version = tomllib.loads((REPOSITORY / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    script = REPOSITORY / "clients/typescript"
    assert __version__ == version
    assert json.loads((script / "package.json").read_text())["version"] == version
    assert re.search(r"tintype-js/([\d.]+)", (script / "src/transport.ts").read_text(), re.ASCII)[1] == version  # type: ignore[index]
