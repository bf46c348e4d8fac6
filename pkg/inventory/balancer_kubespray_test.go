//go:build kubespray

package inventory

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKubesprayUsesTheLoadBalancer: kubespray reads the variables of apiVars where docs/kubespray.md says so, and writes the address
// without brackets, for which reason the webhook refuses IPv6.
func TestKubesprayUsesTheLoadBalancer(t *testing.T) {
	for file, lines := range map[string][]string{
		"roles/kubernetes/control-plane/templates/kubeadm-config.v1beta4.yaml.j2": {`controlPlaneEndpoint: "{{ kubeadm_config_api_fqdn }}:{{ loadbalancer_apiserver.port | default(kube_apiserver_port) }}"`},
		"roles/kubernetes/control-plane/tasks/kubeadm-setup.yml": {
			`kubeadm_config_api_fqdn: "{{ apiserver_loadbalancer_domain_name }}"`, `- "{{ loadbalancer_apiserver.address | d('') }}"`,
			`- "{{ supplementary_addresses_in_ssl_keys }}"`, `- "{{ groups['kube_control_plane'] | map('extract', hostvars, 'main_access_ip') }}"`,
		},
		"roles/kubernetes/kubeadm/tasks/main.yml":         {`"localhost" in kube_apiserver_endpoint`, "line: '    server: {{ kube_apiserver_endpoint }}'"},
		"roles/kubespray_defaults/defaults/main/main.yml": {"https://{{ apiserver_loadbalancer_domain_name | ansible.utils.ipwrap }}:{{ loadbalancer_apiserver.port | default(kube_apiserver_port) }}"},
		"roles/kubernetes/node/tasks/main.yml":            {"- loadbalancer_apiserver_localhost"},
	} {
		text, err := os.ReadFile(filepath.Join(os.Getenv("KUBESPRAY"), file))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			if !strings.Contains(string(text), line) {
				t.Errorf("%s does not contain %s", file, line)
			}
		}
	}
}
