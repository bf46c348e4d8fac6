package provisioning

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"
	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/runs"
	"github.com/akraino-icn/bpa/pkg/runs/tekton/convert"
	"github.com/akraino-icn/bpa/pkg/settings"
)

// unlike returns what is not as the world says; empty: everything is.
func (w *simSite) unlike() string {
	if why := w.unready(name); why != "" {
		return why
	}
	checks := []func() string{w.nodesUnlike, w.claimsUnlike, w.levelsUnlike, w.pluginsUnlike, w.packagesUnlike, w.otherUnlike, w.machinesUnlike, w.tooMany, w.requestsUnlike}
	for _, check := range checks {
		if why := check(); why != "" {
			return why
		}
	}
	return ""
}

func (w *simSite) unready(cluster string) string {
	p := w.provisioning(cluster)
	switch {
	case p == nil:
		return cluster + " does not exist"
	case p.Status.ObservedGeneration != p.Generation:
		return fmt.Sprintf("%s has generation %d, and %d is observed", cluster, p.Generation, p.Status.ObservedGeneration)
	case !p.Status.IsReady():
		c := p.Status.GetCondition(v1alpha1.ConditionReady)
		return fmt.Sprintf("%s is not Ready: %s %s: %s", cluster, c.Status, c.GetReason(), c.GetMessage())
	}
	return ""
}

// place is a node by its name, or its set if only the number of its nodes counts.
func place(node, set string) string {
	if set != "" {
		return set
	}
	return node
}

// nodesUnlike compares the nodes that are wanted with those of the record, of the cluster and of the status, and the
// members of etcd with the control planes.
func (w *simSite) nodesUnlike() string {
	var want, planes []string
	for i := range w.world.Planes {
		planes = append(planes, "master-"+strconv.Itoa(i+1))
	}
	want = slices.Concat(planes, w.world.Workers, slices.Repeat([]string{"pool"}, w.world.Pool))
	record, a := w.installedIn(name), w.clusters[name]
	var recorded, inRecord, members []string
	for _, n := range record.Nodes {
		recorded, inRecord = append(recorded, place(n.Name, n.Set)), append(inRecord, n.Name)
		if n.Etcd != "" {
			members = append(members, n.Name)
		}
		if m := a.nodes[n.Name]; m == nil || m.uid != n.HostUID {
			return fmt.Sprintf("the record has node %s on %s, and the cluster has it on %+v", n.Name, n.HostUID, m)
		}
		if !a.ready(n.Name) {
			return "node " + n.Name + " is not Ready"
		}
	}
	var status []string
	for _, n := range w.provisioning(name).Status.Nodes {
		h := simStored[*metal3.BareMetalHost](w.server, kindHost, n.Host)
		if left := h != nil && w.notReset[string(h.UID)] && n.State == v1alpha1.NodeClaimed; n.State != v1alpha1.NodeStandby && !left {
			status = append(status, place(n.Name, n.NodeSet))
		}
	}
	for _, c := range []struct {
		what      string
		want, got []string
	}{
		{"the record", want, recorded}, {"the status", want, status}, {"the cluster", inRecord, slices.Collect(maps.Keys(a.nodes))},
		{"etcd", planes, slices.Collect(maps.Keys(a.etcd))}, {"etcd in the record", planes, members},
	} {
		if diff := cmp.Diff(sortedNames(c.want), sortedNames(c.got)); diff != "" {
			return fmt.Sprintf("the nodes of %s differ (-want +got):\n%s", c.what, diff)
		}
	}
	if len(record.Draining)+len(record.Leaving)+len(a.cordoned) > 0 || record.Restoring != "" {
		return fmt.Sprintf("draining %v, leaving %v, cordoned %v, restoring %q", record.Draining, record.Leaving, a.cordoned, record.Restoring)
	}
	return ""
}

// claimsUnlike checks that the claims are those of the nodes and of the standbys.
func (w *simSite) claimsUnlike() string {
	want, standby := map[string]string{}, 0
	for _, n := range w.installedIn(name).Nodes {
		if other, twice := want[n.Host]; twice {
			return fmt.Sprintf("host %s has nodes %s and %s", n.Host, n.Name, other)
		}
		want[n.Host] = n.Name
	}
	got := map[string]string{}
	for _, h := range simList[*metal3.BareMetalHost](w.server, kindHost) {
		if ref := h.Spec.ConsumerRef; ref == nil || ref.Name != name {
			continue
		}
		if _, lost := h.Annotations[contract.AnnotationQuarantine]; lost && h.Labels[contract.LabelNode] == "" {
			continue // it stays claimed until a user has checked it
		}
		if w.notReset[string(h.UID)] && want[h.Name] == "" {
			continue // it stays claimed until it answers, and a user requests another run
		}
		if h.Labels[contract.LabelStandby] == "true" {
			standby++
			continue
		}
		got[h.Name] = h.Labels[contract.LabelNode]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return "the claims are not those of the record (-want +got):\n" + diff
	}
	if standby != w.world.Standby {
		return fmt.Sprintf("%d standbys are claimed, and %d are wanted", standby, w.world.Standby)
	}
	return ""
}

// levelsUnlike checks that all nodes have the version, the variables and the patch of the spec.
func (w *simSite) levelsUnlike() string {
	record := w.installedIn(name)
	for _, n := range record.Nodes {
		if version, _ := record.Level(n); version != w.world.Kubernetes || n.Target != nil {
			return fmt.Sprintf("node %s has version %s and target %v, and %s is wanted", n.Name, version, n.Target, w.world.Kubernetes)
		}
	}
	if problem := w.varsUnlike(record.Request); problem != "" {
		return problem
	}
	if patch := w.provisioning(name).Annotations[contract.AnnotationPatch]; patch != "" && record.Patched != patch {
		return fmt.Sprintf("the operating systems have patch %q, and %q is requested", record.Patched, patch)
	}
	return ""
}

func (w *simSite) pluginsUnlike() string {
	var rows []contract.PluginStatus
	if cm := simStored[*corev1.ConfigMap](w.server, kindConfigMap, contract.PluginsName(name)); cm != nil && cm.Data[contract.KeyPlugins] != "" {
		readText(cm.Data[contract.KeyPlugins], &rows)
	}
	var got []string
	for _, r := range rows {
		got = append(got, r.Name)
	}
	for _, p := range w.world.Plugins {
		if !slices.Contains(got, p) {
			return fmt.Sprintf("plugin %s is not installed; the record has %v", p, got)
		}
	}
	if len(w.world.Plugins) == 0 && len(got) > 0 {
		return fmt.Sprintf("plugins %v are installed, and none is wanted", got)
	}
	return ""
}

func (w *simSite) packagesUnlike() string {
	cm := simStored[*corev1.ConfigMap](w.server, kindConfigMap, contract.SoftwareName(name))
	if cm == nil && len(w.world.Packages) == 0 {
		return ""
	}
	var record contract.SoftwareRecord
	if cm != nil {
		record, _ = contract.ParseSoftwareRecord(cm.Data[contract.KeySoftware])
	}
	for _, n := range w.installedIn(name).Nodes {
		want := len(w.world.Packages)
		if controlPlaneNode(n) {
			want = 0
		}
		if got := len(record.Of(n).Packages); got != want {
			return fmt.Sprintf("node %s has %d packages, and %d are wanted", n.Name, got, want)
		}
	}
	return ""
}

// otherUnlike checks the second Provisioning.
func (w *simSite) otherUnlike() string {
	held := 0
	for _, h := range simList[*metal3.BareMetalHost](w.server, kindHost) {
		if ref := h.Spec.ConsumerRef; ref != nil && ref.Name == otherName {
			held++
		}
	}
	switch p := w.provisioning(otherName); {
	case !w.world.Other && p != nil:
		return otherName + " is not deleted"
	case !w.world.Other && held > 0:
		return fmt.Sprintf("%d hosts are claimed by %s, which does not exist", held, otherName)
	case w.world.Other && held != 1:
		return fmt.Sprintf("%d hosts are claimed by %s", held, otherName)
	case w.world.Other && len(w.clusters[otherName].nodes) != 1:
		return otherName + " has no node"
	case w.world.Other:
		return w.unready(otherName)
	}
	return ""
}

// machinesUnlike checks that only the machines of nodes have something of a cluster on them. Others that a run could
// not reset are marked.
func (w *simSite) machinesUnlike() string {
	for _, h := range simList[*metal3.BareMetalHost](w.server, kindHost) {
		m := w.machines[string(h.UID)]
		_, marked := h.Annotations[contract.AnnotationUsedBy]
		uses := false
		for _, a := range w.clusters {
			uses = uses || m.node != "" && a.nodes[m.node] == m
		}
		_, lost := h.Annotations[contract.AnnotationQuarantine]
		switch {
		case m.user != "" && !marked && !m.dead:
			return fmt.Sprintf("%s has something of a cluster on it, and is not marked: %+v", h.Name, m)
		case m.user == "" && marked && !m.dead && !w.notReset[m.uid]: // which a run may have emptied before it was killed
			return fmt.Sprintf("%s is empty, and is marked", h.Name)
		case m.user != "" && !uses && !w.notReset[m.uid] && !lost:
			return fmt.Sprintf("%s was not reset: %+v", h.Name, m)
		}
	}
	return ""
}

// tooMany checks that the number of objects has its limits.
func (w *simSite) tooMany() string {
	history := 2 * (settings.Default().RunHistory + 1)
	for kind, most := range map[string]int{kindRun: 2 * history, kindTask: 12 * history, kindConfigMap: 24 + 4*history, kindSecret: 12, kindAccount: 24, kindRole: 24, kindBinding: 24} {
		if n := len(w.server.objects[kind]); n > most {
			return fmt.Sprintf("there are %d %s: %v", n, kind, w.server.names(kind))
		}
	}
	runs := 0
	for _, o := range w.server.objects[kindRun] {
		if o.GetLabels()[contract.LabelCluster] == name {
			runs++
		}
	}
	if runs > history {
		return fmt.Sprintf("%d runs are kept", runs)
	}
	return ""
}

// requestsUnlike checks that each run has its request and its outcome, and that at most one request of each Provisioning,
// with one outcome, has no run.
func (w *simSite) requestsUnlike() string {
	of := map[types.UID]string{}
	for _, run := range simList[*tekton.PipelineRun](w.server, kindRun) {
		request, uid := runs.RequestOf(convert.Run(run))
		cm, outcome := simStored[*corev1.ConfigMap](w.server, kindConfigMap, request), w.outcomeOf(run)
		if cm == nil || cm.UID != uid {
			return fmt.Sprintf("run %s has not its request %s %s: %+v", run.Name, request, uid, cm)
		}
		for _, cm := range []*corev1.ConfigMap{cm, outcome} {
			if cm == nil || len(cm.OwnerReferences) != 1 || cm.OwnerReferences[0].UID != run.UID {
				return fmt.Sprintf("run %s does not own its ConfigMap: %+v", run.Name, cm)
			}
			of[cm.UID] = run.Name
		}
	}
	without := map[string]string{}
	for _, cm := range simList[*corev1.ConfigMap](w.server, kindConfigMap) {
		request, outcome := strings.CutSuffix(cm.Name, contract.OutcomeName(""))
		if cluster := cm.Labels[contract.LabelCluster]; (cm.Immutable != nil || outcome) && of[cm.UID] == "" {
			if other := without[cluster]; other != "" && other != request {
				return fmt.Sprintf("ConfigMaps %s and %s have no run", other, cm.Name)
			}
			without[cluster] = request
		}
	}
	return ""
}

// ofOther returns the versions of the objects of the second Provisioning, and of its hosts.
func (w *simSite) ofOther() map[string]string {
	versions := map[string]string{}
	p := w.provisioning(otherName)
	if p == nil {
		return versions
	}
	for kind, objects := range w.server.objects {
		for _, o := range objects {
			owner := metav1.GetControllerOf(o)
			if owner != nil && owner.UID == p.UID {
				versions[kind+"/"+o.GetName()] = o.GetResourceVersion()
			}
			if h, ok := o.(*metal3.BareMetalHost); ok && h.Spec.ConsumerRef != nil && h.Spec.ConsumerRef.Name == otherName {
				versions[kind+"/"+o.GetName()] = o.GetResourceVersion()
			}
		}
	}
	return versions
}
