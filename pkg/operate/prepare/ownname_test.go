package prepare_test

import (
	"io"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
)

// A machine whose /etc/hosts cannot be written gets its cluster all the same, and the log says so.
func TestUnwritableHostsFile(t *testing.T) {
	w := kubespraytest.New(t, 1)
	w.Names = func(stderr io.Writer) int {
		io.WriteString(stderr, "cannot create /etc/hosts: Read-only file system")
		return 2
	}
	if _, err := w.Run(); err != nil {
		t.Fatal(err)
	}
	if said := strings.Count(w.Log.String(), "its own name cannot be written into /etc/hosts: cannot create /etc/hosts: Read-only file system"); said != 2 {
		t.Errorf("the log shows it for %d of 2 nodes:\n%s", said, &w.Log)
	}
}
