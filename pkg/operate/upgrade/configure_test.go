package upgrade_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/akraino-icn/bpa/pkg/appcluster/apitest"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/operate/session/sessiontest"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// configuring is a fixture of an installed cluster that gets other variables without a drain.
type configuring struct {
	*upgrading
	// deployment is CoreDNS. Each look at it is counted, and calls onLook if it is set.
	deployment *appsv1.Deployment
	daemons    *appsv1.DaemonSet
	looks      int
	onLook     func()
	fails      bool // the playbook fails
	sick       bool // a pod of CoreDNS crashes
}

// coreDNS returns the Deployment after its third change.
func coreDNS(seen int64, all, updated int32) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "coredns", Generation: 3}, Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](2)},
		Status: appsv1.DeploymentStatus{ObservedGeneration: seen, Replicas: all, UpdatedReplicas: updated, AvailableReplicas: 2}}
}

// proxies returns the DaemonSet of kube-proxy, of which these pods are available.
func proxies(wanted, available int32) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-proxy", Generation: 1},
		Status: appsv1.DaemonSetStatus{ObservedGeneration: 1, DesiredNumberScheduled: wanted, UpdatedNumberScheduled: available, NumberAvailable: available}}
}

var rolledOut, unseen, noneNew = coreDNS(3, 2, 2), coreDNS(2, 2, 2), coreDNS(3, 3, 1)

func newConfiguring(t *testing.T, masters, workers int, narrow contract.Narrow, variables string) *configuring {
	c := &configuring{upgrading: newUpgrading(t, false, masters, workers, "worker-1"), deployment: rolledOut, daemons: proxies(2, 2)}
	r := &c.In.Request
	r.KubernetesVersion, r.Operation, r.Vars = "1.34.3", contract.OperationConfigure, vars(variables)
	all := session.Names(r.Members)
	r.Upgrade = &contract.Upgrade{Nodes: all, From: "1.34.3", Path: []string{"1.34.3"}, Narrow: &narrow}
	c.In.Playbook, c.In.Run = contract.PlaybookInstall, "edge-1-configure-2"
	c.Render()
	inner := c.More
	c.More = func(call apitest.Call) []runtime.Object { return append(inner(call), c.deployment, c.daemons) }
	c.On("list deployments", func(call apitest.Call) error {
		if call.Namespace == metav1.NamespaceSystem {
			c.looks++
			if c.onLook != nil {
				c.onLook()
			}
		}
		return nil
	})
	c.Play = func(p processCommand, stdout, stderr io.Writer) int {
		after := func(flag string) string { return p.Args[slices.Index(p.Args, flag)+1] }
		if status := c.Change(fmt.Sprintf("%s --limit %s --tags %s", p.Args[len(p.Args)-1], after("--limit"), after("--tags")), true); status != 0 {
			return status
		}
		if c.fails {
			return kubespraytest.Recorded("failed", 2)(p, stdout, stderr)
		}
		return kubespraytest.Recorded("green", 0)(p, stdout, stderr)
	}
	healthy := c.Fixture.Kubectl
	c.Fixture.Kubectl = func() string {
		if c.sick {
			return sessiontest.List(append(c.Objects(), sessiontest.PodJSON("coredns-2", "master-1", "False", "CrashLoopBackOff"))...)
		}
		return healthy()
	}
	return c
}

func dns() contract.Narrow {
	return contract.Narrow{Variables: []string{"dns_memory_limit"}, Tags: []string{"coredns"}, On: contract.OnFirstControlPlane, Namespaces: []string{"kube-system"}}
}

// expectState checks that all nodes of the record have the variables, or that all are half changed and by
// which variables.
func (c *configuring) expectState(variables string, begun ...string) {
	c.T.Helper()
	record := c.Now()
	for _, n := range record.Nodes {
		if begun == nil && (n.Target != nil || n.Version != "" || n.Settings != "") {
			c.T.Errorf("node %s of the record: version %q, settings %q, target %+v", n.Name, n.Version, n.Settings, n.Target)
		}
		if begun != nil && (n.Target == nil || !slices.Equal(n.Target.Variables, begun) || n.Target.Version != "1.34.3") {
			c.T.Errorf("node %s of the record has target %+v, want the variables %v", n.Name, n.Target, begun)
		}
	}
	if diff := cmp.Diff(vars(variables), record.Request.Vars); diff != "" {
		c.T.Errorf("request of the record %+v, its variables (-want +got):\n%s", record.Request, diff)
	}
}

func TestConfigure(t *testing.T) {
	node := func(on string) contract.Narrow {
		return contract.Narrow{Variables: []string{"node_labels"}, Tags: []string{"node-label"}, On: on}
	}
	for name, tc := range map[string]struct {
		narrow    contract.Narrow
		variables string
		want      string
	}{
		"first control plane": {dns(), `{"dns_memory_limit":"1Gi"}`, "cluster.yml --limit master-1 --tags coredns"},
		"control planes":      {node(contract.OnControlPlanes), `{"node_labels":{}}`, "cluster.yml --limit master-1,master-2,master-3 --tags node-label"},
		"all nodes":           {node(contract.OnAllNodes), `{"node_labels":{}}`, "cluster.yml --limit master-1,master-2,master-3,worker-1 --tags node-label"},
		"two tags": {contract.Narrow{Variables: []string{"a", "b"}, Tags: []string{"coredns", "metrics_server"}, On: contract.OnFirstControlPlane}, `{"a":1,"b":1}`,
			"cluster.yml --limit master-1 --tags coredns,metrics_server"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newConfiguring(t, 3, 1, tc.narrow, tc.variables)
			during := false
			c.onLook = func() { during = c.Now().Nodes[0].Target != nil }
			out, err := c.Run()
			if err != nil {
				t.Fatalf("%v\n%s", err, &c.Log)
			}
			c.expectDid(tc.want)
			c.expectState(tc.variables)
			if want := "variables " + strings.Join(tc.narrow.Variables, ", ") + " applied, without a drain"; out.Recap != want {
				t.Errorf("recap %q, want %q", out.Recap, want)
			}
			if len(tc.narrow.Namespaces) > 0 && !during {
				t.Error("the nodes are not half changed while the pods are replaced")
			}
		})
	}
}

// The run ends only when the change is rolled out: not while the pods are still the old ones.
func TestConfigureWaitsForTheRollout(t *testing.T) {
	c := newConfiguring(t, 1, 1, dns(), `{"dns_memory_limit":"1Gi"}`)
	c.deployment = unseen
	c.onLook = func() {
		c.deployment = []*appsv1.Deployment{unseen, noneNew, rolledOut}[min(c.looks-1, 2)]
	}
	if _, err := c.Run(); err != nil || c.looks < 3 {
		t.Fatalf("%d looks, %v\n%s", c.looks, err, &c.Log)
	}
	for _, want := range []string{"coredns was changed, and its controller has not seen", "coredns has 1 of 2 new pods, and 2 old ones"} {
		if !strings.Contains(c.Log.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, &c.Log)
		}
	}
}

// A read that fails at the end does not hide what the last answer had said.
func TestConfigureTellsTheLastAnswer(t *testing.T) {
	c := newConfiguring(t, 1, 1, dns(), `{"dns_memory_limit":"1"}`)
	c.In.HealthLimit, c.deployment = 2*time.Second, noneNew
	c.On("list daemonsets", func(call apitest.Call) error {
		if call.Namespace == metav1.NamespaceSystem && c.looks > 1 {
			return apierrors.NewTooManyRequestsError("slow down")
		}
		return nil
	})
	_, err := c.Run()
	if want := "slow down; the last answer: Deployment kube-system/coredns has 1 of 2 new pods"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q\n%s", err, want, &c.Log)
	}
}

// A failed run leaves all nodes half changed, with the names of the variables. The next one applies them
// again, also with other values, and although a pod does not work because of them.
func TestConfigureFails(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		breaks, works func(*configuring)
		reason        contract.Reason
		message       string
	}{
		"the playbook": {func(c *configuring) { c.fails = true }, func(c *configuring) { c.fails = false }, contract.ReasonPlaybookFailed, "variables dns_memory_limit are not applied completely"},
		"the rollout": {func(c *configuring) { c.deployment = noneNew }, func(c *configuring) { c.deployment = rolledOut }, contract.ReasonClusterUnhealthy,
			"Deployment kube-system/coredns has 1 of 2 new pods"},
		"a pod": {func(c *configuring) { c.onLook = func() { c.sick = true } }, func(c *configuring) { c.onLook = func() { c.sick = false } }, contract.ReasonClusterUnhealthy, "coredns-2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newConfiguring(t, 1, 1, dns(), `{"dns_memory_limit":"1"}`)
			c.In.HealthLimit = 2 * time.Second
			tc.breaks(c)
			_, err := c.Run()
			if err == nil {
				t.Fatalf("no error\n%s", &c.Log)
			}
			if f := task.FailureOf(err); f.Reason != tc.reason || !strings.Contains(f.Message, tc.message) || !strings.Contains(f.Message, "kubectl bpa retry") {
				t.Errorf("failure %+v", f)
			}
			c.expectState("null", "dns_memory_limit")

			c.Did, c.In.HealthLimit = nil, time.Minute // the user takes the variable back
			c.In.Request.Vars, c.In.Request.Members = nil, c.Now().Nodes
			c.Render()
			tc.works(c)
			if _, err := c.Run(); err != nil {
				t.Fatalf("taken back: %v\n%s", err, &c.Log)
			}
			c.expectDid("cluster.yml --limit master-1 --tags coredns")
			c.expectState("null")
		})
	}
}

// Two failed runs leave the names of both variables.
func TestConfigureFailsTwice(t *testing.T) {
	c := newConfiguring(t, 1, 1, dns(), `{"dns_memory_limit":"1"}`)
	c.fails = true
	if _, err := c.Run(); err == nil {
		t.Fatal("no error")
	}
	c.In.Request.Upgrade.Narrow.Variables = []string{"dns_cpu_limit"}
	if _, err := c.Run(); err == nil {
		t.Fatal("no error")
	}
	c.expectState("null", "dns_memory_limit", "dns_cpu_limit")
}

// A cluster that is not healthy is not changed, and a node that is half upgraded gets an upgrade.
func TestConfigureChangesNothing(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change  func(*configuring)
		reason  contract.Reason
		message string
	}{
		"a node is not Ready":    {func(c *configuring) { c.Nodes["worker-1"] = false }, contract.ReasonClusterUnhealthy, "Nothing was changed"},
		"a pod crashes":          {func(c *configuring) { c.sick = true }, contract.ReasonClusterUnhealthy, "Nothing was changed"},
		"a half upgraded node":   {func(c *configuring) { c.half(&contract.Target{Version: "1.34.3", Settings: "x"}) }, contract.ReasonInvalidRequest, "an upgrade must give it"},
		"another version":        {func(c *configuring) { c.setLevels(map[string]string{"worker-1": "1.35.4"}) }, contract.ReasonInvalidRequest, "an upgrade must give it"},
		"nothing to apply":       {func(c *configuring) { c.In.Request.Upgrade.Narrow = nil }, contract.ReasonInvalidRequest, "does not say which"},
		"no tag":                 {func(c *configuring) { c.In.Request.Upgrade.Narrow.Tags = nil }, contract.ReasonInvalidRequest, "does not say which"},
		"all tags":               {func(c *configuring) { c.In.Request.Upgrade.Narrow.Tags = []string{"all"} }, contract.ReasonInvalidRequest, `"all" is not a tag`},
		"an option as a tag":     {func(c *configuring) { c.In.Request.Upgrade.Narrow.Tags = []string{"--skip-tags"} }, contract.ReasonInvalidRequest, "is not a tag"},
		"a shell in a namespace": {func(c *configuring) { c.In.Request.Upgrade.Narrow.Namespaces = []string{"$(id)"} }, contract.ReasonInvalidRequest, "is not the name of a namespace"},
		"unknown nodes":          {func(c *configuring) { c.In.Request.Upgrade.Narrow.On = "some" }, contract.ReasonInvalidRequest, "on which nodes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newConfiguring(t, 1, 1, dns(), `{"dns_memory_limit":"1"}`)
			c.In.HealthLimit = time.Second
			tc.change(c)
			before := c.Installed.Data[contract.KeyInstalled]
			_, err := c.Run()
			if f := task.FailureOf(err); err == nil || f.Reason != tc.reason || !strings.Contains(f.Message, tc.message) {
				t.Errorf("%v, want reason %s and %q\n%s", err, tc.reason, tc.message, &c.Log)
			}
			c.expectDid()
			if after := c.Installed.Data[contract.KeyInstalled]; after != before {
				t.Errorf("the record was changed:\n%s", after)
			}
		})
	}
}

// half marks the last node of the record.
func (c *configuring) half(target *contract.Target) {
	record := c.Now()
	record.Nodes[len(record.Nodes)-1].Target = target
	c.Installed.Data[contract.KeyInstalled] = string(kubespraytest.JSON(c.T, record))
}

// A lost worker is not waited for. It has the variables when it is back, because they are in the cluster.
func TestConfigureWhileAWorkerIsLost(t *testing.T) {
	c := newConfiguring(t, 1, 2, dns(), `{"dns_memory_limit":"1"}`)
	c.In.Request.Lost, c.In.Request.Kept = []string{"worker-2"}, []string{"worker-2"}
	c.Nodes["worker-2"], c.In.HealthLimit = false, 5*time.Second
	c.Planes.Servers[2].Stop()
	c.daemons = proxies(3, 2)
	if _, err := c.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &c.Log)
	}
	c.expectState(`{"dns_memory_limit":"1"}`)
}

// A lost worker that is half patched stays so.
func TestConfigureWhileAHalfPatchedWorkerIsLost(t *testing.T) {
	for _, fails := range []bool{false, true} {
		c := newConfiguring(t, 1, 2, dns(), `{"dns_memory_limit":"1"}`)
		record := c.Now()
		record.Nodes[2].Target = &contract.Target{Patch: "monday"}
		c.Installed.Data[contract.KeyInstalled] = string(kubespraytest.JSON(t, record))
		c.In.Request.Lost, c.In.Request.Kept = []string{"worker-2"}, []string{"worker-2"}
		c.Nodes["worker-2"], c.In.HealthLimit, c.fails = false, 5*time.Second, fails
		c.Planes.Servers[2].Stop()
		_, err := c.Run()
		target := c.Now().Nodes[2].Target
		if (err != nil) != fails || target == nil || target.Patch != "monday" || (target.Version != "") != fails {
			t.Errorf("%v: target %+v\n%s", err, target, &c.Log)
		}
	}
}

// A run that is killed at any point is repeated by the next one: if the playbook may have begun, the record
// says so.
func TestConfigureThatIsKilled(t *testing.T) {
	t.Parallel()
	for at := 1; ; at++ {
		c := newConfiguring(t, 1, 1, dns(), `{"dns_memory_limit":"1"}`)
		c.In.ProbeLimit = time.Second
		if !c.killed(at) {
			if at < 3 {
				t.Errorf("only %d changes were interrupted", at-1)
			}
			return
		}
		if c.played("cluster.yml") && c.Now().Nodes[0].Target == nil {
			t.Fatalf("killed after %v: the record does not say that the nodes are half changed", c.Did)
		}
		if _, err := c.Run(); err != nil {
			t.Fatalf("killed before change %d: %v\n%s", at, err, &c.Log)
		}
		if !c.played("cluster.yml") || slices.ContainsFunc(c.Did, func(what string) bool { return !strings.HasPrefix(what, "cluster.yml") }) {
			t.Fatalf("killed before change %d: %v", at, c.Did)
		}
		c.expectState(`{"dns_memory_limit":"1"}`)
	}
}
