package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/pkg/depot/depottest"
)

// typed runs a command line without a cluster.
func typed(ctx context.Context, stdin string, args ...string) (code int, out, errOut string) {
	var o, e bytes.Buffer
	code = Run(ctx, append([]string{"bundle"}, args...), genericiooptions.IOStreams{In: strings.NewReader(stdin), Out: &o, ErrOut: &e})
	return code, o.String(), e.String()
}

// A user copies images and files from one site to another.
func TestBundleBetweenSites(t *testing.T) {
	source, site := depottest.Start(t), depottest.Start(t)
	depot, err := client.Connect(t.Context(), source.URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	image, err := random.Image(2000, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(depot.Repository("pause").Tag("3.10"), image, depot.Remote()...); err != nil {
		t.Fatal(err)
	}
	source.Put(t, "dl.k8s.io/kubelet", []byte("kubelet"))
	dir := t.TempDir()
	tool, file := filepath.Join(dir, "tool"), filepath.Join(dir, "site.tar")
	if err := os.WriteFile(tool, []byte("tool"), 0o644); err != nil {
		t.Fatal(err)
	}

	list := `{"images": [{"ref": "registry.k8s.io/pause:3.10"}], "files": [{"path": "dl.k8s.io/kubelet"}]}`
	for _, step := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"create", "--list", "-", "--file", tool + "=tools/tool", "--from-depot", source.URL, "--split", "3KiB", "--to", file}, codeDone, "site.tar.parts.json"},
		{[]string{"inspect", file, "--verify"}, codeDone, "all content matches its digests"},
		{[]string{"inspect", file, "-o", "json"}, codeDone, `"path": "tools/tool"`},
		{[]string{"diff", file, "--depot", site.URL}, codeNotYet, "+ image registry.k8s.io/pause:3.10\n+ file dl.k8s.io/kubelet\n+ file tools/tool"},
		{[]string{"import", file, "--depot", site.URL}, codeDone, "imported 1 images and 2 files"},
		{[]string{"diff", file, "--depot", site.URL}, codeDone, "has all 3 artifacts of the bundle"},
		{[]string{"import", file, "--depot", site.URL}, codeDone, "imported 0 images and 0 files (0 B sent)"},
		{[]string{"export", "--depot", site.URL, "--to", file + ".back"}, codeDone, "wrote " + file + ".back"},
		{[]string{"inspect", file + ".back"}, codeDone, "image  depot.local/pause:3.10"},
	} {
		code, out, errOut := typed(t.Context(), list, step.args...)
		if code != step.code || !strings.Contains(out, step.says) {
			t.Fatalf("%v: exit code %d, want %d with %q:\n%s%s", step.args, code, step.code, step.says, out, errOut)
		}
	}

	site.Put(t, "dl.k8s.io/kubelet", []byte("another"))
	if code, out, _ := typed(t.Context(), "", "diff", file, "--depot", site.URL); code != codeNotYet || !strings.Contains(out, "~ file dl.k8s.io/kubelet: the depot has sha256 ") {
		t.Errorf("with other content: exit code %d:\n%s", code, out)
	}
}

func TestBundleMistakes(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "b.tar")
	if err := os.WriteFile(file, []byte("no tar"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"create", "--to", file}, codeUsage, "nothing to pack"},
		{[]string{"create", "--image", "a/b:v1"}, codeUsage, "--to is missing"},
		{[]string{"create", "--image", "a/b:v1", "--to", file, "--split", "2"}, codeUsage, "not a size of at least 1 KiB"},
		{[]string{"create", "--image", "a/b:v1", "--to", file, "--platform", "linux/a/b/c"}, codeUsage, "--platform"},
		{[]string{"create", "--file", "tool", "--to", file}, codeUsage, "not like FILE=PATH"},
		{[]string{"create", "--list", "none.json", "--to", file}, codeFailed, "none.json"},
		{[]string{"create", "--list", "-", "--to", file}, codeFailed, "list of artifacts"},
		{[]string{"inspect", file}, codeFailed, "is not a complete bundle"},
		{[]string{"inspect"}, codeUsage, "expected one FILE"},
		{[]string{"inspect", file, "-o", "xml"}, codeUsage, "the formats are json, yaml"},
		{[]string{"import", file + ".none", "--depot", "http://127.0.0.1:1"}, codeFailed, "no such file"},
		{[]string{"export", "--to", file}, codeUsage, "--depot is missing"},
		{[]string{"export", "--depot", "http://127.0.0.1:1", "--to", file}, codeFailed, "does not answer"},
		{[]string{"export", "--depot", "http://127.0.0.1:1", "--depot-ca", file + ".none", "--to", file}, codeFailed, "--depot-ca"},
	} {
		code, out, errOut := typed(t.Context(), "[", tc.args...)
		if code != tc.code || !strings.Contains(errOut, tc.says) {
			t.Errorf("%v: exit code %d, want %d with %q:\n%s%s", tc.args, code, tc.code, tc.says, out, errOut)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*unfinished")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestBundleInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	site := depottest.Start(t)
	if code, _, errOut := typed(ctx, "", "export", "--depot", site.URL, "--to", filepath.Join(t.TempDir(), "b.tar")); code != codeInterrupted {
		t.Errorf("exit code %d: %s", code, errOut)
	}
}
