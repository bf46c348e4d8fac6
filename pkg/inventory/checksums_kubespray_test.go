//go:build kubespray

package inventory

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// The table is that of the checkout that KUBESPRAY names.
func TestTableIsKubesprays(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(os.Getenv("KUBESPRAY"), "roles/kubespray_defaults/defaults/main/download.yml"))
	if err != nil {
		t.Fatalf("%v: KUBESPRAY must name a checkout of v2.31.0", err)
	}
	for _, c := range checksums {
		line := regexp.MustCompile(`(?m)^` + c.variable + `: "\{\{ ` + c.table + `\[image_arch\]\[` + c.version + `\] \}\}"$`)
		if !line.Match(text) {
			t.Errorf("%s is not made of %s and %s", c.variable, c.table, c.version)
		}
	}
}
