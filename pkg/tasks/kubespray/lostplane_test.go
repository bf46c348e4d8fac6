package kubespray

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Two control planes are lost, and are replaced one after the other. The member of etcd of the second
// one is removed if others join, because etcd refuses a new member while one is dead.
func TestReplaceOneOfTwoLostControlPlanes(t *testing.T) {
	for name, tc := range map[string]struct {
		masters int
		members []string
		kept    string // member of etcd of master-2 in the record
	}{
		"five control planes, so none joins etcd":                     {5, []string{"2", "3", "4", "5"}, "etcd2"},
		"six control planes, of which the sixth and the new one join": {6, []string{"3", "4", "5", "6", "8"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlanes(t, false, tc.masters, 2, 5)
			p.grow("master-1-new")
			last := len(p.in.Nodes) - 1
			p.lose()
			p.servers[1].Stop()
			p.members[1].sick, p.nodes["master-2"] = true, false
			p.in.Request.Lost, p.in.Request.Kept = []string{"master-1", "master-2"}, []string{"master-2"}
			p.in.Nodes[last].Name, p.machines[last].Name = "master-1", "master-1"
			p.in.Nodes = slices.Delete(slices.Clone(p.in.Nodes), 0, 2)
			p.render()
			if _, err := p.run(); err != nil {
				t.Fatalf("%v\n%s", err, &p.log)
			}
			p.expectMemberAddresses(tc.members...)
			record := p.now()
			i := slices.IndexFunc(record.Nodes, func(n contract.Node) bool { return n.Name == "master-2" })
			if i < 0 || record.Nodes[i].Etcd != tc.kept || len(record.Nodes) != tc.masters+1 {
				t.Errorf("record %+v", record)
			}
			if _, there := p.nodes["master-2"]; !there || slices.Contains(p.connected(), "master-2") {
				t.Errorf("nodes %v, connected to %v", p.nodes, p.connected())
			}
		})
	}
}

// The failure says that nothing was changed only if this is true.
func TestWhatAFailureSaysAboutChanges(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(p *planesFixture)
		true   bool
	}{
		"no control plane is Ready":       {func(p *planesFixture) { p.nodes["master-2"], p.nodes["master-3"] = false, false }, true},
		"another member is sick":          {func(p *planesFixture) { p.members[1].sick = true; p.join("10.60.0.77"); p.join("10.60.0.78") }, false},
		"the lost control plane is Ready": {func(p *planesFixture) { p.nodes["master-1"] = true }, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := newReplacedPlane(t, false)
			p.in.ProbeLimit = time.Second
			tc.change(p)
			_, err := p.run()
			if err == nil || strings.Contains(err.Error(), "Nothing was changed in the cluster") != tc.true || (len(p.changesOnly()) == 0) != tc.true {
				t.Errorf("%v, after %v", err, p.did)
			}
		})
	}
}
