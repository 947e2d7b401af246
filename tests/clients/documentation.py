#!/usr/bin/env python3
"""Runs every program of the packages' READMEs and of docs/clients.md unchanged, one after another with one account of the real service
(see service.py), as a reader does, and compares the table of docs/errors.md with the service's table. The reader has followed the
shell commands of README.md and docs/api.md before, so their idempotency keys are used up.

Every image that a program names must exist afterwards. A webhook receiver gets a registered webhook and a delivery. Python programs
run with this interpreter, and pass mypy in strict mode. TypeScript programs are compiled in strict mode against the packed package.

Usage: documentation.py DIRECTORY    (with the package in node_modules, and the compiler; see tests/run)
"""

import json
import os
import pathlib
import random
import re
import socket
import subprocess
import sys
import tempfile
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ["README.md", "clients/python/README.md", "clients/typescript/README.md", "docs/clients.md"]
SHELL_PAGES = ["README.md", "docs/api.md"]
TABLE = "src/web/problem/snapshots/tintype__web__problem__tests__the_table_of_codes.snap"
SECRET = "TINTYPE_WEBHOOK_SECRET"
# The last line of a program whose account has too little money.
POOR = "time to add funds"
COMPILE = ["--strict", "--target", "ES2022", "--module", "NodeNext", "--types", "node", "--noUncheckedIndexedAccess"]


def call(method: str, path: str, body: dict, token: str = "TINTYPE_ADMIN_TOKEN", more: dict | None = None) -> dict:
    """Calls the service, by default as the operator. `more`: further headers."""
    headers = {"Authorization": f"Bearer {os.environ.get(token, token)}", "Content-Type": "application/json", **(more or {})}
    request = urllib.request.Request(os.environ["TINTYPE_URL"] + path, json.dumps(body).encode(), headers, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def account(balance: str = "10.00") -> tuple[str, str]:
    """The id and a key of a fresh account."""
    made = call("POST", "/admin/v1/accounts", {"name": "documentation", "balance": balance})["account_id"]
    return made, call("POST", f"/admin/v1/accounts/{made}/keys", {"name": "documentation"})["api_key"]


def use_up_keys(key: str) -> None:
    """Uses the idempotency keys of the pages with shell commands. Another request with one of them is refused."""
    pages = "".join((ROOT / page).read_text(encoding="utf-8") for page in SHELL_PAGES)
    used = set(re.findall(r"Idempotency-Key: ([\w-]+)[\"']", pages))
    assert len(used) >= len(SHELL_PAGES), f"a page uses the key of another, or none: {used}"
    for name in used:
        call("POST", "/api/v1/nb/text-generations", {"prompt": "used", "aspect_ratio": "1:1"}, key, {"Idempotency-Key": name})


def runs(command: list[str], text: str, directory: pathlib.Path, key: str) -> bool:
    """Whether the program succeeds, asks for no repetition, and writes every image that it names."""
    environment = {**os.environ, "TINTYPE_KEY": key}
    ended = subprocess.run(command, cwd=directory, env=environment, timeout=120, stdout=subprocess.PIPE)
    images = [directory / name for name in re.findall(r'"([\w-]+\.png)"', text)]
    return ended.returncode == 0 and b"not yet: " not in ended.stdout and all(it.exists() and it.read_bytes().startswith(b"\x89PNG") for it in images)


def reports_missing_money(command: list[str], directory: pathlib.Path) -> bool:
    """Whether the program reports missing money, and prints nothing else."""
    environment = {**os.environ, "TINTYPE_KEY": account(balance="0.01")[1]}
    ended = subprocess.run(command, cwd=directory, env=environment, timeout=120, stderr=subprocess.PIPE, text=True)
    return ended.returncode == 1 and ended.stderr == f"{POOR}\n"


def free_port() -> int:
    """A port below those that Linux gives to clients, so that no other process takes it before the receiver listens."""
    for port in random.sample(range(20_000, 30_000), 1_000):
        with socket.socket() as taken:
            if taken.connect_ex(("127.0.0.1", port)):
                return port
    raise SystemExit("no port is free")


def listens(port: int, process: subprocess.Popen) -> bool:
    """Waits until the receiver listens; false if its program has ended."""
    while process.poll() is None:
        with socket.socket() as knocking:
            if knocking.connect_ex(("127.0.0.1", port)) == 0:
                return True
    return False


def receives(command: list[str], directory: pathlib.Path) -> bool:
    """Whether the receiver accepts a delivery and prints its job."""
    owner, key = account()
    port = free_port()
    hook = call("POST", f"/admin/v1/accounts/{owner}/webhooks", {"url": f"http://127.0.0.1:{port}/"})
    environment = {**os.environ, SECRET: hook["secret"], "PORT": str(port)}
    receiver = subprocess.Popen(command, cwd=directory, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        if not listens(port, receiver):
            return False
        body = {"prompt": "a fox", "aspect_ratio": "1:1", "metadata": {"order": "4711"}}
        job = call("POST", "/api/v1/nb/text-generations", body, key)["job_id"]
        line = receiver.stdout.readline()
        return job in line and "done" in line and "4711" in line
    finally:
        receiver.kill()
        receiver.communicate()


def programs() -> list[tuple[str, str, str]]:
    """Page and number, language and text of each program."""
    found = []
    for page in PAGES:
        blocks = re.findall(r"^```(\w+)\n(.*?)^```$", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
        own = [(language, text) for language, text in blocks if language in ("python", "ts") and "tintype" in text]
        found += [(f"{page}, program {at + 1}", language, text) for at, (language, text) in enumerate(own)]
    return found


def undocumented() -> list[str]:
    """The differences between docs/errors.md and the service's table of codes."""
    served = re.findall(r"^(\d{3}) (\w+) ", (ROOT / TABLE).read_text(encoding="utf-8"), re.MULTILINE)
    told = re.findall(r"^\| (\d{3}) \| `(\w+)` \|", (ROOT / "docs/errors.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(served) > 20, "the table of codes is elsewhere"
    return [f"docs/errors.md and the service differ in {status} {code}" for status, code in {*served} ^ {*told}]


def main() -> int:
    found = programs()
    wrong, passed = undocumented(), 0
    with tempfile.TemporaryDirectory(dir=sys.argv[1]) as name:
        directory = pathlib.Path(name)
        for at, (_, language, text) in enumerate(found):
            (directory / f"{at}.{'py' if language == 'python' else 'mts'}").write_text(text, encoding="utf-8")
        sources = sorted(str(it) for it in directory.glob("*.mts"))
        types = ["--typeRoots", str(ROOT / "clients/typescript/node_modules/@types")]
        compiler = str(ROOT / "clients/typescript/node_modules/.bin/tsc")
        if subprocess.run([compiler, *COMPILE, *types, *sources], timeout=120).returncode != 0:
            wrong.append("the TypeScript of the pages does not compile")
        # One by one, because none of them has a module name.
        for source in sorted(directory.glob("*.py")):
            if subprocess.run([sys.executable, "-m", "mypy", "--strict", source.name], cwd=directory, timeout=120).returncode != 0:
                wrong.append(f"{source.name} has the wrong types: {found[int(source.stem)][0]}")
        key = account("100.00")[1]
        use_up_keys(key)
        for at, (where, language, text) in enumerate(found):
            command = [sys.executable, f"{at}.py"] if language == "python" else ["node", f"{at}.mjs"]
            if receives(command, directory) if SECRET in text else runs(command, text, directory, key):
                passed += 1
            else:
                wrong.append(where)
            if f'SystemExit("{POOR}")' in text and not reports_missing_money(command, directory):
                wrong.append(f"{where}, without money")
    for fault in wrong:
        print(f"FAILED {fault}")
    print(f"{passed} passed, {len(wrong)} failed")
    return 1 if wrong or passed < 18 else 0


if __name__ == "__main__":
    sys.exit(main())
