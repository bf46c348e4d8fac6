#!/usr/bin/env bash
# Searches for known vulnerabilities in the packages that this project imports, and in those of the
# programs that run on the bootstrap machine (bootstrap/modules).
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
if [ -f "${db#file://}/SOURCE" ]; then
  cat "${db#file://}/SOURCE"
  age=$((($(date +%s) - $(date +%s -d "$(sed 's/.* of //' "${db#file://}/SOURCE")")) / 86400))
  [ "$age" -le 60 ] || echo "govulncheck.sh: WARNING: the vulnerability database is $age days old: record it again (hack/vulndb/README.md)" >&2
fi
failed=0
scan() { # FOLDER PATTERN...
  "$tools/govulncheck" ${db:+-db "$db"} -C "$1" -scan package -format json "${@:2}" |
    "$tools/vulncheck" hack/vulndb/accepted.txt "$1" || failed=1
}
scan . ./...
scan bootstrap ./...
# The programs that the bootstrap machine is built from. Most of these modules have no package but a list of programs.
for module in bootstrap/modules/*/; do
  module=${module%/}
  mapfile -t programs < <(go -C "$module" list -e -tags tools -f '{{join .Imports "\n"}}' ./... | grep -F . | sort -u)
  scan "$module" "${programs[@]}"
done
exit "$failed"
