#!/usr/bin/env bash
# Raises what the programs' modules share with the product's go.mod to the product's versions: a package is compiled
# once for each of its versions, and for each version of what it imports. Kubernetes keeps the versions of its release.
set -euo pipefail
cd "$(dirname "$0")/.."
modules=(bootstrap bootstrap/modules/{containerd,coredns,tekton} test/lab/modules/network)

requires() { awk '$1 == "require" && $2 != "(" {print $2, $3} /^\t[^ ]+ v/ {print $1, $2}' "$1/go.mod" | sort; }

for module in "${modules[@]}"; do
  raise=()
  while read -r path own product; do
    [ "$own" = "$product" ] || [ "$(printf '%s\n' "$own" "$product" | sort -V | tail -1)" = "$own" ] || raise+=("$path@$product")
  done < <(join <(requires "$module") <(requires .))
  echo "$module: ${#raise[@]} raised"
  [ "${#raise[@]}" = 0 ] || go -C "$module" get "${raise[@]}"
  go -C "$module" mod tidy
done
