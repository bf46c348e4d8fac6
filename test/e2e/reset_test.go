//go:build e2e

package e2e

import (
	_ "embed" // for the scripts
	"strings"

	"github.com/akraino-icn/bpa/test/e2e/state"
	"github.com/akraino-icn/bpa/test/site"
)

var (
	// furnishScript gives a machine what servers of a site can have: a firewall, a bridge, a network
	// namespace, routes, a service, and configuration files.
	//go:embed testdata/furnish.sh
	furnishScript string
	// describeScript prints the state of a machine, in sections that begin with "== NAME".
	//go:embed testdata/describe.sh
	describeScript string
)

// resetAccepted are the differences between a machine before an installation and after its reset that are
// right.
var resetAccepted = state.Accepted{
	`^(files|sums): .*/var/(log|cache)/`: "logs and caches",
	`^(files|sums|packages): .*(/usr/|/var/lib/(dpkg|apt)/|/etc/ld\.so\.cache|/etc/(alternatives|rc.\.d|init\.d|default|cron|logrotate))`: "packages that kubespray installed stay, because a site's program may need them by now",
	`^packages: `: "the same",
	`^sums: .* /etc/(passwd|group|shadow|gshadow|subuid|subgid)-$`:                                 "backups that useradd writes",
	`^files: f .* /run/xtables\.lock `:                                                             "the lock of iptables",
	`^files: d .* /var/lib/systemd/timers `:                                                        "systemd keeps times of timers there, here of the timer that renews certificates, and leaves the empty folder",
	`^files: d .* /var/lib/containerd `:                                                            "the mode of a mount point of the lab's machines",
	`^sysctl: (fs\.quota|kernel\.pty|kernel\.random|net\.netfilter\.nf_conntrack_(count|buckets))`: "counters",
	`^routes: .*fe80::`: "the link-local address of the site's bridge appears late",
}

// stateOf returns the state of a machine as lines "SECTION: LINE". On a busy site, kubectl exec can lose the end of a long
// output and still succeed, or lose the connection, so the script says where its output ends.
func stateOf(s *site.Site, host string) []string {
	s.T.Helper()
	const end = "== end"
	for range 3 {
		text, err := s.TryOn(host, describeScript+"\necho '"+end+"'\n")
		if out, whole := strings.CutSuffix(strings.TrimSpace(text), end); whole && err == nil {
			return state.Lines(out)
		}
		s.T.Logf("kubectl exec has cut the description of %s (%v)", host, err)
	}
	s.T.Fatalf("kubectl exec cuts the description of %s", host)
	return nil
}
