#!/usr/bin/env python3
"""Runs the commands of the README as a reader does: block by block, in an empty directory, with `tintype` on the PATH. Then runs those
of docs/api.md with the same service and key.

A block that starts the service or the receiver gets a separate terminal. The JSON after a command must have the members and types
of the command's output, and equal values unless it is abbreviated with an ellipsis. A text must appear in that output or in a
terminal. Every image that a command names must exist afterwards. The TOML of a section is appended to config.toml, and
`tintype check-config` must accept it. The output of docs/api.md must have the members and types of the page; tests/api/documentation.py
compares its values, with a fresh account.

The commands run in a network namespace with only the loopback interface, so the ports of the README are free and no command
reaches another host. If the system grants no namespace, the ports of the README must be free.

Usage: readme.py    (TINTYPE_BIN names the program, else it is built)
"""

import ctypes
import fcntl
import json
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

# The imports below leave no files in the source tree.
sys.dont_write_bytecode = True
TESTS = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(TESTS / "api"), str(TESTS / "compat")]

from documentation import blocks as api_blocks  # noqa: E402
from documentation import faults, missing  # noqa: E402
from served import program  # noqa: E402

README = TESTS.parent / "README.md"
# These commands take many minutes and need the network: they build everything, or run this test itself.
SKIPPED = {"Start with two commands", "Install"}
# The line that a command for a separate terminal prints when it is ready.
READY = {"tintype serve": "is ready at", "tintype webhook listen": "Verifying with"}
TIMEOUT = 120
CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
SIOCSIFFLAGS, IFF_UP_RUNNING = 0x8914, 0x41


def blocks() -> list[tuple[str, str, str]]:
    """Section, language and text of each block, without the indentation of a list."""
    found, section = [], ""
    text = README.read_text(encoding="utf-8")
    for match in re.finditer(r"^## ([^\n]+)$|^( *)```(\w+)\n(.*?)^\2```$", text, re.MULTILINE | re.DOTALL):
        heading, indentation, language, body = match.groups()
        if heading:
            section = heading
        else:
            found.append((section, language, re.sub(f"^{indentation}", "", body, flags=re.MULTILINE)))
    return found


def leave_the_network() -> bool:
    """Enters a network namespace with the loopback interface only, if the system grants one."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0 and libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0:
        return False
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", IFF_UP_RUNNING))
    return True


class Reader:
    """A reader who copies the commands into terminals."""

    def __init__(self, directory: pathlib.Path, bin_directory: pathlib.Path):
        self.directory = directory
        self.state = bin_directory / "environment"
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("TINTYPE")}
        self.environment = {**inherited, "PATH": f"{bin_directory}:{os.environ['PATH']}"}
        self.terminals: list[tuple[subprocess.Popen, pathlib.Path]] = []

    def run(self, commands: str) -> str:
        """Runs commands in the second terminal, which keeps its variables, and returns their output."""
        script = f"set -a\n{commands}\nenv -0 >{self.state}"
        ended = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=self.directory, env=self.environment, stdout=subprocess.PIPE, text=True, timeout=TIMEOUT,
        )
        ended.check_returncode()
        pairs = (pair.split("=", 1) for pair in self.state.read_text().split("\0") if pair)
        self.environment = dict(pairs)
        return ended.stdout

    def open_terminal(self, command: str) -> None:
        """Starts a command in a separate terminal and waits until it is ready."""
        log = self.state.with_name(f"terminal-{len(self.terminals)}")
        with log.open("w") as output:
            process = subprocess.Popen(
                command.split(), cwd=self.directory, env=self.environment, stdout=output, stderr=subprocess.STDOUT
            )
        self.terminals.append((process, log))
        wait_for(lambda: READY[command] in log.read_text() or process.poll() is not None)
        if process.poll() is not None:
            raise SystemExit(f"`{command}` has ended: {log.read_text()}")

    def shown(self) -> str:
        """The text of all terminals."""
        return "".join(log.read_text() for _, log in self.terminals)

    def close(self) -> list[str]:
        """Interrupts the commands in the terminals, and returns the ones that failed."""
        for process, _ in reversed(self.terminals):
            process.send_signal(signal.SIGINT)
        return [f"{process.args} ended with {code}" for process, _ in self.terminals if (code := process.wait(TIMEOUT)) != 0]


def wait_for(holds) -> bool:
    deadline = time.monotonic() + TIMEOUT
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.05)
    return False


def is_png(path: pathlib.Path) -> bool:
    return path.exists() and path.read_bytes().startswith(b"\x89PNG")


def read(reader: Reader) -> tuple[int, list[str]]:
    """Follows the README; returns the number of blocks run, and the faults."""
    wrong, count, output = [], 0, ""
    for section, language, text in blocks():
        if section in SKIPPED:
            continue
        if language == "sh" and text.strip() in READY:
            reader.open_terminal(text.strip())
            count += 1
        elif language == "sh":
            output = reader.run(text)
            images = [reader.directory / name for name in re.findall(r"-o (\S+\.png)", text)]
            wrong += [f"{image.name} is not there" for image in images if not is_png(image)]
            count += 1
        elif language == "json":
            # Only the last line: a block may begin with commands whose output the README omits.
            shown, printed = json.loads(text), json.loads(output.strip().splitlines()[-1])
            wrong += [f"{section}: {fault}" for fault in faults(shown, printed)]
            if "…" not in text and shown != printed:
                wrong.append(f"{section}: shown {shown}, printed {printed}")
        elif language == "text":
            if not wait_for(lambda: not missing(text, output + reader.shown())):
                wrong += [f"{section}: not printed: {line}" for line in missing(text, output + reader.shown())]
        elif language == "toml":
            with (reader.directory / "config.toml").open("a") as config:
                config.write(text)
            keys = "\n".join(f"{name}=x" for name in re.findall(r'api_key_env = "(\w+)"', text))
            effective = reader.run(f"{keys}\ntintype check-config")
            wrong += [f"not in effect: {table}" for table in re.findall(r"^\[backends.*\]$", text, re.MULTILINE) if table not in effective]
    return count, wrong


def read_api_page(reader: Reader) -> tuple[int, list[str]]:
    """Follows docs/api.md after the README; returns the number of blocks run, and the faults."""
    wrong, count, output = [], 0, ""
    # The README names the variables differently.
    reader.run("TINTYPE_URL=$URL TINTYPE_KEY=$KEY")
    for language, text in api_blocks():
        if language == "json" and output:
            # The values depend on what the README has done.
            printed = json.loads(output.strip().splitlines()[-1])
            wrong += [f"docs/api.md: {fault}" for fault in faults(json.loads(text), printed, steady=())]
        output = reader.run(text) if language == "sh" else ""
        count += language == "sh"
    return count, wrong


def main() -> int:
    binary = pathlib.Path(program()).resolve()
    isolated = leave_the_network()
    with tempfile.TemporaryDirectory() as directory, tempfile.TemporaryDirectory() as bin_directory:
        pathlib.Path(bin_directory, "tintype").symlink_to(binary)
        reader = Reader(pathlib.Path(directory), pathlib.Path(bin_directory))
        try:
            count, wrong = read(reader)
            if not wrong:
                more, wrong = read_api_page(reader)
                count += more
        finally:
            ended = reader.close()
    for fault in wrong + ended:
        print(fault, file=sys.stderr)
    where = "without a network" if isolated else "on the ports of the host"
    print(f"{count} blocks of commands run {where}, {len(wrong + ended)} wrong")
    return 1 if wrong or ended or count < 28 else 0


if __name__ == "__main__":
    sys.exit(main())
