package installplugins

import (
	"encoding/json"
	"os"
	"path/filepath"
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
)

// A site's plugin without remove.yml can be removed when the depot has not got it any more. Its remove.yml is
// read by digest.
func TestRemoveOwn(t *testing.T) {
	for memory, want := range map[string]string{
		`{"version":"v1","source":"plugins/own:v1","hasRemove":false}`: "",
		`{"version":"v1","source":"plugins/own:v1","hasRemove":true}`:  "own Failed: connection refused",
	} {
		w := newFixture(t)
		w.cluster.has["own"] = 1
		w.record.data = map[string]string{keyApplied: `{"own":` + memory + `}`}
		_, err := w.run(t.Context())
		if got := strings.Join(w.states(), ". "); got != want || (err == nil) != (want == "") {
			t.Errorf("%s: %q, %v, want %q", memory, got, err, want)
		}
	}
	w := newFixture(t).wants("lonely", "nodes")
	if _, err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	var stored map[string]applied
	if err := json.Unmarshal([]byte(w.record.data[keyApplied]), &stored); err != nil || stored["lonely"].HasRemove || !stored["nodes"].HasRemove {
		t.Errorf("stored %s, %v", w.record.data[keyApplied], err)
	}
}

// The remove.yml of a site's plugin is the one that was installed, also if its tag names something else.
func TestRemoveOwnByDigest(t *testing.T) {
	url := depottest.Start(t).URL
	connect := func() *client.Depot { // each run closes it
		depot, err := client.Connect(t.Context(), url, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return depot
	}
	push := func(remove string) {
		t.Helper()
		p, err := plugin.Load(fstest.MapFS{
			"plugin.yaml":        {Data: []byte("name: own\nversion: v1\ndescription: for a test\n")},
			"manifests/all.yaml": {Data: []byte(strings.ReplaceAll(manifest, "NAME", "own"))},
			"remove.yml":         {Data: []byte("- hosts: all\n  tasks: [{name: " + remove + ", command: \"true\"}]\n")},
		})
		if err != nil {
			t.Fatal(err)
		}
		a, err := pack.Pack(p)
		if err != nil {
			t.Fatal(err)
		}
		depot := connect()
		defer depot.Close()
		for _, blob := range [][]byte{a.Config, a.Layer} {
			if err := depot.PutBlob(t.Context(), a.Repository, "", static.NewLayer(blob, types.MediaType(pack.LayerType))); err != nil {
				t.Fatal(err)
			}
		}
		if err := depot.PutManifest(t.Context(), artifacts.Place{Repository: a.Repository, Tag: a.Tag}, types.OCIManifestSchema1, a.Manifest); err != nil {
			t.Fatal(err)
		}
	}
	push("first")
	w := newFixture(t)
	w.depot = connect()
	w.in.Request.Plugins = []contract.Plugin{{Name: "own", Version: "v1", Source: "plugins/own:v1", Intent: "i"}}
	if _, err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	push("second")
	w.depot, w.in.Request.Plugins = connect(), nil
	if _, err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(w.in.ScratchDir, "plugins", "own", "remove.yml"))
	if err != nil || !strings.Contains(string(text), "first") || len(w.plays) != 1 {
		t.Errorf("%d playbooks, %s, %v", len(w.plays), text, err)
	}
}
