package host

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// packages are the Debian packages that the kubelet and the container runtime need, and those that
// the lab uses to create root file systems.
var packages = []string{
	"ca-certificates", "conntrack", "containernetworking-plugins", "ethtool", "iproute2", "iptables", "kmod",
	"mmdebstrap", "nftables", "openssh-client", "procps", "runc", "socat", "util-linux",
}

// InstallPackages installs the missing Debian packages and returns their names. It contacts no
// package repository if none is missing.
func InstallPackages(ctx context.Context, log io.Writer) (installed []string, err error) {
	if _, err := exec.LookPath("dpkg-query"); err != nil {
		return nil, fmt.Errorf("this machine has no dpkg: install the equivalents of these Debian packages by hand: %s", strings.Join(packages, ", "))
	}
	missing := missingPackages(ctx)
	if len(missing) == 0 {
		return nil, nil
	}
	install := append([]string{"install", "-y", "-qq", "--no-install-recommends"}, missing...)
	if err := apt(ctx, log, install...); err == nil {
		return missing, nil
	}
	if err := apt(ctx, log, "update", "-qq"); err != nil { // the package lists may be missing or old, so update them and try again
		return nil, err
	}
	return missing, apt(ctx, log, install...)
}

func missingPackages(ctx context.Context) []string {
	query := append([]string{"-W", "-f", "${db:Status-Status} ${Package}\n"}, packages...)
	out, _ := exec.CommandContext(ctx, "dpkg-query", query...).Output() // dpkg-query fails if it does not know a package, but prints the others
	var missing []string
	for _, p := range packages {
		if !slices.Contains(strings.Split(string(out), "\n"), "installed "+p) {
			missing = append(missing, p)
		}
	}
	return missing
}

func apt(ctx context.Context, log io.Writer, args ...string) error {
	cmd := exec.CommandContext(ctx, "apt-get", args...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	var tail strings.Builder
	cmd.Stdout, cmd.Stderr = log, io.MultiWriter(log, &tail)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("apt-get %s: %w: %s", args[0], err, strings.TrimSpace(tail.String()))
	}
	return nil
}
