package join_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
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
			p := kubespraytest.NewPlanes(t, false, tc.masters, 2, 5)
			p.Grow("master-1-new")
			last := len(p.In.Nodes) - 1
			p.Lose()
			p.Servers[1].Stop()
			p.Members[1].Sick, p.Nodes["master-2"] = true, false
			p.In.Request.Lost, p.In.Request.Kept = []string{"master-1", "master-2"}, []string{"master-2"}
			p.In.Nodes[last].Name, p.Machines[last].Name = "master-1", "master-1"
			p.In.Nodes = slices.Delete(slices.Clone(p.In.Nodes), 0, 2)
			p.Render()
			if _, err := p.Run(); err != nil {
				t.Fatalf("%v\n%s", err, &p.Log)
			}
			p.ExpectMemberAddresses(tc.members...)
			record := p.Now()
			i := slices.IndexFunc(record.Nodes, func(n contract.Node) bool { return n.Name == "master-2" })
			if i < 0 || record.Nodes[i].Etcd != tc.kept || len(record.Nodes) != tc.masters+1 {
				t.Errorf("record %+v", record)
			}
			if _, there := p.Nodes["master-2"]; !there || slices.Contains(p.Connected(), "master-2") {
				t.Errorf("nodes %v, connected to %v", p.Nodes, p.Connected())
			}
		})
	}
}

// The failure says that nothing was changed only if this is true.
func TestWhatAFailureSaysAboutChanges(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(p *kubespraytest.Planes)
		true   bool
	}{
		"no control plane is Ready":       {func(p *kubespraytest.Planes) { p.Nodes["master-2"], p.Nodes["master-3"] = false, false }, true},
		"another member is sick":          {func(p *kubespraytest.Planes) { p.Members[1].Sick = true; p.Join("10.60.0.77"); p.Join("10.60.0.78") }, false},
		"the lost control plane is Ready": {func(p *kubespraytest.Planes) { p.Nodes["master-1"] = true }, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := kubespraytest.NewReplacedPlane(t, false)
			p.In.ProbeLimit = time.Second
			tc.change(p)
			_, err := p.Run()
			if err == nil || strings.Contains(err.Error(), "Nothing was changed in the cluster") != tc.true || (len(p.ChangesOnly()) == 0) != tc.true {
				t.Errorf("%v, after %v", err, p.Did)
			}
		})
	}
}
