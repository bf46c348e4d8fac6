//go:build kubespray

package acceleration

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// These tests need the variable KUBESPRAY, a checkout of v2.31.0, and the Ansible of the lab, which `lab artifacts` installs.

// unusual is what a module uses that ends in another way than by the end of its text.
var unusual = regexp.MustCompile(`\bsys\.excepthook\b|\batexit\.|\bos\._exit\(|\bdef __del__\b|\bimport (?:threading|multiprocessing|concurrent)|\bfrom (?:threading|multiprocessing|concurrent)`)

// endsOf has the files of Ansible and its collections that end in such a way, with the end in testdata/ends.py that tests it.
var endsOf = map[string]string{
	"ansible/modules/async_wrapper.py":                                        "a pool of threads", // only its Pipe; it runs without Interpreter
	"ansible/modules/file.py":                                                 "the hook of module file",
	"ansible/modules/service.py":                                              "a process in the background",
	"ansible/module_utils/_internal/_concurrent/_daemon_threading.py":         "a thread",
	"ansible/module_utils/_internal/_concurrent/_futures.py":                  "a pool of threads",
	"ansible/module_utils/basic.py":                                           "atexit",
	"ansible/module_utils/facts/timeout.py":                                   "a pool of threads",
	"ansible/module_utils/service.py":                                         "a process in the background",
	"ansible_collections/community/crypto/plugins/modules/get_certificate.py": "atexit",
	"ansible_collections/community/general/plugins/module_utils/xenserver.py": "atexit",
	"ansible_collections/community/general/plugins/modules/kdeconfig.py":      "__del__ of a global",
	"ansible_collections/community/general/plugins/modules/rhevm.py":          "__del__ of a global",
}

// TestEndsOfModulesOnKubespray: each module that kubespray can use and that ends in an unusual way is listed with the test of this end.
func TestEndsOfModulesOnKubespray(t *testing.T) {
	packages, collections := installed(t), dependencies(t)
	found := map[string]string{}
	search := func(root, folder string) {
		walk(t, root, folder, ".py", func(path, text string) {
			if unusual.MatchString(text) {
				found[path] = endsOf[path]
			}
		})
	}
	for _, folder := range []string{"ansible/modules", "ansible/module_utils"} {
		search(packages, folder)
	}
	for _, name := range collections {
		for _, folder := range []string{"plugins/modules", "plugins/module_utils"} {
			search(packages, "ansible_collections/"+strings.ReplaceAll(name, ".", "/")+"/"+folder)
		}
	}
	for _, folder := range []string{"library", "plugins", "roles"} { // kubespray's own modules, and those of roles
		search(os.Getenv("KUBESPRAY"), folder)
	}
	if diff := cmp.Diff(endsOf, found); diff != "" {
		t.Errorf("files that end in an unusual way (-listed +found): test the end in testdata/ends.py and list the file\n%s", diff)
	}
	ends, err := os.ReadFile("testdata/ends.py")
	if err != nil {
		t.Fatal(err)
	}
	for path, end := range endsOf {
		if !strings.Contains(string(ends), `    "`+end+`": (`) {
			t.Errorf("%s: testdata/ends.py does not test the end %q", path, end)
		}
	}
}

// changing is what a template uses that changes a variable. trial.py has the same list.
var changing = regexp.MustCompile(`\{[{%][^}]*[.[]\s*['"]?(add|append|clear|discard|extend|insert|pop|popitem|remove|reverse|setdefault|sort|update|\w*_update|__\w+__)\b`)

// changesOf has the templates of kubespray that change a variable, with the variable that they change. None is one of a host or of
// another task. plugins_changes_test.go tests such changes.
var changesOf = map[string]string{
	"roles/bastion-ssh-config/templates/ssh-bastion.conf.j2":                                                           "vars, a dictionary that the template itself sets",
	"roles/container-engine/cri-o/templates/unqualified.conf.j2":                                                       "_unqualified_registries, which the template itself sets",
	"roles/etcd/templates/openssl.conf.j2":                                                                             "counter, which the template itself sets",
	"roles/kubernetes-apps/external_provisioner/local_volume_provisioner/templates/local-volume-provisioner-cm.yml.j2": "mydict, a copy that templating has made",
}

func TestChangingTemplatesOnKubespray(t *testing.T) {
	found := map[string]string{}
	for _, suffix := range []string{".j2", ".yml", ".yaml"} {
		for _, folder := range []string{"roles", "playbooks"} {
			walk(t, os.Getenv("KUBESPRAY"), folder, suffix, func(path, text string) {
				if changing.MatchString(text) {
					found[path] = changesOf[path]
				}
			})
		}
	}
	if diff := cmp.Diff(changesOf, found); diff != "" {
		t.Errorf("templates that change a variable (-listed +found): find out which variable it is and list the template\n%s", diff)
	}
	trial, err := os.ReadFile("plugins/bpa_acceleration/trial.py")
	if err != nil {
		t.Fatal(err)
	}
	_, methods, _ := strings.Cut(changing.String(), "?(")
	if text := regexp.MustCompile(`\s`).ReplaceAllString(string(trial), ""); !strings.Contains(text, "?("+strings.TrimSuffix(methods, `\b`)) {
		t.Errorf("trial.py has another list of methods than this test: %s", methods)
	}
}

// installed returns the folder of the packages of the lab's Ansible.
func installed(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(os.Getenv("BPA_STATE"), "cache/lab/ansible/venv/lib/python3*/site-packages"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the lab's Ansible: %v, %v: run lab artifacts, which installs it", found, err)
	}
	return found[0]
}

// dependencies returns the collections that kubespray uses.
func dependencies(t *testing.T) (names []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(os.Getenv("KUBESPRAY"), "galaxy.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^  ([a-z0-9_]+\.[a-z0-9_]+): '`).FindAllStringSubmatch(string(text), -1) {
		names = append(names, m[1])
	}
	if len(names) < 5 {
		t.Fatalf("galaxy.yml names the collections %v", names)
	}
	return names
}

// walk calls use for each file below root/folder whose name has the suffix. path is relative to root.
func walk(t *testing.T, root, folder, suffix string, use func(path, text string)) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(root), folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, suffix) {
			return err
		}
		text, err := fs.ReadFile(os.DirFS(root), path)
		use(path, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
