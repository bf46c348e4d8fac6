#!/usr/bin/env bash
# Runs make targets and says at the end how long each took, and what failed in those that failed.
#   hack/parts.sh TARGET...  one after the other, until one fails; those of A,B at the same time, each to its end
# The output of each target stays in $BPA_STATE/log/TARGET.log.
set -uo pipefail
cd "$(dirname "$0")/.."

table= failed= status=0
logs=${BPA_STATE:-/var/lib/bpa}/log
mkdir -p "$logs"
declare -A targets copies # name of the target of each process that runs; the process that copies the output of a target
trap 'kill "${!targets[@]}" 2>/dev/null; exit 130' INT # a shell's background processes ignore Ctrl-C
trap 'kill "${!targets[@]}" 2>/dev/null; exit 143' TERM

start() {
  local output
  exec {output}> >(exec tee "$logs/$1.log")
  copies[$1]=$!
  ${MAKE:-make} --no-print-directory "$1" >&"$output" 2>&1 {output}>&- &
  targets[$!]=$1
  exec {output}>&-
}

# await waits until one target has ended, and adds its line to the table.
await() {
  local ended code target
  wait -n -p ended "${!targets[@]}"
  code=$?
  target=${targets[$ended]}
  unset "targets[$ended]"
  table+=$(printf '  %-12s %6d s%s' "$target" $((SECONDS - begin)) "$([ "$code" -eq 0 ] || echo '  FAILED')")$'\n'
  [ "$code" -eq 0 ] || { status=$code failed+=" $target"; }
}

# failures prints the last messages of the tests in the output of a target, which are far above what a failed test prints of
# the cluster.
failures() {
  wait "${copies[$1]}"
  echo "The last messages of $1, whose whole output is in $logs/$1.log:"
  awk '/^ *(--- (FAIL|PASS)|=== RUN|panic:)|^ +[a-z0-9_]+\.go:[0-9]+: /{more = 4; print; next} more-- > 0 {print}' "$logs/$1.log" | cut -c1-400 | tail -n 60
}

for group in "$@"; do
  begin=$SECONDS
  for target in ${group//,/ }; do start "$target"; done
  while [ "${#targets[@]}" -gt 0 ]; do await; done
  [ "$status" -eq 0 ] || break
done
for target in $failed; do failures "$target"; done
printf 'Time of each part:\n%s  %-12s %6d s\n' "$table" together "$SECONDS"
exit "$status"
