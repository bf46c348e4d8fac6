package prepare

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
)

func TestNodesResolveTheirOwnNames(t *testing.T) {
	const block = "# Ansible inventory hosts BEGIN\n10.60.0.7 master-1\n# Ansible inventory hosts END\n"
	for name, tc := range map[string]struct {
		hosts, getent, want string
	}{
		"it has no entry":             {"127.0.0.1 localhost\n", "exit 2", "127.0.0.1 localhost\n" + block},
		"the last line has no end":    {"127.0.0.1 localhost", "exit 2", "127.0.0.1 localhost\n" + block},
		"an empty file":               {"", "exit 2", block},
		"an entry of the site":        {"10.1.1.1 x.example master-1\n", "exit 2", "10.1.1.1 x.example master-1\n"},
		"a comment is no entry":       {"# 10.1.1.1 master-1\n", "exit 2", "# 10.1.1.1 master-1\n" + block},
		"a longer name is another":    {"10.1.1.1 master-10 x-master-1\n", "exit 2", "10.1.1.1 master-10 x-master-1\n" + block},
		"an old release's block":      {"# Ansible inventory hosts BEGIN\n10.1.1.1 x\n", "exit 2", "# Ansible inventory hosts BEGIN\n10.1.1.1 x\n"},
		"the DNS server answers":      {"127.0.0.1 localhost\n", "echo 10.60.0.7", "127.0.0.1 localhost\n"},
		"the DNS server is not there": {"127.0.0.1 localhost\n", "exec sleep 60", "127.0.0.1 localhost\n" + block},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			hosts := filepath.Join(folder, "hosts")
			write := func(path, text string, mode os.FileMode) {
				if err := os.WriteFile(path, []byte(text), mode); err != nil {
					t.Fatal(err)
				}
			}
			write(hosts, tc.hosts, 0o644)
			write(filepath.Join(folder, "getent"), "#!/bin/sh\n"+tc.getent+"\n", 0o755)
			for range 2 { // a second run changes nothing
				script := strings.ReplaceAll(nameScriptFor(contract.Node{Name: "master-1", Address: "10.60.0.7"}), "/etc/hosts", hosts)
				c := exec.Command("sh", "-c", script)
				c.Env = []string{"PATH=" + folder + ":" + os.Getenv("PATH")}
				if out, err := c.CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				if got, err := os.ReadFile(hosts); err != nil || string(got) != tc.want {
					t.Fatalf("hosts: %v\n%s\nwant:\n%s", err, got, tc.want)
				}
			}
		})
	}
	if strings.Contains(nameScript, "'") {
		t.Error("the script contains a single quote")
	}
}
