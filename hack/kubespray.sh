#!/usr/bin/env bash
# Puts kubespray into $BPA_STATE/kubespray, where make finds it: from its repository by git, or from an archive (git archive) of it.
#   hack/kubespray.sh [ARCHIVE]
# Both ways end with an error unless it is the commit below: these playbooks run as root on every node.
set -euo pipefail
release=v2.31.0 commit=1c9add48975060f45396b34d8e022c30d7f80dab
content=b0d93d0408ec2e70ae76eed660e0c5a3829583071fe9b2c2db524804dea74065 # sha256 of git archive's tar of that commit
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
	[ -f "$1" ] || { echo "kubespray: there is no archive $1: name one that \`git archive\` made of $release, or call this without" >&2; exit 1; }
	got=$(gzip -dc "$1" | sha256sum) || { echo "kubespray: $1 cannot be read as an archive: make it with git archive --format=tar.gz" >&2; exit 1; }
	if [ "${got%% *}" != "$content" ]; then
		echo "kubespray: $1 does not hold what git archive gives of $release (sha256 of the tar $content): nothing was installed" >&2
		exit 1
	fi
	tar -xzf "$1" -C "$new"
else
	git -c advice.detachedHead=false clone --quiet --depth 1 --branch "$release" "$repository" "$new" || {
		echo "kubespray: $repository cannot be reached: clone $release where there is an Internet, and call: KUBESPRAY=<the clone> make demo" >&2
		exit 1
	}
	got=$(git -C "$new" rev-parse HEAD)
	if [ "$got" != "$commit" ]; then
		echo "kubespray: tag $release is commit $got there, and should be $commit: nothing was installed" >&2
		exit 1
	fi
	rm -rf "$new/.git"
fi
echo "$commit" >"$new/.bpa-commit"
rm -rf "$into"
mv "$new" "$into"
trap - EXIT
echo "kubespray $release is in $into"
