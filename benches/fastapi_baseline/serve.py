#!/usr/bin/env python3
"""Starts the baseline for the load run: a fresh PostgreSQL and the service in front of it, on loopback, until standard input closes.

Prints the address, then a key for each account, then `ready`, like the child servers of the load run. Needs PostgreSQL's
programs (Debian: postgresql) and python3-venv; installs its PyPI packages below target/bench-tools.

Usage: serve.py ACCOUNTS
"""

import hashlib
import os
import pathlib
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[2]
VENV = ROOT / "target/bench-tools/venv"
PACKAGES = ["fastapi==0.165.0", "uvicorn[standard]==0.54.0", "asyncpg==0.32.0"]
PATIENCE = 60
WORKERS = 2

SCHEMA = """
CREATE TABLE accounts (id uuid PRIMARY KEY, balance numeric(20, 3) NOT NULL, reserved numeric(20, 3) NOT NULL DEFAULT 0,
                       CHECK (reserved >= 0 AND reserved <= balance));
CREATE TABLE keys (digest bytea PRIMARY KEY, account uuid NOT NULL REFERENCES accounts, active boolean NOT NULL DEFAULT true);
CREATE TABLE jobs (id uuid PRIMARY KEY, account uuid NOT NULL REFERENCES accounts, status text NOT NULL, prompt text NOT NULL,
                   aspect_ratio text NOT NULL, metadata jsonb NOT NULL, price numeric(20, 3) NOT NULL,
                   created_at timestamptz NOT NULL DEFAULT now());
CREATE INDEX ON jobs (account, created_at);
CREATE TABLE idempotency (account uuid NOT NULL, name text NOT NULL, job uuid NOT NULL, PRIMARY KEY (account, name));
"""


def programs() -> pathlib.Path:
    """The directory of PostgreSQL's programs, which Debian keeps out of the search path."""
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    plain = shutil.which("initdb")
    if found:
        return found[-1].parent
    if plain:
        return pathlib.Path(plain).parent
    sys.exit("PostgreSQL is missing: apt-get install postgresql")


def python() -> pathlib.Path:
    """The interpreter that has the service's packages."""
    interpreter, mark = VENV / "bin/python", VENV / "packages"
    if not mark.exists() or mark.read_text() != "\n".join(PACKAGES):
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True, stdout=sys.stderr)
        subprocess.run([interpreter, "-m", "pip", "install", "-q", *PACKAGES], check=True, stdout=sys.stderr)
        mark.write_text("\n".join(PACKAGES))
    return interpreter


def as_owner(command: list) -> list:
    """Runs a command as another user if this is root, because PostgreSQL refuses to run as root."""
    words = [str(word) for word in command]
    return ["runuser", "-u", "postgres", "--", *words] if os.geteuid() == 0 else words


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until(done, what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not done():
        if time.monotonic() > deadline:
            sys.exit(f"{what} did not come up within {PATIENCE} s")
        time.sleep(0.05)


def answers(address: str) -> bool:
    try:
        urllib.request.urlopen(f"http://{address}/nothing", timeout=1)
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


def fill(psql: list, accounts: int) -> list[str]:
    """Creates the accounts, and returns a key for each."""
    keys, lines = [], [SCHEMA]
    for _ in range(accounts):
        account, key = uuid.uuid4(), f"tt_{uuid.uuid4().hex}"
        digest = hashlib.sha256(key.encode()).hexdigest()
        keys.append(key)
        lines.append(f"INSERT INTO accounts VALUES ('{account}', 100000000); INSERT INTO keys VALUES ('\\x{digest}', '{account}');")
    script = "BEGIN;" + "\n".join(lines) + "COMMIT; ANALYZE;"
    subprocess.run(psql, input=script, text=True, check=True, stdout=subprocess.DEVNULL)
    return keys


def main() -> None:
    accounts, tools, interpreter = int(sys.argv[1]), programs(), python()
    directory = pathlib.Path(tempfile.mkdtemp(prefix="baseline-"))
    if os.geteuid() == 0:
        owner = pwd.getpwnam("postgres")
        os.chown(directory, owner.pw_uid, owner.pw_gid)
    port, data = free_port(), directory / "data"
    initdb = [tools / "initdb", "-D", data, "-U", "baseline", "-A", "trust", "--no-instructions"]
    running = []
    try:
        subprocess.run(as_owner(initdb), check=True, stdout=subprocess.DEVNULL)
        # Default durability: each commit is on disk before its answer. More memory and fewer checkpoints than the default favour it.
        settings = ["shared_buffers=1GB", "max_wal_size=4GB", "listen_addresses=", f"unix_socket_directories={directory}", f"port={port}"]
        postgres = [tools / "postgres", "-D", data, *(word for setting in settings for word in ("-c", setting))]
        running.append(subprocess.Popen(as_owner(postgres), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        ready = as_owner([tools / "pg_isready", "-q", "-h", directory, "-p", port])
        until(lambda: subprocess.run(ready).returncode == 0, "PostgreSQL")
        psql = as_owner([tools / "psql", "-q", "-v", "ON_ERROR_STOP=1", "-h", directory, "-p", port, "-U", "baseline", "postgres"])
        keys = fill(psql, accounts)
        address = f"127.0.0.1:{free_port()}"
        service = [interpreter, "-m", "uvicorn", "service:app", "--workers", WORKERS, "--port", address.split(":")[1]]
        service += ["--no-access-log", "--log-level", "warning", "--loop", "uvloop", "--http", "httptools"]
        database = f"postgresql://baseline@/postgres?host={directory}&port={port}"
        environment = {**os.environ, "BASELINE_DATABASE": database, "PYTHONDONTWRITEBYTECODE": "1"}
        where = pathlib.Path(__file__).parent
        running.append(subprocess.Popen([str(word) for word in service], env=environment, cwd=where, stdout=sys.stderr))
        until(lambda: answers(address), "the service")
        print(address, *keys, "ready", sep="\n", flush=True)
        sys.stdin.read()
        count = [*psql, "-t", "-A", "-c", "SELECT count(*) FROM jobs"]
        print(subprocess.run([str(word) for word in count], capture_output=True, text=True, check=True).stdout.strip(), flush=True)
    finally:
        # The service first, which closes its connections, so that PostgreSQL stops at once.
        for process in reversed(running):
            process.terminate()
            process.wait()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
