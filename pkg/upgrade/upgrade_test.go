package upgrade

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestPath(t *testing.T) {
	for _, r := range []struct {
		name, release, from, to string
		any                     bool
		want, problem           string // the path, or a part of the problem
	}{
		{"nothing", "", "1.35.4", "1.35.4", false, "", ""},
		{"a patch", "", "1.35.0", "1.35.4", false, "1.35.4", ""},
		{"one minor, as in the lab", "", "1.34.3", "1.35.4", false, "1.35.4", ""},
		{"two minors pass through the newest patch", "", "1.33.5", "1.35.2", false, "1.34.7 1.35.2", ""},
		{"to the next minor's first patch", "v2.31.0", "1.33.11", "1.34.0", false, "1.34.0", ""},
		{"from a version that is not known", "", "1.32.9", "1.34.3", false, "1.33.11 1.34.3", ""},
		{"from a candidate", "", "1.35.0-rc.1", "1.35.0", false, "1.35.0", ""},

		{"older minor", "", "1.35.4", "1.34.3", false, "", "a downgrade to 1.34.3 is not supported"},
		{"older patch", "", "1.35.4", "1.35.3", false, "", "write 1.35.4 or a newer version"},
		{"older candidate", "", "1.35.0", "1.35.0-rc.9", true, "", "downgrade"},
		{"another major", "", "1.35.4", "2.0.0", true, "", "keep the major version"},
		{"unknown patch", "", "1.35.4", "1.35.5", false, "", "kubespray v2.31.0 does not know Kubernetes 1.35.5: it has no checksums for it; write one of its versions (1.33.0 to 1.33.11, 1.34.0 to 1.34.7, 1.35.0 to 1.35.4)"},
		{"unknown minor", "", "1.35.4", "1.36.0", false, "", "does not know Kubernetes 1.36.0"},
		{"a candidate has no checksums", "", "1.34.3", "1.35.0-rc.1", false, "", "does not know"},
		{"no version", "", "1.35.4", "latest", true, "", `"latest" is not a version`},
		{"nothing is known of the cluster", "", "", "1.35.4", true, "", `"" is not a version`},

		{"own checksums: unknown patch", "", "1.35.4", "1.35.9", true, "1.35.9", ""},
		{"own checksums: next minor", "", "1.35.4", "1.36.0", true, "1.36.0", ""},
		{"own checksums: over known minors", "", "1.33.0", "1.36.1", true, "1.34.7 1.35.4 1.36.1", ""},
		{"own checksums: over an unknown minor", "", "1.35.4", "1.37.0", true, "", "must pass through 1.36, and no version 1.36 is known for kubespray v2.31.0; request a version 1.36 first, and 1.37.0 after"},
		{"known only in the middle", "", "1.31.2", "1.34.3", false, "", "must pass through 1.32"},

		{"another release: a patch", "v2.32.0", "1.35.4", "1.35.9", false, "1.35.9", ""},
		{"another release: next minor", "v2.32.0", "1.35.4", "1.36.2", false, "1.36.2", ""},
		{"another release: one minor at a time", "v2.32.0", "1.34.3", "1.36.0", false, "", "request a version 1.35 first, and 1.36.0 after that upgrade"},
		{"another release: downgrade", "v2.32.0", "1.35.4", "1.34.7", false, "", "downgrade"},
	} {
		path, problem := Rules{Release: r.release, AnyVersion: r.any}.Path(r.from, r.to)
		got := ""
		if problem != nil {
			got = problem.Error()
		}
		if strings.Join(path, " ") != r.want || (problem != nil) != (r.problem != "") || !strings.Contains(got, r.problem) {
			t.Errorf("%s: %v, %q; want %q, %q", r.name, path, got, r.want, r.problem)
		}
	}
}

func TestCompare(t *testing.T) {
	ordered := []string{"", "1.9.9", "1.33.11", "1.34.0-alpha.2", "1.34.0-alpha.10", "1.34.0-rc.1", "1.34.0-rc.1.2", "1.34.0", "1.34.3", "1.35.4", "2.0.0"}
	for i, a := range ordered {
		for j, b := range ordered {
			want := map[bool]int{true: -1, false: 1}[i < j]
			if i == j {
				want = 0
			}
			if got := Compare(a, b); got != want {
				t.Errorf("Compare(%q, %q) = %d, want %d", a, b, got, want)
			}
		}
	}
	if Compare("1.34.0-1", "1.34.0-a") != -1 || Compare("1.34.0-a", "1.34.0-1") != 1 {
		t.Error("a number is not older than a word")
	}
	if !SameMinor("1.34.3", "1.34.0-rc.1") || SameMinor("1.34.3", "1.35.3") || SameMinor("", "") {
		t.Error("SameMinor is wrong")
	}
}

func TestRelease(t *testing.T) {
	for _, r := range []struct{ from, to, problem string }{
		{"", "", ""}, {"", "v2.31.0", ""}, {"v2.31.0", "", ""}, {"site-a", "site-a", ""},
		{"", "v2.32.0", ""}, {"v2.31.0", "v2.31.1", ""}, {"2.31.0", "v2.32.0", ""},
		{"v2.32.0", "", "the older release v2.31.0 would downgrade its components; select v2.32.0 or a newer release"},
		{"v2.31.0", "v2.30.0", "older release v2.30.0"},
		{"v2.31.0", "site-a", "it is not known whether site-a is newer"},
		{"site-a", "v2.32.0", "it is not known whether v2.32.0 is newer"},
	} {
		got := ""
		if problem := Release(r.from, r.to); problem != nil {
			got = problem.Error()
		}
		if (got == "") != (r.problem == "") || !strings.Contains(got, r.problem) {
			t.Errorf("%s to %s: %q, want %q", r.from, r.to, got, r.problem)
		}
	}
}

func TestOwnChecksums(t *testing.T) {
	for name, want := range map[string]bool{"kubelet_checksums": true, "kubeadm_binary_checksum": true, "containerd_archive_checksums": false, "kubelet_checksums_x": false} {
		if got := OwnChecksums(map[string]int{"a": 1, name: 1}); got != want {
			t.Errorf("%s: %t, want %t", name, got, want)
		}
	}
}

func TestVariable(t *testing.T) {
	for name, fixed := range map[string]bool{"dns_domain": true, "container_manager": true, "calico_pool_cidr": true, "containerd_version": false, "kubelet_max_pods": false, "": false} {
		if got := Variable(name); (got != nil) != fixed {
			t.Errorf("%s: %v, want fixed %t", name, got, fixed)
		}
	}
	seen := map[string]bool{}
	for _, f := range FixedVariables {
		for _, name := range f.Names {
			if seen[name] {
				t.Errorf("%s is in the table twice", name)
			}
			seen[name] = true
		}
	}
}

// TestDocumentedVariables: the table in the documentation is this one.
func TestDocumentedVariables(t *testing.T) {
	text, err := os.ReadFile("../../docs/upgrade.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	first := slices.Index(lines, "| variables that cannot change | reason |")
	for i, f := range FixedVariables {
		want := "| `" + strings.Join(f.Names, "`, `") + "` | " + f.Reason + " |"
		if first < 0 || first+2+i >= len(lines) || lines[first+2+i] != want {
			t.Errorf("row %d of the table in docs/upgrade.md must be:\n%s", i+1, want)
		}
	}
	if end := first + 2 + len(FixedVariables); first >= 0 && end < len(lines) && strings.HasPrefix(lines[end], "|") {
		t.Errorf("docs/upgrade.md has another row: %s", lines[end])
	}
}
