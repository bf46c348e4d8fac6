package upgrade_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/akraino-icn/bpa/pkg/appcluster/apitest"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/upgrade"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// A workload of each kind that was available before the upgrade must be available after it.
func TestUpgradeThatBreaksAWorkload(t *testing.T) {
	t.Parallel()
	for what, says := range map[string]string{
		"Deployment shop/web":                "Deployment shop/web (1/2). No other node was changed. To see why, run on the cluster: kubectl -n shop describe deployment web. ",
		"StatefulSet shop/db":                "kubectl -n shop describe statefulset db. ",
		"ReplicaSet shop/old":                "kubectl -n shop describe replicaset old. ",
		"DaemonSet kube-system/device":       "kubectl -n kube-system describe daemonset device. ",
		"APIService v1beta1.metrics.k8s.io":  "kubectl describe apiservice v1beta1.metrics.k8s.io. ",
		"Deployment kube-system/dns.with.1s": "kubectl -n kube-system describe deployment dns.with.1s. ",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			u := newUpgrading(t, false, 1, 2, "worker-1")
			u.In.HealthLimit = 2 * time.Second
			u.runs("Deployment other/fine", 1, 1)
			u.runs(what, 2, 2)
			u.after(func() { u.workloads[what].available = 1 })
			_, err := u.Run()
			f := task.FailureOf(err)
			if f.Reason != contract.ReasonClusterUnhealthy || !strings.Contains(f.Message, says) || !strings.Contains(f.Message, "the upgrade to 1.35.4 of worker-1 is done") ||
				!strings.Contains(f.Message, "kubectl bpa retry edge-1 -n site") || strings.Contains(f.Message, "fine") {
				t.Fatalf("%+v\n%s", f, &u.Log)
			}
			u.expectLevels("1.34.3", map[string]string{"worker-1": "1.35.4"})

			u.Did = nil // the next attempt only checks
			if _, err := u.Run(); task.FailureOf(err).Reason != contract.ReasonClusterUnhealthy {
				t.Fatalf("%v\n%s", err, &u.Log)
			}
			u.workloads[what].available = 2
			if _, err := u.Run(); err != nil {
				t.Fatalf("%v\n%s", err, &u.Log)
			}
			u.expectDid()
			u.expectNothingNoted()
		})
	}
}

// These workloads do not block an upgrade.
func TestUpgradeWithWorkloadsThatDoNotCount(t *testing.T) {
	for name, tc := range map[string]struct {
		available, wanted int
		after             func(u *upgrading, w *fakeWorkload)
		logs              string
	}{
		"broken before":       {0, 2, func(*upgrading, *fakeWorkload) {}, "not available before the upgrade, so not waited for: Deployment shop/web (0/2)\n"},
		"deleted":             {2, 2, func(u *upgrading, _ *fakeWorkload) { delete(u.workloads, "Deployment shop/web") }, "  2 workloads available\n"},
		"scaled to 0":         {2, 2, func(_ *upgrading, w *fakeWorkload) { w.available, w.wanted = 0, 0 }, "  2 workloads available\n"},
		"scaled down":         {2, 2, func(_ *upgrading, w *fakeWorkload) { w.available, w.wanted = 1, 1 }, "  2 workloads available\n"},
		"no replica, created": {0, 0, func(_ *upgrading, w *fakeWorkload) { w.wanted = 1 }, "1 workload available now"},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpgrading(t, false, 1, 2, "worker-1")
			u.In.HealthLimit = 5 * time.Second
			u.runs("Deployment shop/web", tc.available, tc.wanted)
			u.runs("Deployment shop/till", 1, 1)
			u.after(func() { tc.after(u, u.workloads["Deployment shop/web"]) })
			if _, err := u.Run(); err != nil || strings.Count(u.Log.String(), tc.logs) != 1 {
				t.Fatalf("%v; the log does not say %q once\n%s", err, tc.logs, &u.Log)
			}
			u.expectNothingNoted()
		})
	}
}

// A workload needs time until it runs elsewhere.
func TestUpgradeWaitsForWorkloads(t *testing.T) {
	u := newUpgrading(t, false, 1, 2, "worker-1")
	u.runs("Deployment shop/web", 2, 2)
	u.after(func() { u.workloads["Deployment shop/web"].available = 0 })
	asked := 0
	u.On("list deployments", func(apitest.Call) error {
		u.Mu.Lock()
		defer u.Mu.Unlock()
		if u.played("upgrade-cluster.yml") {
			if asked++; asked == 3 {
				u.workloads["Deployment shop/web"].available = 2
			}
		}
		return nil
	})
	if _, err := u.Run(); err != nil || asked != 3 || !strings.Contains(u.Log.String(), "not available yet: Deployment shop/web (0/2)") {
		t.Errorf("asked %d times, %v\n%s", asked, err, &u.Log)
	}
}

// The status of workloads is old while no controller manager leads.
func TestUpgradeWithoutControllerManager(t *testing.T) {
	t.Parallel()
	u := newUpgrading(t, false, 1, 2, "worker-1")
	u.In.HealthLimit = 2 * time.Second
	u.runs("Deployment shop/web", 2, 2)
	u.after(func() { u.leaders = -1 })
	_, err := u.Run()
	if f := task.FailureOf(err); f.Reason != contract.ReasonClusterUnhealthy || !strings.Contains(f.Message, "the controller manager has not renewed its lease") {
		t.Errorf("%+v\n%s", f, &u.Log)
	}
}

// A workload that an interrupted attempt broke was available before the upgrade.
func TestUpgradeRemembersWhatWasAvailable(t *testing.T) {
	t.Parallel()
	u := newUpgrading(t, false, 1, 2, "worker-1")
	u.In.HealthLimit, u.In.Request.Upgrade.DrainSeconds = 2*time.Second, 1
	u.runs("Deployment shop/web", 2, 2)
	u.Stuck["worker-1"] = true
	if _, err := u.Run(); task.FailureOf(err).Reason != contract.ReasonDrainBlocked {
		t.Fatal(err)
	}
	u.expectNoted("Deployment shop/web")
	u.Stuck["worker-1"], u.workloads["Deployment shop/web"].available = false, 1
	u.runs("Deployment shop/new", 1, 1)
	_, err := u.Run()
	if err == nil || !strings.Contains(task.FailureOf(err).Message, "Deployment shop/web (1/2)") || !u.played("upgrade-cluster.yml") {
		t.Errorf("%v\n%s", err, &u.Log)
	}
	u.expectNoted("Deployment shop/web", "Deployment shop/new")
}

// After a batch that broke a workload, no other batch and no other version begins.
func TestUpgradeAfterABatchThatBrokeAWorkload(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(u *upgrading){
		"another batch": func(u *upgrading) { u.In.Request.Upgrade.Nodes = []string{"worker-2"} },
		"another version": func(u *upgrading) {
			u.In.Request.KubernetesVersion, u.In.Request.Upgrade.Path = "1.35.9", []string{"1.35.9"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUpgrading(t, false, 1, 2, "worker-1")
			u.In.HealthLimit = 2 * time.Second
			u.runs("Deployment shop/web", 2, 2)
			u.after(func() { u.workloads["Deployment shop/web"].available = 1 })
			if _, err := u.Run(); err == nil {
				t.Fatal("no error")
			}
			next(u)
			u.Render()
			u.Did = nil
			_, err := u.Run()
			if f := task.FailureOf(err); f.Reason != contract.ReasonClusterUnhealthy || !strings.Contains(f.Message, "the upgrade to 1.35.4 of worker-1 is done, but these") ||
				!strings.Contains(f.Message, " not changed, because an earlier batch is not complete") {
				t.Errorf("%+v\n%s", f, &u.Log)
			}
			u.expectDid()
			u.expectNoted("Deployment shop/web")
			u.workloads["Deployment shop/web"].available = 2
			u.after(func() { u.workloads["Deployment shop/web"].available = 2 })
			if _, err := u.Run(); err != nil {
				t.Fatalf("%v\n%s", err, &u.Log)
			}
			u.expectNothingNoted()
		})
	}
}

// The stored list is bounded. The attempt itself waits for everything.
func TestUpgradeWithManyWorkloads(t *testing.T) {
	t.Parallel()
	u := newUpgrading(t, false, 1, 2, "worker-1")
	u.In.HealthLimit = 2 * time.Second
	for i := range upgrade.MaxNoted + 20 {
		u.runs(fmt.Sprintf("Deployment shop/web-%04d", i), 1, 1)
		u.runs(fmt.Sprintf("Deployment shop/broken-%04d", i), 0, 1)
	}
	last := fmt.Sprintf("Deployment shop/web-%04d", upgrade.MaxNoted+19)
	u.after(func() { u.workloads[last].available = 0 })
	_, err := u.Run()
	if f := task.FailureOf(err); !strings.Contains(f.Message, last+" (0/1)") {
		t.Errorf("%+v", f)
	}
	if n := u.stored(); len(n.Names) != upgrade.MaxNoted || n.More != 20 {
		t.Errorf("%d names and %d more", len(n.Names), n.More)
	}
	for _, want := range []string{"Deployment shop/broken-0009 (0/1), and 510 more\n", "the next one waits for the first 500 of them"} {
		if !strings.Contains(u.Log.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, &u.Log)
		}
	}
}

// A cluster whose workloads cannot be read is not upgraded.
func TestUpgradeOfUnreadableWorkloads(t *testing.T) {
	u := newUpgrading(t, false, 1, 2, "worker-1")
	u.On("list statefulsets", func(apitest.Call) error {
		return apierrors.NewServiceUnavailable("the server is currently unable to handle the request")
	})
	if _, err := u.Run(); task.FailureOf(err).Reason != contract.ReasonAPIUnavailable {
		t.Error(err)
	}
	u.expectDid()
}
