#!/usr/bin/env bash
# Installs kubespray in $BPA_STATE/kubespray, where make finds it: from its git repository, or from
# a git archive of it.
#   hack/kubespray.sh [ARCHIVE]
# The script fails unless the content is that of the commit below, because the playbooks run as root
# on every node.
set -euo pipefail
release=v2.31.0 commit=1c9add48975060f45396b34d8e022c30d7f80dab
content=b0d93d0408ec2e70ae76eed660e0c5a3829583071fe9b2c2db524804dea74065 # sha256 of the tar file of that commit by git archive
repository=https://github.com/kubernetes-sigs/kubespray
into=${BPA_STATE:-/var/lib/bpa}/kubespray

if [ "$(cat "$into/.bpa-commit" 2>/dev/null)" = "$commit" ]; then
	echo "kubespray $release is in $into"
	exit
fi
new=$into.new
rm -rf "$new"
mkdir -p "$new"
trap 'rm -rf "$new"' EXIT
if [ $# -gt 0 ]; then
	[ -f "$1" ] || { echo "kubespray.sh: there is no archive $1: name a git archive of $release, or omit the argument" >&2; exit 1; }
	got=$(gzip -dc "$1" | sha256sum) || { echo "kubespray.sh: cannot read $1: create the archive with git archive --format=tar.gz" >&2; exit 1; }
	if [ "${got%% *}" != "$content" ]; then
		echo "kubespray.sh: $1 is not the git archive of $release (expected sha256 of its tar file: $content): nothing was installed" >&2
		exit 1
	fi
	tar -xzf "$1" -C "$new"
else
	git -c advice.detachedHead=false clone --quiet --depth 1 --branch "$release" "$repository" "$new" || {
		echo "kubespray.sh: cannot clone $repository: clone $release on a machine with Internet access, copy it here, and run KUBESPRAY=<the clone> make demo" >&2
		exit 1
	}
	got=$(git -C "$new" rev-parse HEAD)
	if [ "$got" != "$commit" ]; then
		echo "kubespray.sh: tag $release of $repository is commit $got, expected $commit: nothing was installed" >&2
		exit 1
	fi
	rm -rf "$new/.git"
fi
echo "$commit" >"$new/.bpa-commit"
rm -rf "$into"
mv "$new" "$into"
trap - EXIT
echo "kubespray $release is in $into"
