#!/bin/sh
# Says all that is missing at once, not one thing per attempt.
bad=0
no() { echo "$*" >&2; bad=1; }
[ "$(id -u)" = 0 ] || no "needs root: use -b or an administrator's account"
[ "$(uname -m)" = x86_64 ] || no "architecture $(uname -m): only x86_64 is supported here"
[ "$(wc -l </proc/swaps)" -le 1 ] || no "swap is on: turn it off"
for tool in conntrack iptables socat curl tar systemctl mount ip sha256sum; do
	command -v $tool >/dev/null || no "command $tool is missing in the operating system image"
done
exit $bad
