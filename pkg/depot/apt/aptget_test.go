//go:build integration

package apt_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/depot"
	"github.com/akraino-icn/bpa/pkg/depot/apt"
	"github.com/akraino-icn/bpa/pkg/depot/apt/apttest"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/depot/tlscert"
)

// node is a simulated machine on which only apt runs. The state of its apt is in a folder of the
// test.
type node struct {
	t   *testing.T
	dir string
}

// newNode returns a node that trusts the key and has the source. The source has the option signed-by with
// the word KEY as the name of its file.
func newNode(t *testing.T, key []byte, source string) *node {
	t.Helper()
	n := &node{t: t, dir: t.TempDir()}
	for _, dir := range []string{"var/lib/apt/lists/partial", "var/cache/apt/archives/partial", "var/log/apt", "etc/apt/preferences.d", "etc/apt/apt.conf.d"} {
		if err := os.MkdirAll(filepath.Join(n.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	n.write("status", "")
	n.write("key.asc", string(key))
	n.write("sources.list", strings.Replace(source, "KEY", filepath.Join(n.dir, "key.asc"), 1)+"\n")
	n.configure("")
	return n
}

func (n *node) write(name, content string) {
	n.t.Helper()
	if err := os.WriteFile(filepath.Join(n.dir, name), []byte(content), 0o644); err != nil {
		n.t.Fatal(err)
	}
}

// configure writes a configuration that ignores the settings of the test machine, such as proxies.
func (n *node) configure(more string) {
	n.write("apt.conf", fmt.Sprintf(`Dir "%[1]s";
Dir::State::status "%[1]s/status";
Dir::Etc::sourcelist "%[1]s/sources.list";
Dir::Etc::sourceparts "-";
APT::Sandbox::User "root";
APT::Architecture "amd64";
APT::Architectures { "amd64"; };
Acquire::Retries "0";
Acquire::Languages "none";
Acquire::http::Proxy::127.0.0.1 "DIRECT";
Acquire::https::Proxy::127.0.0.1 "DIRECT";
%s`, n.dir, more))
}

// get runs apt-get and treats a warning as an error, since an operator would have to investigate
// it.
func (n *node) get(args ...string) (string, error) {
	command := exec.CommandContext(n.t.Context(), "apt-get", append([]string{"-q", "-y"}, args...)...)
	command.Env = []string{"APT_CONFIG=" + filepath.Join(n.dir, "apt.conf"), "PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	out, err := command.CombinedOutput()
	if warning := regexp.MustCompile(`(?m)^(W|E|Err):?.*`).Find(out); err == nil && warning != nil {
		err = fmt.Errorf("it warns: %s", warning)
	}
	return string(out), err
}

func (n *node) must(args ...string) string {
	n.t.Helper()
	out, err := n.get(args...)
	if err != nil {
		n.t.Fatalf("apt-get %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// downloaded lists the packages that were fetched.
func (n *node) downloaded() string {
	n.t.Helper()
	found, err := filepath.Glob(filepath.Join(n.dir, "var/cache/apt/archives/*.deb"))
	if err != nil {
		n.t.Fatal(err)
	}
	for i := range found {
		found[i] = filepath.Base(found[i])
	}
	return strings.Join(found, " ")
}

// needsApt fails the test if apt or dpkg is missing.
func needsApt(t *testing.T) {
	t.Helper()
	for _, program := range []string{"apt-get", "dpkg-deb"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%v: install apt and dpkg", err)
		}
	}
}

// built returns a package that dpkg-deb has built.
func built(t *testing.T, compression string, fields ...string) []byte {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "tree/DEBIAN"), 0o755); err != nil {
		t.Fatal(err)
	}
	control := strings.Join(fields, "\n") + "\nMaintainer: Nobody <nobody@example.org>\nDescription: nothing\n at all\n"
	if err := os.WriteFile(filepath.Join(dir, "tree/DEBIAN/control"), []byte(control), 0o644); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "built.deb")
	if out, err := exec.CommandContext(t.Context(), "dpkg-deb", "--root-owner-group", "-Z"+compression, "-b", filepath.Join(dir, "tree"), file).CombinedOutput(); err != nil {
		t.Fatalf("dpkg-deb: %v\n%s", err, out)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// site is a depot with a plain listener and a TLS listener.
type site struct {
	depot       *depot.Depot
	dir         string
	http, https string
	ca, key     []byte
}

func newSite(t *testing.T) site {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	dir := t.TempDir()
	d, err := depot.New(dir, depot.WithLogger(quiet))
	if err != nil {
		t.Fatal(err)
	}
	authority, err := tlscert.Open(t.TempDir(), []string{"127.0.0.1"}, tlscert.WithLogger(quiet))
	if err != nil {
		t.Fatal(err)
	}
	plain, encrypted := httptest.NewServer(d), httptest.NewUnstartedServer(d)
	encrypted.Listener = tls.NewListener(encrypted.Listener, authority.Config()) // StartTLS would use another certificate
	encrypted.Start()
	t.Cleanup(func() {
		plain.Close()
		encrypted.Close()
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	key, err := get(t, plain.URL+protocol.PackageKeyPath)
	if err != nil {
		t.Fatal(err)
	}
	return site{d, dir, plain.URL, strings.Replace(encrypted.URL, "http:", "https:", 1), authority.CA(), []byte(key)}
}

func (s site) put(t *testing.T, path string, content []byte, status int) string {
	t.Helper()
	text, err := send(t, s.http+"/files/"+path, content, status)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestAptInstallsFromTheDepot installs as a node does, over each listener and with each
// compression.
func TestAptInstallsFromTheDepot(t *testing.T) {
	needsApt(t)
	s := newSite(t)
	s.put(t, "apt/debian-12/pool/main/app_2.0_amd64.deb", built(t, "xz", "Package: app", "Version: 2.0", "Architecture: amd64", "Depends: library (>= 1.5)"), http.StatusCreated)
	s.put(t, "apt/debian-12/library_1:1.5~a+b_all.deb", built(t, "gzip", "Package: library", "Version: 1:1.5~a+b", "Architecture: all", "Depends: data"), http.StatusCreated)
	s.put(t, "apt/debian-12/data_1%253a3_amd64.deb", built(t, "zstd", "Package: data", "Version: 1:3", "Architecture: amd64"), http.StatusCreated)
	s.put(t, "apt/debian-12/other_1_arm64.deb", built(t, "none", "Package: other", "Version: 1", "Architecture: arm64"), http.StatusCreated)
	s.put(t, "apt/debian-13/data_4_amd64.deb", built(t, "xz", "Package: data", "Version: 4", "Architecture: amd64"), http.StatusCreated)
	for name, source := range map[string]string{
		"http":         "deb [signed-by=KEY] " + s.http + "/files/apt/debian-12/ /",
		"https":        "deb [signed-by=KEY] " + s.https + "/files/apt/debian-12 /",
		"http with ./": "deb [signed-by=KEY] " + s.http + "/files/apt/debian-12/ ./",
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, s.key, source)
			n.write("ca.crt", string(s.ca))
			n.configure(fmt.Sprintf("Acquire::https::CaInfo %q;\n", filepath.Join(n.dir, "ca.crt")))
			n.must("update")
			n.must("install", "--download-only", "app")
			if got, want := n.downloaded(), "app_2.0_amd64.deb data_1%3a3_amd64.deb library_1%3a1.5~a+b_all.deb"; got != want {
				t.Errorf("downloaded %s, want %s", got, want)
			}
		})
	}
}

// TestAptUpdatesWhilePackagesAreUploaded checks that an update succeeds while packages are
// uploaded. When a node has read a Release, but has not yet read the index that this Release names,
// the test uploads packages and requests the new index, so that the depot replaces the old one.
func TestAptUpdatesWhilePackagesAreUploaded(t *testing.T) {
	needsApt(t)
	s := newSite(t)
	version := 0
	upload := func() error {
		version++
		content := apttest.Package(t, "app", strconv.Itoa(version), "amd64", "")
		if _, err := send(t, fmt.Sprintf("%s/files/apt/debian-12/app_%d.deb", s.http, version), content, http.StatusCreated); err != nil {
			return err
		}
		_, err := get(t, s.http+"/files/apt/debian-12/Packages.gz")
		return err
	}
	if err := upload(); err != nil {
		t.Fatal(err)
	}
	meanwhile := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/by-hash/") || strings.Contains(r.URL.Path, "/Packages") {
			for range 5 {
				if err := upload(); err != nil {
					t.Error(err)
				}
			}
		}
		s.depot.ServeHTTP(w, r)
	}))
	t.Cleanup(meanwhile.Close)
	n := newNode(t, s.key, "deb [signed-by=KEY] "+meanwhile.URL+"/files/apt/debian-12/ /")
	for range 10 {
		before := version
		n.must("update")
		if version == before {
			t.Fatal("nothing was uploaded during the update")
		}
	}
	n.must("install", "--download-only", "app")
	if got, want := n.downloaded(), fmt.Sprintf("app_%d_amd64.deb", version-5); got != want {
		t.Errorf("downloaded %s, want %s, which was the newest in the last Release that the node has read", got, want)
	}
}

// TestAptRefusesWhatTheDepotDidNotSign puts an attacker between a node and its depot. Without one, the node
// installs.
func TestAptRefusesWhatTheDepotDidNotSign(t *testing.T) {
	needsApt(t)
	s, other := newSite(t), newSite(t)
	for _, d := range []site{s, other} {
		d.put(t, "apt/debian-12/app.deb", apttest.Package(t, "app", "1", "amd64", ""), http.StatusCreated)
	}
	evil := apttest.Package(t, "app", "99", "amd64", "")
	other.put(t, "apt/debian-12/evil.deb", evil, http.StatusCreated)
	const folder = "/files/apt/debian-12/"
	at := func(d site, name string) string {
		text, err := get(t, d.http+folder+name)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	release, signed := at(s, "Release"), at(s, "InRelease")
	for name, tc := range map[string]struct {
		answers map[string]string // other answers of the depot, by the name of the file; empty: 404
		want    string
	}{
		"nothing changed":                        {nil, ""},
		"the other form of the signature":        {map[string]string{"InRelease": ""}, ""},
		"a changed Release":                      {map[string]string{"InRelease": strings.Replace(signed, "Suite: debian-12", "Suite: debian-13", 1)}, "BADSIG"},
		"a changed Release beside its signature": {map[string]string{"InRelease": "", "Release": strings.Replace(release, "Suite: debian-12", "Suite: debian-13", 1)}, "BADSIG"},
		"a changed index":                        {map[string]string{"Packages.gz": at(other, "Packages.gz"), "Packages": at(other, "Packages")}, "unexpected size"},
		"a changed package":                      {map[string]string{"app.deb": string(evil)}, "unexpected size"},
		"the key of another depot":               {map[string]string{"InRelease": at(other, "InRelease"), "Packages.gz": at(other, "Packages.gz"), "Packages": at(other, "Packages")}, "NO_PUBKEY"},
		"no signature":                           {map[string]string{"InRelease": "", "Release.gpg": ""}, "is not signed"},
		"an unsigned InRelease":                  {map[string]string{"InRelease": release}, "NOSPLIT"},
		"an old index":                           {map[string]string{"InRelease": apt.InReleaseOf(t, s.dir, release, time.Now().Add(-apt.ValidFor-time.Hour))}, "is expired"},
		"an index that is not that old":          {map[string]string{"InRelease": apt.InReleaseOf(t, s.dir, release, time.Now().Add(-apt.ValidFor+time.Hour))}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			between := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				name := strings.TrimPrefix(r.URL.Path, folder)
				if strings.HasPrefix(name, "by-hash/") && tc.answers["Packages.gz"] != "" {
					name = "Packages.gz"
				}
				if text, ok := tc.answers[name]; ok && text != "" {
					_, _ = io.WriteString(w, text)
				} else if ok {
					http.NotFound(w, r)
				} else {
					s.depot.ServeHTTP(w, r)
				}
			}))
			t.Cleanup(between.Close)
			n := newNode(t, s.key, "deb [signed-by=KEY] "+between.URL+folder+" /")
			said, err := n.get("update")
			if err == nil {
				var more string
				more, err = n.get("install", "--download-only", "app")
				said += more
			}
			if (err == nil) != (tc.want == "") || !strings.Contains(said, tc.want) {
				t.Errorf("apt-get: %v, want %q:\n%s", err, tc.want, said)
			}
			if tc.want != "" && n.downloaded() != "" {
				t.Errorf("downloaded %s", n.downloaded())
			}
		})
	}
}
