#!/usr/bin/env python3
"""Runs every program of the packages' READMEs and of docs/clients.md as it stands there, each with a fresh account of the real program
(see service.py), and compares the table of docs/errors.md with the service's own.

A picture that a program names must be there afterwards. A receiver of webhooks is started, registered, and sent a delivery. Python runs
with the interpreter that runs this. What is TypeScript is compiled in strict mode beside the package as it would be published.

Usage: documentation.py DIRECTORY    (which has the package below node_modules, and the compiler; see tests/run)
"""

import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ["README.md", "clients/python/README.md", "clients/typescript/README.md", "docs/clients.md"]
TABLE = "src/web/snapshots/tintype__web__problem__tests__the_table_of_codes.snap"
SECRET = "TINTYPE_WEBHOOK_SECRET"
# What a program ends with that is asked to look at its money first.
POOR = "time to pay in"
COMPILE = ["--strict", "--target", "ES2022", "--module", "NodeNext", "--types", "node", "--noUncheckedIndexedAccess"]


def call(method: str, path: str, body: dict, token: str = "TINTYPE_ADMIN_TOKEN") -> dict:
    """A call of the service, by default the operator's."""
    headers = {"Authorization": f"Bearer {os.environ.get(token, token)}", "Content-Type": "application/json"}
    request = urllib.request.Request(os.environ["TINTYPE_URL"] + path, json.dumps(body).encode(), headers, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def account(balance: str = "10.00") -> tuple[str, str]:
    """The id and a key of a fresh account."""
    made = call("POST", "/admin/v1/accounts", {"name": "documentation", "balance": balance})["account_id"]
    return made, call("POST", f"/admin/v1/accounts/{made}/keys", {"name": "documentation"})["api_key"]


def runs(command: list[str], text: str, directory: pathlib.Path) -> bool:
    """Does the program end well, with every picture that it names?"""
    environment = {**os.environ, "TINTYPE_KEY": account()[1]}
    ended = subprocess.run(command, cwd=directory, env=environment, timeout=120, stdout=subprocess.PIPE)
    pictures = [directory / name for name in re.findall(r'"([\w-]+\.png)"', text)]
    return ended.returncode == 0 and all(it.exists() and it.read_bytes().startswith(b"\x89PNG") for it in pictures)


def tells_that_it_is_poor(command: list[str], directory: pathlib.Path) -> bool:
    """Does the program say so where there is no money, and nothing else?"""
    environment = {**os.environ, "TINTYPE_KEY": account(balance="0.01")[1]}
    ended = subprocess.run(command, cwd=directory, env=environment, timeout=120, stderr=subprocess.PIPE, text=True)
    return ended.returncode == 1 and ended.stderr == f"{POOR}\n"


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def listens(port: int, process: subprocess.Popen) -> bool:
    """Waits until the receiver is there; it is not if its program has ended."""
    while process.poll() is None:
        with socket.socket() as knocking:
            if knocking.connect_ex(("127.0.0.1", port)) == 0:
                return True
    return False


def receives(command: list[str], directory: pathlib.Path) -> bool:
    """Does the receiver take a delivery, and tell of its job?"""
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
    """Page and number, language and text of each."""
    found = []
    for page in PAGES:
        blocks = re.findall(r"^```(\w+)\n(.*?)^```$", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
        own = [(language, text) for language, text in blocks if language in ("python", "ts") and "tintype" in text]
        found += [(f"{page}, program {at + 1}", language, text) for at, (language, text) in enumerate(own)]
    return found


def undocumented() -> list[str]:
    """How docs/errors.md differs from the service's own table of codes."""
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
        for at, (where, language, text) in enumerate(found):
            command = [sys.executable, f"{at}.py"] if language == "python" else ["node", f"{at}.mjs"]
            if receives(command, directory) if SECRET in text else runs(command, text, directory):
                passed += 1
            else:
                wrong.append(where)
            if f'SystemExit("{POOR}")' in text and not tells_that_it_is_poor(command, directory):
                wrong.append(f"{where}, without money")
    for fault in wrong:
        print(f"FAILED {fault}")
    print(f"{passed} passed, {len(wrong)} failed")
    return 1 if wrong or passed < 16 else 0


if __name__ == "__main__":
    sys.exit(main())
