package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	spdx = regexp.MustCompile(`(?m)^# SPDX-License-Identifier: (\S+)$`)
	// inAnsible is the import of a part of Ansible that has the license GPL-3.0-or-later. Modules use only ansible.module_utils, which
	// has a permissive one, so that they can have any.
	inAnsible = regexp.MustCompile(`(?m)^\s*(from|import) ansible(\.(\w+))?`)
)

// TestLicenses: each Python file names its license, LICENSES has the text, and what runs in the process of Ansible has Ansible's.
func TestLicenses(t *testing.T) {
	n := 0
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "node_modules") {
			return fs.SkipDir
		}
		if filepath.Ext(path) != ".py" {
			return nil
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		n++
		name := spdx.FindStringSubmatch(string(raw))
		if name == nil {
			t.Errorf("%s has no SPDX-License-Identifier", path)
			return nil
		}
		if text, err := os.ReadFile("../../LICENSES/" + name[1] + ".txt"); err != nil || len(text) < 1000 {
			t.Errorf("%s has the license %s, which has no text: %v", path, name[1], err)
		}
		for _, m := range inAnsible.FindAllStringSubmatch(string(raw), -1) {
			if m[3] != "module_utils" && name[1] != "GPL-3.0-or-later" {
				t.Errorf("%s has the license %s and uses %s, which has GPL-3.0-or-later", path, name[1], strings.TrimSpace(m[0]))
			}
		}
		return nil
	})
	if err != nil || n < 20 {
		t.Errorf("%d Python files, %v", n, err)
	}
}
