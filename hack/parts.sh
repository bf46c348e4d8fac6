#!/usr/bin/env bash
# Runs make targets and says at the end how long each took.
#   hack/parts.sh TARGET...           one after the other, until one fails
#   hack/parts.sh --beside TARGET...  all at the same time, each to its end
set -uo pipefail
cd "$(dirname "$0")/.."

table= status=0
declare -A targets # name of the target of each process that runs
trap 'kill "${!targets[@]}" 2>/dev/null; exit 130' INT # a shell's background processes ignore Ctrl-C
trap 'kill "${!targets[@]}" 2>/dev/null; exit 143' TERM

start() {
  ${MAKE:-make} --no-print-directory "$1" &
  targets[$!]=$1
}

# await waits until one target has ended, and adds its line to the table.
await() {
  local ended code
  wait -n -p ended "${!targets[@]}"
  code=$?
  table+=$(printf '  %-12s %6d s%s' "${targets[$ended]}" $((SECONDS - begin)) "$([ "$code" -eq 0 ] || echo '  FAILED')")$'\n'
  unset "targets[$ended]"
  [ "$code" -eq 0 ] || status=$code
}

begin=0
if [ "$1" = --beside ]; then
  for target in "${@:2}"; do start "$target"; done
  while [ "${#targets[@]}" -gt 0 ]; do await; done
else
  for target in "$@"; do
    begin=$SECONDS
    start "$target"
    await
    [ "$status" -eq 0 ] || break
  done
fi
printf 'Time of each part:\n%s  %-12s %6d s\n' "$table" together "$SECONDS"
exit "$status"
