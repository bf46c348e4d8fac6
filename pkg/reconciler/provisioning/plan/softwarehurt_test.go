package plan

import (
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/software"
)

// TestDisrupts: a reboot that an earlier run owes has no package, and drains its node like any other reboot.
func TestDisrupts(t *testing.T) {
	s := Seen{Software: Softwares{
		Wanted: []contract.Software{{Name: "curl", Disruption: contract.DisruptionNone}, {Name: "driver", Disruption: contract.DisruptionDrain}},
		Record: contract.SoftwareRecord{Nodes: []contract.SoftwareNode{{Node: "a", Packages: []contract.SoftwarePackage{{Name: "old", Disruption: contract.DisruptionReboot}}}}},
	}}
	for change, want := range map[software.Change]bool{
		{Node: "a", Package: "curl", Verb: software.Update}:    false,
		{Node: "a", Package: "driver", Verb: software.Install}: true,
		{Node: "a", Package: "old", Verb: software.Remove}:     true,
		{Node: "b", Package: "old", Verb: software.Remove}:     false,
		{Node: "a", Verb: software.Look}:                       false,
		{Node: "a", Verb: software.Reboot}:                     true,
	} {
		if got := s.disrupts(change); got != want {
			t.Errorf("%+v: %t, want %t", change, got, want)
		}
	}
}
