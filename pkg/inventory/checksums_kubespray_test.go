//go:build kubespray

package inventory

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The variable checksums agrees with the kubespray checkout that the environment variable KUBESPRAY
// names.
func TestTableIsKubesprays(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(os.Getenv("KUBESPRAY"), "roles/kubespray_defaults/defaults/main/download.yml"))
	if err != nil {
		t.Fatalf("%v: KUBESPRAY must name a checkout of v2.31.0", err)
	}
	for _, c := range checksums {
		line := regexp.MustCompile(`(?m)^` + c.variable + `: "\{\{ ` + c.table + `\[image_arch\]\[` + c.version + `\] \}\}"$`)
		if !line.Match(text) {
			t.Errorf("the default of %s does not look up %s by %s", c.variable, c.table, c.version)
		}
	}
}

// Kubespray checks the Kubernetes version in exactly the tables that Tables names, and an inventory
// cannot override them.
func TestTablesAreKubesprays(t *testing.T) {
	read := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join(os.Getenv("KUBESPRAY"), "roles", name))
		if err != nil {
			t.Fatalf("%v: KUBESPRAY must name a checkout of v2.31.0", err)
		}
		return text
	}
	var compared []string
	for _, m := range regexp.MustCompile(`kube_version in (\w+)\[image_arch\]`).FindAllStringSubmatch(string(read("validate_inventory/tasks/main.yml")), -1) {
		compared = append(compared, m[1])
	}
	slices.Sort(compared)
	if diff := cmp.Diff(compared, Tables); diff != "" {
		t.Errorf("tables (-kubespray's +ours):\n%s", diff)
	}
	vars := read("kubespray_defaults/vars/main/checksums.yml")
	for _, table := range Tables {
		if !regexp.MustCompile(`(?m)^` + table + `:$`).Match(vars) {
			t.Errorf("%s is not a variable of a role", table)
		}
	}
}
