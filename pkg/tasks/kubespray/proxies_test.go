package kubespray

import (
	"os"
	"strings"
	"testing"
)

func TestProxyTag(t *testing.T) {
	for vars, want := range map[string]string{
		`{}`: "nginx",
		`{"loadbalancer_apiserver_localhost":true}`:                                                 "nginx",
		`{"loadbalancer_apiserver_localhost":"{{ true }}"}`:                                         "nginx",
		`{"loadbalancer_apiserver_type":"haproxy"}`:                                                 "haproxy",
		`{"loadbalancer_apiserver_localhost":false}`:                                                "",
		`{"loadbalancer_apiserver_localhost":"No","loadbalancer_apiserver_type":"haproxy"}`:         "",
		`{"loadbalancer_apiserver":{"address":"10.0.0.9"}}`:                                         "",
		`{"loadbalancer_apiserver":{"address":"10.0.0.9"},"loadbalancer_apiserver_localhost":true}`: "nginx",
	} {
		if got, err := proxyTag([]byte(vars)); got != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", vars, got, err, want)
		}
	}
	if _, err := proxyTag([]byte("[")); err == nil {
		t.Error("broken variables are no error")
	}
}

// While proxies are updated, Ansible can connect only to their workers.
func TestProxiesContactOnlyTheirWorkers(t *testing.T) {
	p := newPlanes(t, true, 1, 4, 1)
	p.grow("master-2")
	if _, err := p.run(); err != nil {
		t.Fatalf("%v\n%s", err, &p.log)
	}
	last := p.ran[len(p.ran)-1].Args
	if got := strings.Join(last[len(last)-5:], " "); got != "--limit worker-3 --tags nginx cluster.yml" {
		t.Errorf("ansible-playbook got %s", got)
	}
	known, err := os.ReadFile(p.in.ScratchDir + "/known_hosts")
	if err != nil || strings.Count(string(known), "\n") != 1 || !strings.Contains(string(known), "uid-4") {
		t.Errorf("Ansible may connect to %s, %v", known, err)
	}
	facts, err := os.ReadFile(p.in.ScratchDir + "/inventory/host_vars/master-1.json")
	if err != nil || !strings.Contains(string(facts), `"ansible_fqdn": "master-1"`) || !strings.Contains(string(facts), `"etcd_member_in_cluster"`) {
		t.Errorf("facts of master-1: %s, %v", facts, err)
	}
}
