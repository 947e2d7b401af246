"""Fails if a crate in Cargo.lock has a known advisory that is not accepted below with a reason.

The check reads advisories.json and needs no network. To update the file:

    python3 tests/advisories.py renew [URL or path of a clone of the RustSec advisory database]
"""

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
LIST = HERE / "advisories.json"
DATABASE = "https://github.com/rustsec/advisory-db"

# Advisories that do not affect this product, each with the reason. An entry that no longer applies fails the check.
ACCEPTED = {
    "RUSTSEC-2026-0258": "h2 0.3 comes with awc, which only tests use; the server is built without HTTP/2",
    "RUSTSEC-2025-0057": "of sled 0.34: unmaintained, and no fault of it is known",
    "RUSTSEC-2024-0384": "of sled 0.34 by way of parking_lot 0.11: unmaintained, and no fault of it is known",
}


def numbers(version):
    """The sort key of a version; pre-releases sort before their release."""
    core, _, pre = version.split("+")[0].partition("-")
    parts = [int(part) for part in core.split(".")]
    return (*parts, *([0] * (3 - len(parts)))), pre == "", pre


def upper(text, caret):
    """The lowest version above a caret or tilde requirement."""
    parts = [int(part) for part in re.split(r"[-+]", text)[0].split(".")]
    if caret:
        place = next((at for at, part in enumerate(parts) if part), len(parts) - 1)
    else:
        place = min(1, len(parts) - 1)
    return ".".join(str(part) for part in [*parts[:place], parts[place] + 1])


def meets(version, requirement):
    """Whether a version meets a requirement such as `>= 1.2, < 2`."""
    for part in requirement.split(","):
        sign, text = re.fullmatch(r"\s*(>=|<=|>|<|=|\^|~|)\s*(\S+)\s*", part).groups()
        if text == "*":
            continue
        given, wanted = numbers(version), numbers(text)
        holds = {
            ">=": given >= wanted,
            "<=": given <= wanted,
            ">": given > wanted,
            "<": given < wanted,
            "=": given == wanted,
        }.get(sign)
        if holds is None:
            holds = wanted <= given < numbers(upper(text, sign != "~"))
        if not holds:
            return False
    return True


def applies(advisory, version):
    return not any(meets(version, it) for it in advisory["patched"] + advisory["unaffected"])


def read(text):
    """The entry of advisories.json for one file of the database; None for a withdrawn advisory."""
    head, _, rest = text.partition("\n```\n")
    entry = tomllib.loads(head.removeprefix("```toml\n"))
    advisory, versions = entry["advisory"], entry.get("versions", {})
    if "withdrawn" in advisory:
        return None
    title = re.search(r"^# (.+)$", rest, re.MULTILINE)
    return {
        "id": advisory["id"],
        "package": advisory["package"],
        "patched": versions.get("patched", []),
        "unaffected": versions.get("unaffected", []),
        "informational": advisory.get("informational"),
        "title": title.group(1).strip() if title else "",
    }


def renew(database):
    with tempfile.TemporaryDirectory() as clone:
        subprocess.run(["git", "clone", "-q", "--depth", "1", database, clone], check=True)
        files = sorted(Path(clone, "crates").glob("*/RUSTSEC-*.md"))
        entries = [entry for file in files if (entry := read(file.read_text()))]
        command = ["git", "-C", clone, "log", "-1", "--format=%cs"]
        as_of = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    lines = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in entries)
    LIST.write_text(f'{{"as_of": "{as_of}", "advisories": [\n{lines}\n]}}\n')
    print(f"{len(entries)} advisories as of {as_of}")
    return 0


def check():
    for version, requirement, expected in [
        ("1.2.3", ">= 1.2.3", True),
        ("1.2.3-rc.1", ">= 1.2.3", False),
        ("0.3.26", "^0.3.24", True),
        ("0.4.0", "^0.3.24", False),
        ("1.4.0", "~1.2", False),
        ("1.9.0", ">= 1.2, < 2", True),
    ]:
        assert meets(version, requirement) == expected, (version, requirement)
    known = json.loads(LIST.read_text())
    packages = tomllib.loads((HERE.parent / "Cargo.lock").read_text())["package"]
    found = {}
    for advisory in known["advisories"]:
        for package in packages:
            if package["name"] == advisory["package"] and applies(advisory, package["version"]):
                text = f"{package['name']} {package['version']}: {advisory['id']}: {advisory['title']}"
                if advisory["informational"]:
                    text += f" ({advisory['informational']})"
                found[advisory["id"]] = text
    faults = [text for name, text in found.items() if name not in ACCEPTED]
    faults += [f"{name} is accepted, but applies no longer" for name in ACCEPTED if name not in found]
    for fault in faults:
        print(fault)
    for name, reason in ACCEPTED.items():
        if name in found:
            print(f"accepted: {found[name]}: {reason}")
    print(f"{len(packages)} crates, {len(known['advisories'])} advisories as of {known['as_of']}, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    arguments = sys.argv[1:]
    sys.exit(renew(*(arguments[1:] or [DATABASE])) if arguments[:1] == ["renew"] else check())
