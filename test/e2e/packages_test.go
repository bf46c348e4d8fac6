//go:build e2e

package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/test/lab/osimage"
	"github.com/akraino-icn/bpa/test/site"
)

// runs says which operating system the hosts have.
func runs(system string) site.Option {
	return func(p *v1alpha1.Provisioning) { p.Spec.OperatingSystem = system }
}

// wants makes the playbook install a package of the operating system. The depot has jq, the image of the lab's machines has it not.
func wants(packages ...string) site.Option {
	names, _ := json.Marshal(packages) // texts
	return site.Var("lab_packages", names)
}

// A machine has a package source of its own, which is nobody's address (RFC 5737) and counted.
const (
	ownSource = "deb http://203.0.113.2/debian bookworm main"
	ownRule   = "OUTPUT -d 203.0.113.2 -j DROP"
)

func giveOwnSource(s *site.Site, host string) {
	s.On(host, "iptables -w -t mangle -I "+ownRule+" && echo '"+ownSource+"' >/etc/apt/sources.list")
}

// checkPackage wants the package from the depot, and that nobody else was asked for it: neither in the run nor by whoever calls apt now. That
// the counter would have seen it is shown by asking the other source on purpose.
func checkPackage(t *testing.T, s *site.Site, host, name string) {
	t.Helper()
	if got := s.On(host, "dpkg-query -W -f '${db:Status-Status}' "+name); got != "installed" {
		t.Errorf("%s: package %s is %q", host, name, got)
	}
	s.On(host, "apt-get update -qq")
	policy := s.On(host, "apt-cache policy "+name)
	if !strings.Contains(policy, "https://10.60.0.1:5443/files/apt/"+osimage.NodeSystem+" ") || strings.Contains(policy, "203.0.113.2") {
		t.Errorf("%s: where %s comes from:\n%s", host, name, policy)
	}
	if got := strings.TrimSpace(s.On(host, "cat /etc/apt/sources.list")); got != ownSource {
		t.Errorf("%s: its own sources.list is now %q", host, got)
	}
	if n := asked(t, s, host); n != 0 {
		t.Errorf("%s: %d packets went to the other source", host, n)
	}
	s.On(host, "apt-get update -qq -o Dir::Etc::SourceList=/etc/apt/sources.list -o Acquire::Retries=0 -o Acquire::http::Timeout=3 || true")
	if asked(t, s, host) == 0 {
		t.Errorf("%s: the counter does not see who asks the other source", host)
	}
	t.Logf("%s: %s", host, strings.ReplaceAll(policy, "\n", " "))
}

// asked is how many packets went to the machine's own source.
func asked(t *testing.T, s *site.Site, host string) int { return counted(t, s, host, "203.0.113.2") }

// TestOtherSystem: a host that runs something else than the spec says is named before anything is done to it.
func TestOtherSystem(t *testing.T) {
	s := site.New(t, "e2e-system", 1, 0)
	s.Apply(oneMaster(s, "edge-11", runs("ubuntu-24.04")))
	failed := site.Await(s, &v1alpha1.ProvisioningList{}, "the wrong system to be found", 3*time.Minute, site.NotReady("InvalidRequest"))
	message := failed.Status.GetCondition("Ready").GetMessage()
	for _, want := range []string{"host-1", "runs " + osimage.NodeSystem, "spec.operatingSystem says ubuntu-24.04"} {
		if !strings.Contains(message, want) {
			t.Errorf("message %q does not tell of %q", message, want)
		}
	}
	if out := s.On("host-1", "ls /etc/kubernetes /etc/bpa 2>/dev/null || true"); out != "" {
		t.Errorf("the host was worked on all the same: %s", out)
	}
}
