#!/usr/bin/env bash
# Searches for known vulnerabilities in the packages that this project imports.
# hack/vulndb/README.md describes the database. Exit status: 1 for a vulnerability that is not
# accepted, 4 if there is no database.
set -euo pipefail
cd "$(dirname "$0")/.."
db=${VULNDB:-}
for recorded in hack/vulndb/osv ../shared/vulndb; do
  [ -n "$db" ] || [ ! -d "$recorded" ] || db=file://$(cd "$recorded" && pwd)
done

tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
go build -modfile=hack/tools/go.mod -o "$tools/" golang.org/x/vuln/cmd/govulncheck
go build -o "$tools/" ./hack/vulncheck
if ! err=$("$tools/govulncheck" ${db:+-db "$db"} -scan package -format json ./hack/vulncheck 2>&1 >/dev/null); then # test the database with a small package first
  echo "$err" >&2
  [ -z "$db" ] || { echo "govulncheck.sh: cannot use the vulnerability database $db: check VULNDB, or record the database again (hack/vulndb/README.md)" >&2; exit 1; }
  echo "govulncheck.sh: there is no vulnerability database: hack/vulndb/README.md describes how to record one" >&2
  exit 4
fi
[ ! -f "${db#file://}/SOURCE" ] || cat "${db#file://}/SOURCE"
for module in . bootstrap; do
  "$tools/govulncheck" ${db:+-db "$db"} -C "$module" -scan package -format json ./...
done | "$tools/vulncheck" hack/vulndb/accepted.txt
