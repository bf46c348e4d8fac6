package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// TestRelist: a record without the claimed nodes is completed by the claims. A member is as the record has it, without what
// only members have. A node that replaces a lost member takes its name in the list.
func TestRelist(t *testing.T) {
	node := func(name, host string) contract.Node {
		return contract.Node{Name: name, Host: host, HostUID: "uid-of-" + host, Set: "w"}
	}
	member := func(name, host string) contract.Node {
		n := node(name, host)
		n.Address, n.Version, n.Settings, n.Patched, n.Etcd, n.Target = "10.0.0.1", "1.35.4", "s", "p", "etcd1", &contract.Target{}
		return n
	}
	plain := node("w-1", "host-1")
	plain.Address = "10.0.0.1"
	standby := node("w-3", "host-3")
	standby.Standby = true
	held := []contract.Node{node("w-1", "host-1"), node("w-2", "host-9"), standby}
	memory := &contract.Installed{Nodes: []contract.Node{member("w-1", "host-1"), member("w-2", "host-2")}}
	for name, tc := range map[string]struct {
		seen Seen
		want []contract.Node
	}{
		"the record lacks them": {Seen{Memory: memory}, []contract.Node{plain, node("w-2", "host-9"), standby}},
		"the record has them":   {Seen{Memory: memory, Nodes: held[:1]}, held[:1]},
		"there is no cluster":   {Seen{}, nil},
	} {
		tc.seen.Relist(held)
		if diff := cmp.Diff(tc.want, tc.seen.Nodes); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if made := name == "the record lacks them"; tc.seen.Relisted != made {
			t.Errorf("%s: Relisted %t", name, tc.seen.Relisted)
		}
	}
}
