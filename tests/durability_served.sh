#!/bin/sh
# Proves with a trace of system calls that the running service answers 202 only when the job is on disk.
#
# curl creates one job under strace. Between the read of the request and the write of its 202 the trace must have a write of the
# job to the journal and, after it, an fdatasync of the journal that returned 0. The service may write the start of the job's
# first run while it sends the 202: that write waits for a separate sync.
set -eu
cd "$(dirname "$0")/.."

for command in strace curl; do
    command -v "$command" >/dev/null || { echo "durability: $command is needed (Debian: apt install $command)" >&2; exit 2; }
done

[ -n "${TINTYPE_BIN:-}" ] || cargo build -q --bin tintype
program=${TINTYPE_BIN:-$PWD/target/debug/tintype}
work=$(mktemp -d)
tracer=
end() {
    # A signal to strace would not stop the service; strace ends with it.
    [ ! -s "$work/pid" ] || kill "$(cat "$work/pid")" 2>/dev/null || true
    [ -z "$tracer" ] || wait "$tracer" || true
    rm -rf "$work"
}
trap end EXIT

cd "$work"
strace -f -y -s 4096 -o trace -e trace=read,readv,recvfrom,recvmsg,write,writev,sendto,sendmsg,pwrite64,pwritev,fdatasync,fsync \
    sh -c 'echo $$ >pid; exec "$0" serve --listen 127.0.0.1:0 --data-dir data' "$program" </dev/null >out 2>err &
tracer=$!

tries=0
until curl -sf -o /dev/null "$(sed -n 's/.*ready at //p' out)/healthz" 2>/dev/null; do
    tries=$((tries + 1))
    [ "$tries" -lt 600 ] || { echo "durability: the service did not start" >&2; cat out err >&2; exit 1; }
    kill -0 "$tracer" 2>/dev/null || { echo "durability: the service ended" >&2; cat out err >&2; exit 1; }
    sleep 0.1
done
url=$(sed -n 's/.*ready at //p' out)
key=$(grep -o 'tt_[0-9A-Za-z]*' out | head -n 1)
status=$(curl -s -o answer -w '%{http_code}' "$url/api/v1/nb/text-generations" -H "Authorization: Bearer $key" \
    -H 'Content-Type: application/json' -d '{"prompt": "a fox", "aspect_ratio": "1:1"}')
[ "$status" = 202 ] || { echo "durability: answered $status" >&2; cat answer >&2; exit 1; }
kill "$(cat pid)"
wait "$tracer"
rm pid
tracer=

# strace splits a call that another thread interrupts into two lines, "<unfinished ...>" and "<... name resumed>"; each begins
# with its thread. The first line has the start of the call, the last its result.
awk '
    { begins = !index($0, "<... "); ends = !index($0, "<unfinished") }
    /POST \/api\/v1\/nb\/text-generations/ && ends { asked = 1; written = synced = 0 }
    asked && begins && !written && / write\(/ && index($0, "/store/journal/") && /a fox/ { writing[$1] = 1 }
    asked && ends && /write/ && writing[$1]           { written = 1; synced = 0; writing[$1] = 0 }
    written && begins && / fdatasync\(/ && index($0, "/store/journal/") { syncing[$1] = 1 }
    ends && /fdatasync/                               { if (syncing[$1] && / = 0$/) { synced = 1 }; syncing[$1] = 0 }
    asked && begins && /HTTP\/1\.1 202/ {
        answered = 1
        if (!synced) { print "durability: 202 was sent before the job was synced: " $0; bad = 1 }
    }
    END {
        if (!answered) { print "durability: the trace has no 202 after the request"; bad = 1 }
        if (!bad) { print "the 202 left after the fdatasync of what the request wrote\n1 passed, 0 failed" }
        exit bad
    }
' trace || { grep -nE 'POST /api|store/journal/|fdatasync|HTTP/1.1 202' trace >&2; echo "0 passed, 1 failed"; exit 1; }
