//go:build e2e

package e2e

import (
	stdcmp "cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/test/site"
	"github.com/akraino-icn/bpa/test/year"
)

const (
	// yearLimit is the time limit of one step.
	yearLimit = 25 * time.Minute
	// stayLimit is how long a cluster must stay Ready after the checks of a step.
	stayLimit = 20 * time.Second
)

// awaitWorld waits until the Provisioning is Ready, is what the users want, and has no node on a machine that is gone. It
// fails at once if BPA says that it needs a user.
func (y *yearStory) awaitWorld(what string, want year.World) {
	y.t.Helper()
	if len(want.Packages) > 0 {
		all := fmt.Sprintf("%d/%[1]d", len(want.Packages)*(len(want.Workers)+want.Pool))
		y.awaitSoftware("all packages", yearLimit, func(s *v1alpha1.Software) bool { return judgedSoftware(s) && s.Status.Summary == all })
		y.awaitRuns()
	}
	known, begin := y.s.Hosts(), time.Now().Add(-time.Second) // conditions have the time in seconds
	differs := ""
	y.t.Cleanup(func() {
		if y.t.Failed() && differs != "" {
			y.t.Logf("what the status lacked last: %s", differs)
		}
	})
	y.p = site.Await(y.s, &v1alpha1.ProvisioningList{}, what, yearLimit, func(p *v1alpha1.Provisioning) bool {
		if p.Name != yearCluster {
			return false
		}
		if s := p.Status.GetCondition(v1alpha1.ConditionStalled); s.IsTrue() && p.Status.ObservedGeneration == p.Generation && s.LastTransitionTime.Inner.After(begin) && !retryUnseen(p) {
			y.t.Fatalf("stalled: %s: %s\nfailure: %+v", s.Reason, s.Message, p.Status.Failure)
		}
		differs = difference(p, want, known)
		return differs == ""
	})
	if want.Other && y.other == nil {
		y.other = site.Await(y.s, &v1alpha1.ProvisioningList{}, "the second cluster", yearLimit, func(p *v1alpha1.Provisioning) bool {
			return p.Name == otherCluster && site.Ready(p)
		})
	}
}

// retryUnseen reports whether the controller has not seen yet that a user requests another run after a failure.
func retryUnseen(p *v1alpha1.Provisioning) bool {
	asked := p.Annotations[contract.AnnotationRetry]
	return p.Status.Failure != nil && asked != "" && asked != p.Status.Failure.ObservedRetry
}

// awaitRuns waits until no run of the cluster is active. The last node that gets a package has it before it accepts
// pods again.
func (y *yearStory) awaitRuns() {
	y.t.Helper()
	for _, run := range y.s.Runs() {
		if run.Labels[contract.LabelCluster] == yearCluster && !run.IsDone() {
			site.Await(y.s, &tekton.PipelineRunList{}, run.Name+" to end", yearLimit, func(r *tekton.PipelineRun) bool { return r.Name == run.Name && r.IsDone() })
		}
	}
}

// difference describes what a Provisioning lacks to be the world.
func difference(p *v1alpha1.Provisioning, want year.World, known []string) string {
	switch c := p.Status.GetCondition("Ready"); {
	case !site.Ready(p):
		return fmt.Sprintf("Ready is %+v, generation %d of %d", c, p.Status.ObservedGeneration, p.Generation)
	case p.Status.Upgrade != nil:
		return fmt.Sprintf("status.upgrade is %+v", *p.Status.Upgrade)
	case p.Status.Software != nil && p.Status.Software.Next != "":
		return "a run for packages is to come"
	}
	var names []string
	for i := range want.Planes {
		names = append(names, fmt.Sprintf("master-%d", i+1))
	}
	names = append(names, want.Workers...)
	var got []string
	pool, standby := 0, 0
	for _, n := range p.Status.Nodes {
		switch {
		case !slices.Contains(known, n.Host):
			return n.Name + " is on " + n.Host + ", which is gone"
		case n.State == v1alpha1.NodeStandby && n.NodeSet != "":
			standby++
		case n.State != v1alpha1.NodeReady || n.Unschedulable || n.Version != want.Kubernetes:
			return fmt.Sprintf("node %+v", n)
		case n.NodeSet != "":
			pool++
		default:
			got = append(got, n.Name)
		}
	}
	slices.Sort(names)
	slices.Sort(got)
	if !slices.Equal(names, got) || pool != want.Pool || standby != want.Standby {
		return fmt.Sprintf("nodes %v and %d+%d of the set, want %v and %d+%d", got, pool, standby, names, want.Pool, want.Standby)
	}
	return pluginDifference(p, want)
}

func pluginDifference(p *v1alpha1.Provisioning, want year.World) string {
	got := map[string]bool{}
	for _, row := range p.Status.Plugins {
		if row.State != v1alpha1.PluginInstalled {
			return fmt.Sprintf("plugin %+v", row)
		}
		got[row.Name] = true
	}
	names := slices.Sorted(maps.Keys(got))
	if wanted := slices.Sorted(slices.Values(want.Plugins)); !slices.Equal(names, wanted) {
		return fmt.Sprintf("plugins %v, want %v", names, wanted)
	}
	return ""
}

// checkMaxPods checks that each kubelet accepts as many pods as the variables of its node say.
func (y *yearStory) checkMaxPods(kubeconfig string, want year.World) {
	y.t.Helper()
	out, err := site.Kubectl(kubeconfig, "", "get", "nodes", "--output", `go-template={{range .items}}{{.metadata.name}} {{.status.capacity.pods}}{{"\n"}}{{end}}`)
	if err != nil {
		y.t.Errorf("read the nodes: %v\n%s", err, out)
	}
	for line := range strings.Lines(out) {
		node, got, _ := strings.Cut(strings.TrimSpace(line), " ")
		most := stdcmp.Or(want.Variables[year.Draining], "110") // the default of kubespray
		if strings.HasPrefix(node, "pool-") {
			most = stdcmp.Or(want.PoolVariable, most)
		}
		if got != most {
			y.t.Errorf("the kubelet of %s accepts %s pods, want %s", node, got, most)
		}
	}
}

// check compares the cluster, the machines and the objects of the site with what the step must have made. before are the
// holders of the hosts before it.
func (y *yearStory) check(step year.Step, before map[string]string) {
	y.t.Helper()
	active, held, planes := nodesOf(y.p)
	kubeconfig := kubeconfigOf(y.t, y.s, y.p)
	y.checkNodeObjects(kubeconfig, active)
	y.checkMetadata(kubeconfig, step.After)
	y.checkMaxPods(kubeconfig, step.After)
	y.checkPods(kubeconfig, active)
	y.checkEtcd(planes)
	if diff := cmp.Diff(held, hostsOf(y.s, y.p)); diff != "" {
		y.t.Errorf("hosts of the status and claimed hosts (-want +got):\n%s", diff)
	}
	y.checkRecord(active)
	y.checkLeft(before)
	checkEtcdClients(y.t, y.s, y.p)
	for _, text := range y.revoked {
		if out, err := site.Kubectl(writeKubeconfig(y.t, []byte(text)), "", "get", "secrets", "-A", "--server", y.p.Status.APIEndpoint); err == nil || !strings.Contains(out, "Forbidden") {
			y.t.Errorf("a revoked kubeconfig works again: %v\n%s", err, out)
		}
	}
	if gap, at := y.load.longest(); gap > longestGap {
		y.t.Errorf("the workload was without an answer for %s, until %s; want at most %s", gap.Round(time.Second), at.Format(time.TimeOnly), longestGap)
	}
	for kind, n := range y.objects() {
		if n > y.most[kind] {
			y.t.Errorf("the namespace has %d %s, want at most %d", n, kind, y.most[kind])
		}
	}
	y.checkOther()
	if len(y.s.Hosts()) < y.want { // in the place of a lost one
		y.addMachine()
	}
}

// nodesOf returns the names of the nodes that are in the cluster, all hosts, and the names of the control planes, each
// sorted.
func nodesOf(p *v1alpha1.Provisioning) (active, hosts, planes []string) {
	for _, n := range p.Status.Nodes {
		hosts = append(hosts, n.Host)
		if n.State == v1alpha1.NodeStandby {
			continue
		}
		active = append(active, n.Name)
		if slices.Contains(n.Roles, contract.RoleControlPlane) {
			planes = append(planes, n.Name)
		}
	}
	slices.Sort(active)
	slices.Sort(hosts)
	slices.Sort(planes)
	return active, hosts, planes
}

// checkNodeObjects checks that the cluster has exactly these nodes, and that each is Ready and accepts pods.
func (y *yearStory) checkNodeObjects(kubeconfig string, want []string) {
	y.t.Helper()
	out, err := site.Kubectl(kubeconfig, "", "get", "nodes", "--output", "json")
	var list corev1.NodeList
	if err == nil {
		err = json.Unmarshal([]byte(out), &list)
	}
	if err != nil {
		y.t.Fatalf("list the nodes: %v\n%s", err, out)
	}
	var got []string
	for _, n := range list.Items {
		got = append(got, n.Name)
		ready := slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		})
		if !ready || n.Spec.Unschedulable {
			y.t.Errorf("node %s: Ready %t, cordoned %t", n.Name, ready, n.Spec.Unschedulable)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		y.t.Errorf("nodes of the cluster (-want +got):\n%s", diff)
	}
}

// checkMetadata checks that each node gets the labels and taints of the world, and its zone from the rack of its host.
func (y *yearStory) checkMetadata(kubeconfig string, w year.World) {
	y.t.Helper()
	in := func(label string) string { return "{.metadata.labels." + strings.ReplaceAll(label, ".", `\.`) + "}" }
	wait := []string{"wait", "nodes", "--all", "--timeout=90s", "--for=jsonpath=" + in(sizeLabel) + "=" + sizeOf(w)}
	if out, err := site.Kubectl(kubeconfig, "", wait...); err != nil {
		y.t.Errorf("kubectl %s: %v\n%s", strings.Join(wait, " "), err, out)
	}
	for _, n := range y.p.Status.Nodes {
		if n.State == v1alpha1.NodeStandby {
			continue
		}
		zone := []string{"wait", "node", n.Name, "--timeout=90s", "--for=jsonpath=" + in(corev1.LabelTopologyZone) + "=" + rackOf(n.Host)}
		if out, err := site.Kubectl(kubeconfig, "", zone...); err != nil {
			y.t.Errorf("kubectl %s: %v\n%s", strings.Join(zone, " "), err, out)
		}
		out, err := site.Kubectl(kubeconfig, "", "get", "node", n.Name, "--output=jsonpath={.spec.taints[*].key}")
		if tainted := slices.Contains(strings.Fields(out), poolTaint); err != nil || tainted != (n.NodeSet == "pool") {
			y.t.Errorf("%s of set %q has the taints %q (%v)", n.Name, n.NodeSet, out, err)
		}
	}
}

// checkPods starts a pod on each node.
func (y *yearStory) checkPods(kubeconfig string, nodes []string) {
	y.t.Helper()
	var manifest strings.Builder
	for _, node := range nodes {
		fmt.Fprintf(&manifest, "---\napiVersion: v1\nkind: Pod\nmetadata: {name: on-%s, labels: {app: year}}\n"+
			"spec: {nodeName: %[1]s, terminationGracePeriodSeconds: 0, containers: [{name: a, image: 'registry.k8s.io/pause:3.10.1'}]}\n", node)
	}
	for _, args := range [][]string{
		{"create", "--filename=-"}, {"wait", "pods", "--selector=app=year", "--for=condition=Ready", "--timeout=90s"}, {"delete", "pods", "--selector=app=year", "--timeout=60s"},
	} {
		if out, err := site.Kubectl(kubeconfig, manifest.String(), args...); err != nil {
			y.t.Errorf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// checkEtcd checks that the members of etcd are the control planes, and are healthy.
func (y *yearStory) checkEtcd(planes []string) {
	y.t.Helper()
	const certificates = "/etc/ssl/etcd/ssl/"
	command := fmt.Sprintf("ETCDCTL_API=3 /usr/local/bin/etcdctl --endpoints https://127.0.0.1:2379 --cacert %[1]sca.pem --cert %[1]sadmin-%[2]s.pem --key %[1]sadmin-%[2]s-key.pem ",
		certificates, planes[0])
	host := hostOf(y.p, planes[0])
	var list struct {
		Members []struct {
			Name     string
			PeerURLs []string
		}
	}
	out := y.s.On(host, command+"member list --write-out json 2>/dev/null")
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		y.t.Errorf("members of etcd: %v\n%s", err, out)
		return
	}
	var want, got []string
	for _, plane := range planes {
		want = append(want, fmt.Sprintf("https://%s:2380", addressOf(y.p, plane)))
	}
	for _, m := range list.Members {
		got = append(got, strings.Join(m.PeerURLs, " "))
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		y.t.Errorf("members of etcd (-want +got):\n%s", diff)
	}
	y.s.On(host, command+"endpoint health --cluster")
}

// checkRecord checks that the record has exactly these nodes.
func (y *yearStory) checkRecord(want []string) {
	y.t.Helper()
	object := &corev1.ConfigMap{}
	if err := y.s.Admin().Get(y.t.Context(), client.ObjectKey{Namespace: y.s.Namespace, Name: contract.InstalledName(yearCluster)}, object); err != nil {
		y.t.Fatal(err)
	}
	var record contract.Installed
	if err := json.Unmarshal([]byte(object.Data[contract.KeyInstalled]), &record); err != nil {
		y.t.Fatal(err)
	}
	var got []string
	for _, n := range record.Nodes {
		got = append(got, n.Name)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		y.t.Errorf("nodes of the record (-want +got):\n%s", diff)
	}
	if len(record.Draining)+len(record.Leaving) > 0 || record.Restoring != "" {
		y.t.Errorf("the record has work that is not complete: draining %v, leaving %v, restoring %q", record.Draining, record.Leaving, record.Restoring)
	}
}

// checkLeft checks that nothing of the cluster is on the machines that have left it.
func (y *yearStory) checkLeft(before map[string]string) {
	y.t.Helper()
	now, there := y.s.Holders(), y.s.Hosts()
	for host, holder := range before {
		if holder == yearCluster && now[host] == "" && slices.Contains(there, host) {
			checkEmpty(y.t, y.s, host)
		}
	}
}

// objects returns the number of objects of each kind that BPA makes.
func (y *yearStory) objects() map[string]int {
	y.t.Helper()
	count := map[string]int{}
	for line := range strings.Lines(y.s.Admin().Kubectl("get", "configmaps,secrets,serviceaccounts,roles,rolebindings,pipelineruns,taskruns,pods", "--output", "name")) {
		kind, _, _ := strings.Cut(line, "/")
		count[kind]++
	}
	return count
}

// watchOther remembers the second cluster as it is before a step.
func (y *yearStory) watchOther() {
	y.t.Helper()
	if y.other == nil {
		return
	}
	y.other = &v1alpha1.Provisioning{}
	if err := y.s.Get(y.t.Context(), client.ObjectKey{Namespace: y.s.Namespace, Name: otherCluster}, y.other); err != nil {
		y.t.Fatal(err)
	}
}

// checkOther checks that a step has not touched the second cluster.
func (y *yearStory) checkOther() {
	y.t.Helper()
	if y.other == nil {
		return
	}
	now := &v1alpha1.Provisioning{}
	if err := y.s.Get(y.t.Context(), client.ObjectKeyFromObject(y.other), now); err != nil {
		y.t.Fatal(err)
	}
	part := func(p *v1alpha1.Provisioning) map[string]any {
		return map[string]any{"ready": site.Ready(p), "spec": p.Spec, "run": p.Status.Run.Name, "hosts": hostOf(p, "master-1"), "kubeconfig": p.Status.Kubeconfig}
	}
	if diff := cmp.Diff(part(y.other), part(now)); diff != "" {
		y.t.Errorf("the second cluster was changed (-before +after):\n%s", diff)
	}
}

// stays checks that the Provisioning stays Ready.
func (y *yearStory) stays() {
	y.t.Helper()
	ctx, cancel := context.WithTimeout(y.t.Context(), stayLimit)
	defer cancel()
	watcher, err := y.s.Watch(ctx, &v1alpha1.ProvisioningList{}, client.InNamespace(y.s.Namespace), client.MatchingFields{"metadata.name": yearCluster})
	if err != nil {
		y.t.Fatal(err)
	}
	defer watcher.Stop()
	for event := range watcher.ResultChan() { // ends with the context
		if p, ok := event.Object.(*v1alpha1.Provisioning); ok && !site.Ready(p) {
			y.t.Errorf("Ready was taken back: %+v", p.Status.GetCondition("Ready"))
			return
		}
	}
}
