package upgrade_test

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

const patchLevel = "2026-11-22T16:00:00Z"

// The nodes of a batch are drained, patched and recorded. Only those that need it boot again. No
// playbook runs.
func TestPatchOfWorkers(t *testing.T) {
	u := newPatching(t, 1, 4, "worker-1", "worker-2", "worker-3")
	u.setPatched(map[string]string{"master-1": patchLevel})
	u.newer(1)
	u.Write("machine-2/kernel", "")
	u.newer(2)
	u.Write("machine-4/libc", "")
	out, err := u.Run()
	if err != nil || out.Recap != "worker-1, worker-2, worker-3 patched" {
		t.Fatalf("recap %q, %v\n%s", out.Recap, err, &u.Log)
	}
	u.sorted()
	u.expectDid("cordon worker-1", "cordon worker-2", "cordon worker-3", "drain worker-1", "drain worker-2", "drain worker-3",
		"patch worker-1", "patch worker-2", "patch worker-3", "reboot worker-1", "reboot worker-3", "uncordon worker-1", "uncordon worker-2", "uncordon worker-3")
	u.expectPatched("", map[string]string{"master-1": patchLevel, "worker-1": patchLevel, "worker-2": patchLevel, "worker-3": patchLevel})
	u.expectLevels("1.34.3", map[string]string{})
	for _, want := range []string{"worker-1: openssl:amd64 3.0.16-1 -> 3.0.17-1\n", "worker-1: linux-image-6.1.0-40:amd64 - -> 6.1.0-40\n", "worker-1: 2 packages changed\n",
		"worker-1 must boot again because of ", "worker-1 has booted again after ", "worker-3: 0 packages changed\n", "/run/reboot-required\n"} {
		if !strings.Contains(u.Log.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, &u.Log)
		}
	}
	want := "dpkg --force-confold --force-confdef --configure -a\napt-get -q update -o APT::Update::Error-Mode=any\n" +
		"apt-get -q -y --with-new-pkgs -o Dpkg::Options::=--force-confold -o Dpkg::Options::=--force-confdef upgrade\n"
	if diff := cmp.Diff(want, u.Read("machine-2/apt.log")); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	if got := u.Connected(); slices.Contains(got, "worker-4") {
		t.Errorf("connected to %v", got)
	}
}

// When the last node is patched, the level is that of the cluster.
func TestPatchOfTheLastNode(t *testing.T) {
	u := newPatching(t, 1, 2, "worker-2")
	u.setPatched(map[string]string{"master-1": patchLevel, "worker-1": patchLevel, "worker-2": "an older one"})
	if _, err := u.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &u.Log)
	}
	u.expectPatched(patchLevel, map[string]string{})

	u.Did = nil // another attempt finds nothing to do
	if out, err := u.Run(); err != nil || out.Recap != "no node is left to be patched" {
		t.Fatalf("recap %q, %v\n%s", out.Recap, err, &u.Log)
	}
	u.expectDid()
}

// If all nodes have the version, it is that of the cluster, although some nodes are still to be patched.
func TestPatchAfterAnUpgrade(t *testing.T) {
	u := newPatching(t, 1, 2, "worker-1")
	u.setLevels(map[string]string{"master-1": "1.34.3", "worker-1": "1.34.3", "worker-2": "1.34.3"})
	record := u.Now()
	record.Request.KubernetesVersion = "1.33.7"
	u.Installed.Data[contract.KeyInstalled] = string(kubespraytest.JSON(t, record))
	if _, err := u.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &u.Log)
	}
	u.expectLevels("1.34.3", map[string]string{})
	u.expectPatched("", map[string]string{"worker-1": patchLevel})
}

// A patch of a control plane node needs no snapshot of etcd. Etcd must be able to spare the node.
func TestPatchOfAControlPlane(t *testing.T) {
	u := newPatching(t, 3, 1, "master-1")
	u.Write("machine-1/libc", "")
	if _, err := u.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &u.Log)
	}
	u.expectDid("cordon master-1", "patch master-1", "reboot master-1", "uncordon master-1")
	u.Did, u.In.Request.Upgrade.Nodes, u.Members[2].Sick = nil, []string{"master-2"}, true
	if _, err := u.Run(); task.FailureOf(err).Reason != contract.ReasonQuorumAtRisk {
		t.Errorf("%v\n%s", err, &u.Log)
	}
	u.expectDid()
}

// One drain serves both an upgrade and a patch. A node that has the version is only patched.
func TestUpgradeWithAPatch(t *testing.T) {
	u := newPatching(t, 1, 3, "worker-1", "worker-2", "worker-3")
	u.In.Request.KubernetesVersion, u.In.Request.Upgrade.Path = "1.35.4", []string{"1.35.4"}
	u.Render()
	u.setPatched(map[string]string{"worker-3": patchLevel})
	u.setLevels(map[string]string{"worker-1": "1.35.4"})
	out, err := u.Run()
	if err != nil || out.Recap != "worker-1, worker-2, worker-3 upgraded to 1.35.4 and patched" {
		t.Fatalf("recap %q, %v\n%s", out.Recap, err, &u.Log)
	}
	u.sorted()
	u.expectDid("cordon worker-1", "cordon worker-2", "cordon worker-3", "drain worker-1", "drain worker-2", "drain worker-3",
		"upgrade-cluster.yml worker-2,worker-3", "patch worker-1", "patch worker-2", "uncordon worker-1", "uncordon worker-2", "uncordon worker-3")
	u.expectLevels("1.34.3", map[string]string{"worker-1": "1.35.4", "worker-2": "1.35.4", "worker-3": "1.35.4"})
	u.expectPatched("", map[string]string{"worker-1": patchLevel, "worker-2": patchLevel, "worker-3": patchLevel})
}

// A node whose packages cannot be upgraded accepts pods again, and is not recorded. The other nodes of the
// batch are patched, and not drained again.
func TestPatchThatFails(t *testing.T) {
	t.Parallel()
	for file, tc := range map[string]struct {
		reason contract.Reason
		says   string
	}{
		"locked":  {contract.ReasonPackagesLocked, "It is held by process 77"},
		"offline": {contract.ReasonDownloadFailed, "Failed to fetch http://depot/Release"},
		"broken":  {contract.ReasonPlaybookFailed, "(exit status 1): dpkg: error processing package openssl"},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			u := newPatching(t, 1, 2, "worker-1", "worker-2")
			u.In.HealthLimit = 2 * time.Second
			u.Write("machine-3/"+file, "")
			_, err := u.Run()
			if err == nil {
				t.Fatal("no error")
			}
			f := task.FailureOf(err)
			if f.Reason != tc.reason || f.Host != "worker-2" || !strings.Contains(f.Message, tc.says) || !strings.Contains(f.Message, "the patch is not complete: ") ||
				!strings.Contains(f.Message, "No other node was changed") {
				t.Errorf("%+v\n%s", f, &u.Log)
			}
			if u.Cordoned["worker-1"] || u.Cordoned["worker-2"] {
				t.Errorf("cordoned %v", u.Cordoned)
			}
			u.expectPatched("", map[string]string{"worker-1": patchLevel})
			u.expectHalf("worker-2")
			u.remove("machine-3/" + file)
			u.Did = nil
			if _, err := u.Run(); err != nil {
				t.Fatalf("%v\n%s", err, &u.Log)
			}
			u.expectDid("cordon worker-2", "patch worker-2", "uncordon worker-2")
			u.expectPatched("", map[string]string{"worker-1": patchLevel, "worker-2": patchLevel})
			u.expectHalf()
		})
	}
}

// A patch waits for the lock of the package manager.
func TestPatchWaitsForTheLock(t *testing.T) {
	u := newPatching(t, 1, 1, "worker-1")
	u.Write("machine-2/locked", "")
	inner := u.Scripts
	patched := 0
	u.Scripts = func(i int, command string, stdout, stderr io.Writer) (int, bool) {
		if strings.Contains(command, "dpkg-query -W") {
			if patched++; patched == 3 {
				u.remove("machine-2/locked")
			}
		}
		return inner(i, command, stdout, stderr)
	}
	if _, err := u.Run(); err != nil || patched != 3 || strings.Count(u.Log.String(), "another process holds the lock") != 1 {
		t.Errorf("patched %d times, %v\n%s", patched, err, &u.Log)
	}
}

// A system without apt is refused before a node is drained: in the first run also on a node of a later
// batch, unless that node does not answer.
func TestPatchOfAnotherSystem(t *testing.T) {
	for _, node := range []string{"worker-1", "worker-2"} {
		u := newPatching(t, 1, 2, node)
		u.remove("machine-3/usr/bin/apt-get")
		_, err := u.Run()
		if f := task.FailureOf(err); f.Reason != contract.ReasonInvalidRequest || f.Host != "worker-2" || !strings.Contains(f.Message, "has no apt-get") ||
			!strings.Contains(f.Message, "kubectl annotate bpa edge-1 -n site bpa.akraino.org/patch-") {
			t.Errorf("%+v\n%s", f, &u.Log)
		}
		u.expectDid()
	}
	u := newPatching(t, 1, 2, "worker-1")
	u.In.ProbeLimit = time.Second
	u.Planes.Servers[2].Stop()
	if _, err := u.Run(); err != nil {
		t.Errorf("%v\n%s", err, &u.Log)
	}
}

// Etcd must be able to spare a control plane node also when it boots again. The next attempt reboots it.
func TestPatchWhoseRebootIsARiskForEtcd(t *testing.T) {
	u := newPatching(t, 3, 1, "master-1")
	u.Write("machine-1/libc", "")
	inner := u.Scripts
	u.Scripts = func(i int, command string, stdout, stderr io.Writer) (int, bool) {
		if strings.Contains(command, "dpkg-query -W") {
			u.Mu.Lock()
			u.Members[2].Sick = true
			u.Mu.Unlock()
		}
		return inner(i, command, stdout, stderr)
	}
	_, err := u.Run()
	if f := task.FailureOf(err); f.Reason != contract.ReasonQuorumAtRisk || f.Host != "master-1" || !strings.Contains(f.Message, "it was not rebooted") {
		t.Errorf("%+v\n%s", f, &u.Log)
	}
	u.expectDid("cordon master-1", "patch master-1", "uncordon master-1")
	u.Did, u.Members[2].Sick, u.Scripts = nil, false, inner
	if _, err := u.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &u.Log)
	}
	u.expectDid("cordon master-1", "patch master-1", "reboot master-1", "uncordon master-1")
}

// Only another boot ID proves a reboot. The next attempt continues.
func TestPatchWhoseRebootFails(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reboot func(u *upgrading) int
		reason contract.Reason
		says   string
	}{
		"it is refused":             {func(*upgrading) int { return 4 }, contract.ReasonPlaybookFailed, "systemctl reboot failed with exit status 4"},
		"nothing happens":           {func(*upgrading) int { return 0 }, contract.ReasonTaskTimedOut, "it answers, but has not booted again"},
		"only the connection broke": {func(u *upgrading) int { u.Planes.Servers[1].Disconnect(); return 0 }, contract.ReasonTaskTimedOut, "it answers, but has not booted again"},
		"it does not come back":     {func(u *upgrading) int { u.Planes.Servers[1].Stop(); return 0 }, contract.ReasonHostUnreachable, "has not booted again within 2s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newPatching(t, 1, 1, "worker-1")
			u.In.HealthLimit, u.In.BootLimit = 2*time.Second, 2*time.Second
			u.Write("machine-2/libc", "")
			u.onReboot = func(int) int { return tc.reboot(u) }
			_, err := u.Run()
			if err == nil {
				t.Fatal("no error")
			}
			if f := task.FailureOf(err); f.Reason != tc.reason || f.Host != "worker-1" || !strings.Contains(f.Message, tc.says) {
				t.Errorf("%+v\n%s", f, &u.Log)
			}
			u.expectPatched("", map[string]string{})
			if name == "it does not come back" {
				return
			}
			u.boots(1)
			u.Did = nil
			if _, err := u.Run(); err != nil {
				t.Fatalf("%v\n%s", err, &u.Log)
			}
			if slices.Contains(u.Did, "reboot worker-1") {
				t.Errorf("changes %v", u.Did)
			}
		})
	}
}

// A connection that breaks with the reboot is expected.
func TestPatchWhoseRebootBreaksTheConnection(t *testing.T) {
	u := newPatching(t, 1, 1, "worker-1")
	u.Write("machine-2/libc", "")
	u.onReboot = func(i int) int {
		u.rebooting[i] = 1
		u.Planes.Servers[i].Disconnect()
		return 0
	}
	if _, err := u.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &u.Log)
	}
	u.expectDid("cordon worker-1", "drain worker-1", "patch worker-1", "reboot worker-1", "uncordon worker-1")
}

// The level is a value of a user. It does not reach any machine.
func TestPatchLevelIsNotExecuted(t *testing.T) {
	const level = "$(touch /tmp/x)' `id`"
	u := newPatching(t, 1, 1, "worker-1")
	u.In.Request.Upgrade.Patch = level
	if _, err := u.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &u.Log)
	}
	u.expectPatched("", map[string]string{"worker-1": level})
	for _, server := range u.Planes.Servers {
		if slices.ContainsFunc(server.Commands(), func(c string) bool { return strings.Contains(c, "touch /tmp/x") }) {
			t.Error("a command has the level")
		}
	}
}

// A patch that is killed at any point is continued by the next attempt.
func TestPatchThatIsKilled(t *testing.T) {
	t.Parallel()
	for at := 1; ; at++ {
		u := newPatching(t, 1, 1, "worker-1")
		u.In.ProbeLimit = time.Second
		u.Write("machine-2/libc", "")
		if !u.killed(at) {
			if at < 7 {
				t.Errorf("only %d changes were interrupted", at-1)
			}
			return
		}
		before := slices.Clone(u.Did)
		if _, err := u.Run(); err != nil {
			t.Fatalf("killed after %v: %v\n%s", before, err, &u.Log)
		}
		u.expectPatched("", map[string]string{"worker-1": patchLevel})
		if u.Cordoned["worker-1"] || len(u.Now().Draining) > 0 || u.Read("machine-2/proc/sys/kernel/random/boot_id") != "boot-2\n" {
			t.Errorf("killed after %v: cordoned %v, draining %v, then %v", before, u.Cordoned, u.Now().Draining, u.Did)
		}
		if t.Failed() {
			return
		}
	}
}
