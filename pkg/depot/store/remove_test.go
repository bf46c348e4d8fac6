package store_test

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"
	"github.com/distribution/distribution/v3/registry/storage/driver/filesystem"

	"github.com/akraino-icn/bpa/pkg/depot/store"
)

var errKilled = errors.New("killed")

// mortal is a driver that fails after a number of changes. The change at which it fails is done
// partially if it covers several files.
type mortal struct {
	storagedriver.StorageDriver
	dir string
	// left is the number of changes before the driver fails.
	left int
}

func (m *mortal) dies() bool {
	m.left--
	return m.left < 0
}

func (m *mortal) PutContent(ctx context.Context, path string, content []byte) error {
	if m.dies() {
		return errKilled
	}
	return m.StorageDriver.PutContent(ctx, path, content)
}

func (m *mortal) Delete(ctx context.Context, at string) error {
	if m.left < 0 {
		return errKilled
	}
	if m.dies() {
		entries, err := os.ReadDir(filepath.Join(m.dir, at))
		if err == nil && len(entries) > 1 {
			return errors.Join(errKilled, m.StorageDriver.Delete(ctx, path.Join(at, entries[0].Name())))
		}
		return errKilled
	}
	return m.StorageDriver.Delete(ctx, at)
}

// A kill at any step of a removal leaves the whole document, or a state that the next start
// completes.
func TestARemovalThatWasKilledIsFinished(t *testing.T) {
	document := func(n string) store.Document {
		return store.Document{Type: "application/vnd.test.v1", Config: []byte(`{"n":` + n + `}`)}
	}
	for _, others := range []bool{false, true} {
		for steps := 0; ; steps++ {
			dir := t.TempDir()
			open := func(driver storagedriver.StorageDriver) *store.Store {
				s, err := store.Over(t.Context(), driver)
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			driver := filesystem.New(filesystem.DriverParameters{RootDirectory: dir, MaxThreads: 25})
			s := open(driver)
			for n, tag := range []string{"gone", "other"} {
				if n > 0 && !others {
					break
				}
				for _, version := range []string{"1", "2"} { // twice, so that the tag has a history
					if err := s.Save(t.Context(), "a/b", tag, document(version+"0"+strconv.Itoa(n))); err != nil {
						t.Fatal(err)
					}
				}
			}
			err := open(&mortal{driver, dir, steps}).Remove(t.Context(), "a/b", "gone")
			if err != nil && !errors.Is(err, errKilled) && !strings.Contains(err.Error(), errKilled.Error()) {
				t.Fatalf("killed at step %d: %v", steps, err)
			}
			_, loadErr := s.Load(t.Context(), "a/b", "gone")
			if loadErr != nil && !store.IsAbsent(loadErr) {
				t.Errorf("killed at step %d, the document is neither there nor gone: %v", steps, loadErr)
			}
			again := open(driver)
			if err := again.FinishRemovals(t.Context()); err != nil {
				t.Fatalf("killed at step %d: %v", steps, err)
			}
			checkRemoved(t, again, dir, steps, others, err == nil)
			if err == nil {
				break
			}
		}
	}
}

// checkRemoved checks the state after a finished removal, or after one that never began.
func checkRemoved(t *testing.T, s *store.Store, dir string, steps int, others, done bool) {
	t.Helper()
	_, err := s.Load(t.Context(), "a/b", "gone")
	whole := err == nil
	if whole && done || !whole && !store.IsAbsent(err) {
		t.Errorf("killed at step %d, and started again: %v", steps, err)
	}
	if _, err := s.Load(t.Context(), "a/b", "other"); others && err != nil {
		t.Errorf("killed at step %d, the other document: %v", steps, err)
	}
	if notes, _ := os.ReadDir(filepath.Join(dir, "depot/removals")); len(notes) > 0 {
		t.Errorf("killed at step %d, %d notes are left", steps, len(notes))
	}
	repository := filepath.Join(dir, store.RepositoriesPath, "a/b")
	if _, err := os.Stat(repository); !whole && !others && !errors.Is(err, os.ErrNotExist) {
		t.Errorf("killed at step %d, the repository is left: %v", steps, err)
	}
	links, err := filepath.Glob(repository + "/_manifests/revisions/sha256/*/link")
	want := 0
	if whole {
		want++
	}
	if others {
		want++
	}
	if err != nil || len(links) != want {
		t.Errorf("killed at step %d, %d manifests are left, %v; want %d", steps, len(links), err, want)
	}
}

// A second request after a failure completes the removal, and does not damage a newer document.
func TestARemovalCanBeAskedForAgain(t *testing.T) {
	dir := t.TempDir()
	driver := filesystem.New(filesystem.DriverParameters{RootDirectory: dir, MaxThreads: 25})
	s, err := store.Over(t.Context(), driver)
	if err != nil {
		t.Fatal(err)
	}
	m := &mortal{driver, dir, 2} // two changes: the note is written, and the tag is removed
	dying, err := store.Over(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	save := func(config string) {
		t.Helper()
		if err := s.Save(t.Context(), "a", "t", store.Document{Type: "application/vnd.test.v1", Config: []byte(config)}); err != nil {
			t.Fatal(err)
		}
	}
	save(`{"n":1}`)
	if err := dying.Remove(t.Context(), "a", "t"); err == nil {
		t.Fatal("the removal did not fail")
	}
	if err := s.Remove(t.Context(), "a", "t"); err != nil {
		t.Errorf("asked for again: %v", err)
	}
	if err := s.Remove(t.Context(), "a", "t"); !store.IsAbsent(err) {
		t.Errorf("and again: %v", err)
	}
	save(`{"n":1}`)
	m.left = 2
	if err := dying.Remove(t.Context(), "a", "t"); err == nil {
		t.Fatal("the removal did not fail")
	}
	save(`{"n":2}`)
	if err := s.FinishRemovals(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Load(t.Context(), "a", "t"); err != nil || string(got.Config) != `{"n":2}` {
		t.Errorf("what was saved after the failure = %s, %v", got.Config, err)
	}
}

func TestADocumentWithADamagedTagCanBeRemoved(t *testing.T) {
	s := onDisk(t)
	if err := s.Save(t.Context(), "a/b", "t", store.Document{Type: "application/vnd.test.v1", Config: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(s.Dir(), store.RepositoriesPath, "a/b/_manifests/tags/t/current/link")
	if err := os.WriteFile(link, []byte("sha256:!"), 0o600); err != nil {
		t.Fatal(err)
	}
	var hurt *store.DamagedError
	if _, err := s.Load(t.Context(), "a/b", "t"); !errors.As(err, &hurt) {
		t.Errorf("a damaged tag = %v", err)
	}
	if err := s.Remove(t.Context(), "a/b", "t"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(s.Dir(), store.RepositoriesPath, "a/b")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the repository is left: %v", err)
	}
}

// A damaged note is reported, and the removals of the other notes are completed.
func TestADamagedNoteKeepsNoRemovalFromItsEnd(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	inner := filesystem.New(filesystem.DriverParameters{RootDirectory: dir, MaxThreads: 10})
	m := &mortal{StorageDriver: inner, dir: dir, left: 1 << 20}
	s, err := store.Over(ctx, m)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Save(ctx, "bpa-depot/artifacts/a", "latest", store.Document{Type: "application/vnd.test.v1", Config: []byte(`{}`)}); err != nil {
		t.Fatal(err)
	}
	m.left = 1 // only the note
	if err := s.Remove(ctx, "bpa-depot/artifacts/a", "latest"); !errors.Is(err, errKilled) {
		t.Fatalf("the removal: %v", err)
	}
	m.left = 1 << 20
	if err := inner.PutContent(ctx, "/depot/removals/00", []byte("{")); err != nil {
		t.Fatal(err)
	}
	if err := s.FinishRemovals(ctx); err == nil || !strings.Contains(err.Error(), "/depot/removals/00") {
		t.Errorf("the damaged note: %v", err)
	}
	notes, err := inner.List(ctx, "/depot/removals")
	if err != nil || len(notes) != 1 {
		t.Errorf("notes %v, %v; want the damaged one alone", notes, err)
	}
}
