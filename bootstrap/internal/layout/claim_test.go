package layout

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestClaim(t *testing.T) {
	for name, c := range map[string]struct {
		has  []string
		want string // a part of the error; empty: none
	}{
		"an empty folder":                      {},
		"tools were built":                     {has: []string{"bin/", "cache/", ".lock"}},
		"a machine of before there was a mark": {has: []string{"bin/", "cache/", "data/", "depot/", "etc/", "kubeconfig", "kubespray/", "log/", "pki/", "run/", "stamps/"}},
		"the root of a system":                 {has: []string{"bin/", "data/", "etc/", "home/", "run/", "usr/", "var/", "opt/"}, want: "it has home, opt, usr and 1 more"},
		"a home directory":                     {has: []string{".ssh/", "run/"}, want: "it has .ssh;"},
		"marked, with other files":             {has: []string{".bpa-machine", "notes"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := Layout{Root: filepath.Join(t.TempDir(), "state")}
			for _, entry := range c.has {
				path := filepath.Join(l.Root, entry)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if strings.HasSuffix(entry, "/") {
					if err := os.MkdirAll(path, 0o755); err != nil {
						t.Fatal(err)
					}
				} else if err := os.WriteFile(path, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			err := l.Claim()
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Fatalf("error %v, want %q", err, c.want)
			}
			if _, missing := os.Stat(l.Marker()); (missing == nil) != (c.want == "") {
				t.Errorf("the mark: %v", missing)
			}
			if c.want != "" {
				return
			}
			id, err := l.ID()
			if err != nil || !regexp.MustCompile("^[0-9a-f]{8}$").MatchString(id) {
				t.Errorf("id %q, %v", id, err)
			}
			if err := l.Claim(); err != nil {
				t.Fatal(err)
			}
			if again, err := l.ID(); err != nil || again != id {
				t.Errorf("a second claim: id %q, %v; want %q", again, err, id)
			}
		})
	}
	if err := (Layout{Root: "state"}).Claim(); err == nil || !strings.Contains(err.Error(), "absolute path") {
		t.Errorf("a relative path: %v", err)
	}
}

// TestIDRefusesWhatIsNotMarked: commands that stop or remove a machine ask for its id first.
func TestIDRefusesWhatIsNotMarked(t *testing.T) {
	l := Layout{Root: t.TempDir()}
	if err := os.Mkdir(filepath.Join(l.Root, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := l.ID(); !errors.Is(err, ErrNoMachine) {
		t.Errorf("a folder with tools only: %v, want %v", err, ErrNoMachine)
	}
	if err := os.Mkdir(filepath.Join(l.Root, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := l.ID(); err == nil || errors.Is(err, ErrNoMachine) || !strings.Contains(err.Error(), "has etc, but not the file .bpa-machine") {
		t.Errorf("a folder with etc: %v", err)
	}
}
