package apt

import (
	"log/slog"
	"os"
	"regexp"
	"testing"
	"time"
)

// InReleaseOf returns the InRelease that a depot with its root in dir made of a Release at a time.
func InReleaseOf(t *testing.T, dir, release string, at time.Time) string {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	key, err := OpenKey(root, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s, err := key.sign(regexp.MustCompile(`(?m)^Valid-Until: .*\n`).ReplaceAll([]byte(release), nil), at)
	if err != nil {
		t.Fatal(err)
	}
	return string(s.inRelease)
}

// ValidFor is validFor.
const ValidFor = validFor
