//go:build integration

package apt_test

import (
	"crypto/tls"
	"fmt"
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

	"github.com/akraino-icn/bpa/pkg/depot"
	"github.com/akraino-icn/bpa/pkg/depot/apt/apttest"
	"github.com/akraino-icn/bpa/pkg/depot/tlscert"
)

// node is a simulated machine on which only apt runs. The state of its apt is in a folder of the
// test.
type node struct {
	t   *testing.T
	dir string
}

func newNode(t *testing.T, sources ...string) *node {
	t.Helper()
	n := &node{t: t, dir: t.TempDir()}
	for _, dir := range []string{"var/lib/apt/lists/partial", "var/cache/apt/archives/partial", "var/log/apt", "etc/apt/preferences.d", "etc/apt/apt.conf.d"} {
		if err := os.MkdirAll(filepath.Join(n.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	n.write("status", "")
	n.write("sources.list", strings.Join(sources, "\n")+"\n")
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
	http, https string
	ca          []byte
}

func newSite(t *testing.T) site {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	d, err := depot.New(t.TempDir(), depot.WithLogger(quiet))
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
	return site{d, plain.URL, strings.Replace(encrypted.URL, "http:", "https:", 1), authority.CA()}
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
		"http":         "deb [trusted=yes] " + s.http + "/files/apt/debian-12/ /",
		"https":        "deb [trusted=yes] " + s.https + "/files/apt/debian-12 /",
		"http with ./": "deb [trusted=yes] " + s.http + "/files/apt/debian-12/ ./",
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, source)
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
		return get(t, s.http+"/files/apt/debian-12/Packages.gz")
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
	n := newNode(t, "deb [trusted=yes] "+meanwhile.URL+"/files/apt/debian-12/ /")
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
