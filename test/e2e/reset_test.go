//go:build e2e

package e2e

import (
	_ "embed" // for the scripts
	"testing"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
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
	`^files: d .* /var/lib/containerd `:                                                            "the mode of a mount point of the lab's machines",
	`^sysctl: (fs\.quota|kernel\.pty|kernel\.random|net\.netfilter\.nf_conntrack_(count|buckets))`: "counters",
	`^routes: .*fe80::`: "the link-local address of the site's bridge appears late",
}

// TestReset compares two machines before an installation and after the reset of their cluster.
func TestReset(t *testing.T) { testReset(t, "e2e-reset", site.LabPlaybooks) }

// testReset installs a cluster on two furnished machines, resets it, and compares the machines.
func testReset(t *testing.T, namespace string, on site.Playbooks) {
	s := site.New(t, namespace, 2, 0)
	hosts := []string{"host-1", "host-2"}
	p := s.Provisioning("edge-20", on,
		site.Master("master-1", v1alpha1.Master{MACAddress: site.MAC(s.MAC("host-1"))}),
		site.Worker("worker-1", v1alpha1.Worker{MACAddress: site.MAC(s.MAC("host-2"))}))
	before := map[string][]string{}
	for _, host := range hosts {
		s.On(host, furnishScript)
		before[host] = stateOf(s, host)
	}
	p = s.Apply(p)
	site.Await(s, &v1alpha1.ProvisioningList{}, p.Name+" to be Ready", installLimit, site.Ready)
	for _, host := range hosts {
		if resetAccepted.Differences(before[host], stateOf(s, host)) == "" {
			t.Fatalf("the installation has not changed %s: the test shows nothing", host)
		}
	}
	deleteAndReset(t, s, p)
	for _, host := range hosts {
		if diff := resetAccepted.Differences(before[host], stateOf(s, host)); diff != "" {
			t.Errorf("%s before the installation and after the reset (-before +after):\n%s", host, diff)
		}
	}
}

// stateOf returns the state of a machine as lines "SECTION: LINE".
func stateOf(s *site.Site, host string) []string {
	s.T.Helper()
	return state.Lines(s.On(host, describeScript))
}
