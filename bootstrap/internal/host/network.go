package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

// PrepareNetwork sets kernel parameters, creates the bridge, and makes the firewall that keeps the networks of the site
// and the pods apart. It must run before any pod starts.
func PrepareNetwork(ctx context.Context, n layout.Network) error {
	// An error does not matter. The kernel may have the module built in. If the kernel lacks the
	// module, kube-proxy masquerades service connections.
	_, _ = run(ctx, "", "modprobe", "-q", "br_netfilter")
	if err := sysctls(); err != nil {
		return err
	}
	if err := bridge(ctx, n); err != nil {
		return err
	}
	return firewall(ctx, n)
}

// sysctls sets kernel parameters. It only raises a value, because other programs may have set a
// higher one.
func sysctls() error {
	for path, value := range map[string]string{
		"net/ipv4/ip_forward":                "1",
		"net/bridge/bridge-nf-call-iptables": "1",
		"fs/inotify/max_user_instances":      "8192", // the systemd of each lab node needs hundreds
		"fs/inotify/max_user_watches":        "1048576",
	} {
		path = "/proc/sys/" + path
		have, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) || (err == nil && !less(strings.TrimSpace(string(have)), value)) {
			continue
		}
		if err := os.WriteFile(path, []byte(value), 0o644); err != nil {
			return fmt.Errorf("set %s to %s: %w", path, value, err)
		}
	}
	return nil
}

// less compares unsigned decimal numbers.
func less(a, b string) bool {
	return len(a) < len(b) || (len(a) == len(b) && a < b)
}

func bridge(ctx context.Context, n layout.Network) error {
	if _, err := run(ctx, "", "ip", "link", "show", layout.Bridge); err != nil {
		if _, err := run(ctx, "", "ip", "link", "add", layout.Bridge, "address", layout.BridgeMAC, "type", "bridge"); err != nil {
			return err
		}
	}
	if _, err := run(ctx, "", "ip", "address", "replace", n.NodeCIDR(), "dev", layout.Bridge); err != nil {
		return err
	}
	if _, err := run(ctx, "", "ip", "link", "set", layout.Bridge, "up"); err != nil {
		return err
	}
	// kube-proxy rewrites the destination of a packet that has a route already. Without this one, a machine without a
	// default route reaches no service, and its API server no webhook.
	_, err := run(ctx, "", "ip", "route", "replace", n.Services.String(), "dev", layout.Bridge)
	return err
}

// tag marks our rules of iptables.
const tag = "bpa-bootstrap"

// accepted are the parameters of our rules of iptables. They accept forwarding on the bridge, in case rules of other programs
// block it: a packet passes only if no table drops it.
var accepted = []string{"-i " + layout.Bridge, "-o " + layout.Bridge}

// firewall adds our rules of iptables, and makes our table of nftables, unless it is there already: another program may have
// removed all rules. nft replaces the table at once, so there is no moment without it.
func firewall(ctx context.Context, n layout.Network) error {
	for _, match := range accepted {
		args := func(action string) []string {
			return append(append([]string{"-w", action, "FORWARD"}, strings.Fields(match)...), "-j", "ACCEPT", "-m", "comment", "--comment", tag)
		}
		if exec.CommandContext(ctx, "iptables", args("-C")...).Run() == nil {
			continue
		}
		if _, err := run(ctx, "", "iptables", args("-I")...); err != nil {
			return err
		}
	}
	if CheckFirewall(ctx, n) == nil {
		return nil
	}
	rules, _ := ruleset(n)
	_, err := run(ctx, "table inet "+table+"\ndelete table inet "+table+"\n"+rules, "nft", "-f", "-")
	return err
}

// CheckFirewall returns an error if our table of nftables is not there, or is that of another network.
func CheckFirewall(ctx context.Context, n layout.Network) error {
	_, version := ruleset(n)
	if _, err := run(ctx, "", "nft", "list", "chain", "inet", table, version); err != nil {
		return fmt.Errorf("the firewall of this machine is not in place, or is that of another site file (%w): `machine start` makes it, and a running machine within a minute", err)
	}
	return nil
}
