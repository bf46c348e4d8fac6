package cli

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/depot/apt/apttest"
	"github.com/akraino-icn/bpa/pkg/depot/depottest"
)

// withPackages starts a depot with a file and three packages. One of the packages depends on
// another.
func withPackages(t *testing.T) *depottest.Depot {
	t.Helper()
	d := depottest.Start(t)
	d.Put(t, "dl.k8s.io/kubelet", []byte("kubelet"))
	for file, content := range map[string][]byte{
		"conntrack_1.4.7-1_amd64.deb": apttest.Package(t, "conntrack", "1:1.4.7-1", "amd64", "Depends: libnf (>= 1), libc6\n"),
		"libnf_1_amd64.deb":           apttest.Package(t, "libnf", "1", "amd64", ""),
		"pool/jq_1.6_amd64.deb":       apttest.Package(t, "jq", "1.6", "amd64", ""),
	} {
		d.Put(t, "apt/debian-12/"+file, content)
	}
	return d
}

// A user copies packages from one site's depot to the depots of other sites, which are then package
// sources.
func TestBundlePackagesBetweenSites(t *testing.T) {
	source, site, twin := withPackages(t), depottest.Start(t), depottest.Start(t)
	file := filepath.Join(t.TempDir(), "b.tar")
	list := `{"packages": [{"name": "conntrack", "system": "debian-12", "architecture": "amd64"}, {"name": "chrony", "system": "ubuntu-24.04"}, {"name": "jq"}]}`
	conntrack, jq := "apt/debian-12/conntrack_1.4.7-1_amd64.deb", "apt/debian-12/pool/jq_1.6_amd64.deb"
	for _, step := range []struct {
		args   []string
		stdin  string
		says   []string
		silent string
	}{
		{[]string{"export", "--depot", source.URL, "--package", "conntrack=1:1.4.7-1", "--system", "debian-12", "--to", file}, "", []string{"wrote"}, ""},
		{[]string{"inspect", file, "--verify"}, "", []string{conntrack, "apt/debian-12/libnf_1_amd64.deb", "2 artifacts"}, "jq"},
		{[]string{"import", file, "--depot", site.URL}, "", []string{"0 images and 2 files"}, ""},
		{[]string{"diff", file, "--depot", site.URL}, "", []string{"has all 2 artifacts"}, ""},
		{[]string{"create", "--from-depot", source.URL, "--list", "-", "--system", "debian-12", "--to", file}, list, []string{"wrote", "1 OS packages are left out"}, ""},
		{[]string{"inspect", file}, "", []string{conntrack, jq, "3 artifacts"}, "chrony"},
		{[]string{"export", "--depot", source.URL, "--system", "debian-12", "--to", file}, "", []string{"wrote"}, ""},
		{[]string{"inspect", file}, "", []string{conntrack, jq, "3 artifacts"}, "kubelet"},
		{[]string{"export", "--depot", source.URL, "--without-packages", "--to", file}, "", []string{"wrote"}, ""},
		{[]string{"inspect", file}, "", []string{"dl.k8s.io/kubelet", "1 artifacts"}, "apt/"},
		{[]string{"export", "--depot", source.URL, "--to", file}, "", []string{"wrote"}, ""},
		{[]string{"inspect", file}, "", []string{conntrack, jq, "dl.k8s.io/kubelet", "4 artifacts"}, "Packages"},
		{[]string{"import", file, "--depot", twin.URL}, "", []string{"0 images and 4 files"}, ""},
	} {
		code, out, errOut := typed(t.Context(), step.stdin, step.args...)
		for _, says := range step.says {
			if code != codeDone || !strings.Contains(out+errOut, says) {
				t.Fatalf("%v: exit code %d, want %q:\n%s%s", step.args, code, says, out, errOut)
			}
		}
		if step.silent != "" && strings.Contains(out, step.silent) {
			t.Errorf("%v: the output has %s:\n%s", step.args, step.silent, out)
		}
	}
	for depot, want := range map[*depottest.Depot]int{site: 2, twin: 3} {
		if index := get(t, depot.URL+"/files/apt/debian-12/Packages"); strings.Count(index, "Package: ") != want {
			t.Errorf("the index of %s should have %d packages:\n%s", depot.URL, want, index)
		}
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestBundlePackagesMistakes(t *testing.T) {
	depot := withPackages(t)
	out := []string{"--to", filepath.Join(t.TempDir(), "b.tar")}
	const list = `{"packages": [{"name": "jq"}, {"name": "tree", "system": "debian-12"}, {"name": "tree", "system": "ubuntu-24.04"}]}`
	for _, tc := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"create", "--package", "jq=1.6"}, codeUsage, "--system is missing: the package jq=1.6 has no system"},
		{[]string{"create", "--list", "-"}, codeUsage, "--system is missing: the package jq has no system"},
		{[]string{"create", "--list", "-", "--without-packages"}, codeUsage, "nothing to pack"},
		{[]string{"create", "--package", "jq", "--system", "debian"}, codeUsage, `--system "debian": write ID and VERSION_ID`},
		{[]string{"create", "--package", "-y", "--system", "debian-12"}, codeFailed, `package "-y": this is not a valid package name`},
		{[]string{"create", "--package", "jq", "--system", "neverland-1"}, codeUsage, "--apt-source is missing"},
		{[]string{"create", "--package", "jq", "--system", "neverland-1", "--apt-source", "http://a b c"}, codeFailed, "is not like"},
		{[]string{"create", "--package", "jq", "--system", "neverland-1", "--apt-source", "deb http://a b c"}, codeFailed, "--keyring is missing"},
		{[]string{"create", "--package", "jq", "--system", "debian-12", "--platform", "windows/amd64"}, codeUsage, "no Debian packages"},
		{[]string{"create", "--package", "jq", "--system", "debian-12", "--keyring", "k"}, codeUsage, "--keyring needs --apt-source"},
		{[]string{"create", "--package", "jq", "--system", "debian-12", "--with-base", "--from-depot", depot.URL}, codeUsage, "cannot be used with --from-depot"},
		{[]string{"create", "--package", "jq", "--system", "debian-12,debian-13", "--apt-source", "deb http://a b c"}, codeUsage, "make a bundle for each"},
		{[]string{"create", "--package", "tree", "--system", "debian-12", "--from-depot", depot.URL}, codeFailed, "has no package tree for debian-12"},
		{[]string{"export", "--depot", depot.URL, "--system", "ubuntu-24.04"}, codeFailed, "has no packages for ubuntu-24.04"},
		{[]string{"export", "--depot", depot.URL, "--system", "debian-12", "--package", "jq=2"}, codeFailed, "has no package jq=2"},
	} {
		code, said, errOut := typed(t.Context(), list, append(tc.args, out...)...)
		if code != tc.code || !strings.Contains(errOut, tc.says) {
			t.Errorf("%v: exit code %d, want %d with %q:\n%s%s", tc.args, code, tc.code, tc.says, said, errOut)
		}
	}
}
