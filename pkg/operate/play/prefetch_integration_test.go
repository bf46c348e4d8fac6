//go:build integration

package play

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// defaults stands in for the variables of kubespray's role kubespray_defaults. Its node has no containerd, so it
// fetches no images.
const defaults = `
download_run_once: false
download_localhost: false
download_force_cache: false
download_validate_certs: true
unsafe_show_logs: false
container_manager: docker
local_release_dir: %[1]s
proxy_env:
  http_proxy: "{{ http_proxy | default('') }}"
  no_proxy: "{{ no_proxy | default('') }}"
  NO_PROXY: "{{ no_proxy | default('') }}"
file: {enabled: true, groups: [nodes], checksum: "sha256:%[3]x", mode: "0755"}
downloads:
  etcd: "{{ file | combine({'dest': local_release_dir ~ '/etcd', 'url': 'http://%[2]s/etcd'}) }}"
  runc: "{{ file | combine({'dest': local_release_dir ~ '/runc', 'url': 'http://%[2]s/runc'}) }}"
  other: "{{ file | combine({'dest': local_release_dir ~ '/other', 'url': 'http://%[2]s/other', 'groups': ['none']}) }}"
`

// prefetched is what one run of prefetch.yml has done.
type prefetched struct {
	failed   bool
	log      string
	requests []string // paths, in the order of their first request
	files    []string // names in the release folder
}

// play runs prefetch.yml with the real Ansible on this machine. The folder can exist before. The server has all
// files but those that are missing.
func (p *prefetched) play(t *testing.T, folder string, missing []string, extra ...string) {
	t.Helper()
	var mu sync.Mutex
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		name := strings.TrimPrefix(r.URL.Path, "/")
		if !slices.Contains(p.requests, name) {
			p.requests = append(p.requests, name)
		}
		if slices.Contains(missing, name) {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, "content")
	}))
	listener, err := net.Listen("tcp", "127.0.0.2:0") // an address that needs additional_no_proxy
	if err != nil {
		t.Fatal(err)
	}
	server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)

	home := t.TempDir()
	role := filepath.Join(home, "roles", "kubespray_defaults", "defaults")
	if err := os.MkdirAll(role, 0o700); err != nil {
		t.Fatal(err)
	}
	venv := filepath.Join(os.Getenv("BPA_STATE"), "cache", "lab", "ansible", "venv", "bin")
	for path, content := range map[string]string{
		filepath.Join(role, "main.yml"):     fmt.Sprintf(defaults, folder, listener.Addr(), sha256.Sum256([]byte("content"))),
		filepath.Join(home, "prefetch.yml"): string(prefetchPlay),
		filepath.Join(home, "hosts.ini"):    "[nodes]\nnode ansible_connection=local ansible_python_interpreter=" + filepath.Join(venv, "python3") + "\n",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	args := []string{"-i", "hosts.ini", "prefetch.yml"}
	for _, v := range extra {
		args = append(args, "-e", v)
	}
	c := exec.CommandContext(ctx, filepath.Join(venv, "ansible-playbook"), args...)
	c.Dir, c.Env = home, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LC_ALL=C.UTF-8"}
	log, err := c.CombinedOutput()
	if c.ProcessState == nil || ctx.Err() != nil {
		t.Fatalf("%v: run make e2e, which builds Ansible\n%s", err, log)
	}
	p.failed, p.log = err != nil, string(log)
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		p.files = append(p.files, e.Name())
	}
	if _, err := os.Lstat(folder + ".bpa"); !os.IsNotExist(err) {
		t.Errorf("the folder of incomplete files was not removed: %v", err)
	}
}

// prefetch.yml fetches the files of a node in the order in which kubespray needs them, and only where it can give
// them their names at once.
func TestRealPrefetch(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("the proxy was asked for %s", r.URL)
		http.Error(w, "refused", http.StatusForbidden)
	}))
	defer proxy.Close()
	both := []string{"runc", "etcd"}
	for name, test := range map[string]struct {
		folder          func(t *testing.T, folder string) // makes it; nil: it does not exist
		missing         []string
		extra           []string
		requests, files []string
		failed          bool
	}{
		"all files":         {requests: both, files: []string{"etcd", "runc"}},
		"one is missing":    {missing: []string{"runc"}, requests: both, files: []string{"etcd"}, failed: true},
		"a link":            {folder: linked},
		"a mount":           {folder: mounted},
		"a site with proxy": {extra: []string{"http_proxy=" + proxy.URL, "additional_no_proxy=127.0.0.2"}, requests: both, files: []string{"etcd", "runc"}},
	} {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "releases")
			if test.folder != nil {
				test.folder(t, folder)
			}
			var p prefetched
			p.play(t, folder, test.missing, test.extra...)
			if p.failed != test.failed || !slices.Equal(p.requests, test.requests) || !slices.Equal(p.files, test.files) {
				t.Errorf("failed %t, requests %q, files %q\nwant %t, %q, %q\n%s", p.failed, p.requests, p.files, test.failed, test.requests, test.files, p.log)
			}
			if want := folder + "/runc: not fetched"; test.failed && !strings.Contains(p.log, want) {
				t.Errorf("the log does not have %q:\n%s", want, p.log)
			}
		})
	}
}

// linked makes the folder a link to another file system.
func linked(t *testing.T, folder string) {
	other, err := os.MkdirTemp("/dev/shm", "bpa")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(other) })
	if err := os.Symlink(other, folder); err != nil {
		t.Fatal(err)
	}
}

// mounted makes the folder a mount of a folder of the same file system.
func mounted(t *testing.T, folder string) {
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "--bind", folder, folder).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", folder).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
}
