#!/usr/bin/env bash
# The systemd unit is one that systemd understands, and leaves the service little to do harm with.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
# The program is not installed here; that there is one at that path is the package's to see to.
sed 's#^ExecStart=/usr/bin/tintype .*#ExecStart=/bin/true#' deploy/tintype.service > "$folder/tintype.service"
told=$(systemd-analyze verify "$folder/tintype.service" 2>&1)
[ -z "$told" ] || { echo "$told"; exit 1; }
# In tenths: at most 2.0 of 10, where 10 is a service that may do everything.
systemd-analyze security --offline=yes --threshold=20 --no-pager "$folder/tintype.service" | tail -n 1
