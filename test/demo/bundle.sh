#!/bin/bash
# Packs the images, files and Debian packages that the demo's cluster needs into one file (bundle)
# from this machine's depot. Then it acts as another site: it imports the bundle into an empty
# depot, and downloads the packages with apt-get from that depot only.
#   bundle.sh [FILE]
set -euo pipefail
cd "$(dirname "$0")/../.."
state=${BPA_STATE:-/var/lib/bpa}
depot=${DEPOT:-http://10.60.0.1:5000}
out=${1:-$state/bundle.tar}
system=$(sed -n 's/^const NodeSystem = "\(.*\)"$/\1/p' test/lab/osimage/systems.go) # of the lab's machines, not of this machine
network=flannel
[ -n "${KUBESPRAY:-}" ] || network=custom_cni # the stand-in playbooks install the lab's own pod network only
work=$(mktemp -d)
site_pid=
trap '[ -z "$site_pid" ] || { kill "$site_pid" && wait; }; rm -rf "$work"' EXIT

step() { printf '\n[%02d:%02d] %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$*"; }
bpa() { "$work/kubectl-bpa" bundle "$@"; }

step "List what the demo's cluster needs"
go build -o "$work" ./cmd/kubectl-bpa ./cmd/depot
# The variables of the lab's Provisioning, but with the path of the pod network's manifest on this
# machine.
sed "s#/kubespray/lab/#$PWD/test/lab/#" "$state/cache/lab/vars.yaml" >"$work/vars.yaml"
PATH=$state/cache/lab/ansible/venv/bin:$PATH go run ./cmd/seed-registry list --kubernetes 1.35.4 --network-plugin "$network" --nodes-depot "$depot" \
	--vars "$work/vars.yaml" --playbooks-dir "${KUBESPRAY:-$PWD/test/playbooks}" --scratch-dir "$work" --results-dir "$work" --list "$work/list.json"

step "Export a bundle, with the packages for $system in the depot"
bpa export --depot "$depot" --list "$work/list.json" --system "$system" --to "$out"
bpa inspect "$out" --verify

step "Import the bundle into the empty depot of another site"
exec {log}< <(exec "$work/depot" --root "$work/site" --listen 127.0.0.1:0 --local-listen 127.0.0.1:0 2>&1)
site_pid=$!
declare -A address
while [ -z "${address[plain]:-}" ] || [ -z "${address[local]:-}" ]; do
	read -r -t 60 -u "$log" line || { echo "bundle.sh: the depot did not start within 60 s" >&2; exit 1; }
	if [[ $line =~ \"listener\":\"([a-z]+)\",\"address\":\"([^\"]+)\" ]]; then address[${BASH_REMATCH[1]}]=${BASH_REMATCH[2]}; fi
done
cat <&"$log" >"$work/site.log" &
bpa import "$out" --depot "http://${address[local]}" --depot-token-file "$work/site/local-token"
bpa diff "$out" --depot "http://${address[plain]}"

step "Download the packages with apt-get, as a lab machine whose only source is that depot"
node=$work/node
mkdir -p "$node/lists/partial" "$node/archives/partial"
tar xzOf "$state/cache/lab/layers/os-node.tar.gz" ./var/lib/dpkg/status >"$node/status" # packages installed on a lab machine
curl -fsS --max-time 30 "http://${address[plain]}/apt-key.asc" >"$node/key.asc"
echo "deb [signed-by=$node/key.asc] http://${address[plain]}/files/apt/$system/ ./" >"$node/sources.list"
cat >"$node/apt.conf" <<END
Dir::Etc::parts "/dev/null"; Dir::Etc::sourcelist "$node/sources.list"; Dir::Etc::sourceparts "/dev/null";
Dir::State "$node/"; Dir::State::lists "$node/lists/"; Dir::State::status "$node/status";
Dir::Cache "$node/"; Dir::Cache::archives "$node/archives/";
APT::Sandbox::User "root"; APT::Update::Error-Mode "any";
END
export APT_CONFIG=$node/apt.conf
apt-get -q update
curl -fsS --max-time 30 "http://${address[plain]}/files/apt/$system/Packages" | sed -n 's/^Package: //p' | sort -u >"$work/names"
xargs apt-get install -qy --no-install-recommends --download-only <"$work/names"
ls -l "$node"/archives/*.deb

step "Done: $out"
