//go:build e2e

package e2e

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/test/lab/osimage"
	"github.com/akraino-icn/bpa/test/site"
)

// softwareLimit is the time limit of one run for the software of a lab cluster, with the wait for more uploads.
const softwareLimit = 3 * time.Minute

// softwareStory is a cluster with one Software, whose packages are for its workers.
type softwareStory struct {
	life
	depot *uploads
	name  string // of the Software
}

// TestSoftware follows the packages of one cluster: they are installed before the machines join, a newer
// upload updates the worker that answers and then the one that did not, a driver fails and is replaced, a
// change by hand is found and repaired, packages are removed, and a machine joins after its version has left
// the depot. At the end, ICN's own samples are applied.
func TestSoftware(t *testing.T) {
	samples := icnSamples(t)
	const namespace, name = "e2e-software", "edge-43"
	// The uploads come first: the controller has waited for more of them when the machines are up.
	depot := newUploads(t, namespace)
	depot.putDriver(name, "1")
	depot.putTool("1")
	s := site.NewTenant(t, namespace, 4, 0)
	w := &softwareStory{life: life{t: t, s: s, limit: installLimit}, depot: depot, name: "workers"}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(s.Admin().Kubectl("get", "softwares,configmaps", "--output", "yaml"))
		}
	})
	w.apply(name, driver, tool, noPackage)
	w.awaitSoftware("a Software whose cluster does not exist", time.Minute, func(w *v1alpha1.Software) bool {
		return w.Status.GetCondition(v1alpha1.ConditionSoftwareAccepted).IsFalse()
	})
	s.Apply(s.Provisioning(name, masters(1), pool(2), withSystem(osimage.NodeSystem), withLabel(v1alpha1.LabelCluster, samples[0].cluster)))
	w.await("1 control plane and 2 workers with their software", "master-1", "pool-1", "pool-2")
	w.checkInstalled()
	plane := prints(s, []string{hostOf(w.p, "master-1")})

	w.checkOutage()
	w.checkDriver()
	w.checkDrift()
	if diff := cmp.Diff(plane, prints(s, []string{hostOf(w.p, "master-1")})); diff != "" {
		t.Errorf("packages of the workers changed the control plane (-before +after):\n%s", diff)
	}
	w.checkPlane()
	w.checkJoin()
	w.checkRemoval()
	w.checkSamples(samples)
	checkNoSecretShown(t, s, name)
}

// checkInstalled checks what the installation has done. The driver was there before its node joined the
// cluster. The package that does not exist has failed, and no later run tries it again.
func (w *softwareStory) checkInstalled() {
	w.t.Helper()
	w.awaitRows("the packages of the installation", map[string]string{
		"pool-1 " + driver: "Installed 1", "pool-1 " + tool: "Installed 1", "pool-1 " + noPackage: "Failed",
		"pool-2 " + driver: "Installed 1", "pool-2 " + tool: "Installed 1", "pool-2 " + noPackage: "Failed",
	})
	got := w.awaitSoftware("a verdict", time.Minute, judgedSoftware)
	if message := rowOf(got, "pool-1", noPackage).Message; !strings.Contains(message, noPackage) {
		w.t.Errorf("the missing package says %q", message)
	}
	ready := got.Status.GetCondition(apis.ConditionReady)
	if !ready.IsFalse() || !strings.Contains(ready.Message, noPackage) || got.Status.Summary != "4/6" || got.Status.Failed != 2 {
		w.t.Errorf("Ready %+v, summary %q, %d failed", ready, got.Status.Summary, got.Status.Failed)
	}
	for _, node := range []string{"pool-1", "pool-2"} {
		w.checkBeforeJoin(node)
		w.expectOn(node, "cat "+driverMarker, "1 after nothing")
	}
	w.checkPlane()
	if run := w.softwareRun(); run != "" {
		w.t.Errorf("run %s after the installation, want none for the software", run)
	}
	if out := w.bpa(nil, "software", w.p.Name); !strings.Contains(out, "4 of 6 installed, 2 Failed") || !strings.Contains(out, noPackage) {
		w.t.Errorf("kubectl bpa software:\n%s", out)
	}
	if out := w.bpa(nil, "status", w.p.Name); !strings.Contains(out, "4 of 6 installed, 2 Failed; pool-1: "+noPackage) {
		w.t.Errorf("kubectl bpa status:\n%s", out)
	}
	status, rest := w.depot.call("GET", w.p.Name+"/status", nil)
	if status != 200 || !strings.Contains(rest, `"pool-1"`) || !strings.Contains(rest, tool) || !strings.Contains(rest, `"installed"`) || !strings.Contains(rest, `"failed"`) {
		w.t.Errorf("REST status %d:\n%s", status, rest)
	}
}

// checkOutage uploads ten packages while a worker is down. One run updates the other worker, with its own
// configuration and without the driver that cannot be installed. The worker is caught up without a request
// when it is back.
func (w *softwareStory) checkOutage() {
	w.t.Helper()
	alive, down := hostOf(w.p, "pool-1"), hostOf(w.p, "pool-2")
	for _, host := range []string{alive, down} {
		w.s.On(host, "echo changed by hand >"+toolConfig)
	}
	w.s.PowerOff(down)
	w.awaitHealth("a worker that is down", 2*time.Minute, nil, func(p *v1alpha1.Provisioning) bool {
		return states(p)["pool-2"] == v1alpha1.NodeNotReady && states(p)["pool-1"] == v1alpha1.NodeReady
	})
	if run := w.softwareRun(); run != "" {
		w.t.Errorf("run %s before an upload: what has failed was tried again", run)
	}
	for version := 2; version <= 10; version++ {
		w.depot.putTool(strconv.Itoa(version))
	}
	w.depot.putBrokenDriver(w.p.Name, "2")
	got := w.awaitRows("the update of the worker that answers", map[string]string{
		"pool-1 " + tool: "Installed 10", "pool-1 " + driver: "Failed 1", "pool-2 " + tool: "Pending", "pool-2 " + driver: "Pending",
	})
	if message := rowOf(got, "pool-1", driver).Message; !strings.Contains(message, driverTrouble) {
		w.t.Errorf("the driver that fails says %q, want the end of its output", message)
	}
	if out := w.bpa(nil, "software", w.p.Name); !strings.Contains(out, driverTrouble) {
		w.t.Errorf("kubectl bpa software does not have the output of the driver:\n%s", out)
	}
	if run, want := w.softwareRun(), w.p.Name+"-software-2"; run != want { // the first run was the installation
		w.t.Errorf("the newest run after ten uploads in a row is %s, want %s", run, want)
	}
	w.expectOn("pool-1", "dpkg-query --show --showformat '${Version}' "+tool, "10")
	w.expectOn("pool-1", "cat "+toolConfig, "changed by hand")
	w.expectOn("pool-1", "cat "+driverMarker, "1 after nothing")

	w.s.PowerOn(down)
	w.awaitRows("the worker that is back", map[string]string{"pool-2 " + tool: "Installed 10", "pool-2 " + driver: "Failed 1"})
	w.expectOn("pool-2", "dpkg-query --show --showformat '${Version}' "+tool, "10")
	w.expectOn("pool-2", "cat "+toolConfig, "changed by hand")
}

// checkDriver uploads a driver that works. It knows which version was there before it.
func (w *softwareStory) checkDriver() {
	w.t.Helper()
	w.request(driver, tool) // without the package that does not exist
	w.depot.putDriver(w.p.Name, "3")
	w.awaitRows("the driver that works", map[string]string{"pool-1 " + driver: "Installed 3", "pool-2 " + driver: "Installed 3"})
	w.awaitSoftware("that all packages are installed", time.Minute, func(s *v1alpha1.Software) bool {
		return s.Status.GetCondition(apis.ConditionReady).IsTrue() && s.Status.Summary == "4/4"
	})
	for _, node := range []string{"pool-1", "pool-2"} {
		w.expectOn(node, "cat "+driverMarker, "3 after 1")
	}
}

// checkDrift removes a package by hand. A look finds that and changes nothing. A retry repairs it.
func (w *softwareStory) checkDrift() {
	w.t.Helper()
	const installed = "dpkg-query --show --showformat '${db:Status-Status}' " + tool + " 2>/dev/null || true"
	w.s.On(hostOf(w.p, "pool-1"), "dpkg --remove "+tool)
	out := w.bpa([]string{"is not ready"}, "software", w.p.Name, "--check", "--wait", "--timeout="+softwareLimit.String())
	if !strings.Contains(out, "3 of 4 installed, 1 Drifted") || !strings.Contains(out, "--retry") {
		w.t.Errorf("kubectl bpa software --check:\n%s", out)
	}
	if now := strings.TrimSpace(w.s.On(hostOf(w.p, "pool-1"), installed)); now == "installed" {
		w.t.Error("a look has installed the package again")
	}
	if out := w.bpa(nil, "software", w.p.Name, "--retry", "--wait", "--timeout="+softwareLimit.String()); !strings.Contains(out, "4 of 4 installed") {
		w.t.Errorf("kubectl bpa software --retry:\n%s", out)
	}
	w.expectOn("pool-1", installed, "installed")
}

// checkJoin adds a worker after the requested versions have left the depot. The nodes that have them keep them,
// also when a run looks at them, and the new one joins without them.
func (w *softwareStory) checkJoin() {
	w.t.Helper()
	run := w.softwareRun()
	w.request(tool+"=10", driver+"=3")
	w.depot.remove(protocol.ClusterAll, toolFile("10"))
	w.depot.remove(w.p.Name, driverFile("3"))
	w.edit(pool(3))
	w.await("a third worker", "master-1", "pool-1", "pool-2", "pool-3")
	rows := map[string]string{
		"pool-1 " + tool: "Installed 10", "pool-2 " + tool: "Installed 10", "pool-3 " + tool: "Failed ",
		"pool-1 " + driver: "Installed 3", "pool-2 " + driver: "Installed 3", "pool-3 " + driver: "Failed ",
	}
	w.awaitRows("a worker that joined too late", rows)
	if now := w.softwareRun(); now != run {
		w.t.Errorf("run %s because of deleted uploads, want none after %s", now, run)
	}
	w.bpa([]string{"is not ready", "4 of 6 installed, 2 Failed"}, "software", w.p.Name, "--check", "--wait", "--timeout="+softwareLimit.String())
	got := w.awaitRows("what a look has found", rows)
	for name, version := range map[string]string{tool: "10", driver: "3"} {
		if message := rowOf(got, "pool-3", name).Message; !strings.Contains(message, name) || !strings.Contains(message, version) {
			w.t.Errorf("the version of %s that the depot lacks says %q", name, message)
		}
	}
	w.expectOn("pool-3", "ls -d "+driverMarker+" "+toolConfig+" 2>/dev/null || true", "")
}

// checkRemoval requests only the tool: the driver is removed by its own program, which is on the nodes.
func (w *softwareStory) checkRemoval() {
	w.t.Helper()
	w.request(tool + "=10")
	w.awaitRows("the removal of the driver", map[string]string{
		"pool-1 " + tool: "Installed 10", "pool-2 " + tool: "Installed 10", "pool-1 " + driver: "", "pool-2 " + driver: "", "pool-3 " + driver: "",
	})
	for _, node := range []string{"pool-1", "pool-2"} {
		w.expectOn(node, "ls -d "+driverMarker+" /var/lib/bpa/software/"+driver+" 2>/dev/null || true", "")
	}
}

// checkSamples applies ICN's samples. They apply unchanged if their label names this cluster. Each package is
// installed, or has failed with a message that names it.
func (w *softwareStory) checkSamples(samples []icnSample) {
	w.t.Helper()
	found := map[string]int{}
	for _, sample := range samples {
		text := sample.of(w.p.Labels[v1alpha1.LabelCluster]) // which is that of the first one
		if out, err := w.s.As(site.RoleSoftwareAuthor).TryKubectl(text, "apply", "--filename", "-"); err != nil {
			w.t.Fatalf("apply ICN's sample %s: %v\n%s", sample.name, err, out)
		}
	}
	for _, sample := range samples {
		got := w.awaitNamed(sample.name, "the packages of the sample", softwareLimit, endedSoftware)
		if got.Status.Total == 0 {
			w.t.Errorf("the sample %s has no package on any node", sample.name)
		}
		for _, n := range got.Status.Nodes {
			for _, p := range n.Packages {
				found[p.State]++
				switch {
				case p.State == string(contract.SoftwareInstalled) && p.Installed != "":
				case p.State == string(contract.SoftwareFailed) && strings.Contains(p.Message, p.Name):
				default:
					w.t.Errorf("%s: %s on %s is %+v, want it installed or failed for a reason", sample.name, p.Name, n.Name, p)
				}
			}
		}
	}
	if w.t.Logf("packages of ICN's samples: %v", found); found[string(contract.SoftwareInstalled)] == 0 || found[string(contract.SoftwareFailed)] == 0 {
		w.t.Errorf("packages of ICN's samples: %v, want some that are installed, and some that the depot lacks", found)
	}
}
