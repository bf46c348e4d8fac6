#!/usr/bin/env bash
# Fetches what the tests in test/ansible play, into the folder $1: the source distribution of ansible-core, and in
# node/ what its targets need of a lab machine: a Python package, and programs of Debian. It needs the lab's Ansible (make up).
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:?folder}
pip=$BPA_STATE/cache/lab/ansible/venv/bin/pip
[ -x "$pip" ] || { echo 'There is no Ansible: run make up.' >&2; exit 1; }
new=$folder.new
rm -rf "$new"
mkdir -p "$new/node/debs"
chmod 0755 "$new" "$new/node" "$new/node/debs"
"$pip" download --quiet --no-deps --no-binary ansible-core --require-hashes --requirement test/ansible/requirements.txt --dest "$new"
mv "$new"/passlib-*.whl "$new/node/"
packages=(acl bsdextrautils bzip2 file libmagic1 libmagic-mgc zip)
cd "$new/node/debs"
apt-get download -q "${packages[@]}" 2>/dev/null || { apt-get update -q && apt-get download -q "${packages[@]}"; }
rm -rf "$folder"
mv "$new" "$folder"
