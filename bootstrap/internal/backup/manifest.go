package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

// Version is the version of the format.
const Version = 1

// Names of the files of a backup beside those of the state folder, which have their path in it.
const (
	manifestFile = "manifest.json"
	depotFile    = "depot.jsonl"
	snapshotFile = "etcd.snapshot"
	stateFolder  = "state/"
)

// Manifest describes a backup. It is the first file of it.
type Manifest struct {
	Version int       `json:"version"`
	Machine string    `json:"machine"` // id
	Host    string    `json:"host"`    // name of the computer
	Time    time.Time `json:"time"`
	// Files are all other files in their order: those of the state folder, the list of the depot, and the snapshot.
	Files []File `json:"files"`
}

// File is a file of a backup.
type File struct {
	Name   string      `json:"name"`
	Size   int64       `json:"size"`
	Mode   fs.FileMode `json:"mode,omitempty"`
	SHA256 string      `json:"sha256,omitempty"` // not of the snapshot, which ends with its own
	text   []byte
}

// saved are the files and folders of the state folder that a backup has. Others are in etcd, are made again by `machine
// up`, or belong to running processes.
func saved(l layout.Layout) []string {
	all := []string{l.Marker(), l.PKI(), l.Etc()}
	for _, name := range layout.DepotSecrets() {
		all = append(all, filepath.Join(l.DepotDir(), name))
	}
	return all
}

// stateFiles reads the files of the state folder that a backup has.
func stateFiles(l layout.Layout) ([]File, error) {
	var files []File
	for _, root := range saved(l) {
		err := filepath.WalkDir(root, func(at string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) { // written and replaced in the meantime, or never there
				return nil
			}
			if err != nil || !entry.Type().IsRegular() || strings.HasPrefix(entry.Name(), ".new-") {
				return err
			}
			file, err := stateFile(l, at)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			files = append(files, file)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

func stateFile(l layout.Layout, at string) (File, error) {
	info, err := os.Stat(at)
	if err != nil {
		return File{}, err
	}
	text, err := os.ReadFile(at)
	if err != nil {
		return File{}, err
	}
	rel, err := filepath.Rel(l.Root, at)
	return newFile(stateFolder+filepath.ToSlash(rel), info.Mode().Perm(), text), err
}

func newFile(name string, mode fs.FileMode, text []byte) File {
	return File{Name: name, Size: int64(len(text)), Mode: mode, SHA256: sum(text), text: text}
}

// check returns an error unless the manifest is one of a backup that this version can read.
func (m Manifest) check() error {
	if m.Version != Version {
		return fmt.Errorf("the backup has format %d, and this program reads format %d: use the program of the version that made it", m.Version, Version)
	}
	names := map[string]bool{}
	for _, f := range m.Files {
		rel, state := strings.CutPrefix(f.Name, stateFolder)
		known := state && path.Clean(rel) == rel && filepath.IsLocal(rel) || f.Name == depotFile || f.Name == snapshotFile
		if !known || names[f.Name] || f.Size < 0 {
			return fmt.Errorf("the backup has a file %q that no backup has", f.Name)
		}
		names[f.Name] = true
	}
	for _, needed := range []string{depotFile, snapshotFile, stateFolder + ".bpa-machine", stateFolder + "pki/sa.key", stateFolder + "pki/etcd-ca.key"} {
		if !names[needed] {
			return fmt.Errorf("the backup has no file %s", needed)
		}
	}
	if !slices.IsSortedFunc(m.Files, func(a, b File) int { return rank(a) - rank(b) }) {
		return errors.New("the backup has its files in another order than a backup has")
	}
	return nil
}

func rank(f File) int { return slices.Index([]string{depotFile, snapshotFile}, f.Name) }
