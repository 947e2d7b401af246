#!/usr/bin/env python3
"""Runs the commands of docs/api.md unchanged in one shell, and compares their output with the page.

A JSON block after a command must have the members and types of the answer. The steady values (a status, a code, an amount)
must be equal unless the page abbreviates them with an ellipsis. Each line of a text block must occur in the output.

Usage: served.py documentation.py (see tests/compat)
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/api.md"
# Members with the same value on every run.
STEADY = {"status", "code", "kind", "amount", "price", "tier", "mode", "aspect_ratio", "resolution", "spent", "available", "calls"}


def blocks() -> list[tuple[str, str]]:
    return re.findall(r"^```(\w*)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def faults(shown, printed, path: str = "", steady=STEADY) -> list[str]:
    """The differences between an answer and the page. `steady`: the members whose values are compared."""
    if isinstance(shown, dict) and isinstance(printed, dict):
        if shown.keys() != printed.keys():
            return [f"{path}: shown {sorted(shown)}, printed {sorted(printed)}"]
        return [fault for name in shown for fault in faults(shown[name], printed[name], f"{path}.{name}", steady)]
    if isinstance(shown, list) and isinstance(printed, list):
        if not printed:
            return [f"{path}: nothing printed"]
        return faults(shown[0], printed[0], f"{path}[0]", steady)
    is_steady = path.rpartition(".")[2] in steady and shown != "…"
    # A value may be null on one run and present on the next.
    may_be_null = shown is None or printed is None
    if is_steady and shown != printed or not may_be_null and type(shown) is not type(printed):
        return [f"{path}: shown {shown!r}, printed {printed!r}"]
    return []


def missing(shown: str, printed: str) -> list[str]:
    """Lines of a text block that the command did not print."""
    pattern = lambda line: ".*".join(re.escape(part) for part in line.split("…"))
    return [line for line in shown.splitlines() if line and not re.search(pattern(line), printed)]


def main() -> int:
    found, wrong, compared = blocks(), [], 0
    commands = [at for at, (kind, _) in enumerate(found) if kind == "sh"]
    with tempfile.TemporaryDirectory() as directory:
        script = "".join(f"exec >{directory}/{at}.out\n{found[at][1]}" for at in commands)
        ended = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=directory, timeout=120)
        if ended.returncode != 0:
            wrong.append(f"a command failed with {ended.returncode}")
        for at in commands:
            kind, shown = found[at + 1] if at + 1 < len(found) else ("", "")
            output = pathlib.Path(directory, f"{at}.out")
            printed = output.read_text() if output.exists() else ""
            if kind == "json":
                compared += 1
                try:
                    wrong += [f"{found[at][1]}  {it}" for it in faults(json.loads(shown), json.loads(printed))]
                except json.JSONDecodeError as error:
                    wrong.append(f"{found[at][1]}  {error}: {printed!r}")
            elif kind == "text":
                compared += 1
                wrong += [f"{found[at][1]}  not printed: {it}" for it in missing(shown, printed)]
    for fault in wrong:
        print(fault, file=sys.stderr)
    print(f"{len(commands)} blocks of commands run, {compared} compared, {len(wrong)} wrong")
    return 1 if wrong or compared < 9 else 0


if __name__ == "__main__":
    sys.exit(main())
