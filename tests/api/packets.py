"""Proves that no packet leaves for a forbidden address: runs the tests of every outbound request under a trace of their system calls.

The tests, their servers and the servers that play public addresses are all at 127.0.0.1, and the tests query no name server. So
a packet to any other address, or to a listener that a test prints as `never`, is a failure. Such a listener lives until the
process ends, so that its port never belongs to another.
"""

import collections
import os
import re
import subprocess
import sys
import tempfile

CALLS = "connect,sendto,sendmsg,sendmmsg"
TESTS = "hostile_ssrf_requests"
V4 = re.compile(r'sin_port=htons\((\d+)\), sin_addr=inet_addr\("([^"]+)"\)')
V6 = re.compile(r'sin6_port=htons\((\d+)\),.*?inet_pton\(AF_INET6, "([^"]+)"')


def destinations(trace):
    for line in trace:
        for port, address in V4.findall(line) + V6.findall(line):
            yield address, int(port)


def main():
    with tempfile.TemporaryDirectory() as work:
        log = os.path.join(work, "trace")
        runner = f"strace -f -qq --seccomp-bpf -e trace={CALLS} -e signal=none -o {log}"
        environment = {**os.environ, "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER": runner}
        command = ["cargo", "test", "-q", "--workspace", "--test", "api", "--", TESTS, "--nocapture"]
        run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True)
        if run.returncode:
            print(run.stdout)
            return run.returncode
        with open(log, encoding="utf-8", errors="replace") as trace:
            seen = collections.Counter(destinations(trace))
    never = {(host, int(port)) for host, port in re.findall(r"never: ([0-9.]+):(\d+)", run.stdout)}
    wrong = [place for place in seen if place in never or place[0] != "127.0.0.1"]
    total = sum(seen.values())
    if not never or total < 1_000:
        print(f"the trace shows only {total} connections, and the tests named {len(never)} refused addresses: the trace is incomplete")
        return 1
    for host, port in wrong:
        print(f"connected to {host}:{port}, which is refused")
    print(f"traced {total} connections")
    print("0 passed, 1 failed" if wrong else "1 passed, 0 failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
