package artifacts

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func onDebian(name string) Package {
	return Package{Name: name, System: "debian-12", Architecture: "amd64"}
}

// stanza returns the stanza of a package as in an index. The argument is "NAME VERSION
// ARCHITECTURE", optionally followed by more fields, each after a semicolon.
func stanza(text string) string {
	head, more, _ := strings.Cut(text, ";")
	f := strings.Fields(head)
	s := fmt.Sprintf("Package: %s\nVersion: %s\nArchitecture: %s\nFilename: ./%s.deb\nSHA256: %s\n", f[0], f[1], f[2], strings.Join(f, "_"), sumA)
	for field := range strings.SplitSeq(more, ";") {
		if field != "" {
			s += strings.TrimSpace(field) + "\n"
		}
	}
	return s
}

func index(t testing.TB, packages ...string) *PackageIndex {
	t.Helper()
	var text strings.Builder
	for _, p := range packages {
		text.WriteString(stanza(p) + "\n")
	}
	x, err := ParsePackages(strings.NewReader(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestResolve(t *testing.T) {
	anywhere, old := onDebian("jq"), onDebian("jq")
	anywhere.Architecture, old.Version = "", "1.5"
	for _, tc := range []struct {
		name       string
		index      []string
		wanted     []Package
		held       []string // NAME_VERSION_ARCHITECTURE
		missing    []Package
		unresolved []string
	}{
		{name: "nothing there", wanted: []Package{onDebian("jq")}, missing: []Package{onDebian("jq")}},
		{
			name: "a chain", index: []string{"jq 1.6 amd64; Depends: libjq1 (= 1.6)", "libjq1 1.6 amd64; Pre-Depends: libonig5", "libonig5 6.9 amd64", "other 1 amd64"},
			wanted: []Package{onDebian("jq")}, held: []string{"jq_1.6_amd64", "libjq1_1.6_amd64", "libonig5_6.9_amd64"},
		},
		{
			name: "a circle", index: []string{"jq 1 amd64; Depends: a", "a 1 all; Depends: jq"},
			wanted: []Package{onDebian("jq")}, held: []string{"a_1_all", "jq_1_amd64"},
		},
		{
			name: "dependencies that the nodes must have", index: []string{"jq 1.6 amd64; Depends: libjq1 (= 1.6), libc6 (>= 2.34)", "libjq1 1.5 amd64"},
			wanted: []Package{onDebian("jq")}, held: []string{"jq_1.6_amd64"},
			unresolved: []string{"libc6 (>= 2.34), which jq needs", "libjq1 (= 1.6), which jq needs"},
		},
		{
			name: "a dependency of several packages is listed once", index: []string{"jq 1 amd64; Depends: a, libc6 (>= 2.9), x | y", "a 1 amd64; Depends: libc6 (>= 2.34), x | y", "b 1 amd64; Pre-Depends: libc6"},
			wanted: []Package{onDebian("jq"), onDebian("b")}, held: []string{"a_1_amd64", "b_1_amd64", "jq_1_amd64"},
			unresolved: []string{"libc6 (>= 2.34), which a and 2 more need", "x | y, which a and 1 more need"},
		},
		{
			name: "the newest", index: []string{"jq 1.10 amd64", "jq 1.9 amd64", "jq 1.10~rc1 amd64"},
			wanted: []Package{onDebian("jq")}, held: []string{"jq_1.10_amd64"},
		},
		{
			name: "an epoch counts first", index: []string{"jq 9 amd64", "jq 1:1 amd64"},
			wanted: []Package{onDebian("jq")}, held: []string{"jq_1:1_amd64"},
		},
		{name: "that version", index: []string{"jq 1.6 amd64", "jq 1.5 amd64"}, wanted: []Package{old}, held: []string{"jq_1.5_amd64"}},
		{name: "another version", index: []string{"jq 1.6 amd64"}, wanted: []Package{old}, missing: []Package{old}},
		{name: "another architecture", index: []string{"jq 1.6 arm64"}, wanted: []Package{onDebian("jq")}, missing: []Package{onDebian("jq")}},
		{name: "for all architectures", index: []string{"jq 1.6 all"}, wanted: []Package{onDebian("jq")}, held: []string{"jq_1.6_all"}},
		{
			name: "no architecture given", index: []string{"jq 1.6 arm64; Depends: a", "a 1 amd64"}, wanted: []Package{anywhere},
			held: []string{"jq_1.6_arm64"}, unresolved: []string{"a, which jq needs"},
		},
		{
			name: "for all architectures, with a dependency for one", index: []string{"jq 1 all; Depends: a", "a 1 arm64"},
			wanted: []Package{onDebian("jq")}, held: []string{"jq_1_all"}, unresolved: []string{"a, which jq needs"},
		},
		{
			name: "by another name", index: []string{"gojq 0.12 amd64; Provides: something, jq"}, wanted: []Package{onDebian("jq")}, held: []string{"gojq_0.12_amd64"},
		},
		{name: "another name has no version", index: []string{"gojq 1.5 amd64; Provides: jq"}, wanted: []Package{old}, missing: []Package{old}},
		{name: "another name with a version", index: []string{"gojq 0.12 amd64; Provides: jq (= 1.5)"}, wanted: []Package{old}, held: []string{"gojq_0.12_amd64"}},
		{
			name: "its own name first", index: []string{"gojq 9 amd64; Provides: jq", "jq 1 amd64"}, wanted: []Package{onDebian("jq")}, held: []string{"jq_1_amd64"},
		},
		{
			name: "alternatives", index: []string{"jq 1 amd64; Depends: a (>= 2) | b | c, python3:any (>= 3)", "a 1 amd64", "b 1 amd64", "c 1 amd64", "python3 3.11 amd64"},
			wanted: []Package{onDebian("jq")}, held: []string{"b_1_amd64", "jq_1_amd64", "python3_3.11_amd64"},
		},
		{
			name: "a malformed dependency is unresolved", index: []string{"jq 1 amd64; Depends: a (~ 2), b", "a 1 amd64", "b 1 amd64"},
			wanted: []Package{onDebian("jq")}, held: []string{"b_1_amd64", "jq_1_amd64"}, unresolved: []string{"a (~ 2), which jq needs"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			held, missing, unresolved := index(t, tc.index...).Resolve(tc.wanted)
			var names []string
			for _, p := range held {
				names = append(names, strings.Join([]string{p.Name, p.Version, p.Architecture}, "_"))
			}
			if diff := cmp.Diff([]any{tc.held, tc.missing, tc.unresolved}, []any{names, missing, unresolved}); diff != "" {
				t.Errorf("held, missing, unresolved (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParsePackagesTakesWhatAptTakes(t *testing.T) {
	good := stanza("jq 1.6 amd64")
	for name, text := range map[string]string{
		"folded fields":          good + "Depends: a,\n b (>= 1),\n\tc\nDescription: many\n Package: none\n .\n Version: 7",
		"any case, any order":    "Description: x\n" + strings.ToUpper(strings.SplitN(good, ":", 2)[0]) + ":" + strings.SplitN(good, ":", 2)[1] + "depends: a, b (>= 1), c",
		"others about it":        "\n\n" + stanza("no-version ? amd64") + "\n" + good + "Depends: a, b (>= 1), c\n\n\n",
		"one without a checksum": strings.ReplaceAll(stanza("weak 1 amd64"), "SHA256", "MD5sum") + "\n" + good + "Depends: a, b (>= 1), c",
	} {
		t.Run(name, func(t *testing.T) {
			x, err := ParsePackages(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			held, _, unresolved := x.Resolve([]Package{onDebian("jq"), {Name: "weak"}, {Name: "no-version"}, {Name: "none"}})
			if len(held) != 1 || held[0].SHA256 != sumA || held[0].Filename != "./jq_1.6_amd64.deb" {
				t.Errorf("held %+v", held)
			}
			if want := []string{"a, which jq needs", "b (>= 1), which jq needs", "c, which jq needs"}; !slices.Equal(unresolved, want) {
				t.Errorf("unresolved %q", unresolved)
			}
		})
	}
	if _, err := ParsePackages(strings.NewReader("Depends: " + strings.Repeat("a, ", maxIndexLine))); err == nil {
		t.Error("a line without an end is read")
	}
}

func TestPackagesElsewhereAndNotes(t *testing.T) {
	list := List{Packages: []Package{onDebian("jq"), {Name: "nobody-knows-where"}, {Name: "jq", System: "rocky-9.5", Architecture: "x86_64"}}}
	m := Compare(list, Have{Packages: map[string]*PackageIndex{"debian-12": index(t, "jq 1 amd64; Depends: libc6, libm")}})
	if !m.Nothing() || m.Of != 1 {
		t.Errorf("missing %+v of %d", m.List, m.Of)
	}
	want := []string{"it has no OS packages for rocky-9.5, so nodes use their own sources", "2 dependencies of OS packages must be on the nodes already"}
	if diff := cmp.Diff(want, m.Notes()); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

func TestPackagesOfAListAreChecked(t *testing.T) {
	for _, bad := range []Package{
		{Name: "../jq"}, {Name: ""}, {Name: "-o"}, {Name: "jq", Version: "1 2"}, {Name: "jq", System: "../debian-12"}, {Name: "jq", System: ".."},
		{Name: "jq", System: "a/b"}, {Name: "jq", Architecture: "amd64 -o"},
	} {
		if _, err := Merge(List{Packages: []Package{bad}}); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
	if got := (Package{Name: "jq", Version: "1:2", Architecture: "amd64"}).String(); got != "jq:amd64=1:2" {
		t.Errorf("String = %q", got)
	}
}

// Parsing ends for any index, and every package that Resolve returns is in the index.
func FuzzPackages(f *testing.F) {
	f.Add(stanza("jq 1.6 amd64;Depends: libjq1 (= 1.6) | a, python3:any;Provides: b (= 2), c") + "\n" + stanza("libjq1 1.6 all;Depends: jq"))
	f.Add("Package: jq\nVersion: 1\n Filename:\nDepends: ${misc:Depends}, a [amd64] <!nocheck>, (, |, b (>= , c:(\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		x, err := ParsePackages(strings.NewReader(text))
		if err != nil {
			return
		}
		held, missing, _ := x.Resolve([]Package{{Name: "jq"}, {Name: "b", Version: "2", Architecture: "amd64"}})
		for _, p := range held {
			if !strings.Contains(text, p.Filename) || !strings.Contains(text, p.SHA256) {
				t.Errorf("%+v is not in the text", p)
			}
		}
		if len(missing) == 2 && len(held) > 0 {
			t.Errorf("no wanted package was found, but Resolve returned %+v", held)
		}
	})
}
