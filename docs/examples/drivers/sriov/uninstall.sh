#!/bin/sh
# uninstall.sh removes what install.sh has installed. BPA runs it as root in its folder when no Software
# requests the driver any more.
set -eu
root=${DESTDIR:-} # for tests

rm -f "$root/etc/modprobe.d/sriov-driver.conf" "$root/usr/local/share/sriov-driver/installed"
rmdir "$root/usr/local/share/sriov-driver" 2>/dev/null || true
