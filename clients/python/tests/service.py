"""The real program as an operator sees it, for tests of the clients."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx


@dataclass(frozen=True)
class Account:
    account_id: str
    key: str


@dataclass(frozen=True)
class Service:
    url: str
    admin_token: str
    # The backend of all tiers; see tests/clients/service.py of the repository.
    back_end: str

    def admin(self, method: str, path: str, body: object = None) -> Any:
        headers = {"Authorization": f"Bearer {self.admin_token}"}
        answer = httpx.request(method, f"{self.url}/admin/v1{path}", json=body, headers=headers, timeout=30)
        answer.raise_for_status()
        return answer.json()

    def account(self, balance: str = "10.00", **key: object) -> Account:
        """A fresh account with a key."""
        account_id = self.admin("POST", "/accounts", {"name": "client", "balance": balance})["account_id"]
        made = self.admin("POST", f"/accounts/{account_id}/keys", {"name": "client", **key})
        return Account(account_id, made["api_key"])

    @contextmanager
    def held(self) -> Iterator[None]:
        """No image is finished meanwhile. Jobs of earlier tests end first: one that is held would occupy the only slot."""
        deadline = time.monotonic() + 60
        while self.admin("GET", "/stats")["live_jobs"]:
            assert time.monotonic() < deadline, "the jobs of earlier tests do not end"
            time.sleep(0.02)
        self._gate(True)
        try:
            yield
        finally:
            self._gate(False)

    @contextmanager
    def paused(self, tier: str) -> Iterator[None]:
        """The tier takes no jobs meanwhile."""
        tiers = {"fast": False, "quality": False, "pro": False}
        self.admin("PUT", "/pause", {"project": False, "tiers": {**tiers, tier: True}})
        try:
            yield
        finally:
            self.admin("PUT", "/pause", {"project": False, "tiers": tiers})

    def _gate(self, held: bool) -> None:
        httpx.put(f"{self.back_end}/gate", json={"held": held}, timeout=30).raise_for_status()
