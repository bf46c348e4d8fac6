package upgrade_test

import (
	"os"
	"path/filepath"
	"time"
)

// age gives the files of a folder the ages of their names.
func (u *upgrading) age(folder string) {
	files, err := os.ReadDir(filepath.Join(u.Dir, folder))
	if err != nil {
		u.T.Fatal(err)
	}
	for i, f := range files {
		then := time.Now().Add(time.Duration(i-len(files)) * time.Hour)
		if err := os.Chtimes(filepath.Join(u.Dir, folder, f.Name()), then, then); err != nil {
			u.T.Fatal(err)
		}
	}
}

// expectModes checks the mode of a folder, and that of its newest snapshot.
func (u *upgrading) expectModes(folder string, dir, file os.FileMode) {
	u.T.Helper()
	at := filepath.Join(u.Dir, folder)
	files, err := os.ReadDir(at)
	if err != nil {
		u.T.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{at: dir, filepath.Join(at, files[len(files)-1].Name()): file} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			u.T.Errorf("%s: mode %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
}
