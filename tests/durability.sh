#!/bin/sh
# Proves with a trace of system calls that the engine acknowledges no commit before it has synced the journal with the commit.
#
# A storage test commits twenty times and prints a line after each commit. Before each line the trace must have a write to the
# journal and, after it, an fdatasync of the journal that returned 0.
set -eu
cd "$(dirname "$0")/.."

command -v strace >/dev/null || { echo "durability: strace is needed (Debian: apt install strace)" >&2; exit 2; }

program=$(cargo test --workspace --test storage --no-run 2>&1 | sed -n 's/.*Executable.*(\(.*\))/\1/p')
[ -n "$program" ] || { echo "durability: the storage tests were not built" >&2; exit 2; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

TINTYPE_STORAGE_TEST_PART=commit TINTYPE_STORAGE_TEST_DIRECTORY="$work/data" \
    strace -f -y -s 64 -e trace=fdatasync,write -o "$work/trace" \
    "$program" --exact children::plays_the_role_named_by_the_environment --nocapture --test-threads=1 </dev/null >/dev/null

# strace splits a call that another thread interrupts into two lines, "<unfinished ...>" and "<... name resumed>"; each begins
# with its thread. The engine also writes and syncs sled in the background, so only calls on the journal count.
awk -v journal="$work/data/journal/" '
    / write\(/ && index($0, journal)      { written = 1; synced = 0 }
    / fdatasync\(/ && index($0, journal)  { syncing[$1] = 1 }
    /fdatasync/ && !/<unfinished/         { if (syncing[$1] && / = 0$/) { synced = written }; syncing[$1] = 0 }
    /write\(1.*"answered [0-9]+/ {
        answered++
        if (!written || !synced) { print "durability: answered before it was synced: " $0; bad = 1 }
        written = 0; synced = 0
    }
    END {
        if (answered != 20) { print "durability: " answered + 0 " answers instead of 20"; bad = 1 }
        if (!bad) { print "durability: 20 commits, each written, synced and only then answered" }
        exit bad
    }
' "$work/trace" || { cat "$work/trace" >&2; exit 1; }
