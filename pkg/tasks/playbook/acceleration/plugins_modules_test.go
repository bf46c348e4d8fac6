//go:build integration

package acceleration

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// changedModule writes a module with this text, which Ansible finds through the returned variable of the environment.
func changedModule(t *testing.T, folder, text string) (env string) {
	t.Helper()
	put(t, filepath.Join(folder, "changing.py"), fmt.Sprintf(`from ansible.module_utils.basic import AnsibleModule

AnsibleModule(argument_spec={}).exit_json(text=%q, file=__file__)
`, text))
	return "ANSIBLE_LIBRARY=" + folder
}

// A module that was changed, such as by another release of kubespray, is unpacked once for all further runs. Their
// number is limited, because they lie in memory.
func TestPluginsUnpackAChangedModuleOnce(t *testing.T) {
	if os.Getuid() != 0 {
		t.Fatal("only modules of root are unpacked: run this test as root")
	}
	p, folder := newPlayer(t), t.TempDir()
	play := func(text string) string {
		t.Helper()
		return strings.Join(p.green("changing.yml", "{"+modules+"}", changedModule(t, folder, text)).events, "\n")
	}
	stamp := fmt.Sprint(time.Now().UnixNano())
	play("first " + stamp) // is among the modules of Ansible, if no other text was there before
	before := unpacked(t)
	defer func() { remove(t, newer(before, unpacked(t))) }()
	if all := play("second " + stamp); !strings.Contains(all, `"text":"second `+stamp) {
		t.Errorf("the module of an earlier run was used:\n%s", all)
	}
	once := newer(before, unpacked(t))
	if own := owned(once); len(own) != 1 {
		t.Errorf("the changed module has the folders %v, want one", own)
	}
	for range 2 {
		if all := play("second " + stamp); !strings.Contains(all, filepath.Join(unpackedIn(t), owned(once)[0])) {
			t.Errorf("the unpacked module was not used:\n%s", all)
		}
	}
	if diff := cmp.Diff(once, newer(before, unpacked(t))); diff != "" {
		t.Errorf("further runs have unpacked the module again (-after one run +after three):\n%s", diff)
	}
	for i := range 16 {
		if err := os.Mkdir(filepath.Join(unpackedIn(t), fmt.Sprint("own-full-", i)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	full := unpacked(t)
	if all := play("last " + stamp); !strings.Contains(all, `"text":"last `+stamp) {
		t.Errorf("a module that is not unpacked did not run:\n%s", all)
	}
	if diff := cmp.Diff(full, unpacked(t)); diff != "" {
		t.Errorf("more than 16 changed modules are unpacked (-before +after):\n%s", diff)
	}
}

// unpackedIn returns the folder of the unpacked modules on this machine.
func unpackedIn(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob("/run/bpa-ansible-*")
	if err != nil || len(found) == 0 {
		t.Fatalf("no modules are unpacked in /run: %v", err)
	}
	return slices.MaxFunc(found, func(a, b string) int { return modified(t, a).Compare(modified(t, b)) })
}

func modified(t *testing.T, path string) time.Time {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.ModTime()
}

// unpacked returns the names in that folder.
func unpacked(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(unpackedIn(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func newer(before, after []string) []string {
	return slices.DeleteFunc(slices.Clone(after), func(name string) bool { return slices.Contains(before, name) })
}

func owned(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.HasPrefix(name, "own-") })
}

func remove(t *testing.T, names []string) {
	t.Helper()
	for _, name := range names {
		if err := os.RemoveAll(filepath.Join(unpackedIn(t), name)); err != nil {
			t.Error(err)
		}
	}
}
