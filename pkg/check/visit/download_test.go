package visit

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/check"
)

// TestDownloads: each program that a host may have downloads from a real server, and verifies its certificate.
func TestDownloads(t *testing.T) {
	depot := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/files/dl.k8s.io/release/v1.35.4/bin/linux/") || !strings.HasSuffix(r.URL.Path, "/kubelet") || r.Header.Get("Range") != "bytes=0-8388607" {
			http.NotFound(w, r)
			return
		}
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write(make([]byte, 8<<20))
	}))
	defer depot.Close()
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: depot.Certificate().Raw}))
	for _, program := range []string{"curl", "python3", "wget"} {
		for _, tc := range []struct {
			name, version, ca, finding string
		}{
			{"good", "1.35.4", ca, ""},
			{"not there yet", "1.0.0", ca, "depot-throughput unknown"},
			{"without the CA", "1.35.4", "", "depot failed"},
		} {
			t.Run(program+", "+tc.name, func(t *testing.T) {
				in := check.Input{Nodes: []check.Node{{Name: "host-1"}}, KubernetesVersion: tc.version, Depot: check.Depot{URL: depot.URL, CA: tc.ca}}
				text := onlyWith(t, check.Script(in, 0), program)
				facts, err := check.Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				got := ""
				for _, f := range check.Judge(in, []check.Answer{{Facts: facts}}) {
					if strings.HasPrefix(f.ID, "depot") && (f.ID == "depot" || f.Result == check.Unknown) { // a busy machine is slow
						got += f.ID + " " + string(f.Result)
					}
				}
				if d := facts.Download; got != tc.finding || tc.finding == "" && (d.Bytes != 8<<20 || d.Took <= 0) {
					t.Errorf("%q, want %q: %+v", got, tc.finding, d)
				}
			})
		}
	}
}

// onlyWith runs a script on a machine that has only one of the programs for downloads.
func onlyWith(t *testing.T, script, program string) []byte {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{program, "sh", "awk", "cat", "cut", "date", "dd", "df", "getconf", "grep", "head", "id", "mktemp", "rm", "sed", "sleep", "sort", "stat", "timeout", "tr", "uname", "readlink", "ls", "gzip"} {
		path, err := exec.LookPath(name)
		if name == "python3" {
			path, err = "/usr/bin/python3", nil // not a shim, which needs more programs
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	script = strings.ReplaceAll(script, `PATH="$PATH:`, `NO_PATH="`)
	script = strings.ReplaceAll(script, "/var/lib/etcd", dir+"/etcd")
	script = strings.ReplaceAll(script, "-lt 200 ]", "-lt 2 ]") // the writes are not what is tested here
	cmd := exec.Command(filepath.Join(dir, "sh"), "-s")
	cmd.Env = []string{"PATH=" + dir}
	cmd.Stdin = strings.NewReader(script)
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return text
}
