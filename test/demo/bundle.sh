#!/bin/bash
# Packs what the demo's cluster needs of images and files, out of this machine's depot, into one file that another site can import:
#   bundle.sh [FILE]
set -euo pipefail
cd "$(dirname "$0")/../.."
state=${BPA_STATE:-/var/lib/bpa}
depot=http://10.60.0.1:5000
out=${1:-$state/bundle.tar}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# As the lab's Provisioning has it, except that its pod network is read here and not in the task's image.
sed "s#/kubespray/lab/#$PWD/test/lab/#" "$state/cache/lab/vars.yaml" >"$work/vars.yaml"
PATH=$state/cache/lab/ansible/venv/bin:$PATH go run ./cmd/seed-registry list --kubernetes 1.35.4 --network-plugin custom_cni --nodes-depot "$depot" \
	--vars "$work/vars.yaml" --playbooks-dir "${KUBESPRAY:-$PWD/test/playbooks}" --scratch-dir "$work" --results-dir "$work" --list "$work/list.json"
go run ./cmd/kubectl-bpa bundle export --depot "$depot" --list "$work/list.json" --output "$out"
go run ./cmd/kubectl-bpa bundle inspect "$out" --verify
