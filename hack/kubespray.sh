#!/usr/bin/env bash
# Puts kubespray into $BPA_STATE/kubespray, where make finds it: from its repository by git, or from an archive (git archive) of it.
#   hack/kubespray.sh [ARCHIVE]
# Both ways end with an error unless it is the commit below.
set -euo pipefail
release=v2.31.0 commit=1c9add48975060f45396b34d8e022c30d7f80dab
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
	# git reads the head of the archive and goes, so gzip ends by a signal.
	got=$(set +o pipefail; gzip -dc "$1" 2>/dev/null | git get-tar-commit-id) || { echo "kubespray: $1 does not say which commit it holds: make it with git archive" >&2; exit 1; }
	tar -xzf "$1" -C "$new"
else
	git -c advice.detachedHead=false clone --quiet --depth 1 --branch "$release" "$repository" "$new" || {
		echo "kubespray: $repository cannot be reached: clone $release where there is an Internet, and call: KUBESPRAY=<the clone> make demo" >&2
		exit 1
	}
	got=$(git -C "$new" rev-parse HEAD)
	rm -rf "$new/.git"
fi
if [ "$got" != "$commit" ]; then
	echo "kubespray: that is commit $got, and $release is $commit: nothing was installed" >&2
	exit 1
fi
echo "$commit" >"$new/.bpa-commit"
rm -rf "$into"
mv "$new" "$into"
trap - EXIT
echo "kubespray $release is in $into"
