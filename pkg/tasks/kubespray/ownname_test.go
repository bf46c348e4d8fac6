package kubespray

import (
	"io"
	"strings"
	"testing"
)

// A machine whose /etc/hosts cannot be written gets its cluster all the same, and the log says so.
func TestUnwritableHostsFile(t *testing.T) {
	w := newFixture(t, 1)
	w.names = func(stderr io.Writer) int {
		io.WriteString(stderr, "cannot create /etc/hosts: Read-only file system")
		return 2
	}
	if _, err := w.run(); err != nil {
		t.Fatal(err)
	}
	if said := strings.Count(w.log.String(), "its own name cannot be written into /etc/hosts: cannot create /etc/hosts: Read-only file system"); said != 2 {
		t.Errorf("the log shows it for %d of 2 nodes:\n%s", said, &w.log)
	}
}
