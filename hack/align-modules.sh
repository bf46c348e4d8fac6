#!/usr/bin/env bash
# Raises what the programs' modules share with the product's go.mod to the product's versions: a package is compiled
# once for each of its versions, and for each version of what it imports. Kubernetes keeps the versions of its release.
# What the product's go.mod replaces is replaced there, too: the programs must not run what was found not to work.
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
  while read -r path by version; do
    ! requires "$module" | grep -q "^$path " || go -C "$module" mod edit -replace "$path=$by@$version"
  done < <(awk '$1 == "replace" && $3 == "=>" {print $2, $4, $5}' go.mod)
  go -C "$module" mod tidy
done
