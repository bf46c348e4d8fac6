//go:build e2e

package e2e

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/depot/apt/apttest"
	"github.com/akraino-icn/bpa/test/lab/osimage"
	"github.com/akraino-icn/bpa/test/site"
)

// patched is the package of which the depot gets a newer version than the nodes have.
const patched = "bpa-e2e-patch"

// mostWithoutAnswer is how long the workload may be without an answer. The client does not know that a
// node reboots, and waits a second for its answer before it asks the next node.
const mostWithoutAnswer = 5 * time.Second

// TestPatch patches a cluster while a workload in it answers requests. All nodes get the newer package,
// and only the one that needs it reboots.
func TestPatch(t *testing.T) {
	s := site.NewTenant(t, "e2e-patch", 3, 0, "--reboots")
	const name = "edge-33"
	s.Apply(s.Provisioning(name, masters(1), pool(2)))
	l := &life{t: t, s: s, limit: 8 * time.Minute}
	nodes := []string{"master-1", "pool-1", "pool-2"}
	l.await("1 control plane and 2 workers", nodes...)
	for _, node := range nodes {
		s.On(hostOf(l.p, node), "echo "+base64.StdEncoding.EncodeToString(makePackage(t, "1"))+" | base64 -d >/root/old.deb && dpkg -i /root/old.deb")
	}
	offerPackage(t, "2")
	load := startWorkload(t, s, l.p)
	hosts, reboots := hostsOf(s, l.p), hostOf(l.p, "pool-1")
	boots, before := bootsOf(s, hosts), prints(s, hosts)
	s.On(reboots, "touch /run/reboot-required") // as the hook of a package does

	runs := len(s.Runs())
	patchCluster(t, s, name)
	l.await("patched nodes", nodes...)
	load.stop()
	if load.gap > mostWithoutAnswer {
		t.Errorf("the workload was without an answer for %s, want at most %s", load.gap, mostWithoutAnswer)
	}
	if l.p.Status.Patched == "" || l.p.Status.Patched != l.p.Annotations[contract.AnnotationPatch] || l.p.Status.Upgrade != nil {
		t.Errorf("status.patched is %q, status.upgrade %+v", l.p.Status.Patched, l.p.Status.Upgrade)
	}
	if n := len(s.Runs()) - runs; n != 3 {
		t.Errorf("%d runs, want one for each node", n)
	}
	after, now := bootsOf(s, hosts), prints(s, hosts)
	for _, h := range hosts {
		if got := s.On(h, "dpkg-query -W -f '${Version}' "+patched); got != "2" {
			t.Errorf("%s has version %q of the package", h, got)
		}
		if h == reboots {
			continue
		}
		if diff := cmp.Diff(before[h], now[h]); diff != "" || boots[h] != after[h] {
			t.Errorf("%s: boots %s and %s, other changes than its packages (-before +after):\n%s", h, boots[h], after[h], diff)
		}
	}
	kubelet, err := site.Kubectl(kubeconfigOf(t, s, l.p), "", "get", "node", "pool-1", "--output", "jsonpath={.status.nodeInfo.bootID}")
	if boots[reboots] == after[reboots] || err != nil || strings.TrimSpace(kubelet) != after[reboots] {
		t.Errorf("%s has the boot ID %s, and had %s; its kubelet reports %q, %v", reboots, after[reboots], boots[reboots], kubelet, err)
	}
	if out := s.On(reboots, "ls /run/reboot-required 2>&1 || true"); !strings.Contains(out, "No such file") {
		t.Errorf("the node still needs a reboot: %s", out)
	}
	if out := s.On(hostOf(l.p, "master-1"), "ls /var/backups/bpa 2>&1 || true"); !strings.Contains(out, "No such file") {
		t.Errorf("a patch saved etcd: %s", out)
	}
}

// patchCluster runs kubectl bpa patch until all nodes are patched.
func patchCluster(t *testing.T, s *site.Site, name string) {
	t.Helper()
	begin := time.Now()
	out, err := bpaWithin(t, s, 15*time.Minute, "patch", name, "--wait")
	if err != nil {
		t.Fatalf("kubectl bpa patch: %v\n%s", err, out)
	}
	t.Logf("patched in %s:\n%s", time.Since(begin).Round(time.Second), out)
}

// makePackage returns a package without files.
func makePackage(t *testing.T, version string) []byte {
	t.Helper()
	control := apttest.Control(t, "Package: "+patched+"\nVersion: "+version+"\nArchitecture: all\nMaintainer: Nobody <nobody@example.org>\nDescription: nothing\n")
	end := strings.Repeat("\x00", 1024) // of an archive
	return apttest.Archive(t, "debian-binary", "2.0\n", "control.tar.gz", string(control), "data.tar", end)
}

// offerPackage uploads a package to the depot, as a user does, and removes it when the test ends.
func offerPackage(t *testing.T, version string) {
	t.Helper()
	token, err := os.ReadFile(filepath.Join(site.State(), "depot", "local-token"))
	if err != nil {
		t.Fatal(err)
	}
	file := "files/apt/" + osimage.NodeSystem + "/" + patched + "_" + version + "_all.deb"
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://127.0.0.1:5000/"+file, bytes.NewReader(makePackage(t, version)))
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth("e2e", strings.TrimSpace(string(token)))
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode >= http.StatusMultipleChoices {
		t.Fatalf("upload %s: %s", file, answer.Status)
	}
	t.Cleanup(func() {
		if err := os.Remove(filepath.Join(site.State(), "depot", file)); err != nil {
			t.Error(err)
		}
	})
}

// bootsOf returns the IDs of the present boots of the hosts.
func bootsOf(s *site.Site, hosts []string) map[string]string {
	s.T.Helper()
	all := map[string]string{}
	for _, h := range hosts {
		all[h] = strings.TrimSpace(s.On(h, "cat /proc/sys/kernel/random/boot_id"))
	}
	return all
}
