#!/usr/bin/env bash
# Fails if generated files differ from what hack/update-codegen.sh makes of the sources, and shows how. Changes nothing in this tree.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
# Generators read Go packages and write into pkg, config and docs; nothing else is needed.
cp -r go.mod go.sum hack pkg config docs "$copy"
"$copy/hack/update-codegen.sh" "$copy" >/dev/null

if ! diff -ru pkg/apis "$copy/pkg/apis" || ! diff -ru pkg/client "$copy/pkg/client" ||
  ! diff -u config/300-provisionings.yaml "$copy/config/300-provisionings.yaml" || ! diff -u docs/api.md "$copy/docs/api.md"; then
  echo "generated files are stale: run make generate and commit what it changes" >&2
  exit 1
fi
