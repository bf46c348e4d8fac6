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

// PrepareNetwork sets kernel parameters, makes the bridge and closes the way outside, before any pod can use it.
func PrepareNetwork(ctx context.Context) error {
	_, _ = run(ctx, "", "modprobe", "-q", "br_netfilter") // built in, or absent: then services are masqueraded
	if err := sysctls(); err != nil {
		return err
	}
	if err := bridge(ctx); err != nil {
		return err
	}
	return firewall(ctx)
}

// Values that other programs on the machine may have set already are only ever raised.
func sysctls() error {
	for path, value := range map[string]string{
		"net/ipv4/ip_forward":                "1",
		"net/bridge/bridge-nf-call-iptables": "1",
		"fs/inotify/max_user_instances":      "8192", // a systemd per lab node wants hundreds
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

// less compares decimal numbers without sign.
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
	_, err := run(ctx, "", "ip", "link", "set", layout.Bridge, "up")
	return err
}

// tag marks our firewall rules.
const tag = "bpa-bootstrap"

// rule is an iptables rule of ours: the table, the chain and the match with its target.
type rule struct{ table, chain, match string }

// rules keep pods and service addresses off the machine's other networks (until kube-proxy has its rules, a service
// address is just an address beyond the default route), and let pods talk where something else has closed forwarding.
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

// routeDevices reads the interfaces from the text of `ip route`, each once.
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
