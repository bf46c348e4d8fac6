package layout

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Marker is the file that shows that the state folder is that of a bootstrap machine. Its content has no meaning.
func (l Layout) Marker() string { return l.path(".bpa-machine") }

// known are the names of all that this project puts into a state folder.
var known = []string{
	".bpa-machine", ".lock", "bench.jsonl", "bin", "cache", "data", "depot", "etc", "kubeconfig", "kubespray", "kubespray.new", "log", "lost+found", "pki", "run", "stamps",
}

// Claim marks the state folder as that of a bootstrap machine, if it is not marked yet, and creates it if it does not
// exist. It refuses a folder that has anything else, such as / or a home directory: `machine down` removes folders in it
// by their names, and `machine clean` the whole of it.
func (l Layout) Claim() error {
	if _, err := os.Lstat(l.Marker()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !filepath.IsAbs(l.Root) {
		return fmt.Errorf("BPA_STATE is %q: write an absolute path, because programs in other folders use it too", l.Root)
	}
	entries, err := os.ReadDir(l.Root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var foreign []string
	for _, e := range entries {
		if !slices.Contains(known, e.Name()) {
			foreign = append(foreign, e.Name())
		}
	}
	if len(foreign) > 0 {
		return fmt.Errorf("BPA_STATE=%s is not the folder of a bootstrap machine: it has %s; nothing was changed. Use a folder of its own, such as %s. "+
			"If it is the folder of one, move these files away, or create the file %s",
			l.Root, someOf(foreign), Default, l.Marker())
	}
	if err := os.MkdirAll(l.Root, 0o755); err != nil {
		return err
	}
	return os.WriteFile(l.Marker(), nil, 0o644)
}

// someOf lists at most three names.
func someOf(names []string) string {
	if more := len(names) - 3; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:3], ", "), more)
	}
	return strings.Join(names, ", ")
}
