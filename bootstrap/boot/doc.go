// Package boot tests that the systemd of a Debian 12 starts the machine by its unit: after a reboot, with and without a
// network, after the end of all processes, and after the supervisor was killed or hangs.
//
// The tests need root and are only built with -tags e2e. The script bootstrap/boot/run makes the system of an empty machine
// and runs the tests. systemd is process 1 in a sandbox, on the kernel of this machine: its processes, network, mounts and
// control groups are its own. A cut of the power of a disk is tested by the package power.
package boot
