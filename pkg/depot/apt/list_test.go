package apt

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/depot/apt/apttest"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// One source that cannot be read does not hide the packages of the others.
func TestListWithoutUnreadableSource(t *testing.T) {
	w := newFixture(t, t.TempDir())
	w.copyIn(t, "good.deb", apttest.Package(t, "app", "1", "amd64", ""))
	if _, damaged, err := w.repos.Packages(); err != nil || damaged != nil {
		t.Fatal(damaged, err)
	}
	if err := os.Mkdir(filepath.Join(w.dir, "files/apt/ubuntu-24.04"), 0o000); err != nil {
		t.Fatal(err)
	}
	asNobody(t, func() {
		all, damaged, err := w.repos.Packages()
		if err != nil || len(all) != 1 || all[0].Name != "app" {
			t.Errorf("packages %+v, error %v", all, err)
		}
		want := []protocol.DamagedPackage{{Name: "apt/ubuntu-24.04", Reason: "the depot cannot read this apt source: see the depot's log"}}
		if diff := cmp.Diff(want, damaged); diff != "" {
			t.Errorf("damaged (-want +got):\n%s", diff)
		}
	})
	if log := w.log.String(); !strings.Contains(log, "folder=apt/ubuntu-24.04") {
		t.Errorf("log: %s", log)
	}
}
