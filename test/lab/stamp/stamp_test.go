package stamp

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestDoMakesOnceUntilTheKeyChanges(t *testing.T) {
	dir := t.TempDir()
	s, out := Store{Dir: filepath.Join(dir, "stamps")}, filepath.Join(dir, "out")
	calls := 0
	create := func() error { calls++; return os.WriteFile(out, nil, 0o644) }
	for _, step := range []struct {
		why  string
		key  string
		prep func()
		want int
	}{
		{"first", "a", func() {}, 1},
		{"same key", "a", func() {}, 1},
		{"other key", "b", func() {}, 2},
		{"output gone", "b", func() { os.Remove(out) }, 3},
	} {
		step.prep()
		if _, err := s.Do("image x/y:1", step.key, []string{out}, create); err != nil {
			t.Fatalf("%s: %v", step.why, err)
		}
		if calls != step.want {
			t.Errorf("%s: made %d times, want %d", step.why, calls, step.want)
		}
	}
}

func TestDoForgetsWhatFailed(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	if err := s.Set("x", "a"); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("no space left")
	if _, err := s.Do("x", "b", nil, func() error { return broken }); !errors.Is(err, broken) {
		t.Fatalf("Do() = %v, want %v", err, broken)
	}
	made, err := s.Do("x", "a", nil, func() error { return nil })
	if err != nil || !made {
		t.Errorf("after a failed attempt the old stamp was still trusted (%v, %v)", made, err)
	}
}

func TestDoRefusesAMissingOutput(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	if _, err := s.Do("x", "a", []string{"/nonexistent/file"}, func() error { return nil }); err == nil {
		t.Error("a thing that was not made passed as made")
	}
}

func TestContentSeesNamesAndBytes(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a")
	seen := map[string]string{}
	for _, change := range []struct {
		why string
		do  func() error
	}{
		{"a file", func() error { return os.WriteFile(file, []byte("1"), 0o644) }},
		{"other bytes", func() error { return os.WriteFile(file, []byte("2"), 0o644) }},
		{"another name", func() error { return os.Rename(file, filepath.Join(dir, "b")) }},
		{"a link", func() error { return os.Symlink("b", file) }},
	} {
		if err := change.do(); err != nil {
			t.Fatal(err)
		}
		sum, err := ContentKey(dir)
		if err != nil {
			t.Fatal(err)
		}
		if before := seen[sum]; before != "" {
			t.Errorf("%s has the fingerprint of %s", change.why, before)
		}
		seen[sum] = change.why
	}
}
