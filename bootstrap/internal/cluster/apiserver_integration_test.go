//go:build integration

package cluster

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

// onAPIServer returns a Cluster that has no node, only an API server for this test. The server runs
// in the built machine command.
func onAPIServer(t *testing.T) Cluster {
	t.Helper()
	state := layout.Layout{Root: t.TempDir()}
	serveAPI(t, state)
	return Cluster{Layout: state, Log: t.Output()}
}

// serveAPI runs the API server of a state folder until stop is called, or to the end of the test. It keeps its data
// for the next call.
func serveAPI(t *testing.T, state layout.Layout) (stop func()) {
	t.Helper()
	built := layout.FromEnv()
	cmd := exec.Command(built.Bin("machine"), "apiserver", "--dir", state.Root)
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
	stop = sync.OnceFunc(func() {
		stdin.Close()
		_ = cmd.Wait()
	})
	t.Cleanup(stop)
	kubeconfig := ""
	for lines := bufio.NewScanner(stdout); lines.Scan() && lines.Text() != "READY"; {
		kubeconfig = lines.Text()
	}
	for link, to := range map[string]string{state.Kubeconfig(): kubeconfig, state.Bin("kubectl"): built.Bin("kubectl")} {
		if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(link)
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	return stop
}
