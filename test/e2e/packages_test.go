//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/test/lab/osimage"
	"github.com/akraino-icn/bpa/test/site"
)

// withSystem sets the operating system in the spec.
func withSystem(system string) site.Option {
	return func(p *v1alpha1.Provisioning) { p.Spec.OperatingSystem = system }
}

// someDeb is a package that kubespray installs on every node, and that nothing else needs.
const someDeb = "socat"

// otherSource is a package source that is not the depot. Its address is for documentation
// (RFC 5737), and no machine has it. otherSourceRule drops and counts packets to it.
const (
	otherSource     = "deb http://203.0.113.2/debian bookworm main"
	otherSourceRule = "OUTPUT -d 203.0.113.2 -j DROP"
)

// addOtherSource adds otherSourceRule to a machine, and makes otherSource its sources.list.
func addOtherSource(s *site.Site, host string) {
	s.On(host, "iptables -w -t mangle -I "+otherSourceRule+" && echo '"+otherSource+"' >/etc/apt/sources.list")
}

// checkPackage checks that the package is installed from the depot, and that no packet went to
// otherSource, neither during the run nor in a call of apt now. It then uses otherSource
// deliberately, which proves that the counter works.
func checkPackage(t *testing.T, s *site.Site, host, name string) {
	t.Helper()
	if got := s.On(host, "dpkg-query -W -f '${db:Status-Status}' "+name); got != "installed" {
		t.Errorf("%s: package %s is %q", host, name, got)
	}
	s.On(host, "apt-get update -qq")
	policy := s.On(host, "apt-cache policy "+name)
	if !strings.Contains(policy, "https://10.60.0.1:5443/files/apt/"+osimage.NodeSystem+" ") || strings.Contains(policy, "203.0.113.2") {
		t.Errorf("%s: %s does not come from the depot only:\n%s", host, name, policy)
	}
	if got := strings.TrimSpace(s.On(host, "cat /etc/apt/sources.list")); got != otherSource {
		t.Errorf("%s: sources.list is %q, want it unchanged: %q", host, got, otherSource)
	}
	if n := sentToOther(t, s, host); n != 0 {
		t.Errorf("%s: %d packets were sent to the other source, want none", host, n)
	}
	s.On(host, "apt-get update -qq -o Dir::Etc::SourceList=/etc/apt/sources.list -o Acquire::Retries=0 -o Acquire::http::Timeout=3 || true")
	if sentToOther(t, s, host) == 0 {
		t.Errorf("%s: the rule does not count packets to the other source", host)
	}
	t.Logf("%s: %s", host, strings.ReplaceAll(policy, "\n", " "))
}

// sentToOther returns the number of packets that the machine has sent to otherSource.
func sentToOther(t *testing.T, s *site.Site, host string) int {
	t.Helper()
	return counted(t, s, host, "203.0.113.2")
}
