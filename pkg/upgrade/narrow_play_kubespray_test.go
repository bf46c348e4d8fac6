//go:build kubespray

package upgrade

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A kubectl that writes its arguments and what it is to apply into the file LOG.
const kubectlStub = `#!/bin/sh
set -eu
echo "kubectl $*" >> LOG
for word; do
  case "$word" in
  -) cat >> LOG;;
  --filename=*) cat "${word#--filename=}" >> LOG;;
  get) exit 1;;
  esac
done
`

// TestNarrowTagsWorkAloneOnKubespray runs kubespray's cluster.yml with the tags of the table on this
// machine, as if it were a control plane node, with a kubectl that only writes what it is to apply. So the
// tags need nothing from the tasks that they leave out. node-label is missing, because its role asks an
// API server.
func TestNarrowTagsWorkAloneOnKubespray(t *testing.T) {
	ansible, err := exec.LookPath("ansible-playbook")
	if err != nil {
		t.Fatalf("%v: put an environment with kubespray's requirements.txt into PATH", err)
	}
	values := map[string]any{
		"dns_memory_limit": "321Mi", "nodelocaldns_memory_limit": "322Mi", "metrics_server_enabled": true, "metrics_server_limits_memory": "323Mi",
		"local_path_provisioner_enabled": true, "local_path_provisioner_debug": true, "node_feature_discovery_enabled": true, "node_feature_discovery_gc_interval": "7h",
	}
	var tags []string
	for _, n := range NarrowVariables {
		if !slices.Contains(n.Tags, "node-label") {
			tags = append(tags, n.Tags...)
		}
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	vars := map[string]any{
		"ansible_connection": "local", "ansible_become": false, "ansible_python_interpreter": filepath.Join(filepath.Dir(ansible), "python3"),
		"bin_dir": at("bin"), "kube_config_dir": at("etc"), "local_path_provisioner_claim_root": at("volumes"), "kube_version": "1.35.4",
	}
	text, err := json.Marshal(vars)
	if err != nil {
		t.Fatal(err)
	}
	extra, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string]struct {
		text string
		mode os.FileMode
	}{
		"bin/kubectl": {strings.ReplaceAll(kubectlStub, "LOG", at("log")), 0o700},
		"inventory/hosts.ini": {"m-1 ip=10.0.0.1 access_ip=10.0.0.1 etcd_member_name=etcd1\nw-1 ip=10.0.0.2 access_ip=10.0.0.2\n[kube_control_plane]\nm-1\n[etcd]\nm-1\n" +
			"[kube_node]\nw-1\n[k8s_cluster:children]\nkube_control_plane\nkube_node\n", 0o600},
		"inventory/group_vars/all/bpa.json": {string(text), 0o600},
		"inventory/host_vars/w-1.json":      {`{"ansible_default_ipv4": {"address": "10.0.0.2"}}`, 0o600}, // as for each node outside --limit
	} {
		if err := os.MkdirAll(filepath.Dir(at(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at(name), []byte(file.text), file.mode); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.CommandContext(t.Context(), ansible, "-i", at("inventory/hosts.ini"), "--limit", "m-1", "--tags", strings.Join(tags, ","), "-e", string(extra), "cluster.yml")
	c.Dir = os.Getenv("KUBESPRAY")
	c.Env = append(os.Environ(), "HOME="+dir, "ANSIBLE_LOCAL_TEMP="+dir, "ANSIBLE_REMOTE_TEMP="+dir, "ANSIBLE_CACHE_PLUGIN_CONNECTION="+at("facts"), "PYTHONDONTWRITEBYTECODE=1",
		"LC_ALL=C.UTF-8", "ANSIBLE_CALLBACKS_ENABLED=", "ANSIBLE_NOCOLOR=1")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	log, err := os.ReadFile(at("log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"321Mi", "322Mi", "323Mi", "- --debug", "7h"} {
		if !strings.Contains(string(log), want) {
			t.Errorf("no manifest has %s", want)
		}
	}
	for line := range strings.Lines(string(log)) {
		if strings.HasPrefix(line, "kubectl ") && !strings.Contains(line, " apply ") && !strings.Contains(line, " get ") {
			t.Errorf("the tags do more than apply manifests: %s", line)
		}
	}
}
