//go:build integration

package cluster

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
	"github.com/akraino-icn/bpa/bootstrap/manifests"
)

// Another Metal3 installation serves a version that our CRD lacks. installMetal3 must not remove
// it.
func TestInstallMetal3KeepsCRDsOfAnotherInstallation(t *testing.T) {
	c := onAPIServer(t)
	hosts := bytes.Split(manifests.Metal3, []byte("---\n"))[1] // after the comment
	newer := strings.Replace(string(hosts), "  versions:\n", "  versions:\n"+
		"  - {name: v1beta1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}\n", 1)
	if !strings.Contains(newer, "baremetalhosts.metal3.io") || !strings.Contains(newer, "v1beta1") {
		t.Fatal("the first CRD is no longer that of hosts")
	}
	if _, err := c.kubectl(t.Context(), time.Minute, []byte(newer), "apply", "--server-side", "--field-manager=site", "-f", "-"); err != nil {
		t.Fatal(err)
	}

	changed, kept, err := c.installMetal3(t.Context())
	if err != nil || !changed || len(kept) != 1 || kept[0] != "baremetalhosts.metal3.io (managed by site)" {
		t.Errorf("changed %t, kept %q, %v; want one of two CRDs applied and the other kept", changed, kept, err)
	}
	for crd, want := range map[string]string{"baremetalhosts.metal3.io": "v1beta1 v1alpha1", "hardwaredata.metal3.io": "v1alpha1"} {
		got, err := c.kubectl(t.Context(), time.Minute, nil, "get", "crd", crd, "-o", "jsonpath={.spec.versions[*].name}")
		if err != nil || got != want {
			t.Errorf("%s has versions %q (%v), want %q", crd, got, err, want)
		}
	}
	if changed, _, err := c.installMetal3(t.Context()); err != nil || changed {
		t.Errorf("a second time: changed %t, %v", changed, err)
	}
	if _, err := c.kubectl(t.Context(), time.Minute, nil, "delete", "crd", "hardwaredata.metal3.io", "--timeout=30s"); err != nil {
		t.Fatal(err)
	}
	if changed, _, err := c.installMetal3(t.Context()); err != nil || !changed {
		t.Errorf("after one was removed: changed %t, %v; want it applied again", changed, err)
	}
}

// onAPIServer returns a Cluster that has no node, only an API server for this test. The server runs
// in the built machine command.
func onAPIServer(t *testing.T) Cluster {
	t.Helper()
	built, state := layout.FromEnv(), layout.Layout{Root: t.TempDir()}
	cmd := exec.Command(built.Bin("machine"), "apiserver", "--dir", filepath.Join(state.Root, "apiserver"))
	cmd.Stderr = t.Output()
	stdin, err := cmd.StdinPipe() // the command runs until its standard input closes
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v: build the machine command first (make integration does)", err)
	}
	t.Cleanup(func() {
		stdin.Close()
		_ = cmd.Wait()
	})
	kubeconfig := ""
	for lines := bufio.NewScanner(stdout); lines.Scan() && lines.Text() != "READY"; {
		kubeconfig = lines.Text()
	}
	for link, to := range map[string]string{state.Kubeconfig(): kubeconfig, state.Bin("kubectl"): built.Bin("kubectl")} {
		if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	return Cluster{Layout: state, Log: t.Output()}
}
