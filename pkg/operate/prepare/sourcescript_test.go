package prepare

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
)

// aptKey stands for the depot's key of OS packages.
const aptKey = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n"

// ca stands for the certificate of the depot.
const ca = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"

func TestConfigOf(t *testing.T) {
	for _, tc := range []struct {
		depot, ca string
		connected bool
		want      []string
	}{
		{"http://10.60.0.1:5000", "", true, []string{`Acquire::http::Proxy::10.60.0.1 "DIRECT";`}},
		{"http://10.60.0.1:5000", "", false, []string{
			`Acquire::http::Proxy::10.60.0.1 "DIRECT";`, `Dir::Etc::SourceList "` + session.AptSource + `";`, `Dir::Etc::SourceParts "/dev/null";`,
		}},
		{"https://depot.example", ca, true, []string{
			`Acquire::https::Proxy::depot.example "DIRECT";`, `Acquire::https::depot.example::CAInfo "/etc/bpa/depot-ca.crt";`,
		}},
		{"https://[fd00::1]:5443", ca, true, nil},
	} {
		depot, err := url.Parse(tc.depot)
		if err != nil {
			t.Fatal(err)
		}
		got := configOf(contract.Request{Spec: contract.Spec{DepotCA: tc.ca, Connected: tc.connected}}, depot)
		if diff := cmp.Diff("// Written by BPA.\n"+strings.Join(tc.want, "\n")+"\n", got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.depot, diff)
		}
	}
}

// aptNode is a folder that the script uses as root file system. The test chooses how apt's download
// helper and apt-get behave.
type aptNode struct {
	t    *testing.T
	root string
}

func newAptNode(t *testing.T, helper string) aptNode {
	n := aptNode{t, t.TempDir()}
	for _, dir := range []string{filepath.Dir(session.AptSource), filepath.Dir(session.AptConfig), "/usr/lib/apt", "/usr/bin", "/var/lib/apt/lists"} {
		if err := os.MkdirAll(n.root+dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	n.helper(helper)
	n.get("exit 0")
	return n
}

func (n aptNode) helper(script string) {
	if err := os.WriteFile(n.root+"/usr/lib/apt/apt-helper", []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		n.t.Fatal(err)
	}
}

func (n aptNode) get(script string) {
	if err := os.WriteFile(n.root+"/usr/bin/apt-get", []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		n.t.Fatal(err)
	}
}

func (n aptNode) run(request contract.Request) (string, error) {
	n.t.Helper()
	script, err := sourceFor(request, []byte(aptKey), "debian-12")
	if err != nil {
		n.t.Fatal(err)
	}
	for _, path := range []string{session.AptSource, session.AptConfig, contract.AptKeyPath, "/usr/lib/apt", "/usr/bin/apt-get", "/var/lib/apt"} {
		script = strings.ReplaceAll(script, path, n.root+path)
	}
	command := exec.Command("sh", "-c", script)
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, &stderr)
	}
	return strings.TrimSpace(string(out)), err
}

func (n aptNode) read(path string) string {
	text, err := os.ReadFile(n.root + path)
	if err != nil && !os.IsNotExist(err) {
		n.t.Fatal(err)
	}
	return string(text)
}

func TestSourceScript(t *testing.T) {
	request := contract.Request{Spec: contract.Spec{DepotURL: "https://10.60.0.1:5443", DepotCA: ca}}
	n := newAptNode(t, "exit 0")
	lists := func() time.Time {
		info, err := os.Stat(n.root + "/var/lib/apt/lists")
		if err != nil {
			t.Fatal(err)
		}
		return info.ModTime()
	}
	for range 2 {
		if said, err := n.run(request); said != "held" || err != nil {
			t.Fatalf("the depot has packages: %q, %v", said, err)
		}
		want := "# Written by BPA.\nTypes: deb\nURIs: https://10.60.0.1:5443/files/apt/debian-12/\nSuites: /\nSigned-By: /etc/bpa/depot-apt-key.asc\nDate-Max-Future: 86400\n"
		if diff := cmp.Diff(want, n.read(session.AptSource)); diff != "" {
			t.Errorf("source (-want +got):\n%s", diff)
		}
		if got := n.read(contract.AptKeyPath); got != aptKey {
			t.Errorf("key: %q", got)
		}
		if config := n.read(session.AptConfig); !strings.Contains(config, "CAInfo") || !strings.Contains(config, "SourceParts") {
			t.Errorf("configuration:\n%s", config)
		}
		if lists().Unix() != 0 {
			t.Errorf("the lists are from %s, so they would not be fetched again", lists())
		}
	}
	request.Connected = true
	if said, err := n.run(request); said != "held" || err != nil || strings.Contains(n.read(session.AptConfig), "SourceParts") {
		t.Errorf("the site is connected now: %q, %v, configuration:\n%s", said, err, n.read(session.AptConfig))
	}

	before := n.read(session.AptSource) + n.read(session.AptConfig) + n.read(contract.AptKeyPath)
	n.get(`echo "Get:1 InRelease"; echo "W: GPG error: BADSIG" >&2; exit 100`)
	if said, err := n.run(contract.Request{Spec: contract.Spec{DepotURL: "https://10.60.0.2:5443"}}); err == nil || !strings.HasSuffix(err.Error(), "exit status 67: W: GPG error: BADSIG\n") {
		t.Errorf("apt refuses the index: %q, %v", said, err)
	}
	if after := n.read(session.AptSource) + n.read(session.AptConfig) + n.read(contract.AptKeyPath); after != before {
		t.Errorf("apt refuses the index, and the files were changed to\n%s", after)
	}
	n.get("exit 0")

	n.helper(`echo "E: Failed to fetch https://10.60.0.1:5443/  Could not connect" >&2; exit 100`)
	if said, err := n.run(request); err == nil || !strings.Contains(err.Error(), "exit status 66: E: Failed to fetch") {
		t.Errorf("the depot is not there: %q, %v", said, err)
	}
	if n.read(session.AptSource) == "" {
		t.Error("the script removed the source although the depot only did not answer")
	}
	n.helper(`echo "E: Failed to fetch https://10.60.0.1:5443/x  404  Not Found [IP: 10.60.0.1 5443]" >&2; exit 100`)
	if said, err := n.run(request); said != "none" || err != nil {
		t.Errorf("the depot has no packages: %q, %v", said, err)
	}
	if left := n.read(session.AptSource) + n.read(session.AptConfig) + n.read(contract.AptKeyPath); left != "" {
		t.Errorf("files are left although the depot has no packages:\n%s", left)
	}
	if err := os.Remove(n.root + "/usr/lib/apt/apt-helper"); err != nil {
		t.Fatal(err)
	}
	if said, err := n.run(request); said != "other" || err != nil || n.read(session.AptSource) != "" {
		t.Errorf("a node without apt: %q, %v", said, err)
	}
}
