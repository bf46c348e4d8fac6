#!/bin/sh
# install.sh installs the driver sriov-driver. It is a stand-in that builds nothing: a real one compiles
# its modules for the running kernel here, and fails if the kernel's headers are absent. BPA runs it as
# root in its folder. PREVIOUS_VERSION is the version that it replaces; it is not set the first time.
# BPA runs it again after a failure, so each step must do no harm if it is done already.
set -eu
version=$(cat version)
root=${DESTDIR:-} # for tests

echo "installing sriov-driver $version for kernel $(uname -r), before: ${PREVIOUS_VERSION:-none}"
install -d "$root/etc/modprobe.d" "$root/usr/local/share/sriov-driver"
install -m 0644 sriov-driver.conf "$root/etc/modprobe.d/sriov-driver.conf"
echo "$version" >"$root/usr/local/share/sriov-driver/installed"
