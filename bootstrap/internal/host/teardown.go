package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

// RemoveNetwork removes the bridge with the interfaces attached to it, and the firewall rules of
// this package, kube-proxy, the kubelet and CNI.
func RemoveNetwork(ctx context.Context) error {
	ports, _ := run(ctx, "", "ip", "-o", "link", "show", "master", layout.Bridge) // fails if there is no bridge
	for _, port := range append(linkNames(ports), layout.Bridge) {
		if _, err := run(ctx, "", "ip", "link", "show", port); err != nil {
			continue
		}
		if _, err := run(ctx, "", "ip", "link", "delete", port); err != nil {
			return err
		}
	}
	for _, family := range []string{"iptables", "ip6tables"} {
		if err := stripFirewall(ctx, family); err != nil {
			return err
		}
	}
	if !hasTable(ctx) {
		return nil
	}
	_, err := run(ctx, "", "nft", "delete", "table", "inet", table)
	return err
}

// hasTable reports whether our table of nftables is there.
func hasTable(ctx context.Context) bool {
	_, err := run(ctx, "", "nft", "list", "table", "inet", table)
	return err == nil
}

// linkNames returns the interface names in the output of `ip -o link`, whose lines look like
// "7: veth26@if2: <BROADCAST,…".
func linkNames(text string) []string {
	var names []string
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 1 {
			name, _, _ := strings.Cut(strings.TrimSuffix(fields[1], ":"), "@")
			names = append(names, name)
		}
	}
	return names
}

func stripFirewall(ctx context.Context, family string) error {
	saved, err := run(ctx, "", family+"-save")
	if err != nil {
		return nil // a kernel without this address family has none of our rules
	}
	if kept := withoutOurRules(saved); kept != saved {
		_, err = run(ctx, kept, family+"-restore", "-w")
	}
	return err
}

// withoutOurRules removes all chains and rules of this package, kube-proxy, the kubelet and CNI
// from the output of iptables-save.
func withoutOurRules(saved string) string {
	var kept strings.Builder
	for line := range strings.Lines(saved) {
		if !strings.Contains(line, "KUBE-") && !strings.Contains(line, "CNI-") && !strings.Contains(line, tag) {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// RemoveRuntimeState detaches all mounts below the state folder and removes the state of containers that have ended:
// their sockets and address leases, also in a few other folders, where the components write whatever their
// configuration is. It keeps all data.
func RemoveRuntimeState(l layout.Layout) error {
	if err := UnmountBelow(l.Root); err != nil {
		return err
	}
	for _, dir := range l.ContainerDirs() {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("remove %s: %w", dir, err)
		}
	}
	results, _ := filepath.Glob("/var/lib/cni/results/bpa-*")
	loopbacks, _ := filepath.Glob("/var/lib/cni/results/cni-loopback-*")
	for _, file := range append(results, loopbacks...) {
		_ = os.Remove(file)
	}
	removeLinksInto("/var/log/containers", l.Root)
	removeDeadSockets("/run/containerd/s")
	removeDeadSockets("/var/lib/kubelet/device-plugins")
	for _, dir := range []string{
		"/var/lib/cni/results", "/var/lib/cni", "/var/log/containers", "/run/containerd/s", "/run/containerd",
		"/var/lib/kubelet/device-plugins", "/var/lib/kubelet/plugins_registry", "/var/lib/kubelet",
	} {
		_ = unix.Rmdir(dir) // fails unless the folder is empty
	}
	return nil
}

// RemoveFiles removes the files that the cluster wrote below the state folder. Nothing may be mounted there.
func RemoveFiles(l layout.Layout) error {
	for _, dir := range l.ClusterDirs() {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("remove %s: %w", dir, err)
		}
	}
	return nil
}

func removeLinksInto(dir, root string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		link := filepath.Join(dir, e.Name())
		if to, err := os.Readlink(link); err == nil && strings.HasPrefix(to, root+"/") {
			_ = os.Remove(link)
		}
	}
}

// removeDeadSockets removes sockets without a listening process.
func removeDeadSockets(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.Type()&os.ModeSocket == 0 {
			continue
		}
		conn, err := net.Dial("unix", path)
		if errors.Is(err, unix.ECONNREFUSED) {
			_ = os.Remove(path)
		} else if err == nil {
			conn.Close()
		}
	}
}

// Leftovers lists the processes, mounts, control groups, interfaces and firewall rules of the
// cluster that are still on the machine. The list is empty after a successful removal.
func Leftovers(ctx context.Context, l layout.Layout) ([]string, error) {
	var left []string
	note := func(what string, found []int, err error) error {
		if len(found) > 0 {
			left = append(left, fmt.Sprintf("%s: processes %v", what, found))
		}
		return err
	}
	containers, err := containerProcesses(l)
	if err := note("containers", containers, err); err != nil {
		return nil, err
	}
	programs, err := components(l)
	if err := note("components", programs, err); err != nil {
		return nil, err
	}
	mounts, err := MountsBelow(l.Root)
	if err != nil {
		return nil, err
	}
	left = append(left, mounts...)
	roots, err := cgroupRoots()
	if err != nil {
		return nil, err
	}
	left = append(left, ourGroups(roots)...)
	if _, err := run(ctx, "", "ip", "link", "show", layout.Bridge); err == nil {
		left = append(left, "interface "+layout.Bridge)
	}
	for _, family := range []string{"iptables", "ip6tables"} {
		if saved, err := run(ctx, "", family+"-save"); err == nil && withoutOurRules(saved) != saved {
			left = append(left, family+" rules")
		}
	}
	if hasTable(ctx) {
		left = append(left, "nftables rules")
	}
	return left, nil
}
