package layout

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/bootstrap/internal/disk"
)

// Marker is the file that shows that the state folder is that of a bootstrap machine. It contains the id of the machine.
func (l Layout) Marker() string { return l.path(".bpa-machine") }

// known are the names of all that this project puts into a state folder.
var known = []string{
	".bpa-machine", ".lock", "before-restore", "bench.jsonl", "bin", "cache", "data", "depot", "etc", "kubeconfig", "kubespray", "kubespray.new", "log", "lost+found", "pki", "restore", "run", "stamps",
}

// ErrNoMachine reports that the state folder is not that of a bootstrap machine.
var ErrNoMachine = errors.New("there is no bootstrap machine")

// ID returns the id of the machine, by which users name the machine that they destroy. Without a marked folder, the
// error is ErrNoMachine. A folder without a mark that has what a command would remove is another error.
func (l Layout) ID() (string, error) {
	text, err := os.ReadFile(l.Marker())
	if err == nil {
		return strings.TrimSpace(string(text)), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for _, path := range append(l.ClusterDirs(), l.DepotDir()) {
		if _, err := os.Lstat(path); err == nil {
			return "", fmt.Errorf("BPA_STATE=%s has %s, but not the file %s that marks the folder of a bootstrap machine; nothing was changed. "+
				"If it is the folder of one, run `machine up`, which marks it", l.Root, filepath.Base(path), filepath.Base(l.Marker()))
		}
	}
	return "", fmt.Errorf("%w in BPA_STATE=%s", ErrNoMachine, l.Root)
}

// Claim marks the state folder as that of a bootstrap machine and gives the machine an id, if it has none yet. It
// creates the folder if it does not exist. It refuses a folder that has anything else, such as / or a home directory:
// `machine destroy` removes folders in it by their names, and `machine clean` the whole of it.
func (l Layout) Claim() error {
	if text, err := os.ReadFile(l.Marker()); err == nil && len(text) == 0 { // of a machine of before there were ids
		return l.mark()
	} else if !errors.Is(err, fs.ErrNotExist) {
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
	return l.mark()
}

func (l Layout) mark() error {
	id := make([]byte, 4)
	_, _ = rand.Read(id) // never fails
	return disk.WriteFile(l.Marker(), fmt.Appendf(nil, "%x\n", id), 0o644)
}

// someOf lists at most three names.
func someOf(names []string) string {
	if more := len(names) - 3; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:3], ", "), more)
	}
	return strings.Join(names, ", ")
}
