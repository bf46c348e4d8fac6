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

// PrepareNetwork sets kernel parameters, creates the bridge, and adds firewall rules that keep pods
// off other networks. It must run before any pod starts.
func PrepareNetwork(ctx context.Context) error {
	// An error does not matter. The kernel may have the module built in. If the kernel lacks the
	// module, kube-proxy masquerades service connections.
	_, _ = run(ctx, "", "modprobe", "-q", "br_netfilter")
	if err := sysctls(); err != nil {
		return err
	}
	if err := bridge(ctx); err != nil {
		return err
	}
	return firewall(ctx)
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

func bridge(ctx context.Context) error {
	if _, err := run(ctx, "", "ip", "link", "show", layout.Bridge); err != nil {
		if _, err := run(ctx, "", "ip", "link", "add", layout.Bridge, "address", layout.BridgeMAC, "type", "bridge"); err != nil {
			return err
		}
	}
	if _, err := run(ctx, "", "ip", "address", "replace", layout.NodeCIDR, "dev", layout.Bridge); err != nil {
		return err
	}
	if _, err := run(ctx, "", "ip", "link", "set", layout.Bridge, "up"); err != nil {
		return err
	}
	// kube-proxy rewrites the destination of a packet that has a route already. Without this one, a machine without a
	// default route reaches no service, and its API server no webhook.
	_, err := run(ctx, "", "ip", "route", "replace", layout.ServiceCIDR, "dev", layout.Bridge)
	return err
}

// tag marks our firewall rules.
const tag = "bpa-bootstrap"

// rule is one of our iptables rules. match is the rest of the rule, with its target.
type rule struct{ table, chain, match string }

// rules returns our firewall rules. outside are the interfaces of default routes. A packet that
// leaves by such an interface is dropped if it comes from a pod or goes to a service address, which
// happens if the route to the bridge is gone. Two more rules accept forwarding on the bridge, in case rules of other programs block it.
func rules(outside []string) []rule {
	all := []rule{
		{"filter", "FORWARD", "-i " + layout.Bridge + " -j ACCEPT"},
		{"filter", "FORWARD", "-o " + layout.Bridge + " -j ACCEPT"},
	}
	for _, dev := range outside {
		all = append(all,
			rule{"mangle", "POSTROUTING", "-o " + dev + " -d " + layout.ServiceCIDR + " -j DROP"},
			rule{"mangle", "POSTROUTING", "-o " + dev + " -s " + layout.PodCIDR + " -j DROP"})
	}
	return all
}

func firewall(ctx context.Context) error {
	outside, err := defaultRouteDevices(ctx)
	if err != nil {
		return err
	}
	for _, r := range rules(outside) {
		args := func(action string) []string {
			return append(append([]string{"-w", "-t", r.table, action, r.chain}, strings.Fields(r.match)...), "-m", "comment", "--comment", tag)
		}
		if exec.CommandContext(ctx, "iptables", args("-C")...).Run() == nil {
			continue
		}
		if _, err := run(ctx, "", "iptables", args("-I")...); err != nil {
			return err
		}
	}
	return nil
}

func defaultRouteDevices(ctx context.Context) ([]string, error) {
	out, err := run(ctx, "", "ip", "-4", "route", "show", "default")
	if err != nil {
		return nil, err
	}
	return routeDevices(out), nil
}

// routeDevices returns the interfaces in the output of `ip route`, each once.
func routeDevices(routes string) []string {
	var devices []string
	seen := map[string]bool{}
	for line := range strings.Lines(routes) {
		fields := strings.Fields(line)
		for i, f := range fields {
			if f == "dev" && i+1 < len(fields) && !seen[fields[i+1]] {
				devices, seen[fields[i+1]] = append(devices, fields[i+1]), true
			}
		}
	}
	return devices
}
