package cli

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// freeHosts are four free hosts and one that cannot be used.
func freeHosts() []client.Object {
	return []client.Object{bareMetal(1, 8), bareMetal(2, 16), bareMetal(3, 32), bareMetal(4, 16), bareMetal(5, 64, sickHost)}
}

func read(t *testing.T, w *terminal, name string) *v1alpha1.Provisioning {
	t.Helper()
	p := &v1alpha1.Provisioning{}
	if err := w.cluster.Get(t.Context(), client.ObjectKey{Namespace: "site-a", Name: name}, p); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestCreate: the written Provisioning requests what its hosts have, can be read again, and fits.
func TestCreate(t *testing.T) {
	w := newStopped(t, freeHosts()...)
	w.expect(w.run(t.Context(), "create", "edge-1", "--control-planes=1", "--workers=2", "--standby=1", "--dry-run=client", "-o", "yaml"), codeDone,
		"There is no Secret ssh-key in namespace site-a yet", "kubectl create secret generic ssh-key")
	golden(t, "testdata/create/edge-1.txt", w.text())
	p := &v1alpha1.Provisioning{}
	if err := yaml.UnmarshalStrict([]byte(w.text()), p); err != nil {
		t.Fatal(err)
	}
	if err := w.cluster.Get(t.Context(), client.ObjectKeyFromObject(p), &v1alpha1.Provisioning{}); err == nil {
		t.Error("--dry-run=client has created it")
	}
	again := newStopped(t, append(freeHosts(), p)...)
	again.expect(again.run(t.Context(), "hosts", "--for", "edge-1"), codeDone, "Dry run for edge-1 (nothing is claimed)")

	w = newStopped(t, freeHosts()...)
	w.expect(w.run(t.Context(), "create", "edge-1", "--workers=2", "--dry-run=server"), codeDone, "Provisioning edge-1 can be created (server dry run: nothing was changed)")
	w.expect(w.run(t.Context(), "create", "edge-1", "--workers=2"), codeDone, "Provisioning edge-1 was created.", "kubectl bpa watch edge-1 -n site-a")
	if got := read(t, w, "edge-1").Spec.NodeSets; len(got) != 2 || got[1].Count.Active != 2 || got[1].CPU < 8 || got[1].Memory != "64Gi" {
		t.Errorf("node sets: %+v", got)
	}
	w.expect(w.run(t.Context(), "create", "edge-1"), codeFailed, "there is a Provisioning edge-1 already")
}

func TestCreateIsRefused(t *testing.T) {
	for args, want := range map[string]struct {
		code int
		text string
	}{
		"--workers=9":                        {codeNotYet, "the free hosts of namespace site-a are not enough for edge-1"},
		"--control-planes=0":                 {codeUsage, "at least one control plane node"},
		"--standby=1":                        {codeUsage, "--standby needs --workers"},
		"--kubernetes-version=1.35":          {codeUsage, `"1.35" is not a Kubernetes version`},
		"--dry-run=client --wait":            {codeUsage, "leave out --wait"},
		"--dry-run=server --wait":            {codeUsage, "leave out --wait"},
		"--dry-run=maybe":                    {codeUsage, `--dry-run is "maybe"`},
		"--dry-run=client --output=nonsense": {codeUsage, "the formats are json, yaml"},
	} {
		w := newStopped(t, freeHosts()...)
		w.expect(w.run(t.Context(), append([]string{"create", "edge-1"}, strings.Fields(args)...)...), want.code, want.text)
	}
}

// TestScale: the number of nodes changes in the spec, and nothing else.
func TestScale(t *testing.T) {
	p, site := changing(t)
	w := newStopped(t, site...)
	w.expect(w.run(t.Context(), "scale", "edge-1", "--set", "pool=3", "--dry-run=server"), codeDone,
		"pool-3", "edge-1: node set pool: 2 to 3 nodes (server dry run: nothing was changed)")
	if got := read(t, w, "edge-1"); got.Spec.NodeSets[0].Count.Active != 2 {
		t.Errorf("the dry run has changed the spec: %+v", got.Spec.NodeSets)
	}
	w.expect(w.run(t.Context(), "scale", "edge-1", "--set=pool=3", "--standby=pool=1"), codeDone,
		"edge-1 was changed: node set pool: 2 to 3 nodes, node set pool: 0 to 1 standby hosts.", "kubectl bpa plan edge-1 -n site-a")
	want := p.Spec.DeepCopy()
	want.NodeSets[0].Count = v1alpha1.NodeCount{Active: 3, Standby: 1}
	if got := read(t, w, "edge-1"); got.Spec.NodeSets[0].Count != want.NodeSets[0].Count || len(got.Spec.Masters) != len(want.Masters) {
		t.Errorf("spec: %+v", got.Spec)
	}
	w.expect(w.run(t.Context(), "scale", "edge-1", "--set=pool=3"), codeDone, "nothing was changed")
	w.expect(w.run(t.Context(), "scale", "edge-1", "--set=poll=3"), codeFailed, "edge-1 has no node set poll: there are pool")
	w.expect(w.run(t.Context(), "scale", "edge-1", "--set=pool"), codeUsage, `--set "pool" is not like pool=6`)
	w.expect(w.run(t.Context(), "scale", "edge-1"), codeUsage, "--set is missing")
	w = newStopped(t, provisioning("edge-2"))
	w.expect(w.run(t.Context(), "scale", "edge-2", "--set=pool=1"), codeFailed, "edge-2 has no node sets", "kubectl edit bpa edge-2")
}

// TestUpgradeCommand: the version changes in the spec, after a preview of the order of the nodes.
func TestUpgradeCommand(t *testing.T) {
	_, site := changing(t)
	w := newStopped(t, site...)
	w.expect(w.run(t.Context(), "upgrade", "edge-1", "--to=1.35.5", "--dry-run=server"), codeDone, "edge-1: Kubernetes: 1.35.4 to 1.35.5 (server dry run: nothing was changed)")
	if got := read(t, w, "edge-1"); got.Spec.Kubernetes.Version != "1.35.4" {
		t.Errorf("the dry run has changed the version to %s", got.Spec.Kubernetes.Version)
	}
	w.expect(w.run(t.Context(), "upgrade", "edge-1", "--to=v1.35.4"), codeDone, "nothing was changed")
	w.expect(w.run(t.Context(), "upgrade", "edge-1", "--to=1.35.5", "--release=v2.32.0"), codeDone, "edge-1 was changed: Kubernetes: 1.35.4 to 1.35.5, kubespray release: the default to v2.32.0.")
	got := read(t, w, "edge-1")
	if got.Spec.Kubernetes.Version != "1.35.5" || got.Spec.Kubespray.Release != "v2.32.0" || got.Spec.Kubernetes.NetworkPlugin != "flannel" {
		t.Errorf("spec: %+v", got.Spec)
	}
	w.expect(w.run(t.Context(), "upgrade", "edge-1"), codeUsage, "--to is missing")
}

// TestFileOfAnotherKind: a wrong file is named by its kind, and not by its first unknown field.
func TestFileOfAnotherKind(t *testing.T) {
	w := newStopped(t, freeHosts()...)
	w.expect(w.run(t.Context(), "hosts", "-f", "../../config/samples/backup.yaml"), codeFailed, `has the kind "Backup": the file must have a single Provisioning`)
}
