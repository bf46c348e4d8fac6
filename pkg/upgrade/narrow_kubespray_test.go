//go:build kubespray

package upgrade

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// These tests need the variable KUBESPRAY, a checkout of v2.31.0, and the first also ansible-playbook in
// PATH.

// narrowRoles has the roles of kubespray whose tasks the tags of the table select.
var narrowRoles = map[string]string{
	"coredns": "kubernetes-apps/ansible", "nodelocaldns": "kubernetes-apps/ansible", "metrics_server": "kubernetes-apps/metrics_server",
	"local-path-provisioner": "kubernetes-apps/external_provisioner/local_path_provisioner", "node_feature_discovery": "kubernetes-apps/node_feature_discovery",
	"node-label": "kubernetes/node-label",
}

// TestNarrowTagsOnKubespray: each tag selects tasks of its role, and of no other role. All other tasks that
// run are those of the tag always, which only look at the inventory and at arguments, and gather facts.
func TestNarrowTagsOnKubespray(t *testing.T) {
	ansible, err := exec.LookPath("ansible-playbook")
	if err != nil {
		t.Fatalf("%v: put an environment with kubespray's requirements.txt into PATH", err)
	}
	task := regexp.MustCompile(`^      (?:(\S+) : )?(.+)\tTAGS: \[(.*)\]$`)
	always := []string{"", "dynamic_groups", "network_facts", "validate_inventory"}
	for _, n := range NarrowVariables {
		dir := t.TempDir()
		inventory := filepath.Join(dir, "hosts.ini")
		if err := os.WriteFile(inventory, []byte("[kube_control_plane]\nm-1\n[etcd]\nm-1\n[kube_node]\nw-1\n[k8s_cluster:children]\nkube_control_plane\nkube_node\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		c := exec.CommandContext(t.Context(), ansible, "-i", inventory, "--tags", strings.Join(n.Tags, ","), "--list-tasks", "cluster.yml")
		c.Dir = os.Getenv("KUBESPRAY")
		c.Env = append(os.Environ(), "HOME="+dir, "ANSIBLE_LOCAL_TEMP="+dir, "ANSIBLE_CACHE_PLUGIN_CONNECTION="+dir, "PYTHONDONTWRITEBYTECODE=1", "LC_ALL=C.UTF-8")
		var stderr strings.Builder
		c.Stderr = &stderr
		out, err := c.Output()
		if err != nil {
			t.Fatalf("tags %v: %v\n%s", n.Tags, err, &stderr)
		}
		selected := map[string]int{}
		for line := range strings.Lines(string(out)) {
			m := task.FindStringSubmatch(strings.TrimRight(line, "\n"))
			switch {
			case m == nil:
			case !slices.Contains(strings.Split(m[3], ", "), "always"):
				role := m[1]
				if role == "" { // a task without a name has no role in this list
					role = narrowRoles[n.Tags[0]]
				}
				selected[role]++
			case !slices.Contains(always, m[1]) && !strings.HasPrefix(m[2], "Validating arguments "):
				t.Errorf("role %s has a task with the tag always: %s", m[1], m[2])
			}
		}
		for _, tag := range n.Tags {
			if selected[narrowRoles[tag]] == 0 {
				t.Errorf("tag %s selects no task of role %s", tag, narrowRoles[tag])
			}
			delete(selected, narrowRoles[tag])
		}
		if len(selected) > 0 {
			t.Errorf("tags %v also select tasks of the roles %v", n.Tags, selected)
		}
	}
}

// TestNarrowVariablesOnKubespray: no role but that of the tag reads the variables, except for the variables
// that switch an addon on, which also decide what is downloaded.
func TestNarrowVariablesOnKubespray(t *testing.T) {
	root := os.Getenv("KUBESPRAY")
	files := map[string]string{}
	for _, dir := range []string{"roles", "playbooks"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !slices.Contains([]string{".yml", ".yaml", ".j2"}, filepath.Ext(path)) {
				return err
			}
			text, err := os.ReadFile(path)
			relative, _ := filepath.Rel(root, path)
			files[relative] = string(text)
			return err
		})
		if err != nil {
			t.Fatalf("%v: KUBESPRAY must name a checkout of v2.31.0", err)
		}
	}
	// shared are files that only say when a role runs, and the defaults and the list of downloads of all roles.
	shared := []string{"roles/kubernetes-apps/meta/main.yml", "roles/kubernetes-apps/external_provisioner/meta/main.yml",
		"roles/kubespray_defaults/defaults/main/main.yml", "roles/kubespray_defaults/defaults/main/download.yml"}
	for _, n := range NarrowVariables {
		role := "roles/" + narrowRoles[n.Tags[0]] + "/"
		for _, name := range n.Names {
			word := regexp.MustCompile(`\b` + name + `\b`)
			var used, others []string
			for path, text := range files {
				switch {
				case !word.MatchString(text):
				case strings.HasPrefix(path, role):
					used = append(used, path)
				case slices.Contains(shared, path):
					for line := range strings.Lines(text) {
						own := strings.HasPrefix(line, name+":") || strings.HasPrefix(strings.TrimSpace(line), "#")
						if word.MatchString(line) && !own && name != n.Switch {
							others = append(others, path+": "+strings.TrimSpace(line))
						}
					}
				default:
					others = append(others, path)
				}
			}
			if diff := cmp.Diff([]string(nil), others); diff != "" || len(used) == 0 && name != n.Switch {
				t.Errorf("%s is used in %v of its role. Others that use it: %s", name, used, diff)
			}
		}
	}
}
