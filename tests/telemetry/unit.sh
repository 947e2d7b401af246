#!/usr/bin/env bash
# systemd accepts the unit, and the unit sandboxes the service.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
# The program is not installed here; the package provides it.
sed 's#^ExecStart=/usr/bin/tintype .*#ExecStart=/bin/true#' deploy/tintype.service > "$folder/tintype.service"
problems=$(systemd-analyze verify "$folder/tintype.service" 2>&1)
[ -z "$problems" ] || { echo "$problems"; exit 1; }
# In tenths: an exposure of at most 2.0 of 10, where 10 is a service without restrictions.
systemd-analyze security --offline=yes --threshold=20 --no-pager "$folder/tintype.service" | tail -n 1
