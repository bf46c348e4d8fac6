//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/test/site"
)

// TestConfigure changes variables of CoreDNS in a running cluster. They are applied without a drain: the
// machines and the pods of a workload stay as they are, and no request is lost. A wrong value fails, and is
// taken back in the same way. A variable of the node set alone then upgrades its node, and leaves the control plane as it is.
func TestConfigure(t *testing.T) {
	s := site.NewTenant(t, "e2e-narrow", 2, 0)
	const name = "edge-36"
	s.Apply(s.Provisioning(name, masters(1), pool(1), poolMaxPods("90")))
	l := &life{t: t, s: s, limit: 12 * time.Minute}
	l.await("1 control plane and 1 worker", "master-1", "pool-1")
	l.expectMaxPods("master-1 110 pool-1 90 ")
	kubeconfig := kubeconfigOf(t, s, l.p)
	load := startWorkload(t, s, l.p)
	before, pods := prints(s, s.Hosts()), podsOfWeb(t, kubeconfig)
	change := func(vars string) {
		s.Kubectl("patch", "provisioning", name, "--type=merge", "--patch", `{"spec":{"kubespray":{"vars":`+vars+`}}}`)
	}
	expect := func(want string) {
		t.Helper()
		out, err := site.Kubectl(kubeconfig, "", "get", "deployment", "coredns", "--namespace", "kube-system", "--output",
			`jsonpath={.spec.replicas} {.status.updatedReplicas} {.status.availableReplicas} {.spec.template.spec.containers[0].resources.limits.memory}`)
		if err != nil || out != want {
			t.Errorf("CoreDNS has %q, %v, want %q", out, err, want)
		}
		if diff := cmp.Diff(before, prints(s, s.Hosts())); diff != "" {
			t.Errorf("a machine was changed (-before +after):\n%s", diff)
		}
		if diff := cmp.Diff(pods, podsOfWeb(t, kubeconfig)); diff != "" {
			t.Errorf("the pods of the workload were replaced (-before +after):\n%s", diff)
		}
		if run := l.p.Status.Run.Name; !strings.Contains(run, "-"+contract.OperationConfigure+"-") {
			t.Errorf("the last run was %s, want one of the operation %s", run, contract.OperationConfigure)
		}
	}
	applied := func(what string) {
		t.Helper()
		l.awaitThat(what, func(p *v1alpha1.Provisioning) bool { return p.Status.Upgrade == nil })
	}

	change(`{"coredns_replicas":3,"dns_memory_limit":"190Mi"}`)
	applied("3 pods of CoreDNS")
	expect("3 3 3 190Mi")

	change(`{"dns_memory_limit":"much"}`)
	stopped := site.Await(s, &v1alpha1.ProvisioningList{}, "a run that fails", l.limit, func(p *v1alpha1.Provisioning) bool {
		again := p.Status.Failure == nil || p.Status.Failure.NextAttempt != nil // without acceleration
		return p.Status.ObservedGeneration == p.Generation && site.NotReady(string(contract.ReasonPlaybookFailed))(p) && !again
	})
	message := stopped.Status.Failure.Message
	if up := stopped.Status.Upgrade; !strings.Contains(message, "dns_memory_limit") || up == nil || !strings.Contains(up.Message, "other settings not complete") {
		t.Errorf("message %q, status.upgrade %+v", message, up)
	}
	t.Logf("stopped: %s", message)

	change(`{"dns_memory_limit":null,"coredns_replicas":null}`)
	applied("the default of CoreDNS")
	expect("2 2 2 300Mi") // the default of kubespray
	load.stop()
	load.expectLost(0)

	l.edit(poolMaxPods("60"))
	applied("another variable of the node set")
	l.expectMaxPods("master-1 110 pool-1 60 ")
	if run := l.p.Status.Run.Name; !strings.Contains(run, "-"+contract.OperationUpgradeNodes+"-") {
		t.Errorf("the last run was %s, want one of the operation %s", run, contract.OperationUpgradeNodes)
	}
	master := []string{hostOf(l.p, "master-1")}
	if diff := cmp.Diff(before[master[0]], prints(s, master)[master[0]]); diff != "" {
		t.Errorf("the control plane was changed (-before +after):\n%s", diff)
	}
}

// poolMaxPods sets a variable of the kubelets of the node set.
func poolMaxPods(most string) site.Option {
	return func(p *v1alpha1.Provisioning) {
		p.Spec.NodeSets[0].Vars = map[string]apiextensionsv1.JSON{"kubelet_max_pods": {Raw: []byte(most)}}
	}
}

// expectMaxPods checks how many pods the kubelets accept.
func (l *life) expectMaxPods(want string) {
	l.t.Helper()
	out, err := site.Kubectl(kubeconfigOf(l.t, l.s, l.p), "", "get", "nodes", "--output", "go-template={{range .items}}{{.metadata.name}} {{.status.capacity.pods}} {{end}}")
	if err != nil || out != want {
		l.t.Errorf("the kubelets accept %q, %v, want %q", out, err, want)
	}
}

// podsOfWeb returns the UIDs of the workload's pods, except those that end, and the numbers of their
// restarts.
func podsOfWeb(t *testing.T, kubeconfig string) string {
	t.Helper()
	out, err := site.Kubectl(kubeconfig, "", "get", "pods", "--selector", "app=web", "--sort-by", "{.metadata.uid}", "--output",
		`go-template={{range .items}}{{if not .metadata.deletionTimestamp}}{{.metadata.uid}} {{.spec.nodeName}} {{range .status.containerStatuses}}{{.restartCount}}{{end}}{{"\n"}}{{end}}{{end}}`)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}
