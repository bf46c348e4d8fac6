//go:build integration

package integration

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const importing = "importing" // namespace of this file's hosts

// TestImportOfHosts imports the examples of the documentation at a real API server, with Metal3's kinds: a dry run, the import,
// the same file again, another password, a file with bad rows, and a user who lacks rights. Metal3 does not run.
func TestImportOfHosts(t *testing.T) {
	must(t, "", "apply", "--server-side", "-f", metal3Kinds)
	must(t, "", "wait", "--for=condition=Established", "--timeout=30s", "crd/baremetalhosts.metal3.io", "crd/hardwaredata.metal3.io")
	must(t, "", "create", "namespace", importing)
	must(t, "", "create", "role", "importer", "-n", importing, "--verb=get,list,create,patch", "--resource=baremetalhosts.metal3.io,secrets")
	must(t, "", "create", "rolebinding", "importer", "-n", importing, "--role=importer", "--user=ida")
	must(t, "", "create", "role", "reader", "-n", importing, "--verb=get,list,create", "--resource=baremetalhosts.metal3.io")
	must(t, "", "create", "rolebinding", "reader", "-n", importing, "--role=reader", "--user=ron")
	admin := resetClient(t, "")
	// Deferred, because the context of the test, with which kubectl runs, is over at its cleanups.
	defer must(t, "", "delete", "baremetalhosts", "--all", "-n", importing, "--timeout=20s")

	must(t, "", "create", "clusterrolebinding", "importer", "--clusterrole=cluster-admin", "--user=grace")
	defer must(t, "", "delete", "clusterrolebinding", "importer")

	expect := func(user string, want int, args []string, texts ...string) {
		t.Helper()
		var out bytes.Buffer
		namespace := importing
		if user == "grace" { // who sees all namespaces, and imports into another one
			namespace = "default"
		}
		code := commandAs(t, user, namespace, &out, append([]string{"hosts", "import"}, args...)...)
		for _, text := range texts {
			if code != want || !strings.Contains(out.String(), text) {
				t.Errorf("%s of %s: exit code %d, want %d, and %q in:\n%s", args, user, code, want, text, &out)
			}
		}
		if strings.Contains(out.String(), "change-me") {
			t.Errorf("%s of %s prints a password:\n%s", args, user, &out)
		}
	}
	const folder = "../../docs/examples/hosts/"
	for _, name := range []string{"nodes.json", "hosts.yaml", "hosts.csv"} {
		file := folder + name
		expect("ida", 0, []string{file, "--dry-run=server"}, "created", "nothing was changed", "duplicates are looked for only in importing")
		expect("ida", 0, []string{file, "--dry-run=client", "-o", "yaml"}, "kind: BareMetalHost")
		if got := must(t, "", "get", "baremetalhosts,secrets", "-n", importing, "-o", "name"); got != "" {
			t.Fatalf("dry runs of %s have stored %s", name, got)
		}
		expect("ron", 1, []string{file}, `cannot get resource "secrets"`)
		expect("ida", 0, []string{file}, "node1", "created", "kubectl bpa hosts -n importing")
		before := versions(t)
		expect("ida", 0, []string{file}, "unchanged", "Nothing was changed")
		if after := versions(t); after != before {
			t.Errorf("the second import of %s has written objects:\n%s\n%s", name, before, after)
		}
		expect("grace", 1, []string{file}, "nothing was imported", "of namespace importing has this name", "of namespace importing has this BMC")
		if name == "hosts.yaml" {
			changedRow(t, admin, expect)
		}
		must(t, "", "delete", "baremetalhosts,secrets", "--all", "-n", importing, "--timeout=20s")
	}
}

// changedRow imports another password and another boot MAC address of a server.
func changedRow(t *testing.T, admin client.Client, expect func(string, int, []string, ...string)) {
	t.Helper()
	text, err := os.ReadFile("../../docs/examples/hosts/hosts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	write := func(text string) string {
		file := filepath.Join(t.TempDir(), "hosts.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	changed := strings.NewReplacer("password: change-me-1\n", "password: change-me-3\n", "bootMACAddress: 00:1e:67:00:02:1a", "bootMACAddress: 00:1e:67:00:02:ff", "rack: r1", "rack: r3").Replace(string(text))
	expect("ida", 3, []string{write(changed)}, "updated: credentials, label rack", "bootMACAddress stays: Metal3 never changes it")
	if got := must(t, "", "get", "secret", "node1-bmc-secret", "-n", importing, "-o", "go-template={{.data.password | base64decode}}"); got != "change-me-3" {
		t.Errorf("the password is %s", got)
	}
	host := &metal3.BareMetalHost{}
	if err := admin.Get(t.Context(), client.ObjectKey{Namespace: importing, Name: "node1"}, host); err != nil {
		t.Fatal(err)
	}
	if host.Labels["rack"] != "r3" || host.Spec.BootMACAddress != "00:1e:67:00:02:1a" || host.Spec.PreprovisioningNetworkDataName != "node1-preprovisioning-network-data" {
		t.Errorf("labels %v, %+v", host.Labels, host.Spec)
	}
	before := versions(t)
	bad := string(text) + "- {name: node4, bmc: {address: \"ilo9://10.0.0.1\", username: a, password: change-me-4}}\n- {name: node5, bmc: {address: \"ipmi://10.10.110.12\", username: a}}\n"
	expect("ida", 1, []string{write(bad)}, "nothing was imported", "has 3 errors", "node4: bmc.address: Metal3 has no driver for ilo9", "node5: bmc.address: host node2 of namespace importing has this BMC", "node5: bmc.password: it is missing")
	if after := versions(t); after != before {
		t.Errorf("a file with bad rows has changed\n%s\nto\n%s", before, after)
	}
}

// versions returns the versions of all hosts and Secrets of the namespace.
func versions(t *testing.T) string {
	t.Helper()
	return must(t, "", "get", "baremetalhosts,secrets", "-n", importing, "-o", `jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.resourceVersion}{"\n"}{end}`)
}
