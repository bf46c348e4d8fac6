package admission

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// installedFrom returns a Provisioning whose cluster is installed from the spec.
func installedFrom(t *testing.T, spec string, nodes ...v1alpha1.NodeStatus) *v1alpha1.Provisioning {
	p := provisioning(t, spec)
	p.Status.InstalledDigest, p.Status.Nodes = "v3:sha256:1", nodes
	return p
}

const (
	mac1 = "mac-address: '00:c6:14:04:61:b1'"
	mac2 = "mac-address: '00:c6:14:04:61:b2'"
	// cluster has a control plane node that is not a worker, and two workers.
	cluster = "masters: [{m: {cpu: 1}}]\nworkers: [{w: {" + mac1 + "}}, {v: {cpu: 1}}]\nPodSubnet: 10.1.0.0/16\naccess: {subnets: [10.60.0.0/24]}\n"
	sets    = "nodeSets: [{name: cp, role: control-plane, count: {active: 3}}, {name: w, count: {active: 2, standby: 1}}]\n"
)

func TestEditsOfAnInstalledCluster(t *testing.T) {
	turned := v1alpha1.NodeStatus{Name: "m", Roles: []string{"control-plane", "worker"}, State: v1alpha1.NodeReady}
	for _, r := range []struct {
		name, before, after string
		status              []v1alpha1.NodeStatus
		want, warn          string // parts of the error and of the warning; none: applied
	}{
		{"nothing", cluster, cluster, nil, "", ""},
		{"a plugin that drains nodes", cluster, cluster + "KUDPlugins: [multus, cpu-manager]", nil, "", "plugin cpu-manager drains each node of the cluster"},
		{"a plugin that drains nodes stays", cluster + "KUDPlugins: [cpu-manager]", cluster + "KUDPlugins: [cpu-manager, multus]", nil, "", ""},
		{"a worker more", cluster, strings.Replace(cluster, "{v:", "{x: {cpu: 1}}, {v:", 1), nil, "", ""},
		{"a worker less", cluster, strings.Replace(cluster, ", {v: {cpu: 1}}", "", 1), nil, "", ""},
		{"other requirements", cluster, strings.Replace(cluster, "{v: {cpu: 1}}", "{v: {cpu: 8}}", 1), nil, "", ""},
		{"another order", cluster, strings.Replace(cluster, "{w: {"+mac1+"}}, {v: {cpu: 1}}", "{v: {cpu: 1}}, {w: {"+mac1+"}}", 1), nil, "", ""},
		{"two control plane nodes more", cluster, strings.Replace(cluster, "{m: {cpu: 1}}", "{m: {cpu: 1}}, {n: {cpu: 1}}, {o: {cpu: 1}}", 1), nil, "", ""},
		{"a policy, a priority and timeouts", cluster, cluster + "replacePolicy: Any\npriority: 7\ntimeouts: {drain: 1m, install: 1h}", nil, "", ""},
		{"SSH, depot and image", cluster, cluster + "ssh: {user: icn}\ndepot: {url: 'https://d'}\nosImage: {url: 'oci://d/i'}", nil, "", ""},

		{"pod subnet", cluster, strings.Replace(cluster, "10.1.", "10.2.", 1), nil,
			"the cluster is installed with 10.1.0.0/16 and cannot change to 10.2.0.0/16: spec.PodSubnet\nwrite 10.1.0.0/16; to install the cluster again", ""},
		{"service subnet", cluster, cluster + "kubernetes: {serviceSubnet: 10.3.0.0/16}", nil, "10.233.0.0/18 and cannot change to 10.3.0.0/16: spec.kubernetes.serviceSubnet\n", ""},
		{"network plugin", cluster, cluster + "kubernetes: {networkPlugin: calico}", nil, "flannel and cannot change to calico: spec.kubernetes.networkPlugin\n", ""},
		{"subnets of the nodes", cluster, strings.Replace(cluster, "10.60.", "10.61.", 1), nil,
			"cannot change: spec.access\nrestore it (subnets: [10.60.0.0/24], interface: \"\")", ""},
		{"interface of the nodes", cluster, strings.Replace(cluster, "access: {", "access: {interface: a, ", 1), nil, "cannot change: spec.access\n", ""},
		{"the defaults are written", "masters: [{m: {cpu: 1}}]", "masters: [{m: {cpu: 1}}]\nPodSubnet: 10.233.64.0/18\nkubernetes: {serviceSubnet: 10.233.0.0/18}\naccess: {subnets: []}", nil, "", ""},

		{"a newer Kubernetes", cluster, cluster + "kubernetes: {version: 1.35.5}\ndepot: {checksums: Depot}", nil, "", ""},
		{"an unknown Kubernetes", cluster, cluster + "kubernetes: {version: 1.36.0}", nil, "kubespray v2.31.0 does not know Kubernetes 1.36.0: it has no checksums for it: spec.kubernetes.version\nwrite one of its versions", ""},
		{"an older Kubernetes", cluster, cluster + "kubernetes: {version: 1.34.3}", nil, "a downgrade to 1.34.3 is not supported", ""},
		{"over two minors", cluster + "kubernetes: {version: 1.33.5}", cluster + "kubernetes: {version: 1.35.4}", nil, "", ""},
		{"the name of the release", cluster, cluster + "kubespray: {release: v2.31.0}", nil, "", ""},
		{"a newer release", cluster, cluster + "kubespray: {release: v2.32.0}", nil, "", ""},
		{"an older release", cluster, cluster + "kubespray: {release: v2.30.0}", nil, "the older release v2.30.0 would downgrade its components: spec.kubespray.release\nselect v2.31.0 or a newer release", ""},
		{"a release without a number", cluster, cluster + "kubespray: {release: site}", nil, "it is not known whether site is newer", ""},
		{"variables", cluster, cluster + "kubespray: {vars: {a: 1}}", nil, "", ""},
		{"a variable that cannot change", cluster, cluster + "kubespray: {vars: {a: 1, dns_domain: x}}", nil,
			"the kubespray variable dns_domain cannot change in a running cluster: the names of Services and the certificates contain the domain: spec.kubespray.vars.dns_domain\nrestore the variable", ""},
		{"a variable that cannot be left out", cluster + "kubespray: {vars: {bin_dir: /b}}", cluster, nil, "bin_dir cannot change", ""},

		{"a worker becomes a master", cluster, "masters: [{m: {cpu: 1}}, {v: {cpu: 1}}, {o: {cpu: 1}}]\nworkers: [{w: {" + mac1 + "}}]\n" + cluster[strings.Index(cluster, "PodSubnet"):], nil,
			"node \"v\" is a worker of the installed cluster, and cannot become a control plane node: spec.masters[1].v\nrestore the role", ""},
		{"a master becomes a worker", "masters: [{m: {cpu: 1}}, {k: {cpu: 1}}]\nworkers: [{w: {cpu: 1}}]", "masters: [{m: {cpu: 1}}]\nworkers: [{w: {cpu: 1}}, {k: {cpu: 1}}]", nil,
			"node \"k\" is a control plane node of the installed cluster, and cannot become a worker only: spec.workers[1].k", ""},
		{"a master becomes a worker too", cluster, strings.Replace(cluster, "workers: [", "workers: [{m: null}, ", 1), nil, "\"m\" is a control plane node of the installed cluster, and cannot become a worker too: spec.masters[0].m", ""},
		{"a worker stops being one", "masters: [{m: {cpu: 1}}]\nworkers: [{m: null}, {w: {cpu: 1}}]", "masters: [{m: {cpu: 1}}]\nworkers: [{w: {cpu: 1}}]", nil, "\"m\" is also a worker of the installed cluster, and cannot stop", ""},
		{"the first worker", "masters: [{m: {cpu: 1}}]", "masters: [{m: {cpu: 1}}]\nworkers: [{w: {cpu: 1}}]", []v1alpha1.NodeStatus{turned}, "", ""},
		{"the first worker, in a set", "masters: [{m: {cpu: 1}}]", "masters: [{m: {cpu: 1}}]\nnodeSets: [{name: w, count: {active: 1}}]", nil, "", ""},
		{"the master is listed as the worker that it is", "masters: [{m: {cpu: 1}}]", "masters: [{m: {cpu: 1}}]\nworkers: [{m: null}]", nil, "", ""},
		{"the master is not listed as a worker any more, but is one", "masters: [{m: {cpu: 1}}]\nworkers: [{m: null}]", "masters: [{m: {cpu: 1}}]", nil, "", ""},
		{"the last worker goes, and the master is one", "masters: [{m: {cpu: 1}}]\nworkers: [{w: {cpu: 1}}]", "masters: [{m: {cpu: 1}}]", []v1alpha1.NodeStatus{turned}, "", ""},
		{"the last worker goes, and the master is none", "masters: [{m: {cpu: 1}}]\nworkers: [{w: {cpu: 1}}]", "masters: [{m: {cpu: 1}}]", nil,
			"the installed cluster would have no worker, because its control plane nodes are not workers: spec.workers\nkeep at least one worker", ""},
		{"the last worker of a set goes", "masters: [{m: {cpu: 1}}]\nnodeSets: [{name: w, count: {active: 1, standby: 1}}]", "masters: [{m: {cpu: 1}}]\nnodeSets: [{name: w, count: {active: 0, standby: 1}}]", nil,
			"the installed cluster would have no worker", ""},
		{"all workers of sets go", sets, "nodeSets: [{name: cp, role: control-plane, count: {active: 3}}]", nil, "the installed cluster would have no worker", ""},
		{"the first workers of sets", "nodeSets: [{name: cp, role: control-plane, count: {active: 3}}]", sets, nil, "", ""},
		{"role of a set", sets, strings.Replace(sets, "role: control-plane", "role: control-plane-worker", 1), nil,
			"the nodes of set \"cp\" are installed with role control-plane, and cannot change to control-plane-worker: spec.nodeSets[0].role", ""},
		{"role of a set, back", strings.Replace(sets, "role: control-plane", "role: control-plane-worker", 1), sets, nil, "cannot change to control-plane: spec.nodeSets[0].role", ""},
		{"workers to control plane", sets, strings.Replace(sets, "name: w,", "name: w, role: control-plane,", 1), nil, "set \"w\" are installed with role worker, and cannot change to control-plane: spec.nodeSets[1].role", ""},
		{"role of a set that only has standby hosts", "masters: [{m: {cpu: 1}}]\nworkers: [{v: {cpu: 1}}]\nnodeSets: [{name: w, count: {active: 0, standby: 1}}]",
			"masters: [{m: {cpu: 1}}]\nworkers: [{v: {cpu: 1}}]\nnodeSets: [{name: w, role: control-plane, count: {active: 0, standby: 1}}]", nil, "", ""},
		{"the role is written that the nodes have", "nodeSets: [{name: cp, role: control-plane, count: {active: 1}}]", "nodeSets: [{name: cp, role: control-plane-worker, count: {active: 1}}]", nil, "", ""},

		{"a node is renamed", cluster, strings.Replace(cluster, "{w: {", "{x: {", 1), nil,
			"the host with MAC address 00:c6:14:04:61:b1 is node \"w\" of the installed cluster, and a node cannot be renamed to \"x\": spec.workers[0].x\nkeep the name w; or remove w, wait", ""},
		{"a node is renamed and is a master", cluster, strings.Replace(strings.Replace(cluster, "{w: {"+mac1+"}}, ", "", 1), "{m: {cpu: 1}}", "{m: {cpu: 1}}, {x: {"+mac1+"}}, {o: {cpu: 1}}", 1), nil,
			"node \"w\" of the installed cluster, and a node cannot be renamed to \"x\"", ""},
		{"a node moves", cluster, strings.Replace(cluster, mac1, mac2, 1), nil, "", "node \"w\" is now pinned to 00:c6:14:04:61:b2: if this is not its present host, BPA removes the node"},
		{"a node moves, and its host gets a new name", cluster, strings.Replace(cluster, "{w: {"+mac1+"}}", "{w: {"+mac2+"}}, {x: {"+mac1+"}}", 1), nil, "", "node \"w\" is now pinned"},
		{"a node is pinned", cluster, strings.Replace(cluster, "{v: {cpu: 1}}", "{v: {"+mac2+"}}", 1), nil, "", "node \"v\" is now pinned"},
		{"a node is not pinned any more", cluster, strings.Replace(cluster, mac1, "cpu: 1", 1), nil, "", ""},
		{"the MAC address in another notation", cluster, strings.Replace(cluster, "00:c6:14:04:61:b1", "00-C6-14-04-61-B1", 1), nil, "", ""},

		{"all masters are other ones", cluster, strings.Replace(cluster, "{m: {", "{n: {", 1), nil, "none of the installed control plane nodes would be left: spec.masters\nkeep one of them on its host until", ""},
		{"the only master moves", "masters: [{m: {" + mac1 + "}}]", "masters: [{m: {" + mac2 + "}}]", nil, "none of the installed control plane nodes would be left", "is now pinned"},
		{"the control plane moves to a set", cluster, strings.Replace(cluster, "masters: [{m: {cpu: 1}}]", "nodeSets: [{name: cp, role: control-plane, count: {active: 1}}]", 1), nil, "none of the installed control plane nodes would be left", ""},
		{"no master", cluster, strings.Replace(cluster, "masters: [{m: {cpu: 1}}]", "masters: []", 1), nil, "the cluster has no masters: spec.masters", ""},
		{"a set of control planes becomes even", sets, strings.Replace(sets, "active: 3", "active: 2", 1), nil, "", "2 control plane nodes tolerate no more failures than 1, because etcd needs a majority"},
		{"masters become even", "masters: [{m: {cpu: 1}}, {n: {cpu: 1}}, {o: {cpu: 1}}]", "masters: [{m: {cpu: 1}}, {n: {cpu: 1}}]", nil, "", "2 masters tolerate no more failures than 1"},
	} {
		t.Run(r.name, func(t *testing.T) {
			old, p := installedFrom(t, r.before, r.status...), provisioning(t, r.after)
			errs, warn := findings(apis.WithinUpdate(context.Background(), old), p)
			if !strings.Contains(errs, r.want) || !strings.Contains(warn, r.warn) || (r.want == "") != (errs == "") || (r.warn == "") != (warn == "") || strings.Contains(warn, "\n") {
				t.Errorf("errors:\n%s\nwant %q\nwarnings:\n%s\nwant %q", errs, r.want, warn, r.warn)
			}
			old.Status.InstalledDigest = ""
			if errs, _ := findings(apis.WithinUpdate(context.Background(), old), p); errs != "" && r.name != "no master" {
				t.Errorf("refused before the cluster is installed: %s", errs)
			}
		})
	}
}

// The spec can differ from the cluster: it was edited during the installation, or an older version of
// BPA accepted the edit. Then the user must be able to restore it.
func TestSpecCanBeRestored(t *testing.T) {
	edited := installedFrom(t, strings.Replace(cluster, "10.1.", "10.2.", 1))
	p := provisioning(t, cluster)
	if errs, _ := findings(apis.WithinUpdate(context.Background(), edited), p); errs == "" {
		t.Error("an edit of the pod subnet is accepted")
	}
	for _, condition := range []apis.ConditionType{v1alpha1.ConditionReady, v1alpha1.ConditionClusterInstalled} {
		p, edited := p.DeepCopy(), edited.DeepCopy()
		edited.Status.Conditions = []apis.Condition{{Type: condition, Status: "Unknown", Reason: v1alpha1.ReasonSpecChanged}}
		errs, warn := findings(apis.WithinUpdate(context.Background(), edited), p)
		if errs != "" || !strings.Contains(warn, "the spec already differs from the cluster") || strings.Contains(warn, "\n") {
			t.Errorf("%s: errors %q, warnings %q", condition, errs, warn)
		}
	}
}

// Edits that the controller would apply are refused even if the stored spec differs from the cluster,
// for example in the Kubernetes version. They are accepted if they restore the spec.
func TestEditsAreRefusedThoughTheSpecDiffers(t *testing.T) {
	m := v1alpha1.NodeStatus{Name: "m", Roles: []string{"control-plane"}, State: v1alpha1.NodeReady}
	w := v1alpha1.NodeStatus{Name: "w", Roles: []string{"worker"}, State: v1alpha1.NodeReady}
	cp := v1alpha1.NodeStatus{Name: "cp-1", NodeSet: "cp", Roles: []string{"control-plane"}, State: v1alpha1.NodeReady}
	adding := v1alpha1.NodeStatus{Name: "n", Roles: []string{"control-plane"}, State: v1alpha1.NodeInstalling}
	renamed := strings.Replace(cluster, "{w: {", "{x: {", 1)
	others := strings.Replace(cluster, "{m: {", "{n: {", 1)
	toSet := strings.Replace(cluster, "masters: [{m: {cpu: 1}}]", "nodeSets: [{name: cp, role: control-plane, count: {active: 1}}]", 1)
	last, lastGone := "masters: [{m: {cpu: 1}}]\nworkers: [{w: {cpu: 1}}]", "masters: [{m: {cpu: 1}}]"
	for _, r := range []struct {
		name, before, after string
		status              []v1alpha1.NodeStatus
		want                string // part of the error; none: accepted
	}{
		{"a node is renamed", cluster, renamed, []v1alpha1.NodeStatus{m, w}, "a node cannot be renamed"},
		{"the name is restored", renamed, cluster, []v1alpha1.NodeStatus{m, w}, ""},
		{"all masters are other ones", cluster, others, []v1alpha1.NodeStatus{m, w}, "none of the installed control plane nodes would be left"},
		{"the masters are restored", others, cluster, []v1alpha1.NodeStatus{m, w}, ""},
		{"only a master that is not installed yet is left", cluster, others, []v1alpha1.NodeStatus{m, w, adding}, "none of the installed control plane nodes would be left"},
		{"the only master moves", "masters: [{m: {" + mac1 + "}}]", "masters: [{m: {" + mac2 + "}}]", []v1alpha1.NodeStatus{m}, "none of the installed control plane nodes would be left"},
		{"the set of masters goes", toSet, cluster, []v1alpha1.NodeStatus{cp, w}, "none of the installed control plane nodes would be left"},
		{"the set of masters is restored", cluster, toSet, []v1alpha1.NodeStatus{cp, w}, ""},
		{"the last worker goes", last, lastGone, []v1alpha1.NodeStatus{m, w}, "the installed cluster would have no worker"},
	} {
		t.Run(r.name, func(t *testing.T) {
			old, p := installedFrom(t, r.before, r.status...), provisioning(t, r.after)
			old.Status.Conditions = []apis.Condition{{Type: v1alpha1.ConditionReady, Status: "Unknown", Reason: v1alpha1.ReasonSpecChanged}}
			errs, _ := findings(apis.WithinUpdate(context.Background(), old), p)
			if !strings.Contains(errs, r.want) || (r.want == "") != (errs == "") {
				t.Errorf("errors:\n%s\nwant %q", errs, r.want)
			}
		})
	}
}

// An object that breaks rules of this version can still be changed, and an edit of it is checked like
// every other edit.
func TestEditsOfAnOldObject(t *testing.T) {
	old := installedFrom(t, "masters: [{m: {cpu: -1}, n: {mac-address: none}}]\nworkers: [{w: {memory: lots}}]\nPodSubnet: ten")
	p := old.DeepCopy()
	p.Spec.Paused = true
	if errs, warn := findings(apis.WithinUpdate(context.Background(), old), p); errs != "" {
		t.Errorf("paused: errors %q, warnings %q", errs, warn)
	}
	p.Spec.PodSubnet = "10.1.0.0/16"
	if errs, _ := findings(apis.WithinUpdate(context.Background(), old), p); !strings.Contains(errs, "cannot change to 10.1.0.0/16") {
		t.Errorf("pod subnet: %q", errs)
	}
}

// For random specs: checking an edit changes neither object and does not panic, a spec that stays is
// never refused, and before the installation no edit is refused that a new object may have.
func TestRandomEdits(t *testing.T) {
	refused := map[bool]int{}
	for seed := range uint64(5000) {
		w := world{rand.New(rand.NewPCG(seed, 2)), []float64{0, 0.02, 0.2}[seed%3]}
		old, p := &v1alpha1.Provisioning{Spec: w.spec()}, &v1alpha1.Provisioning{Spec: w.spec()}
		old.SetDefaults(context.Background())
		p.SetDefaults(context.Background())
		old.Status.InstalledDigest = "v3:sha256:1"
		wasOld, wasP := old.DeepCopy(), p.DeepCopy()
		errs := validateEdit(p, old).Filter(apis.ErrorLevel)
		if !equality.Semantic.DeepEqual(wasOld, old) || !equality.Semantic.DeepEqual(wasP, p) {
			t.Fatalf("seed %d: the check changed an object", seed)
		}
		refused[errs != nil]++
		if same := validateEdit(old.DeepCopy(), old); same != nil && validateObject(old).Filter(apis.ErrorLevel) == nil {
			t.Fatalf("seed %d: the same spec is refused: %v", seed, same)
		}
		old.Status.InstalledDigest = ""
		if before := validateEdit(p, old); before != nil {
			t.Fatalf("seed %d: refused before the installation: %v", seed, before)
		}
	}
	if refused[true] < 100 || refused[false] < 10 {
		t.Errorf("%d edits were refused and %d accepted: too few of one kind", refused[true], refused[false])
	}
}

// TestVersionDuringAnUpgrade: what counts is what the nodes have, not what the stored spec requests.
func TestVersionDuringAnUpgrade(t *testing.T) {
	for _, r := range []struct {
		name, to string
		change   func(*v1alpha1.Provisioning)
		want     string
	}{
		{"back before the first node", "1.34.3", func(p *v1alpha1.Provisioning) { p.Status.Upgrade.Newest = "1.34.3" }, ""},
		{"back after the first node", "1.34.3", nil, "a downgrade to 1.34.3 is not supported"},
		{"back to another version", "1.35.0", nil, ""},
		{"forward", "1.35.4", nil, ""},
		{"the controller has not seen the spec", "1.34.3", func(p *v1alpha1.Provisioning) { p.Generation++ }, ""},
		{"the controller reports that the spec is not applied", "1.34.3", func(p *v1alpha1.Provisioning) {
			p.Status.Conditions = append(p.Status.Conditions, apis.Condition{Type: "Ready", Reason: v1alpha1.ReasonSpecChanged})
		}, ""},
	} {
		old := installedFrom(t, cluster+"kubernetes: {version: 1.35.1}")
		old.Status.Upgrade = &v1alpha1.UpgradeStatus{From: "1.34.3", To: "1.35.1", Hop: "1.35.1", Newest: "1.35.0", Done: 0, Total: 3}
		if r.change != nil {
			r.change(old)
		}
		p := old.DeepCopy()
		p.Spec.Kubernetes.Version = r.to
		got := ""
		if err := CheckProvisioning(apis.WithinUpdate(context.Background(), old), p); err != nil {
			got = err.Error()
		}
		if (got == "") != (r.want == "") || !strings.Contains(got, r.want) {
			t.Errorf("%s: %q, want %q", r.name, got, r.want)
		}
	}
}
