package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/admission"
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// TestSoftwares: the webhook accepts every Software on a page.
func TestSoftwares(t *testing.T) {
	seen := 0
	for _, page := range pages(t) {
		for _, f := range fences(t, page) {
			if f.kind != "yaml" || !strings.Contains(f.text, "\nkind: Software\n") {
				continue
			}
			seen++
			w := &v1alpha1.Software{}
			if err := yaml.UnmarshalStrict([]byte(f.text), w); err != nil {
				t.Errorf("%s:%d: %v", f.page, f.line, err)
			} else if err := admission.CheckSoftware(t.Context(), w); err != nil {
				t.Errorf("%s:%d: %v", f.page, f.line, err)
			}
		}
	}
	if seen == 0 {
		t.Error("the pages have no Software")
	}
}

// TestDrivers installs each example of a driver twice and removes it, in a folder that stands for the root of
// a machine. The example is a tar package when it is packed as docs/software.md says.
func TestDrivers(t *testing.T) {
	all, err := filepath.Glob("../../docs/examples/drivers/*")
	if err != nil || len(all) != 2 {
		t.Fatalf("%d drivers, %v", len(all), err)
	}
	page, err := os.ReadFile("../../docs/software.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range all {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			if pack := "tar -C docs/examples/drivers/" + filepath.Base(dir) + " "; filepath.Base(dir) == "qat" && !strings.Contains(string(page), pack) {
				t.Errorf("docs/software.md does not have %q", pack)
			}
			root := t.TempDir()
			run := func(script, before string) {
				t.Helper()
				cmd := exec.CommandContext(t.Context(), "./"+script)
				cmd.Dir, cmd.Env = dir, append(os.Environ(), "DESTDIR="+root, "PREVIOUS_VERSION="+before)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%s: %v\n%s", script, err, out)
				}
			}
			version, err := os.ReadFile(filepath.Join(dir, "version"))
			if err != nil {
				t.Fatal(err)
			}
			run("install.sh", "")
			run("install.sh", strings.TrimSpace(string(version)))
			files := filesBelow(t, root)
			marker := slices.IndexFunc(files, func(f string) bool { return strings.HasSuffix(f, "/installed") })
			if len(files) != 2 || marker < 0 || !strings.HasPrefix(files[0], "etc/modprobe.d/") {
				t.Fatalf("it has installed %q", files)
			}
			if got, err := os.ReadFile(filepath.Join(root, files[marker])); err != nil || string(got) != string(version) {
				t.Errorf("the marker has %q, %v, want %q", got, err, version)
			}
			run("uninstall.sh", "")
			if left := filesBelow(t, root); len(left) > 0 {
				t.Errorf("it has left %q", left)
			}
		})
	}
}

func filesBelow(t *testing.T, root string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		path, err = filepath.Rel(root, path)
		files = append(files, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	return files
}
