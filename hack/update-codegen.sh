#!/usr/bin/env bash
# Regenerates everything that is generated: deep copies, clients, listers, informers, the reconciler skeleton and the CRD.
# Usage: hack/update-codegen.sh [ROOT]    ROOT is a copy of this tree to write into (hack/verify-codegen.sh does); default this tree.
set -euo pipefail
cd "${1:-"$(dirname "${BASH_SOURCE[0]}")/.."}"

module=$(go list -m)
api=$module/pkg/apis/bpa/v1alpha1
client=$module/pkg/client
header=hack/boilerplate.go.txt
k8s=k8s.io/code-generator/cmd

echo "deep copies"
go run "$k8s/deepcopy-gen" --go-header-file "$header" --output-file zz_generated.deepcopy.go ./pkg/apis/bpa/v1alpha1

rm -rf pkg/client
echo "clientset, listers, informers"
go run "$k8s/client-gen" --go-header-file "$header" --clientset-name versioned \
  --input-base "" --input "$api" --output-dir pkg/client/clientset --output-pkg "$client/clientset"
go run "$k8s/lister-gen" --go-header-file "$header" \
  --output-dir pkg/client/listers --output-pkg "$client/listers" "$api"
go run "$k8s/informer-gen" --go-header-file "$header" \
  --versioned-clientset-package "$client/clientset/versioned" --listers-package "$client/listers" \
  --output-dir pkg/client/informers --output-pkg "$client/informers" "$api"

echo "injection and reconciler"
go run knative.dev/pkg/codegen/cmd/injection-gen --go-header-file "$header" --input-dirs "$api" \
  --versioned-clientset-package "$client/clientset/versioned" --listers-package "$client/listers" \
  --external-versions-informers-package "$client/informers/externalversions" \
  --output-package "$client/injection" --output-dir pkg/client/injection
gofmt -w pkg/client

echo "CRD"
crds=$(mktemp -d)
trap 'rm -rf "$crds"' EXIT
go tool -modfile=hack/tools/go.mod controller-gen crd:headerFile=/dev/null paths=./pkg/apis/bpa/... output:crd:dir="$crds"
# ICN's samples write a worker that is a master again as "- master-1:", which is null. controller-gen has no marker for a null map value.
sed -E '/^ +(masters|workers):$/,/additionalProperties:$/ s/^( *)additionalProperties:$/&\n\1  nullable: true/' \
  "$crds/bpa.akraino.org_provisionings.yaml" >config/300-provisionings.yaml
