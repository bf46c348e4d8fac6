#!/usr/bin/env bash
# Regenerates all generated code and documents: deep copies, clients, listers, informers, the
# reconciler skeleton, the CRDs, docs/api.md and the copies in third_party.
#   hack/update-codegen.sh [ROOT]
# ROOT is the tree to write to. Default is this tree; verify-codegen.sh uses a copy.
set -euo pipefail
cd "${1:-"$(dirname "${BASH_SOURCE[0]}")/.."}"

module=$(go list -m)
api=$module/pkg/apis/bpa/v1alpha1
client=$module/pkg/client
header=hack/boilerplate.go.txt
# The generators are in a separate module, so that the product's go.mod does not contain them.
tool() { go tool -modfile=hack/tools/go.mod "$@"; }

echo "deep copies"
tool deepcopy-gen --go-header-file "$header" --output-file zz_generated.deepcopy.go ./pkg/apis/bpa/v1alpha1 ./pkg/runs/tekton

# Replace the old client only when the new one is complete.
new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT
echo "clientset, listers, informers"
tool client-gen --go-header-file "$header" --clientset-name versioned \
  --input-base "" --input "$api" --output-dir "$new/client/clientset" --output-pkg "$client/clientset"
tool lister-gen --go-header-file "$header" \
  --output-dir "$new/client/listers" --output-pkg "$client/listers" "$api"
tool informer-gen --go-header-file "$header" \
  --versioned-clientset-package "$client/clientset/versioned" --listers-package "$client/listers" \
  --output-dir "$new/client/informers" --output-pkg "$client/informers" "$api"

echo "injection and reconciler"
tool injection-gen --go-header-file "$header" --input-dirs "$api" \
  --versioned-clientset-package "$client/clientset/versioned" --listers-package "$client/listers" \
  --external-versions-informers-package "$client/informers/externalversions" \
  --output-package "$client/injection" --output-dir "$new/client/injection"
gofmt -w "$new/client"
rm -rf pkg/client
cp -r "$new/client" pkg/client

echo "CRDs"
tool controller-gen crd:headerFile=/dev/null paths=./pkg/apis/bpa/... output:crd:dir="$new"
# In ICN's samples, a worker that is also a master is "- master-1:", which is null. controller-gen
# has no marker for a map with null values.
for crd in "$new"/bpa.akraino.org_*.yaml; do
  sed -E '/^ +(masters|workers):$/,/additionalProperties:$/ s/^( *)additionalProperties:$/&\n\1  nullable: true/' \
    "$crd" | go run ./hack/unwrap >"config/300-${crd##*bpa.akraino.org_}"
done

echo "API reference"
go run ./hack/apidoc >docs/api.md

echo "copies of code of others"
hack/third-party.sh .
