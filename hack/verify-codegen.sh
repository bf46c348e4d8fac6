#!/usr/bin/env bash
# Fails if generated files differ from the output of hack/update-codegen.sh, and prints the
# difference. It does not change this tree.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
# The generators read Go packages and write to pkg, config and docs. They need nothing else.
# tekton is there because config links to its files, and plugins because pkg/plugin embeds it.
cp -r go.mod go.sum hack pkg config docs tekton plugins third_party "$copy"
"$copy/hack/update-codegen.sh" "$copy" >/dev/null

if ! diff -ru pkg/apis "$copy/pkg/apis" || ! diff -ru pkg/client "$copy/pkg/client" || ! diff -ru pkg/runs "$copy/pkg/runs" ||
  ! diff -ru third_party "$copy/third_party" ||
  ! diff -ru config "$copy/config" || ! diff -u docs/api.md "$copy/docs/api.md"; then
  echo "generated files are stale: run make generate and commit the changes" >&2
  exit 1
fi
