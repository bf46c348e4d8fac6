//go:build integration && icn

package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestICNFilesApply checks that ICN's own files, in the checkout that ICN names, apply unchanged, and that kubectl
// prints a warning for a plugin that is retired. Several of them are for the same cluster, so each one is
// deleted again.
func TestICNFilesApply(t *testing.T) {
	applied := 0
	for _, pattern := range []string{"deploy/crds/*/*_cr*.yaml", "e2etest/*_cr*.yaml"} {
		files, err := filepath.Glob(filepath.Join(os.Getenv("ICN"), "cmd/bpa-operator", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(raw), "kind: CustomResourceDefinition") {
				continue
			}
			applied++
			t.Run(filepath.Base(file), func(t *testing.T) {
				must(t, "", "apply", "--dry-run=server", "--server-side", "-f", file)
				out := must(t, "", "apply", "-f", file)
				for _, name := range []string{"emco", "bpa"} {
					asks := strings.Contains(string(raw), "KUDPlugins:\n    - "+name+"\n")
					if warns := strings.Contains(out, "Warning: plugin "+name+" is skipped, because it is retired: "); warns != asks {
						t.Errorf("a warning for %s: %t, want %t: %s", name, warns, asks, out)
					}
				}
				must(t, "", "delete", "-f", file)
			})
		}
	}
	if applied != 18 {
		t.Errorf("%d files in ICN=%q, want the 18 of commit 95ca9e91", applied, os.Getenv("ICN"))
	}
}
