#!/usr/bin/env bash
# Copies the code of others that is in third_party, with the changes that third_party/README.md explains: Go's
# text/template, and what executes templates by it in Helm and in kubectl's printers.
#   hack/third-party.sh [ROOT]
# ROOT is the tree to write to. Default is this tree.
set -euo pipefail
cd "${1:-"$(dirname "${BASH_SOURCE[0]}")/.."}"

to=$(go list -m)/third_party
go=$(go env GOROOT)/src
helm=$(go list -m -f '{{.Dir}}' helm.sh/helm/v3)/pkg/engine
printers=$(go list -m -f '{{.Dir}}' k8s.io/cli-runtime)/pkg/printers

# copy FOLDER FILE...: replaces the copies in third_party/FOLDER, which import each other.
copy() {
  local folder=third_party/$1 file
  shift
  rm -f "$folder"/zz_*.go
  for file in "$@"; do
    sed -e "s#\"text/template\"#\"$to/go/template\"#" -e "s#\"internal/fmtsort\"#\"$to/go/fmtsort\"#" "$file" >"$folder/zz_$(basename "$file")"
  done
  gofmt -w "$folder"
}
cp "$(go env GOROOT)/LICENSE" third_party/go/LICENSE
copy go/fmtsort "$go/internal/fmtsort/sort.go"
copy go/template "$go"/text/template/{exec,funcs,helper,option,template}.go
copy helm/engine "$helm"/{engine,files,funcs,lookup_func}.go
sed -i 's/sprig\.TxtFuncMap()/template.FuncMap(&)/' third_party/helm/engine/zz_funcs.go # the same map
copy cli-runtime/printers "$printers"/{template,jsonpath}.go "$printers/../genericclioptions/template_flags.go"
sed -i -e 's/^package genericclioptions/package printers/' -e 's/printers\.NewGo/NewGo/' third_party/cli-runtime/printers/zz_template_flags.go

# The change: methods of the names in methods.go only.
exec=third_party/go/template/zz_exec.go
sed -i 's/ptr\.MethodByName(fieldName)/methodByName(ptr, fieldName)/' "$exec"
[ "$(grep -c 'methodByName(ptr, fieldName)' "$exec")" = 1 ] || {
  echo "text/template finds methods in another way than before: see third_party/README.md" >&2
  exit 1
}
