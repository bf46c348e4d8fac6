package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/contract/from"
	"github.com/akraino-icn/bpa/pkg/runs"
	"github.com/akraino-icn/bpa/pkg/runs/tekton"
	"github.com/akraino-icn/bpa/pkg/settings"
)

// changing returns a Provisioning with an installed cluster of master-1 on host-1 and of two nodes of
// the set pool on host-2 and host-3, and the objects of the site. host-4 and host-5 are free.
func changing(t *testing.T) (*v1alpha1.Provisioning, []client.Object) {
	t.Helper()
	p := provisioning("edge-1")
	p.TypeMeta = metav1.TypeMeta{APIVersion: "bpa.akraino.org/v1alpha1", Kind: "Provisioning"}
	p.Spec.Masters = []map[string]v1alpha1.Master{{"master-1": {HostRequirements: v1alpha1.HostRequirements{CPU: 8}}}}
	p.Spec.NodeSets = []v1alpha1.NodeSet{{Name: "pool", Role: v1alpha1.RoleWorker, Count: v1alpha1.NodeCount{Active: 2}}}
	p.SetDefaults(t.Context())
	p.Status.InstalledDigest = "sha256:installed"
	p.Status.MarkArtifactsAvailable(corev1.ConditionTrue, "Available", "all 22 artifacts are in the depot")
	request, err := from.Provisioning(p, settings.Depot{})
	if err != nil {
		t.Fatal(err)
	}
	record := contract.Installed{Request: request.Spec, EtcdNext: 2}
	states, objects := contract.HostStates{}, []client.Object{p}
	for n, name := range []string{"master-1", "pool-1", "pool-2"} {
		h := bareMetal(n+1, 8, heldBy("edge-1", name))
		h.UID = types.UID("uid-of-" + h.Name)
		h.Spec.ConsumerRef.UID = p.UID
		node := contract.Node{Name: name, Roles: []string{contract.RoleWorker}, Host: h.Name, HostUID: string(h.UID), Set: "pool"}
		if n == 0 {
			node.Roles, node.Set = []string{contract.RoleControlPlane}, ""
		} else {
			h.Labels[contract.LabelSet] = "pool"
		}
		record.Nodes, states[string(h.UID)] = append(record.Nodes, node), contract.HostUsed
		objects = append(objects, h)
	}
	objects = append(objects, bareMetal(4, 8), bareMetal(5, 16))
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: p.Namespace, Name: contract.InstalledName(p.Name),
		OwnerReferences: []metav1.OwnerReference{{APIVersion: p.APIVersion, Kind: p.Kind, Name: p.Name, UID: p.UID, Controller: ptr.To(true)}},
	}, Data: map[string]string{}}
	for key, value := range map[string]any{contract.KeyInstalled: record, contract.KeyHosts: states} {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		cm.Data[key] = string(text)
	}
	return p, append(objects, cm)
}

func more(p *v1alpha1.Provisioning) {
	p.Spec.Masters = append(p.Spec.Masters, map[string]v1alpha1.Master{"master-2": {HostRequirements: v1alpha1.HostRequirements{CPU: 8}}})
	p.Spec.NodeSets[0].Count.Active = 1
	p.Spec.Kubernetes.Version = "1.36.0"
}

func TestPlan(t *testing.T) {
	for name, edit := range map[string]func(*v1alpha1.Provisioning){
		"nothing":  func(*v1alpha1.Provisioning) {},
		"mixed":    more,
		"blocked":  func(p *v1alpha1.Provisioning) { p.Spec.PodSubnet = "10.9.0.0/16"; p.Spec.NodeSets[0].Count.Active = 3 },
		"too-many": func(p *v1alpha1.Provisioning) { p.Spec.NodeSets[0].Count.Active = 9 },
	} {
		t.Run(name, func(t *testing.T) {
			p, objects := changing(t)
			edit(p)
			w := newStopped(t, objects...)
			w.golden("plan/"+name, w.run(t.Context(), "plan", "edge-1"))
		})
	}
}

// TestPlanWithALoadBalancer: one of a new cluster is named, and one that is requested of an installed cluster is not applied.
func TestPlanWithALoadBalancer(t *testing.T) {
	for name, installed := range map[string]bool{"load-balancer": false, "load-balancer-added": true} {
		t.Run(name, func(t *testing.T) {
			p, objects := changing(t)
			p.Spec.Kubernetes.API = &v1alpha1.APISpec{Mode: v1alpha1.APIExternal, Address: "api.edge-1.example", Port: 8443}
			if !installed {
				p.Status.InstalledDigest, objects = "", objects[:len(objects)-1] // without the record
			}
			w := newStopped(t, objects...)
			w.golden("plan/"+name, w.run(t.Context(), "plan", "edge-1"))
		})
	}
}

// TestPlanWithAnAddressThatMoves: it is no load balancer.
func TestPlanWithAnAddressThatMoves(t *testing.T) {
	p, objects := changing(t)
	p.Spec.Kubernetes.API = &v1alpha1.APISpec{Mode: v1alpha1.APIVIP, Address: "10.60.0.5"}
	p.Status.InstalledDigest, objects = "", objects[:len(objects)-1] // without the record
	w := newStopped(t, objects...)
	w.golden("plan/moving-address", w.run(t.Context(), "plan", "edge-1"))
}

// TestPlanOfAnUpgrade: the cluster is installed at this version, and the spec requests 1.35.4.
func TestPlanOfAnUpgrade(t *testing.T) {
	for name, r := range map[string]struct {
		version string
		edit    func(*v1alpha1.Provisioning)
	}{
		"upgrade":       {"1.34.3", func(p *v1alpha1.Provisioning) { p.Spec.NodeSets[0].Count.Active = 3 }},
		"upgrade-far":   {"1.33.5", func(p *v1alpha1.Provisioning) { p.Spec.Upgrade.MaxUnavailable = ptr.To(intstr.FromString("100%")) }},
		"upgrade-pause": {"1.33.5", func(p *v1alpha1.Provisioning) { p.Spec.Upgrade.PauseAfterControlPlane = true }},
		"upgrade-variables": {"1.35.4", func(p *v1alpha1.Provisioning) {
			p.Spec.Kubespray.Vars = map[string]apiextensionsv1.JSON{"a": {Raw: []byte("1")}}
		}},
		"upgrade-node-variables": {"1.35.4", func(p *v1alpha1.Provisioning) {
			p.Spec.NodeSets[0].Vars = map[string]apiextensionsv1.JSON{"kubelet_max_pods": {Raw: []byte("250")}}
		}},
		"configure": {"1.35.4", func(p *v1alpha1.Provisioning) {
			p.Spec.Kubespray.Vars = map[string]apiextensionsv1.JSON{"dns_memory_limit": {Raw: []byte(`"400Mi"`)}}
		}},
		"patch": {"1.35.4", func(p *v1alpha1.Provisioning) { p.Annotations = map[string]string{contract.AnnotationPatch: "monday"} }},
		"patch-pause": {"1.35.4", func(p *v1alpha1.Provisioning) {
			p.Annotations, p.Spec.Upgrade.PauseAfterControlPlane = map[string]string{contract.AnnotationPatch: "monday"}, true
		}},
		"patch-and-upgrade": {"1.34.3", func(p *v1alpha1.Provisioning) { p.Annotations = map[string]string{contract.AnnotationPatch: "monday"} }},
		"upgrade-refused":   {"1.35.9", func(*v1alpha1.Provisioning) {}},
	} {
		t.Run(name, func(t *testing.T) {
			p, objects := changing(t)
			r.edit(p)
			cm := objects[len(objects)-1].(*corev1.ConfigMap)
			cm.Data[contract.KeyInstalled] = strings.ReplaceAll(cm.Data[contract.KeyInstalled], "1.35.4", r.version)
			w := newStopped(t, objects...)
			w.golden("plan/"+name, w.run(t.Context(), "plan", "edge-1"))
		})
	}
}

// Lost hosts are part of the plan, as they are for the controller.
func TestPlanWithLosses(t *testing.T) {
	for name, r := range map[string]struct {
		lost []string
		edit func(*v1alpha1.Provisioning)
	}{
		"lost":           {[]string{"host-2"}, func(*v1alpha1.Provisioning) {}},
		"lost-and-more":  {[]string{"host-2"}, func(p *v1alpha1.Provisioning) { p.Spec.NodeSets[0].Count.Active = 3 }},
		"lost-any":       {[]string{"host-2"}, func(p *v1alpha1.Provisioning) { p.Spec.ReplacePolicy = v1alpha1.ReplaceAny }},
		"lost-and-fewer": {[]string{"host-2"}, func(p *v1alpha1.Provisioning) { p.Spec.NodeSets[0].Count.Active = 1 }},
		"no-quorum":      {[]string{"host-1"}, func(p *v1alpha1.Provisioning) { p.Spec.ReplacePolicy = v1alpha1.ReplaceAny }},
		"stuck": {nil, func(p *v1alpha1.Provisioning) {
			p.Spec.Masters = []map[string]v1alpha1.Master{{"other-1": {HostRequirements: v1alpha1.HostRequirements{CPU: 8}}}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p, objects := changing(t)
			r.edit(p)
			objects = slices.DeleteFunc(objects, func(o client.Object) bool {
				_, host := o.(*metal3.BareMetalHost)
				return host && slices.Contains(r.lost, o.GetName())
			})
			w := newStopped(t, objects...)
			w.golden("plan/"+name, w.run(t.Context(), "plan", "edge-1"))
		})
	}
}

// A cluster without a record of its nodes, whose hosts do not say what they are, has no plan.
func TestPlanWithoutARecord(t *testing.T) {
	_, objects := changing(t)
	objects = objects[:len(objects)-1]
	for _, o := range objects {
		if _, host := o.(*metal3.BareMetalHost); host { // otherwise its labels describe its node
			o.SetLabels(nil)
		}
	}
	w := newStopped(t, objects...)
	w.expect(w.run(t.Context(), "plan", "edge-1"), codeDone, "no operation starts now", "it is not known which nodes are installed")
}

// A lost record is rebuilt from the request of the newest run, and of no other.
func TestPlanOfALostRecord(t *testing.T) {
	for uid, unknown := range map[types.UID]bool{"uid-of-the-request": false, "uid-of-a-copy": true} {
		p, objects := changing(t)
		record := contract.Installed{}
		if err := json.Unmarshal([]byte(objects[len(objects)-1].(*corev1.ConfigMap).Data[contract.KeyInstalled]), &record); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(contract.Request{Spec: record.Request, Order: contract.Order{Operation: contract.OperationConfigure}, Record: contract.Record{Members: record.Nodes}})
		if err != nil {
			t.Fatal(err)
		}
		older, run := runOf(p, contract.OperationInstall, 1), runOf(p, contract.OperationConfigure, 2)
		for n, r := range []*tekton.PipelineRun{older, run} {
			r.Annotations[runs.AnnotationRequest] = "uid-of-the-request"
			r.Spec.Workspaces = []tekton.WorkspaceBinding{{Name: contract.WorkspaceRequest, ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: contract.RunRequestName(p.Name, int32(n+1))},
			}}}
		}
		cm := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: contract.RunRequestName(p.Name, 2), UID: uid},
			Data:       map[string]string{contract.KeyRequest: string(text)},
		}
		w := newStopped(t, append(objects[:len(objects)-1], older, run, cm)...)
		w.expect(w.run(t.Context(), "plan", "edge-1"), codeDone)
		if got := strings.Contains(w.text(), "it is not known which nodes are installed"); got != unknown {
			t.Errorf("%s: the nodes are unknown: %t, want %t:\n%s", uid, got, unknown, w.text())
		}
	}
}

// The plan of a file needs no edit of the stored object, and does not change it.
func TestPlanOfAFile(t *testing.T) {
	p, objects := changing(t)
	edited := p.DeepCopy()
	edited.Status = v1alpha1.ProvisioningStatus{}
	more(edited)
	text, err := yaml.Marshal(edited)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "edge-1.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	w := newStopped(t, objects...)
	w.golden("plan/mixed", w.run(t.Context(), "plan", "-f", file))

	w = newStopped(t, bareMetal(1, 8), bareMetal(2, 8), bareMetal(3, 8))
	w.expect(w.run(t.Context(), "plan", "-f", file, "-o", "json"), codeDone, `"installed": false`, `"operation": "install"`, `"master-1: host-`)
}

// A file without a version keeps that of the cluster, as the webhook does.
func TestPlanOfAFileWithoutAVersion(t *testing.T) {
	p, objects := changing(t)
	record := objects[len(objects)-1].(*corev1.ConfigMap)
	record.Data[contract.KeyInstalled] = strings.Replace(record.Data[contract.KeyInstalled], v1alpha1.DefaultKubernetesVersion, "1.34.3", 1)
	p.Spec.Kubernetes.Version = "1.34.3"
	edited := p.DeepCopy()
	edited.Status, edited.Spec.Kubernetes.Version = v1alpha1.ProvisioningStatus{}, ""
	text, err := yaml.Marshal(edited)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "edge-1.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	w := newStopped(t, objects...)
	w.expect(w.run(t.Context(), "plan", "-f", file, "-o", "json"), codeDone, `"apiVersion": "cli.bpa.akraino.org/v1alpha1"`, `"kind": "PlanReport"`, `"installed": true`, `"artifacts": "all 22 artifacts are in the depot"`)
	if strings.Contains(w.text(), `"operations"`) {
		t.Error(w.text())
	} // and no step
}

func TestPlanOfAnEarlierObject(t *testing.T) { // the record of a deleted Provisioning of the same name does not count
	p, objects := changing(t)
	p.UID, p.Status.InstalledDigest = "another", ""
	for _, o := range objects {
		if h, ok := o.(*metal3.BareMetalHost); ok {
			h.Spec.ConsumerRef = nil
		}
	}
	w := newStopped(t, objects...)
	w.expect(w.run(t.Context(), "plan", "edge-1"), codeDone, "edge-1: no cluster is installed.", "install the cluster")
}
