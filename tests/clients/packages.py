#!/usr/bin/env python3
"""Checks what users of the packages get: the wheel that this interpreter has installed, and the packed package of npm.

Both must contain the texts of both licences, and a README whose links lead somewhere outside of the repository too. The declarations
must compile for the oldest target that callers have.

Usage: packages.py DIRECTORY    (with the packed package, and with it in client/node_modules; see tests/run)
"""

import importlib.metadata
import json
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LICENCES = {name: (ROOT / name).read_bytes() for name in ("LICENSE-APACHE", "LICENSE-MIT")}
COMPILE = ["--noEmit", "--strict", "--target", "ES2020", "--lib", "ES2020,DOM,DOM.Iterable", "--module", "NodeNext"]


def faults(package: str, licences: dict[str, bytes | None], readme: str) -> list[str]:
    """What a package lacks."""
    wrong = [f"{package}: {name} is missing or differs" for name, text in LICENCES.items() if licences[name] != text]
    links = [it for it in re.findall(r"\]\(([^)\s]+)", readme) if not it.startswith(("https://", "#"))]
    return wrong + [f"{package}: the README links to {it}" for it in links] + [f"{package}: no README"] * (len(readme) < 1000)


def of_python() -> list[str]:
    """The installed wheel."""
    files = {it.name: it.locate() for it in importlib.metadata.files("tintype") or [] if it.parent.name == "licenses"}
    licences = {name: pathlib.Path(files[name]).read_bytes() if name in files else None for name in LICENCES}
    return faults("wheel", licences, str(importlib.metadata.metadata("tintype").get_payload()))


def of_npm(tools: pathlib.Path) -> list[str]:
    """The packed and the installed package."""
    version = json.loads((ROOT / "clients/typescript/package.json").read_text(encoding="utf-8"))["version"]
    with tarfile.open(tools / f"tintype-{version}.tgz") as packed:
        names = packed.getnames()
        read = lambda name: packed.extractfile(f"package/{name}").read() if f"package/{name}" in names else None
        wrong = faults("npm", {name: read(name) for name in LICENCES}, (read("README.md") or b"").decode())
    with tempfile.TemporaryDirectory(dir=tools / "client") as name:
        pathlib.Path(name, "caller.mts").write_text(
            'import { Tintype } from "tintype";\nimport { verifyWebhook } from "tintype/webhooks";\nexport { Tintype, verifyWebhook };\n'
        )
        pathlib.Path(name, "reader.mjs").write_text(
            'import { createRequire } from "node:module";\ncreateRequire(import.meta.url)("tintype/package.json");\n'
        )
        compiler = str(ROOT / "clients/typescript/node_modules/.bin/tsc")
        if subprocess.run([compiler, *COMPILE, "caller.mts"], cwd=name, timeout=120).returncode != 0:
            wrong.append("npm: the declarations do not compile for ES2020")
        if subprocess.run(["node", "reader.mjs"], cwd=name, timeout=60).returncode != 0:
            wrong.append("npm: package.json cannot be read")
    return wrong


found = of_python() + of_npm(pathlib.Path(sys.argv[1]))
for fault in found:
    print(f"FAILED {fault}")
print(f"2 packages checked, {len(found)} faults")
sys.exit(1 if found else 0)
