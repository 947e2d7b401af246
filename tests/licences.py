"""Fails if a crate compiled into the product or its tests has no permissive licence."""

import json
import re
import subprocess
import sys

ALLOWED = {
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-1-Clause",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "MPL-2.0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
}


def permitted(expression):
    """Whether one alternative of the SPDX expression consists of allowed licences only."""
    text = expression.replace("/", " OR ")
    tokens = re.findall(r"\(|\)|\bAND\b|\bOR\b|[A-Za-z0-9.+-]+(?: WITH [A-Za-z0-9.-]+)?", text)
    position = 0

    def alternatives():
        nonlocal position
        result = conjunction()
        while position < len(tokens) and tokens[position] == "OR":
            position += 1
            result = conjunction() or result
        return result

    def conjunction():
        nonlocal position
        result = single()
        while position < len(tokens) and tokens[position] == "AND":
            position += 1
            result = single() and result
        return result

    def single():
        nonlocal position
        token = tokens[position]
        position += 1
        if token == "(":
            result = alternatives()
            position += 1
            return result
        return token in ALLOWED

    return alternatives()


def main():
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", "x86_64-unknown-linux-gnu"]
    packages = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["packages"]
    refused = [
        f"{package['name']} {package['version']}: {package['license']}"
        for package in packages
        if not (package["license"] and permitted(package["license"]))
    ]
    for line in refused:
        print("not permitted:", line)
    print(f"{len(packages) - len(refused)} passed, {len(refused)} failed")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
