//go:build integration

package debian

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/artifacts"
)

// smallArchive has packages that every installation has, such as shell, and packages that depend on
// them and on others.
var smallArchive = []string{
	"Package: shell\nVersion: 5.2-1\nPriority: required\nDepends: libc (>= 2.36)",
	"Package: libc\nVersion: 2.36-9\nPriority: optional",
	"Package: libssl\nVersion: 3.0.22-1\nPriority: required\nDepends: libc",
	"Package: editor\nVersion: 9.0-1\nPriority: important",
	"Package: conntrack\nVersion: 1:1.4.7-1+b2\nPriority: optional\nDepends: libc (>= 2.14), shell, libnfnetlink (>= 1), editor\nRecommends: manual",
	"Package: libnfnetlink\nVersion: 1.0.2-2\nPriority: optional",
	"Package: manual\nVersion: 1\nPriority: optional",
	"Package: libssl-dev\nVersion: 3.0.22-1\nPriority: optional\nDepends: libssl (= 3.0.22-1)",
	"Package: newer\nVersion: 1\nPriority: optional\nDepends: shell (>= 5.2-1)",
	"Package: broken\nVersion: 1\nPriority: optional\nDepends: what-nobody-has",
	"Package: mta-a\nVersion: 1\nPriority: optional\nProvides: mta",
	"Package: mta-b\nVersion: 1\nPriority: optional\nProvides: mta",
	"Package: clock\nVersion: 1\nPriority: optional\nProvides: time-daemon",
	"Package: clock\nVersion: 2\nPriority: optional\nProvides: time-daemon",
}

func request(a *archive, packages ...artifacts.Package) Request {
	return Request{System: "debian-99", Architecture: "amd64", Packages: packages, Sources: []string{a.line()}, Keyring: a.keyring}
}

// Fetch runs the real apt-get with an archive that the test has made.
func TestAptFetch(t *testing.T) {
	a := newArchive(t, smallArchive...)
	for _, tc := range []struct {
		name     string
		packages []artifacts.Package
		withBase bool
		want     []string
	}{
		{"with dependencies, without the base and recommended packages", []artifacts.Package{{Name: "conntrack"}}, false,
			[]string{"conntrack_1.4.7-1+b2_all.deb", "editor_9.0-1_all.deb", "libnfnetlink_1.0.2-2_all.deb"}},
		{"with the base", []artifacts.Package{{Name: "conntrack"}}, true,
			[]string{"conntrack_1.4.7-1+b2_all.deb", "editor_9.0-1_all.deb", "libc_2.36-9_all.deb", "libnfnetlink_1.0.2-2_all.deb", "shell_5.2-1_all.deb"}},
		{"a base package that must have exactly this version", []artifacts.Package{{Name: "libssl-dev"}}, false,
			[]string{"libssl-dev_3.0.22-1_all.deb", "libssl_3.0.22-1_all.deb"}},
		{"a base package that may be too old on the nodes", []artifacts.Package{{Name: "newer"}}, false, []string{"newer_1_all.deb", "shell_5.2-1_all.deb"}},
		{"a base package that is requested", []artifacts.Package{{Name: "shell"}}, false, []string{"shell_5.2-1_all.deb"}},
		{"the newest version", []artifacts.Package{{Name: "clock"}}, false, []string{"clock_2_all.deb"}},
		{"a version, requested twice", []artifacts.Package{{Name: "clock"}, {Name: "clock", Version: "1"}}, false, []string{"clock_1_all.deb"}},
		{"a name that one package provides", []artifacts.Package{{Name: "time-daemon"}}, false, []string{"clock_2_all.deb"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := request(a, tc.packages...)
			w.WithBase = tc.withBase
			debs, err := Fetch(t.Context(), scratch(t), w)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, deb := range debs {
				got = append(got, path.Base(deb.Path))
				content, err := os.ReadFile(deb.Disk)
				if err != nil {
					t.Fatal(err)
				}
				want := artifacts.File{Path: "apt/debian-99/" + path.Base(deb.Path), SHA256: fmt.Sprintf("%x", sha256.Sum256(content)), Size: int64(len(content))}
				if diff := cmp.Diff(want, deb.File); diff != "" {
					t.Errorf("file (-want +got):\n%s", diff)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("packages (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAptFetchFails(t *testing.T) {
	a := newArchive(t, smallArchive...)
	other := newArchive(t, "Package: other\nVersion: 1")
	for _, tc := range []struct {
		name   string
		change func(*Request)
		says   []string
	}{
		{"an unknown name", func(w *Request) { w.Packages[0].Name = "contrack" }, []string{"debian-99 amd64 have no package contrack", "--apt-source"}},
		{"a pattern", func(w *Request) { w.Packages[0].Name = "connt.ack" }, []string{"have no package connt.ack"}},
		{"another version", func(w *Request) { w.Packages[0].Version = "7" }, []string{"Version '7' for 'conntrack' was not found", "name a version that the sources have"}},
		{"a name that several provide", func(w *Request) { w.Packages[0].Name = "mta" }, []string{"no installation candidate", "several packages provide this name"}},
		{"a dependency that nobody has", func(w *Request) { w.Packages[0].Name = "broken" }, []string{"broken : Depends: what-nobody-has", "--apt-source"}},
		{"somebody else's signature", func(w *Request) { w.Keyring = other.keyring }, []string{"--keyring"}},
		{"no archive", func(w *Request) { w.Sources = []string{"deb " + a.url + "/none/ ./"} }, []string{"does not have a Release file", "compare --apt-source"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := request(a, artifacts.Package{Name: "conntrack"})
			tc.change(&w)
			_, err := Fetch(t.Context(), scratch(t), w)
			if err == nil {
				t.Fatal("no error")
			}
			for _, says := range tc.says {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("the error does not contain %q: %v", says, err)
				}
			}
		})
	}
}

// apt-get detects a package or an index that was changed on the network, even if the machine's
// configuration allows unauthenticated packages.
func TestAptFetchTampered(t *testing.T) {
	a := newArchive(t, smallArchive...)
	debs, err := filepath.Glob(filepath.Join(a.dir, "clock-*.deb"))
	if err != nil || len(debs) != 2 {
		t.Fatal(debs, err)
	}
	for _, deb := range debs {
		content, err := os.ReadFile(deb)
		if err != nil {
			t.Fatal(err)
		}
		content[len(content)-1]++
		if err := os.WriteFile(deb, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Fetch(t.Context(), scratch(t), request(a, artifacts.Package{Name: "clock"})); err == nil || !strings.Contains(err.Error(), "Hash Sum mismatch") {
		t.Errorf("a changed package: %v", err)
	}
	a.write("Packages", "Package: clock\n")
	if _, err := Fetch(t.Context(), scratch(t), request(a, artifacts.Package{Name: "clock"})); err == nil || !strings.Contains(err.Error(), "another mirror") {
		t.Errorf("a changed index: %v", err)
	}
}

func TestAptFetchInterrupted(t *testing.T) {
	a := newArchive(t, smallArchive...)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Fetch(ctx, scratch(t), request(a, artifacts.Package{Name: "clock"})); !errors.Is(err, context.Canceled) {
		t.Errorf("Fetch = %v", err)
	}
}

func TestCheckRequest(t *testing.T) {
	here := ThisSystem()
	for _, tc := range []struct {
		name    string
		request Request
		says    string
	}{
		{"no system", Request{System: "debian"}, "with a dash between"},
		{"a path", Request{System: "../debian-12"}, "with a dash between"},
		{"another system's sources", Request{System: "neverland-1"}, "--apt-source is missing: this machine runs " + here},
		{"two versions", Request{System: "debian-12", Sources: []string{"deb http://a b c"}, Packages: []artifacts.Package{{Name: "a", Version: "1"}, {Name: "a", Version: "2"}}},
			"package a is listed in the versions 1 and 2"},
	} {
		if err := tc.request.check(); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.says)
		}
	}
}

// scratch makes a folder whose name does not contain the name of the test. The name of the test can
// contain a comma, and apt cannot use a folder with a comma in its name.
func scratch(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "debian-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestFolderThatAptMisreads(t *testing.T) {
	Needs(t, "apt-get")
	w := Request{System: "debian-99", Sources: []string{"deb [trusted=yes] http://127.0.0.1:1/ ./"}}
	if _, err := Fetch(t.Context(), filepath.Join(t.TempDir(), "a,b"), w); err == nil || !strings.Contains(err.Error(), "TMPDIR") {
		t.Errorf("Fetch = %v", err)
	}
}
