#!/usr/bin/env bash
# Updates the dependencies that the modules of programs share with the product's go.mod to the
# product's versions, because Go compiles each version of a package, and of its imports, separately.
# Kubernetes keeps the versions of its release. The script also copies the product's replace
# directives, so that the programs do not use versions that do not work.
set -euo pipefail
cd "$(dirname "$0")/.."
modules=(bootstrap bootstrap/modules/{containerd,coredns,tekton} test/lab/modules/network)

requires() { awk '$1 == "require" && $2 != "(" {print $2, $3} /^\t[^ ]+ v/ {print $1, $2}' "$1/go.mod" | sort; }

for module in "${modules[@]}"; do
  raise=()
  while read -r path own product; do
    [ "$own" = "$product" ] || [ "$(printf '%s\n' "$own" "$product" | sort -V | tail -1)" = "$own" ] || raise+=("$path@$product")
  done < <(join <(requires "$module") <(requires .))
  echo "$module: ${#raise[@]} dependencies updated"
  [ "${#raise[@]}" = 0 ] || go -C "$module" get "${raise[@]}"
  while read -r path by version; do
    ! requires "$module" | grep -q "^$path " || go -C "$module" mod edit -replace "$path=$by@$version"
  done < <(awk '$1 == "replace" && $3 == "=>" {print $2, $4, $5}' go.mod)
  go -C "$module" mod tidy
done
