#!/bin/bash
# Reads lines "CHECKSUM URL program|archive DESTINATION" and installs the files in parallel.
# CHECKSUM is sha256:<hex>, or the word url: then it is read from <URL>.sha256. The script stores
# the checksum of each installed file, and skips files that are installed already.
set -uo pipefail
state=/var/lib/bpa-installed
mkdir -p "$state"

wanted() { # checksum url
	case $1 in
	sha256:*) echo "${1#sha256:}" ;;
	*) curl -fsS --max-time 60 "$2.sha256" | cut -d' ' -f1 ;;
	esac
}

install_one() { # checksum url kind destination
	local name sum new
	name=$(basename "$2")
	sum=$(wanted "$1" "$2") && [ -n "$sum" ] || { echo "no checksum for $2: cannot read $2.sha256" >&2; return 1; }
	[ "$(cat "$state/$name" 2>/dev/null)" = "$sum" ] && [ -e "$4" ] && return 0
	case $3 in program) mkdir -p "$(dirname "$4")" ;; archive) mkdir -p "$4" ;; esac
	new=$(mktemp "$state/.new.XXXXXX") || return 1
	curl -fsS --connect-timeout 10 --max-time 1800 -o "$new" "$2" || { echo "cannot download $2" >&2; rm -f "$new"; return 1; }
	echo "$sum  $new" | sha256sum --check --quiet - || { echo "$2 has a wrong checksum: expected sha256 $sum" >&2; rm -f "$new"; return 1; }
	rm -f "$state/$name"
	case $3 in
	program) chmod 0755 "$new" && mv -f "$new" "$4" ;;
	archive) tar -xzf "$new" -C "$4" --no-same-owner && rm -f "$new" ;;
	esac || { echo "cannot install $2 to $4" >&2; return 1; }
	echo "$sum" >"$state/$name"
	echo "changed: $4 from $2"
}

jobs=()
while read -r checksum url kind destination; do
	[ -n "$checksum" ] || continue
	install_one "$checksum" "$url" "$kind" "$destination" &
	jobs+=($!)
done
bad=0
for job in "${jobs[@]}"; do wait "$job" || bad=1; done
exit $bad
