package site

import (
	"os"
	"path/filepath"

	"github.com/akraino-icn/bpa/bootstrap/internal/disk"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

// Store keeps a copy of the file for all other commands.
func Store(l layout.Layout, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(l.Site()), 0o755); err != nil {
		return err
	}
	return disk.WriteFile(l.Site(), text, 0o644)
}
