#!/bin/bash
# Packs what the demo's cluster needs of images, files and Debian packages, out of this machine's depot, into one file that another site can
# import, and then plays that site: an empty depot takes it, and a machine that knows nothing else gets the packages from there.
#   bundle.sh [FILE]
set -euo pipefail
cd "$(dirname "$0")/../.."
state=${BPA_STATE:-/var/lib/bpa}
depot=${DEPOT:-http://10.60.0.1:5000}
out=${1:-$state/bundle.tar}
system=$(sed -n 's/^const NodeSystem = "\(.*\)"$/\1/p' test/lab/osimage/systems.go) # of the lab's machines, whatever this one runs
work=$(mktemp -d)
site_pid=
trap '[ -z "$site_pid" ] || { kill "$site_pid" && wait; }; rm -rf "$work"' EXIT

step() { printf '\n[%02d:%02d] %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$*"; }
bpa() { "$work/kubectl-bpa" bundle "$@"; }

step "What the demo's cluster needs"
go build -o "$work" ./cmd/kubectl-bpa ./cmd/depot
# As the lab's Provisioning has it, except that its pod network is read here and not in the task's image.
sed "s#/kubespray/lab/#$PWD/test/lab/#" "$state/cache/lab/vars.yaml" >"$work/vars.yaml"
PATH=$state/cache/lab/ansible/venv/bin:$PATH go run ./cmd/seed-registry list --kubernetes 1.35.4 --network-plugin custom_cni --nodes-depot "$depot" \
	--vars "$work/vars.yaml" --playbooks-dir "${KUBESPRAY:-$PWD/test/playbooks}" --scratch-dir "$work" --results-dir "$work" --list "$work/list.json"

step "Pack it, with the packages for $system that the depot holds"
bpa export --depot "$depot" --list "$work/list.json" --system "$system" --output "$out"
bpa inspect "$out" --verify

step "Another site, with an empty depot: import it"
exec {log}< <(exec "$work/depot" --root "$work/site" --listen 127.0.0.1:0 --local-listen 127.0.0.1:0 2>&1)
site_pid=$!
declare -A door
while [ -z "${door[plain]:-}" ] || [ -z "${door[local]:-}" ]; do
	read -r -t 60 -u "$log" line || { echo "the depot does not start" >&2; exit 1; }
	if [[ $line =~ \"door\":\"([a-z]+)\",\"address\":\"([^\"]+)\" ]]; then door[${BASH_REMATCH[1]}]=${BASH_REMATCH[2]}; fi
done
cat <&"$log" >"$work/site.log" &
bpa import "$out" --depot "http://${door[local]}" --depot-token-file "$work/site/local-token"
bpa diff "$out" --depot "http://${door[plain]}"

step "A lab machine there: apt-get finds the packages in that depot, which is its only source"
node=$work/node
mkdir -p "$node/lists/partial" "$node/archives/partial"
tar xzOf "$state/cache/lab/layers/os-node.tar.gz" ./var/lib/dpkg/status >"$node/status" # what a lab machine has installed
echo "deb [trusted=yes] http://${door[plain]}/files/apt/$system/ ./" >"$node/sources.list"
cat >"$node/apt.conf" <<END
Dir::Etc::parts "/dev/null"; Dir::Etc::sourcelist "$node/sources.list"; Dir::Etc::sourceparts "/dev/null";
Dir::State "$node/"; Dir::State::lists "$node/lists/"; Dir::State::status "$node/status";
Dir::Cache "$node/"; Dir::Cache::archives "$node/archives/";
APT::Sandbox::User "root"; APT::Update::Error-Mode "any";
END
export APT_CONFIG=$node/apt.conf
apt-get -q update
curl -fsS --max-time 30 "http://${door[plain]}/files/apt/$system/Packages" | sed -n 's/^Package: //p' | sort -u >"$work/names"
xargs apt-get install -qy --no-install-recommends --download-only <"$work/names"
ls -l "$node"/archives/*.deb

step "Done: $out"
