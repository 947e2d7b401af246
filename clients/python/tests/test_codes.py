"""The exceptions, against the service's own table of codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tintype import ApiError
from tintype.errors import BY_CODE

REPOSITORY = Path(__file__).resolve().parents[3]
TABLE = REPOSITORY / "src/web/problem/snapshots/tintype__web__problem__tests__the_table_of_codes.snap"


def rows() -> list[tuple[int, str]]:
    text = TABLE.read_text().split("---\n")[2]
    return [(int(status), code) for status, code, *_ in (line.split(" ") for line in text.splitlines() if line)]


def test_every_code_of_the_service_has_its_exception_and_no_other_has() -> None:
    assert set(BY_CODE) == {code for _, code in rows()}
    assert len(set(BY_CODE.values())) == len(BY_CODE)


@pytest.mark.parametrize(("status", "code"), rows())
def test_an_exception_is_named_after_its_code_and_says_so(status: int, code: str) -> None:
    kind = BY_CODE[code]
    assert issubclass(kind, ApiError)
    assert kind.__name__.lower().startswith(code.replace("_", "").removesuffix("failed"))
    assert (kind.__doc__ or "").startswith(f"{status} `{code}`")
