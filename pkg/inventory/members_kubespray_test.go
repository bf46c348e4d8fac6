//go:build kubespray

package inventory

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Kubespray takes the name of a member of etcd from the variable that hosts.ini sets. It uses a name
// by position only where the name does not matter: while a member joins, in the list of the members
// before it. Etcd compares only the addresses in this list.
func TestMemberNamesAreKubesprays(t *testing.T) {
	root := os.Getenv("KUBESPRAY")
	byPosition := regexp.MustCompile(`"etcd" ?\+ ?\(?loop`)
	withDefault := regexp.MustCompile(`hostvars\[\w+\]\.etcd_member_name \| default\("etcd" \+ loop`)
	var defaults, other []string
	for _, dir := range []string{"roles", "playbooks"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for line := range strings.Lines(string(text)) {
				name := strings.TrimPrefix(path, root+"/")
				switch {
				case withDefault.MatchString(line):
					defaults = append(defaults, name)
				case byPosition.MatchString(line):
					other = append(other, name)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatalf("%v: KUBESPRAY must name a checkout of v2.31.0", err)
		}
	}
	want := slices.Repeat([]string{"roles/kubespray_defaults/defaults/main/main.yml"}, 3) // the host's name, and two lists
	if diff := cmp.Diff(want, defaults); diff != "" {
		t.Errorf("places where a name by position is the default (-want +got):\n%s", diff)
	}
	want = []string{"roles/etcd/tasks/join_etcd-events_member.yml", "roles/etcd/tasks/join_etcd_member.yml"}
	if diff := cmp.Diff(want, other); diff != "" {
		t.Errorf("places where the variable has no effect (-want +got):\n%s", diff)
	}
}
