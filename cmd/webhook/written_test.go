package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"knative.dev/pkg/apis"
	"knative.dev/pkg/apis/duck"
	webhookjson "knative.dev/pkg/webhook/json"
	"knative.dev/pkg/webhook/resourcesemantics"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/admission"
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// stored returns an object as the webhook makes it: read, with its defaults, and written. old is the stored object of an
// update; empty: a creation.
func stored(t *testing.T, manifest, old string) map[string]any {
	t.Helper()
	read := func(manifest string) *written {
		raw, err := yaml.YAMLToJSON([]byte(manifest))
		if err != nil {
			t.Fatal(err)
		}
		var kind struct{ Kind string }
		if err := json.Unmarshal(raw, &kind); err != nil {
			t.Fatal(err)
		}
		object := kinds(asWritten)[schema.GroupVersionKind{Group: v1alpha1.SchemeGroupVersion.Group, Version: v1alpha1.SchemeGroupVersion.Version, Kind: kind.Kind}]
		w := object.DeepCopyObject().(*written)
		if err := webhookjson.Decode(raw, w, true); err != nil {
			t.Fatal(err)
		}
		return w
	}
	w, ctx := read(manifest), apis.WithinCreate(context.Background())
	if old != "" {
		ctx = apis.WithinUpdate(context.Background(), read(old))
	}
	w.SetDefaults(ctx)
	raw, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	return got
}

// rewritten returns the operations by which the stored object differs from the manifest in what the manifest says.
func rewritten(t *testing.T, manifest string, got map[string]any) (changes []string) {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	patch, err := duck.CreatePatch(json.RawMessage(raw), got)
	if err != nil {
		t.Fatal(err)
	}
	for _, operation := range patch {
		name := strings.HasPrefix(operation.Path, "/spec/workers/") && strings.Count(operation.Path, "/") == 4 // "- master-1:", see restoreLostNames
		inList := strings.ContainsAny(operation.Path, "0123456789") && !strings.HasPrefix(operation.Path, "/spec/kubespray")
		if (operation.Operation != "add" || inList) && !name {
			changes = append(changes, operation.Json())
		}
	}
	return changes
}

// TestSamplesAreNotRewritten: what a user has written is stored as it was written, and only missing fields are added,
// outside of lists. Tools for GitOps take every other difference as one that they must remove.
func TestSamplesAreNotRewritten(t *testing.T) {
	files, err := filepath.Glob("../../config/samples/*.yaml")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d samples, %v", len(files), err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if changes := rewritten(t, string(raw), stored(t, string(raw), "")); len(changes) > 0 {
			t.Errorf("%s is rewritten:\n%s", filepath.Base(file), strings.Join(changes, "\n"))
		}
	}
}

const notations = `apiVersion: bpa.akraino.org/v1alpha1
kind: Provisioning
metadata: {name: edge-1, annotations: {unknown: field}}
spec:
  masters: [{m: {cpu: 4, sriov: false, disks: [{type: nvme}], nics: [{sriov: true}]}}]
  nodeSets: [{name: pool, count: {active: 2}, topologyKey: rack}]
  kubernetes: {version: v1.35.4}
  depot: {url: 'https://10.60.0.1:5443/', insecure: false}
  timeouts: {install: 120m}
  backup: {schedule: ' 30 2 * * *'}
  paused: false
`

// TestNotationsAreKept: the values with several notations stay in the one of the user, and mean the same as before.
func TestNotationsAreKept(t *testing.T) {
	got := stored(t, notations, "")
	if changes := rewritten(t, notations, got); len(changes) > 0 {
		t.Errorf("rewritten:\n%s", strings.Join(changes, "\n"))
	}
	raw, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	p := &v1alpha1.Provisioning{}
	if err := json.Unmarshal(raw, p); err != nil {
		t.Fatal(err)
	}
	n := p.Normalized().Spec
	if n.Kubernetes.Version != "1.35.4" || n.Depot.URL != "https://10.60.0.1:5443" || n.Masters[0]["m"].Disks[0] != (v1alpha1.DiskRequirement{Count: 1, Type: "NVME"}) ||
		n.NodeSets[0].Role != v1alpha1.RoleWorker || n.NodeSets[0].MaxSkew != 1 || n.Backup.Schedule != "30 2 * * *" || n.PodSubnet == "" || n.SSH.Port != 22 {
		t.Errorf("normalized: %+v", n)
	}
	if err := admission.CheckProvisioning(apis.WithinCreate(t.Context()), p).Filter(apis.ErrorLevel); err != nil {
		t.Errorf("refused: %v", err)
	}
}

// TestVersionIsSticky: an update without a version keeps the stored one, in its notation, also if the default of this
// build is another one.
func TestVersionIsSticky(t *testing.T) {
	const bare = "apiVersion: bpa.akraino.org/v1alpha1\nkind: Provisioning\nmetadata: {name: edge-1}\nspec: {masters: [{m: {cpu: 4}}]}\n"
	old := strings.Replace(bare, "spec: {", "spec: {kubernetes: {version: v1.34.3}, kubespray: {release: v2.30.0}, ", 1)
	spec := stored(t, bare, old)["spec"].(map[string]any)
	if version := spec["kubernetes"].(map[string]any)["version"]; version != "1.34.3" && version != "v1.34.3" {
		t.Errorf("version %v, want that of the stored object", version)
	}
	if release := spec["kubespray"].(map[string]any)["release"]; release != "v2.30.0" {
		t.Errorf("release %v, want that of the stored object", release)
	}
}

// TestUnknownFieldsAreRefused: the wrapper is as strict as the typed object.
func TestUnknownFieldsAreRefused(t *testing.T) {
	w := &written{checked: checked{&v1alpha1.Provisioning{}}}
	raw := []byte(`{"metadata":{"name":"a","new":1},"spec":{"master":[]}}`)
	if err := webhookjson.Decode(raw, w, true); err == nil || !strings.Contains(err.Error(), `unknown field "master"`) {
		t.Errorf("%v, want an unknown field", err)
	}
	w = &written{checked: checked{&v1alpha1.Provisioning{}}}
	if err := webhookjson.Decode([]byte(`{"metadata":{"name":"a","new":1},"spec":{}}`), w, true); err != nil {
		t.Error(err) // the API server knows the fields of the metadata
	}
	var _ resourcesemantics.GenericCRD = w
}
