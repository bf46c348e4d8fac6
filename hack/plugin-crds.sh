#!/usr/bin/env bash
# Generates the parts of plugins that come from Go packages of their upstreams: the CRDs of
# sriov-network, and the operator of kubevirt. The modules in hack/plugins have the versions. To take
# another release, change the version there, and the version and images in the plugin.yaml.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
plugins=$PWD/plugins

generator=$(go tool -modfile=hack/tools/go.mod -n controller-gen)
rm -rf "$plugins/sriov-network/chart/crds"
(cd hack/plugins/sriov-network &&
  "$generator" crd:headerFile=/dev/null paths=github.com/k8snetworkplumbingwg/sriov-network-operator/api/v1 \
    output:crd:dir="$plugins/sriov-network/chart/crds")

mkdir -p "$plugins/kubevirt/manifests"
new=$(mktemp)
trap 'rm -f "$new"' EXIT
go -C hack/plugins/kubevirt run . >"$new"
cat "$new" >"$plugins/kubevirt/manifests/operator.yaml"
