//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/test/lab/osimage"
	"github.com/akraino-icn/bpa/test/site"
)

func oneMaster(s *site.Site, name string, more ...site.Option) *v1alpha1.Provisioning {
	return s.Provisioning(name, append([]site.Option{site.Master("master-1", v1alpha1.Master{HostRequirements: v1alpha1.HostRequirements{CPU: 8, Memory: "16Gi"}})}, more...)...)
}

// failures is an installation that meets one obstacle after the other.
type failures struct {
	t *testing.T
	s *site.Site
	p *v1alpha1.Provisioning
}

// TestFailures checks what the status says of each obstacle that an installation can meet, from the
// first to the last: no host fits, the depot lacks artifacts, the site must permit that they are copied
// from the Internet, the sshd of a machine is down, a check of the machine fails, it has another operating
// system, the playbook fails, and its pod is killed inside kubeadm init.
// After each repair, the installation goes on. It becomes Ready, and not with the half-made control plane. Upstream stops before the nodes pull, because nodes
// must pull from the depot only.
func TestFailures(t *testing.T) {
	s := site.NewTenant(t, "e2e-failures", 0, 2)
	depot := siteDepot(t, s)
	// A test that was killed leaves an image and the permission to copy it, which belong to no namespace.
	depot.clear(t)
	s.Admin().Kubectl("delete", "clusterrolebinding", s.Namespace+"-edge-2-seed-registry-bpa-depot-seeder", "--ignore-not-found")
	up := startUpstream(t, depot.address)
	ref, index := up.publish(t, "e2e/connected:1")
	t.Cleanup(func() { depot.remove(t, index) })
	pushPlugins(t, s, map[string]map[string]string{"seeded": {
		"plugin.yaml":        "name: seeded\nversion: v1\ndescription: Has an image that only upstream has.\nnamespace: seeded\nimages: [" + ref + "]\n",
		"manifests/pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: seeded}\nspec: {containers: [{name: a, image: '" + ref + "'}]}\n",
	}})
	f := &failures{t: t, s: s}
	f.p = s.Apply(oneMaster(s, "edge-2", withSystem(osimage.NodeSystem), site.Var("containerd_version", json.RawMessage(`"9.9.9"`)), func(p *v1alpha1.Provisioning) {
		p.Spec.KUDPlugins, p.Spec.Plugins = []string{"seeded"}, map[string]v1alpha1.PluginSpec{"seeded": {Version: "v1"}}
	}))

	f.noHostFits()
	s.Lab("add", "host-1", "--cpu", "8", "--memory", "16")
	s.On("host-1", "systemd-run --quiet --unit=squatter python3 -m http.server 10250")
	s.On("host-1", "systemctl stop ssh.service ssh.socket && sed -i.site 's/^VERSION_ID=.*/VERSION_ID=\"99\"/' /etc/os-release")
	f.artifactsMissing(ref)
	f.notPermitted(depot, index, up)
	f.sshDown()
	f.checkFails()
	f.otherSystem()
	f.playbookFails()

	f.edit(func(p *v1alpha1.Provisioning) { delete(p.Spec.Kubespray.Vars, "kubelet_max_pods") })
	ca := killPlaybook(t, s, f.p, "host-1", insideKubeadm)
	ready := awaitRetried(t, s, f.p, "host-1", ca)
	checkPlugins(t, ready, map[string]string{"seeded": "Installed none"})
}

func (f *failures) edit(change func(*v1alpha1.Provisioning)) { f.t.Helper(); f.s.Change(f.p, change) }

// await waits for a state of Ready, and returns the Provisioning with the message of a condition and the
// text of the failure, if there is one. They must contain the words.
func (f *failures) await(what string, limit time.Duration, reason string, of apis.ConditionType, words ...string) (*v1alpha1.Provisioning, string) {
	f.t.Helper()
	p := site.Await(f.s, &v1alpha1.ProvisioningList{}, what, limit, site.NotReady(reason))
	message := p.Status.GetCondition(of).GetMessage()
	if fail := p.Status.Failure; fail != nil {
		message += "\n" + fail.Step + ": " + fail.Message
	}
	for _, want := range words {
		if !strings.Contains(message, want) {
			f.t.Errorf("%s: message %q does not contain %q", what, message, want)
		}
	}
	return p, message
}

func (f *failures) expectNoHolder(why string) {
	f.t.Helper()
	if held := f.s.Holders(); len(held) != 0 {
		f.t.Errorf("hosts are held although %s: %v", why, held)
	}
}

// noHostFits: no run starts, and the condition names the slot and the number of hosts.
func (f *failures) noHostFits() {
	f.t.Helper()
	f.await("no host that fits", time.Minute, "HostsNotAvailable", v1alpha1.ConditionHostsClaimed, "master-1", "2 hosts")
	if runs := f.s.Runs(); len(runs) != 0 {
		f.t.Errorf("%d runs were started although no host fits", len(runs))
	}
}

// artifactsMissing: the failure names what the depot lacks, before a host is claimed.
func (f *failures) artifactsMissing(ref string) {
	f.t.Helper()
	_, image, _ := strings.Cut(ref, "/")
	p, _ := f.await("the missing artifacts", 3*time.Minute, "ArtifactsMissing", v1alpha1.ConditionArtifactsAvailable, "containerd-9.9.9-linux-amd64.tar.gz", image, "2 of ")
	f.expectNoHolder("the depot lacks artifacts")
	if fail := p.Status.Failure; fail == nil || fail.NextAttempt == nil {
		f.t.Errorf("failure %+v: want a next attempt, because somebody may add the artifacts to the depot", fail)
	}
}

// grantCommand matches the command at the end of a refusal. The command permits the account of this
// run, and no other account, to add to the depot. It permits nothing else.
var grantCommand = regexp.MustCompile(`kubectl create clusterrolebinding (\S+) --clusterrole=bpa-depot-seeder --serviceaccount=e2e-failures:edge-2-seed-registry\b`)

// notPermitted: an artifact that the depot lacks is copied from upstream only after an administrator has run
// the command in the message. The author of a Provisioning cannot permit it.
func (f *failures) notPermitted(depot *depotAdmin, index v1.ImageIndex, up *upstream) {
	f.t.Helper()
	f.edit(func(p *v1alpha1.Provisioning) {
		site.Var("containerd_version", site.Vars(f.t)["containerd_version"])(p)
		connected := true
		p.Spec.Depot.Connected = &connected
	})
	_, message := f.await("the refusal", 3*time.Minute, "ArtifactsMissing", v1alpha1.ConditionArtifactsAvailable, "kubectl create clusterrolebinding")
	command := grantCommand.FindStringSubmatch(message)
	if command == nil {
		f.t.Fatalf("the message does not contain the command that grants the permission: %s", message)
	}
	if name := f.s.Namespace + "-edge-2-seed-registry-bpa-depot-seeder"; command[1] != name {
		f.t.Errorf("the binding is %s, want %s, which the test deletes when it begins", command[1], name)
	}
	f.expectNoHolder("nothing can be installed")
	if digest := depot.digest(f.t); digest != "" {
		f.t.Errorf("%s was copied to the depot without permission", digest)
	}
	f.s.Admin().Kubectl(strings.Fields(command[0])[1:]...)
	f.t.Cleanup(func() { f.s.Admin().Kubectl("delete", "clusterrolebinding", command[1]) })
	site.Await(f.s, &v1alpha1.ProvisioningList{}, "all artifacts in the depot", 3*time.Minute, func(p *v1alpha1.Provisioning) bool {
		return p.Status.GetCondition(v1alpha1.ConditionArtifactsAvailable).IsTrue()
	})
	if want, _ := index.Digest(); depot.digest(f.t) != want.String() {
		f.t.Errorf("the depot has %q, want %s", depot.digest(f.t), want)
	}
	different, all := up.blobs()
	if different == 0 || all > 2*different { // twice, because the attempt without permission may have read some blobs too
		f.t.Errorf("%d blobs were read %d times, want at least one blob, and at most twice each", different, all)
	}
	up.server.Close()
}

// sshDown: the failure names the node. When sshd is back, the next attempt starts automatically.
func (f *failures) sshDown() {
	f.t.Helper()
	p, _ := f.await("the machine that does not answer", 4*time.Minute, "HostUnreachable", v1alpha1.ConditionReady, "master-1")
	if fail := p.Status.Failure; fail == nil || fail.Host != "master-1" || fail.NextAttempt == nil {
		f.t.Errorf("failure %+v: want one of master-1, and a next attempt", fail)
	}
	f.s.On("host-1", "systemctl start ssh.service")
}

// checkFails: another program has the port of the kubelet. The check of it ends the run before it changes the machine, and the
// run is not repeated before a user requests it.
func (f *failures) checkFails() {
	f.t.Helper()
	p, _ := f.await("the failed check", 4*time.Minute, "PreflightFailed", v1alpha1.ConditionReady, "host-1", "check ports-free", "tcp/10250 (for the kubelet) by python3", "Nothing was changed on any host")
	if fail := p.Status.Failure; fail == nil || fail.NextAttempt != nil {
		f.t.Errorf("failure %+v: want one that is not repeated", fail)
	}
	if checks := p.Status.Checks; checks == nil || checks.Findings[0].ID != "ports-free" || checks.Findings[0].Severity != "error" {
		f.t.Errorf("status.checks is %+v, want an error of ports-free first", checks)
	}
	if out := f.s.On("host-1", "ls /etc/kubernetes /etc/bpa 2>/dev/null || true"); out != "" {
		f.t.Errorf("the host was changed: %s", out)
	}
	f.s.On("host-1", "systemctl stop squatter")
	if out, err := bpaWithin(f.t, f.s, time.Minute, "retry", "edge-2"); err != nil {
		f.t.Errorf("kubectl bpa retry: %v\n%s", err, out)
	}
}

// otherSystem: the operating system of a machine differs from the one in the spec. Nothing on it is changed.
func (f *failures) otherSystem() {
	f.t.Helper()
	f.await("the wrong system to be found", 3*time.Minute, "InvalidRequest", v1alpha1.ConditionReady, "host-1", "runs debian-99", "spec.operatingSystem is "+osimage.NodeSystem)
	if out := f.s.On("host-1", "ls /etc/kubernetes /etc/bpa 2>/dev/null || true"); out != "" {
		f.t.Errorf("the host was changed: %s", out)
	}
	f.s.On("host-1", "mv /etc/os-release.site /etc/os-release")
}

// playbookFails: the failure has the Ansible task, its node and its message. The playbook is repeated once,
// without accelerations, and then not again, because a user must correct the spec.
func (f *failures) playbookFails() {
	f.t.Helper()
	f.edit(func(p *v1alpha1.Provisioning) { site.Var("kubelet_max_pods", json.RawMessage("500"))(p) })
	site.Await(f.s, &v1alpha1.ProvisioningList{}, "the failure that is not repeated", installLimit, func(p *v1alpha1.Provisioning) bool {
		return site.NotReady("PlaybookFailed")(p) && p.Status.Failure != nil && p.Status.Failure.NextAttempt == nil
	})
	f.await("the failure", time.Minute, "PlaybookFailed", v1alpha1.ConditionReady,
		"Guarantee that enough network address space is available for all pods", "kubespray", "master-1")
}

// TestDeleteInTheMiddle checks that a deletion during kubeadm init cancels the run, resets the host
// and then releases it. A second Provisioning that needs the same host waits, and never shares it.
func TestDeleteInTheMiddle(t *testing.T) {
	s := site.NewTenant(t, "e2e-delete", 1, 0)
	p := s.Apply(oneMaster(s, "edge-5"))
	s.AwaitOn("host-1", insideKubeadm, installLimit)
	rival := s.Apply(oneMaster(s, "rival"))
	site.Await(s, &v1alpha1.ProvisioningList{}, "the rival to wait", time.Minute, func(p *v1alpha1.Provisioning) bool {
		return p.Name == rival.Name && site.NotReady("HostsNotAvailable")(p)
	})
	if held := s.Holders(); held["host-1"] != "edge-5" {
		t.Errorf("hosts held: %v, want host-1 by edge-5", held)
	}
	if err := s.Delete(context.Background(), rival); err != nil {
		t.Fatal(err)
	}
	site.AwaitGone(s, &v1alpha1.ProvisioningList{}, rival, time.Minute)
	deleteAndReset(t, s, p)
	checkEnded(t, s.Runs())
}
