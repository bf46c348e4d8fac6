//go:build integration

package debian_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akraino-icn/bpa/pkg/bundle/debian"
	"github.com/akraino-icn/bpa/pkg/cli"
	"github.com/akraino-icn/bpa/pkg/depot/apt/apttest"
	"github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/pkg/depot/depottest"
)

// Packages of an archive go into a bundle, the bundle is imported into a depot, and a node of that
// site fetches them from the depot.
func TestAptBundleStory(t *testing.T) {
	debian.Needs(t, "apt-get")
	archive, site := depottest.Start(t), depottest.Start(t)
	archive.Put(t, "apt/debian-12/a.deb", apttest.Package(t, "conntrack", "1:1.4.7-1", "amd64", "Depends: libnf (>= 1)\n"))
	archive.Put(t, "apt/debian-12/b.deb", apttest.Package(t, "libnf", "1", "amd64", ""))
	archive.Put(t, "apt/debian-12/c.deb", apttest.Package(t, "jq", "1.6", "amd64", ""))
	t.Setenv("APT_CONFIG", aptConfig(t, "Acquire::http::Proxy::127.0.0.1 \"DIRECT\";\n"))
	file := filepath.Join(t.TempDir(), "b.tar")
	source := fmt.Sprintf("deb %s/files/apt/debian-12/ ./", archive.URL)
	bpa(t, "create", "--package", "conntrack", "--system", "debian-99", "--platform", "linux/amd64", "--apt-source", source, "--keyring", keyFile(t, archive), "--to", file)
	if list := bpa(t, "inspect", file, "--verify"); !strings.Contains(list, "apt/debian-99/conntrack_1.4.7-1_amd64.deb") || !strings.Contains(list, "2 artifacts") {
		t.Errorf("in the bundle:\n%s", list)
	}
	bpa(t, "import", file, "--depot", site.URL)

	node := t.TempDir()
	for _, dir := range []string{"lists/partial", "archives/partial"} {
		if err := os.MkdirAll(filepath.Join(node, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	sources := filepath.Join(node, "sources.list")
	for name, text := range map[string]string{sources: fmt.Sprintf("deb [signed-by=%s] %s/files/apt/debian-99/ ./\n", keyFile(t, site), site.URL), filepath.Join(node, "status"): ""} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("APT_CONFIG", aptConfig(t, fmt.Sprintf(`Dir::State "%[1]s/"; Dir::State::lists "%[1]s/lists/"; Dir::State::status "%[1]s/status"; Dir::Cache "%[1]s/";
Dir::Cache::archives "%[1]s/archives/"; Dir::Etc::sourcelist "%[1]s/sources.list"; Dir::Etc::sourceparts "/dev/null"; Dir::Etc::parts "/dev/null";
APT::Architecture "amd64"; APT::Architectures {"amd64";}; APT::Sandbox::User "root"; Acquire::http::Proxy::127.0.0.1 "DIRECT";
`, node)))
	for _, args := range [][]string{{"update"}, {"install", "-y", "--download-only", "conntrack"}} {
		if out, err := exec.CommandContext(t.Context(), "apt-get", args...).CombinedOutput(); err != nil {
			t.Fatalf("apt-get %v: %v\n%s", args, err, out)
		}
	}
	for _, name := range []string{"conntrack_1%3a1.4.7-1_amd64.deb", "libnf_1_amd64.deb"} {
		if _, err := os.Stat(filepath.Join(node, "archives", name)); err != nil {
			t.Error(err)
		}
	}
}

// keyFile returns the name of a file with the key that signs the depot's packages.
func keyFile(t *testing.T, d *depottest.Depot) string {
	t.Helper()
	depot, err := client.Connect(t.Context(), d.URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer depot.Close()
	key, err := depot.PackageKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "key.asc")
	if err := os.WriteFile(name, key, 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// aptConfig returns the name of a file that apt reads before its own configuration.
func aptConfig(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "apt.conf")
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

func bpa(t *testing.T, args ...string) string {
	t.Helper()
	var out, errOut bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}
	if code := cli.Run(t.Context(), append([]string{"bundle"}, args...), streams); code != 0 {
		t.Fatalf("kubectl bpa bundle %s: exit code %d\n%s", strings.Join(args, " "), code, errOut.String())
	}
	return out.String()
}
