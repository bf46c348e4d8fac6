#!/bin/sh
# Reports all missing prerequisites at once.
bad=0
no() { echo "$*" >&2; bad=1; }
[ "$(id -u)" = 0 ] || no "the user is not root: use -b (become) or log in as root"
[ "$(uname -m)" = x86_64 ] || no "architecture $(uname -m): only x86_64 is supported here"
[ "$(wc -l </proc/swaps)" -le 1 ] || no "swap is enabled: disable it (swapoff -a)"
for tool in conntrack iptables socat curl tar systemctl mount ip sha256sum; do
	command -v $tool >/dev/null || no "command $tool is missing: install it, or add it to the operating system image"
done
exit $bad
