#!/usr/bin/env bash
# Remembers when the tests that `make test` leaves out passed last.
#   hack/tested.sh TARGET COMMAND...  runs the command, and records TARGET in test/passed.tsv if it succeeds, unless
#                                     $BPA_TESTED_PART says that it is only a part of the target
#   hack/tested.sh report TARGET...   prints what test/passed.tsv says of each target
# A line has the target, the day, the commit (with + if files had changed) and the seconds. Commit the file
# with the change that the tests prove.
set -euo pipefail
cd "$(dirname "$0")/.."
record=test/passed.tsv

report() {
  local target day commit seconds
  echo "Left out of make test (make test-long runs all of them):"
  for target in "$@"; do
    IFS=$'\t' read -r _ day commit seconds < <(grep -P "^$target\t" "$record" 2>/dev/null || printf '%s\t\t\t\n' "$target")
    printf '  make %-17s %s\n' "$target" "${day:+passed on $day at $commit, ${seconds}s}"
  done | sed 's/^\(  make [^ ]* *\)$/\1no run is recorded/'
}

if [ "${1:?TARGET or report}" = report ]; then
  report "${@:2}"
  exit
fi
target=$1 commit=$(git rev-parse --short=8 HEAD)
[ -z "$(git status --porcelain -- ':!test/passed.tsv')" ] || commit+=+
SECONDS=0
"${@:2}"
[ -z "${BPA_TESTED_PART:-}" ] || exit 0
touch "$record"
{ grep -vP "^$target\t" "$record" || true; printf '%s\t%s\t%s\t%s\n' "$target" "$(date +%F)" "$commit" "$SECONDS"; } | sort >"$record.new"
mv "$record.new" "$record"
