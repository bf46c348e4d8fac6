package play

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/playbook/acceleration"
)

func TestNoPrefetch(t *testing.T) {
	for name, change := range map[string]func(*session.Input){
		"switched off":              func(in *session.Input) { in.Request.SwitchedOff = []string{acceleration.Prefetch} },
		"all switched off":          func(in *session.Input) { in.Request.SwitchedOff = []string{acceleration.All} },
		"an upgrade":                func(in *session.Input) { in.Playbook = contract.PlaybookUpgrade },
		"a reset":                   func(in *session.Input) { in.Playbook = contract.PlaybookReset },
		"a part of the playbook":    func(in *session.Input) { in.Tags = "master" },
		"playbooks of another kind": func(in *session.Input) { in.PlaybooksDir = t.TempDir() },
	} {
		in := session.Input{Playbook: contract.PlaybookInstall, PlaybooksDir: t.TempDir()}
		if err := os.MkdirAll(filepath.Join(in.PlaybooksDir, "roles", "kubespray_defaults"), 0o700); err != nil {
			t.Fatal(err)
		}
		if !prefetches(in) {
			t.Fatal("an installation does not prefetch")
		}
		if change(&in); prefetches(in) {
			t.Errorf("%s: prefetches", name)
		}
	}
}
