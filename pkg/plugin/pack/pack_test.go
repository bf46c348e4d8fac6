package pack

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/akraino-icn/bpa/pkg/plugin"
	"github.com/google/go-cmp/cmp"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

const definition = "name: mine\nversion: v1.2.3\ndescription: A plugin of a site.\n"

func mine(t testing.TB) plugin.Plugin {
	t.Helper()
	p, err := plugin.Load(fstest.MapFS{
		"plugin.yaml":      {Data: []byte(definition)},
		"configure.yml":    {Data: []byte("- hosts: all\n")},
		"templates/a.conf": {Data: []byte("")},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPackAndUnpack(t *testing.T) {
	p := mine(t)
	a, err := Pack(p)
	if err != nil {
		t.Fatal(err)
	}
	if a.Repository != "plugins/mine" || a.Tag != "v1.2.3" || string(a.Config) != "{}" {
		t.Errorf("got %s:%s, config %s", a.Repository, a.Tag, a.Config)
	}
	again, err := Pack(mine(t))
	if err != nil || again.Digest != a.Digest {
		t.Errorf("the same plugin has the digests %s and %s, %v", a.Digest, again.Digest, err)
	}
	layer, err := ReadManifest(a.Manifest)
	if err != nil {
		t.Fatal(err)
	}
	got, err := UnpackVerified(bytes.NewReader(a.Layer), layer)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p.Content, got.Content); diff != "" || got.Digest() != p.Digest() {
		t.Errorf("(-want +got):\n%s", diff)
	}
	changed := bytes.Replace(a.Layer, []byte("hosts: all"), []byte("hosts: any"), 1)
	if _, err := UnpackVerified(bytes.NewReader(changed), layer); err == nil || !strings.Contains(err.Error(), "the layer has the digest") {
		t.Errorf("a changed layer: %v", err)
	}
}

func TestShippedPluginsPack(t *testing.T) {
	for name, p := range plugin.Shipped() {
		a, err := Pack(p)
		if p.Status == plugin.Retired {
			if err == nil {
				t.Errorf("%s was packed, and is retired", name)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Unpack(bytes.NewReader(a.Layer)); err != nil || got.Digest() != p.Digest() {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReadManifestRefuses(t *testing.T) {
	good, err := Pack(mine(t))
	if err != nil {
		t.Fatal(err)
	}
	change := func(f func(*v1.Manifest)) []byte {
		var m v1.Manifest
		if err := json.Unmarshal(good.Manifest, &m); err != nil {
			t.Fatal(err)
		}
		f(&m)
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for name, c := range map[string]struct {
		text []byte
		want string
	}{
		"image":     {change(func(m *v1.Manifest) { m.ArtifactType = "" }), "is not a plugin"},
		"layers":    {change(func(m *v1.Manifest) { m.Layers = append(m.Layers, m.Layers...) }), "is not a plugin"},
		"no layer":  {change(func(m *v1.Manifest) { m.Layers = nil }), "is not a plugin"},
		"digest":    {change(func(m *v1.Manifest) { m.Layers[0].Digest = "sha256:../a" }), "is not like sha256:"},
		"size":      {change(func(m *v1.Manifest) { m.Layers[0].Size = MaxLayer + 1 }), "more than"},
		"negative":  {change(func(m *v1.Manifest) { m.Layers[0].Size = -1 }), "more than"},
		"not JSON":  {[]byte("x"), "the manifest: invalid character"},
		"very long": {bytes.Repeat([]byte(" "), maxManifest+1), "more than 65536"},
	} {
		if _, err := ReadManifest(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", name, err, c.want)
		}
	}
}

// entries returns a tar. Content that begins with "->" is the target of a link.
func entries(t testing.TB, pairs ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for i := 0; i < len(pairs); i += 2 {
		h := &tar.Header{Name: pairs[i], Typeflag: tar.TypeReg, Size: int64(len(pairs[i+1])), Mode: 0o644}
		if target, ok := strings.CutPrefix(pairs[i+1], "->"); ok {
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, target, 0
		}
		if strings.HasSuffix(h.Name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			fmt.Fprint(w, pairs[i+1])
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestUnpackRefuses(t *testing.T) {
	var many []string
	for i := range plugin.MaxFiles + 1 {
		many = append(many, fmt.Sprintf("f%d", i), "")
	}
	// A header that promises more than the limit. Nothing after it must be needed to refuse it.
	var promise bytes.Buffer
	if err := tar.NewWriter(&promise).WriteHeader(&tar.Header{Name: "a", Typeflag: tar.TypeReg, Size: 1 << 50}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		layer []byte
		want  string
	}{
		"outside":        {entries(t, "../plugin.yaml", definition), "a path in a plugin"},
		"absolute":       {entries(t, "/plugin.yaml", definition), "a path in a plugin"},
		"link":           {entries(t, "plugin.yaml", "->/etc/passwd"), "is not a regular file"},
		"directory":      {entries(t, "manifests/", ""), "is not a regular file"},
		"twice":          {entries(t, "plugin.yaml", definition, "plugin.yaml", definition), "occurs twice"},
		"many":           {entries(t, many...), "more than 500 files"},
		"big":            {entries(t, "a", strings.Repeat("x", plugin.MaxSize), "b", "x"), "more than 4194304 bytes"},
		"promise":        {promise.Bytes(), "more than 4194304 bytes"},
		"not a tar":      {[]byte(strings.Repeat("x", 1024)), "the layer is not a tar of a plugin"},
		"cut":            {entries(t, "plugin.yaml", definition)[:540], "unexpected EOF"},
		"long":           {append(entries(t, "plugin.yaml", definition), make([]byte, MaxLayer)...), "the layer has more than"},
		"empty":          {entries(t), "plugin.yaml: the plugin has no such file"},
		"no plugin":      {entries(t, "plugin.yaml", "name: A\n"), "is not a name of a plugin"},
		"nothing at all": {nil, "plugin.yaml: the plugin has no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Unpack(bytes.NewReader(c.layer)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v\nwant an error with %q", err, c.want)
			}
		})
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(entries(f, "plugin.yaml", definition, "configure.yml", "- hosts: all\n"))
	f.Add(entries(f, "plugin.yaml", "->../x", "../a", "b"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, layer []byte) {
		p, err := Unpack(bytes.NewReader(layer))
		if err != nil {
			return
		}
		for path := range p.Content {
			if err := plugin.CheckPath(path); err != nil {
				t.Error(err)
			}
		}
		if a, err := Pack(p); err == nil {
			if got, err := Unpack(bytes.NewReader(a.Layer)); err != nil || got.Digest() != p.Digest() {
				t.Errorf("packed and unpacked: %v", err)
			}
		}
	})
}
