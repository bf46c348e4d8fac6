#!/usr/bin/env bash
# Builds the kubectl plugin for the systems of its users, and fails if one does not compile, or that for
# linux/amd64 is larger than the limit.
# The goal is at most 45 MB: docs/decisions/2026-11-28-size-of-the-plugin.md says what it has been, and what makes it large.
set -euo pipefail
cd "$(dirname "$0")/.."
limit=40750000
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

for target in linux/amd64 linux/arm64 darwin/arm64 windows/amd64; do
  CGO_ENABLED=0 GOOS=${target%/*} GOARCH=${target#*/} go build -ldflags "-s -w" -o "$dir/kubectl-bpa" ./cmd/kubectl-bpa || {
    echo "kubectl bpa does not compile for $target" >&2
    exit 1
  }
  size=$(stat -c %s "$dir/kubectl-bpa")
  echo "kubectl bpa for $target: $size bytes"
  [ "$target" != linux/amd64 ] || [ "$size" -le "$limit" ] || {
    echo "kubectl bpa for $target is larger than $limit bytes: find the new dependency with go list -deps ./cmd/kubectl-bpa." >&2
    echo "If it is 10 MB larger, something looks for methods by name: go build -ldflags=-dumpdep ./cmd/kubectl-bpa 2>&1 | grep ReflectMethod" >&2
    exit 1
  }
done
