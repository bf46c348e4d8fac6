package files

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/depot/disk"
)

func TestScrubFindsAChangedFile(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	files, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	for _, name := range []string{"good", "flipped", "unknown"} {
		if err := os.WriteFile(filepath.Join(dir, Dir, name), []byte("content"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sums := &digests{files: files, cache: root, racy: -1}
	for _, name := range []string{"good", "flipped"} {
		info, err := files.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		sum, err := sums.Of("good")
		if err != nil {
			t.Fatal(err)
		}
		if name == "flipped" {
			sum = strings.Repeat("0", 64) // as if the disk had flipped a bit of the file
		}
		sums.keep(name, kept{disk.StampOf(info), sum})
	}
	var found []string
	read, unknown, err := Scrub(context.Background(), dir, func(path, why string) { found = append(found, path+": "+why) })
	if err != nil || read != 2 || unknown != 1 || len(found) != 1 || !strings.HasPrefix(found[0], "flipped: its content has changed") {
		t.Errorf("read %d, unknown %d, found %v, %v", read, unknown, found, err)
	}
}
