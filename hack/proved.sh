#!/usr/bin/env bash
# Runs a long test, unless test/proved.tsv says that it has passed with the same files.
#   hack/proved.sh NAME [-C DIR] [-tags TAGS] [-deps 'PACKAGE...'] [-files 'PATH...'] -- COMMAND...
# The files are those of the packages and of what they import in their module (-deps), with the versions of all other
# modules, and those at or below the paths (-files). A line of test/proved.tsv has the name, the digest of the files, the day, the
# commit (with + if files had changed) and the seconds. Commit it with the change that the test proves. BPA_PROVE=all runs each test.
set -euo pipefail
cd "$(dirname "$0")/.."
record=test/proved.tsv

name=$1 dir=. tags='' deps='' files='' modules=''
shift
while [ "$1" != -- ]; do
  case $1 in
  -C) dir=$2 ;;
  -tags) tags=$2 ;;
  -deps) deps=$2 ;;
  -files) files=$2 ;;
  *) echo "hack/proved.sh: unknown option $1" >&2; exit 2 ;;
  esac
  shift 2
done
shift
git rev-parse --git-dir >/dev/null 2>&1 || exec "$@" # an exported tree: nothing says which files belong to it

if [ -n "$deps" ]; then
  # shellcheck disable=SC2086 # several packages
  listed=$(go list -C "$dir" -deps -test -tags "$tags" -f '{{with .Module}}{{if .Main}}{{$.Dir}}{{else}}@{{.Path}} {{.Version}}{{end}}{{end}}' $deps | sort -u)
  modules=$(grep '^@' <<<"$listed" || true)
  files+=" $(grep -v '^@' <<<"$listed" | sed "s|^$PWD/||" | tr '\n' ' ')"
fi
# shellcheck disable=SC2086 # several paths
paths=$(git ls-files -co --exclude-standard -- $files | sort -u | while read -r path; do [ ! -e "$path" ] || echo "$path"; done)
[ -n "$paths" ] || { echo "hack/proved.sh: $name has no files" >&2; exit 2; }
digest=$({ echo "$modules"; echo "$paths"; git hash-object --stdin-paths <<<"$paths"; } | sha256sum | cut -c1-16)

if [ "${BPA_PROVE:-}" != all ] && line=$(grep -P "^$name\t$digest\t" "$record" 2>/dev/null); then
  IFS=$'\t' read -r _ _ day commit seconds <<<"$line"
  echo "LEFT OUT: $name passed on $day at $commit in ${seconds}s, and its $(wc -l <<<"$paths") files are the same. To run it: BPA_PROVE=all"
  exit
fi
commit=$(git rev-parse --short=8 HEAD)
[ -z "$(git status --porcelain -- ":!$record")" ] || commit+=+
SECONDS=0
"$@"
exec 9<"$0" && flock 9 # parts of make test run beside each other
touch "$record"
{ grep -vP "^$name\t" "$record" || true; printf '%s\t%s\t%s\t%s\t%s\n' "$name" "$digest" "$(date +%F)" "$commit" "$SECONDS"; } | sort >"$record.new"
mv "$record.new" "$record"
