package listeners

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const startLimit = 2 * time.Minute

// apiServer is a running etcd and kube-apiserver, with the path of the administrator's kubeconfig.
type apiServer struct{ dir, kubeconfig string }

func startAPIServer(t *testing.T, dir string) *apiServer {
	t.Helper()
	cmd := exec.Command(Machines(t, "machine", "etcd", "kube-apiserver", "kubectl")[0], "apiserver", "--dir", dir)
	cmd.Stderr = os.Stderr
	hold, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = hold.Close(), cmd.Wait() }) // the program ends when its stdin closes
	late := time.AfterFunc(startLimit, func() { _ = hold.Close() })
	defer late.Stop()

	api := &apiServer{dir: dir}
	for lines := bufio.NewScanner(out); lines.Scan(); api.kubeconfig = lines.Text() {
		if lines.Text() == "READY" {
			return api
		}
	}
	t.Fatalf("the API server exited, or was not ready within %s", startLimit)
	return nil
}

func (api *apiServer) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	args = append([]string{"--kubeconfig", api.kubeconfig, "--cache-dir", filepath.Join(api.dir, "cache")}, args...)
	return Run(t, nil, Machines(t, "kubectl")[0], args...)
}

func (api *apiServer) token(t *testing.T, account string, flags ...string) string {
	t.Helper()
	return strings.TrimSpace(api.kubectl(t, append([]string{"create", "token", "-n", "bpa-system", account}, flags...)...))
}

// kubeconfigOf writes a kubeconfig for a service account and returns its path.
func (api *apiServer) kubeconfigOf(t *testing.T, account string) string {
	t.Helper()
	text, err := os.ReadFile(api.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(api.dir, account+".kubeconfig")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	own := &apiServer{dir: api.dir, kubeconfig: path}
	own.kubectl(t, "config", "set-credentials", account, "--token="+api.token(t, account))
	own.kubectl(t, "config", "set-context", "--current", "--user="+account)
	return path
}
