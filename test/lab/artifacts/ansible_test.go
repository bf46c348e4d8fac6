package artifacts

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/test/lab/pack"
)

// The layer must omit setuptools completely: its .pth file alone makes Python print an error at
// each start.
func TestUnwanted(t *testing.T) {
	root := t.TempDir()
	const packages = "lib/python3.11/site-packages/"
	for _, file := range []string{
		packages + "distutils-precedence.pth", packages + "_distutils_hack/__init__.py", packages + "pip/__main__.py",
		packages + "ansible/modules/include.py", packages + "ansible/modules/pip.py",
		packages + "ansible_collections/ansible/posix/tests/unit.py", packages + "jinja2/tests/filters.py", "include/python.h",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, file)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, file), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := pack.Tree(root, "", unwanted)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		if e.Source != "" {
			got = append(got, e.Name)
		}
	}
	want := []string{packages + "ansible/modules/include.py", packages + "ansible/modules/pip.py", packages + "jinja2/tests/filters.py"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files in the layer (-want +got):\n%s", diff)
	}
}
