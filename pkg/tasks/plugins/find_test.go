package plugins

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/pkg/depot/depottest"
	"github.com/akraino-icn/bpa/pkg/plugin"
	"github.com/akraino-icn/bpa/pkg/plugin/pack"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

func load(t *testing.T, name, more string) plugin.Plugin {
	t.Helper()
	p, err := plugin.Load(fstest.MapFS{
		"plugin.yaml":        {Data: []byte("name: " + name + "\nversion: v1\ndescription: for a test\n" + more)},
		"manifests/all.yaml": {Data: []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec: {containers: [{name: c, image: 'registry.example/" + name + ":v1'}]}\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const image = "images: ['registry.example/NAME:v1']\n"

func catalog(t *testing.T) plugin.Catalog {
	return plugin.Catalog{}.With(load(t, "base", strings.ReplaceAll(image, "NAME", "base")),
		load(t, "upper", strings.ReplaceAll(image, "NAME", "upper")+"needs: [base]\n"))
}

// push stores a plugin in a depot, as `kubectl bpa plugins push` does.
func push(t *testing.T, depot *client.Depot, p plugin.Plugin) pack.Artifact {
	t.Helper()
	a, err := pack.Pack(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, blob := range []struct {
		content []byte
		kind    types.MediaType
	}{{a.Layer, pack.LayerType}, {a.Config, "application/vnd.oci.empty.v1+json"}} {
		if err := depot.PutBlob(t.Context(), a.Repository, "", static.NewLayer(blob.content, blob.kind)); err != nil {
			t.Fatal(err)
		}
	}
	if err := depot.PutManifest(t.Context(), artifacts.Place{Repository: a.Repository, Tag: a.Tag}, types.OCIManifestSchema1, a.Manifest); err != nil {
		t.Fatal(err)
	}
	return a
}

func open(t *testing.T) (*client.Depot, Depot) {
	t.Helper()
	depot, err := client.Connect(t.Context(), depottest.Start(t).URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(depot.Close)
	return depot, func(context.Context) (*client.Depot, error) { return depot, nil }
}

func request(list ...contract.Plugin) contract.Request {
	return contract.Request{Spec: contract.Spec{KubernetesVersion: "1.35.4", Plugins: list}}
}

// A site's own plugin comes from the depot, by tag or digest, with its defaults, and after what it needs.
func TestFindOwn(t *testing.T) {
	depot, opened := open(t)
	own := load(t, "own", strings.ReplaceAll(image, "NAME", "own")+"needs: [upper]\nparameters: {type: object, properties: {mode: {type: string, default: slow}}}\n")
	pushed := push(t, depot, own)
	for _, source := range []string{"plugins/own:v1", "plugins/own@" + pushed.Digest} {
		found := Find(t.Context(), request(contract.Plugin{Name: "own", Version: "v1", Source: source}, contract.Plugin{Name: "upper", Version: "v1"},
			contract.Plugin{Name: "base", Version: "v1"}), catalog(t), opened)
		var names []string
		for _, f := range found {
			if f.Err != nil {
				t.Errorf("%s: %s: %v", source, f.Name, f.Err)
			}
			names = append(names, f.Name)
		}
		if want := "plugins/own@" + pushed.Digest; found[2].Exact != want || found[0].Exact != "" {
			t.Errorf("%s: exact sources %q and %q, want %q", source, found[2].Exact, found[0].Exact, want)
		}
		if !slices.Equal(names, []string{"base", "upper", "own"}) || string(found[2].Parameters) != `{"mode":"slow"}` || found[2].Definition.Digest() != own.Digest() {
			t.Errorf("%s: %v, %s", source, names, found[2].Parameters)
		}
		list, err := Artifacts(request(), found)
		if err != nil || fmt.Sprint(list.Images) != "[{registry.example/base:v1 } {registry.example/own:v1 } {registry.example/upper:v1 }]" {
			t.Errorf("%s: images %v, %v", source, list.Images, err)
		}
	}
}

// A plugin that cannot be installed is an error with a reason, and the error says what to do.
func TestFindNot(t *testing.T) {
	depot, opened := open(t)
	push(t, depot, load(t, "own", strings.ReplaceAll(image, "NAME", "own")))
	push(t, depot, load(t, "needy", "needs: [base]\n"))
	push(t, depot, load(t, "fussy", "nodes: {sriov: true}\nkubespray: {vars: {a: 1}, groups: {b: workers}}\n"))
	for name, tc := range map[string]struct {
		plugin contract.Plugin
		reason contract.Reason
		says   string
	}{
		"missing":         {contract.Plugin{Name: "own", Source: "plugins/own:v2"}, contract.ReasonArtifactsMissing, "does not have plugins/own:v2: push it with `kubectl bpa plugins push DIR`"},
		"another name":    {contract.Plugin{Name: "mine", Source: "plugins/own:v1"}, contract.ReasonInvalidRequest, "plugins/own:v1 in the depot is plugin own"},
		"no place":        {contract.Plugin{Name: "own", Source: "https://evil.example/plugins/own:v1"}, contract.ReasonInvalidRequest, "not the source of a plugin"},
		"path escape":     {contract.Plugin{Name: "own", Source: "plugins/../own:v1"}, contract.ReasonInvalidRequest, "not the source of a plugin"},
		"no tag":          {contract.Plugin{Name: "own", Source: "plugins/own"}, contract.ReasonInvalidRequest, "not the source of a plugin"},
		"parameters":      {contract.Plugin{Name: "own", Source: "plugins/own:v1", Parameters: json.RawMessage(`{"a":1}`)}, contract.ReasonInvalidRequest, "plugin own has no parameters"},
		"needs":           {contract.Plugin{Name: "needy", Source: "plugins/needy:v1"}, contract.ReasonInvalidRequest, "it needs plugin base: add it to spec.KUDPlugins"},
		"nodes":           {contract.Plugin{Name: "fussy", Source: "plugins/fussy:v1"}, contract.ReasonInvalidRequest, "nodes: a plugin of a site"},
		"variables":       {contract.Plugin{Name: "fussy", Source: "plugins/fussy:v1"}, contract.ReasonInvalidRequest, "kubespray.vars: a plugin of a site"},
		"groups":          {contract.Plugin{Name: "fussy", Source: "plugins/fussy:v1"}, contract.ReasonInvalidRequest, "kubespray.groups: a plugin of a site"},
		"another version": {contract.Plugin{Name: "base", Version: "v9"}, contract.ReasonVersionSkew, "apply config/"},
		"no such plugin":  {contract.Plugin{Name: "none", Version: "v1"}, contract.ReasonVersionSkew, "apply config/"},
	} {
		t.Run(name, func(t *testing.T) {
			found := Find(t.Context(), request(tc.plugin), catalog(t), opened)
			_, err := Artifacts(request(), found)
			if f := task.FailureOf(err); err == nil || f.Reason != tc.reason || !strings.Contains(f.Message, tc.says) || !strings.Contains(f.Message, "plugin "+tc.plugin.Name) {
				t.Errorf("%+v, want %s with %q", f, tc.reason, tc.says)
			}
			found[0].Skip = "no node fits"
			if list, err := Artifacts(request(), found); err != nil || list.Size() != 0 {
				t.Errorf("a skipped plugin: %v, %v", list, err)
			}
		})
	}
	found := Find(t.Context(), request(contract.Plugin{Name: "own", Source: "plugins/own:v1"}), catalog(t), func(context.Context) (*client.Depot, error) { return nil, errors.New("refused") })
	if f := task.FailureOf(found[0].Err); f.Reason != contract.ReasonDepotUnavailable {
		t.Errorf("without a depot: %+v", f)
	}
}

// A retired plugin needs nothing and is no error, whatever this build of BPA knows of it.
func TestFindRetired(t *testing.T) {
	olden, err := plugin.Load(fstest.MapFS{"plugin.yaml": {Data: []byte("name: olden\ndescription: d\nstatus: retired\nreason: old\n")}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"olden", "upper", "none"} { // retired here too, live here, and not here
		retired := contract.Plugin{Name: name, Skip: "it is retired: old", Digest: "sha256:1"}
		found := Find(t.Context(), request(retired, contract.Plugin{Name: "base", Version: "v1"}), catalog(t).With(olden), nil)
		if found[0].Name != name || found[0].Err != nil || found[0].Definition.Name != name || len(found[0].Definition.Needs) > 0 {
			t.Errorf("%s: %+v", name, found[0])
		}
		if list, err := Artifacts(request(), found); err != nil || fmt.Sprint(list.Images) != "[{registry.example/base:v1 }]" {
			t.Errorf("%s: images %v, %v", name, list.Images, err)
		}
	}
	found := Find(t.Context(), request(contract.Plugin{Name: "olden", Version: "v1"}), catalog(t).With(olden), nil)
	if f := task.FailureOf(found[0].Err); f.Reason != contract.ReasonVersionSkew {
		t.Errorf("the controller's build installs it: %+v", f)
	}
}

// An artifact of the depot that is no plugin is refused.
func TestPullRefuses(t *testing.T) {
	depot, _ := open(t)
	a := push(t, depot, load(t, "own", strings.ReplaceAll(image, "NAME", "own")))
	image := strings.Replace(string(a.Manifest), pack.ArtifactType, "application/vnd.example", 1)
	if err := depot.PutManifest(t.Context(), artifacts.Place{Repository: "plugins/own", Tag: "v3"}, types.OCIManifestSchema1, []byte(image)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Pull(t.Context(), depot, "plugins/own:v3"); err == nil || !strings.Contains(err.Error(), "is not a plugin") {
		t.Errorf("an artifact of another type: %v", err)
	}
}
