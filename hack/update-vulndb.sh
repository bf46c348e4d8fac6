#!/usr/bin/env bash
# Records the entries of Go's vulnerability database for the modules of this repository.
# Machines without Internet access use them.
# Usage: hack/update-vulndb.sh CHECKOUT [FOLDER]
#   CHECKOUT is a clone of golang/vulndb. FOLDER is hack/vulndb/osv by default.
set -euo pipefail
[ $# -ge 1 ] || { sed -n '2,5s/^# //p' "$0" >&2; exit 2; }
checkout=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
folder=${2:-hack/vulndb/osv}

git ls-files '*go.mod' | xargs awk '$1 == "require" && $2 != "(" {print $2} /^\t[^ ]+ v/ {print $1}' | sort -u |
  { echo stdlib; echo toolchain; cat; } | sed 's/.*/"name": "&"/' >"${TMPDIR:-/tmp}/modules.$$"
trap 'rm -f "${TMPDIR:-/tmp}/modules.$$"' EXIT
mkdir -p "$folder"
rm -f "$folder"/GO-*.json
grep -rlFf "${TMPDIR:-/tmp}/modules.$$" "$checkout/data/osv" | xargs cp -t "$folder"
git -C "$checkout" log -1 --format='golang/vulndb %H of %cI' >"$folder/SOURCE"
echo "$(find "$folder" -name 'GO-*.json' | wc -l) entries in $folder, of $(cat "$folder/SOURCE")"
