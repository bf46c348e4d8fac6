package plan

import (
	"encoding/json"
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// threePlanes is an installed cluster with the control planes m1 to m3 on host-1 to host-3, at
// 10.0.0.1 to 10.0.0.3, and the worker w1 on host-4. The kubeconfig names m1.
func threePlanes() Seen {
	s := Seen{InstalledDigest: "one", Digest: "one", Site: map[string]Host{}, Memory: &contract.Installed{}, Kubeconfig: &Kubeconfig{Endpoint: "https://10.0.0.1:6443"}}
	for i, name := range []string{"m1", "m2", "m3", "w1"} {
		n := contract.Node{Name: name, Host: "host-" + string(rune('1'+i)), Address: "10.0.0." + string(rune('1'+i)), Roles: []string{contract.RoleControlPlane}}
		if name == "w1" {
			n.Roles = []string{contract.RoleWorker}
		}
		s.Memory.Nodes = append(s.Memory.Nodes, n)
		s.Site[n.Host] = Host{Ours: true, Claimed: true}
	}
	return s
}

func TestMoveEndpoint(t *testing.T) {
	lost := Host{Ours: true, Claimed: true, Lost: true, Trouble: "in quarantine"}
	removed := func(s *Seen) {
		s.Started.Members = s.Memory.Nodes
		s.Memory = &contract.Installed{Nodes: s.Memory.Nodes[1:]}
	}
	for _, tc := range []struct {
		name string
		edit func(*Seen)
		want string
	}{
		{"nothing is lost", func(*Seen) {}, ""},
		{"a worker is lost", func(s *Seen) { s.Site["host-4"] = lost }, ""},
		{"another control plane is lost", func(s *Seen) { s.Site["host-2"] = lost }, ""},
		{"it is lost", func(s *Seen) { s.Site["host-1"] = lost }, "10.0.0.2"},
		{"its host is gone", func(s *Seen) { delete(s.Site, "host-1") }, "10.0.0.2"},
		{"the next one is lost, too", func(s *Seen) { s.Site["host-1"], s.Site["host-2"] = lost, lost }, "10.0.0.3"},
		{"the next one has a problem", func(s *Seen) {
			s.Site["host-1"], s.Site["host-2"] = lost, Host{Ours: true, Claimed: true, Trouble: "powered off"}
		}, "10.0.0.3"},
		{"all are lost", func(s *Seen) { s.Site["host-1"], s.Site["host-2"], s.Site["host-3"] = lost, lost, lost }, ""},
		{"it was removed", removed, "10.0.0.2"},
		{"it is leaving", func(s *Seen) { s.Memory.Leaving = []string{"m1"} }, "10.0.0.2"},
		{"the next one is leaving", func(s *Seen) { s.Site["host-1"], s.Memory.Leaving = lost, []string{"m2"} }, "10.0.0.3"},
		{"it was replaced at another address", func(s *Seen) {
			s.Started.Members = s.Memory.Nodes
			nodes := append([]contract.Node{}, s.Memory.Nodes...)
			nodes[0].Address = "10.0.0.9"
			s.Memory = &contract.Installed{Nodes: nodes}
		}, "10.0.0.9"},
		{"the address is not that of a node", func(s *Seen) { s.Site["host-1"], s.Kubeconfig.Endpoint = lost, "https://10.9.9.9:6443" }, ""},
		{"the endpoint is a name", func(s *Seen) { s.Site["host-1"], s.Kubeconfig.Endpoint = lost, "https://api.example:6443" }, ""},
		{"a load balancer at the address of a lost node", func(s *Seen) {
			s.Site["host-1"] = lost
			s.Memory.Request.Vars = map[string]json.RawMessage{"loadbalancer_apiserver": json.RawMessage(`{"address":"10.0.0.1"}`)}
		}, ""},
		{"no kubeconfig", func(s *Seen) { s.Site["host-1"], s.Kubeconfig = lost, nil }, ""},
		{"no record", func(s *Seen) { s.Site["host-1"], s.Memory = lost, nil }, ""},
		{"being deleted", func(s *Seen) { s.Site["host-1"], s.Deleting = lost, true }, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := threePlanes()
			tc.edit(&s)
			got := s.MoveEndpoint()
			if got != tc.want {
				t.Errorf("MoveEndpoint() = %q, want %q", got, tc.want)
			}
			if got != "" { // the next reconcile changes nothing
				s.Kubeconfig.Endpoint = "https://" + got + ":6443"
				if again := s.MoveEndpoint(); again != "" {
					t.Errorf("after the move to %s, the endpoint moves on to %s", got, again)
				}
			}
		})
	}
}

// TestEndpointDoesNotMoveBack: when the lost control plane is back, the kubeconfig keeps naming the one
// to which it was moved.
func TestEndpointDoesNotMoveBack(t *testing.T) {
	s := threePlanes()
	s.Kubeconfig.Endpoint = "https://10.0.0.2:6443"
	if got := s.MoveEndpoint(); got != "" {
		t.Errorf("the endpoint moves back to %s", got)
	}
}

// TestEndpointIPv6 checks that two notations of one address are equal.
func TestEndpointIPv6(t *testing.T) {
	s := threePlanes()
	s.Memory.Nodes[0].Address, s.Memory.Nodes[1].Address = "fd00:0::1", "fd00::2"
	s.Kubeconfig.Endpoint = "https://[fd00::1]:6443"
	if got := s.MoveEndpoint(); got != "" {
		t.Errorf("the endpoint moves from a living control plane to %s", got)
	}
	s.Site["host-1"] = Host{Gone: true}
	if got := s.MoveEndpoint(); got != "fd00::2" {
		t.Errorf("MoveEndpoint() = %q", got)
	}
}
