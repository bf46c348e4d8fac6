//go:build integration

package clients

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/inventory"
	"github.com/akraino-icn/bpa/test/clients/listeners"
)

// TestEveryRegistryIsTheDepot checks that the containerd of a node pulls images of every registry
// only from the depot, over TLS with the depot's CA. If the depot lacks an image, the pull fails
// without a request to upstream. The names of the registries end in .test, which is reserved (RFC
// 6761).
func TestEveryRegistryIsTheDepot(t *testing.T) {
	depot := listeners.Open(t)
	image := makeImage(t)
	programs := listeners.Machines(t, "containerd", "ctr")
	node := &containerdClient{programs[0], programs[1], endpoint{address: depot.TLS, ca: depot.CA, token: depot.Token}}
	must(t)(node.push(t, image.layout, depot.TLS+"/x/y:1"))
	node.at.token = ""
	mirrored := node.start(t)
	folder := mirrorFolder(t, depot)

	for _, ref := range []string{"registry.example.test/x/y:1", "registry.example.test:5000/x/y:1", "registry.k8s.io/x/y:1", "registry.example.test/x/y@" + image.digest} {
		must(t)(mirrored.pullThrough(t, folder, ref))
		if out, err := mirrored.run(t, "list", "name=="+ref); err != nil || !strings.Contains(out, image.digest) {
			t.Errorf("%s: %v; want digest %s\n%s", ref, err, image.digest, out)
		}
	}
	const missing = "registry.example.test/x/none:1"
	if out, err := mirrored.pullThrough(t, folder, missing); err == nil || strings.Contains(out, "lookup") || !strings.Contains(out, "not found") {
		t.Errorf("pull of a missing image: %v; want it not found, without a request to upstream\n%s", err, out)
	}
	addUpstream(t, folder)
	if out, err := mirrored.pullThrough(t, folder, missing); err == nil || !strings.Contains(out, "lookup registry.example.test") {
		t.Errorf("pull of a missing image with upstream as the last mirror: %v; want a request to upstream\n%s", err, out)
	}
}

func (d running) pullThrough(t *testing.T, folder, ref string) (string, error) {
	t.Helper()
	return d.run(t, "pull", "--local", "--all-platforms", "--snapshotter=native", "--hosts-dir", folder, ref)
}

// mirrorFolder writes the hosts.toml files that kubespray's template would create from the variable
// that BPA renders for this depot. It returns the folder of these files.
func mirrorFolder(t *testing.T, depot *listeners.Depot) (folder string) {
	t.Helper()
	rendered, err := inventory.Render(contract.Request{
		Spec: contract.Spec{
			KubernetesVersion: "1.35.4", NetworkPlugin: "flannel", PodSubnet: "10.244.0.0/18", ServiceSubnet: "10.233.0.0/18", SSHUser: "root", SSHPort: 22,
			DepotURL: "https://" + depot.TLS, DepotCA: "PEM",
		},
	}, []contract.Node{{Name: "master-1", Roles: []string{contract.RoleControlPlane}, Address: "10.60.0.11"}})
	if err != nil {
		t.Fatal(err)
	}
	var vars struct {
		Mirrors []struct {
			Prefix, Server string
			Mirrors        []struct {
				Host, CA     string
				Capabilities []string
				SkipVerify   bool `json:"skip_verify"`
			}
		} `json:"containerd_registries_mirrors"`
	}
	if err := json.Unmarshal(rendered.GroupVars, &vars); err != nil {
		t.Fatal(err)
	}
	folder = t.TempDir()
	for _, m := range vars.Mirrors {
		host := m.Mirrors[0]
		if host.CA != contract.DepotCAPath {
			t.Errorf("%s: CA %s, want %s", m.Prefix, host.CA, contract.DepotCAPath)
		}
		text := fmt.Sprintf("server = %q\n[host.%q]\n  capabilities = [\"%s\"]\n  skip_verify = %t\n  override_path = false\n  ca = [%q]\n",
			m.Server, host.Host, strings.Join(host.Capabilities, `","`), host.SkipVerify, depot.CA)
		writeHosts(t, folder, m.Prefix, text)
	}
	return folder
}

// addUpstream sets server = "" in the default hosts.toml, so that containerd tries the upstream
// registry after the depot. A user can cause the same with an entry that has an empty server.
func addUpstream(t *testing.T, folder string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "_default", "hosts.toml"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n")
	writeHosts(t, folder, "_default", "server = \"\"\n"+rest)
}

func writeHosts(t *testing.T, folder, prefix, text string) {
	t.Helper()
	dir := filepath.Join(folder, prefix)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "hosts.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
