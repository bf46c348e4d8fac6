#!/usr/bin/env bash
# Runs make targets one after the other until one fails, and says at the end how long each took.
#   hack/parts.sh TARGET...
set -uo pipefail
cd "$(dirname "$0")/.."

table= status=0
for target in "$@"; do
  begin=$SECONDS
  ${MAKE:-make} --no-print-directory "$target"
  status=$?
  table+=$(printf '  %-12s %6d s%s' "$target" $((SECONDS - begin)) "$([ "$status" -eq 0 ] || echo '  FAILED')")$'\n'
  [ "$status" -eq 0 ] || break
done
printf 'Time of each part:\n%s  %-12s %6d s\n' "$table" together "$SECONDS"
exit "$status"
