package software

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
)

func TestText(t *testing.T) {
	many := []Change{}
	for i := range 10 {
		many = append(many, Change{"w-1", fmt.Sprintf("p%d", i), Install})
	}
	for want, changes := range map[string][]Change{
		"": nil,
		"install curl on 3 nodes; update qat-driver on node-1; remove foo on 2 nodes": {
			{"node-1", "", Look}, {"node-1", "curl", Install}, {"node-1", "foo", Remove}, {"node-1", "qat-driver", Update},
			{"node-2", "curl", Install}, {"node-2", "foo", Remove}, {"node-3", "curl", Install}},
		"repair jq on w-1":                                     {{"w-1", "jq", Repair}, {"w-2", "", Look}},
		"install jq on w-2; update jq on w-1":                  {{"w-1", "jq", Update}, {"w-2", "jq", Install}},
		"look at the packages of all nodes":                    {{"", "", Look}},
		"look at the packages of w-1":                          {{"w-1", "", Look}},
		"look at the packages of 2 nodes":                      {{"w-2", "", Look}, {"w-1", "", Look}},
		sequence("install p%d on w-1", 9):                      many[:9],
		sequence("install p%d on w-1", 8) + "; 2 more changes": many,
	} {
		if got := Text(changes); got != want {
			t.Errorf("%v:\n%s, want\n%s", changes, got, want)
		}
	}
}

// sequence returns n parts with the numbers from 0.
func sequence(format string, n int) string {
	var parts []string
	for i := range n {
		parts = append(parts, fmt.Sprintf(format, i))
	}
	return strings.Join(parts, "; ")
}

func TestForRun(t *testing.T) {
	wanted := []contract.Software{{Name: "jq", Workers: true}, {Name: "jq", ControlPlanes: true}, {Name: "curl", Workers: true}}
	packages := []contract.Software{wanted[2], wanted[1], wanted[0]}
	for name, tc := range map[string]struct {
		changes []Change
		asked   string
		want    contract.SoftwareRun
	}{
		"new machines":  {nil, "t1 check", contract.SoftwareRun{Packages: packages, Batch: 1}},
		"changes":       {[]Change{{"w-2", "jq", Install}, {"w-1", "jq", Update}, {"w-1", "curl", Update}}, "t1 check", contract.SoftwareRun{Packages: packages, Nodes: []string{"w-1", "w-2"}, Batch: 1}},
		"check":         {[]Change{{"", "", Look}}, "t1 check", contract.SoftwareRun{Packages: packages, Batch: 1, CheckOnly: true, Asked: "t1 check"}},
		"update":        {[]Change{{"w-1", "", Look}, {"w-1", "jq", Update}}, "t1 update", contract.SoftwareRun{Packages: packages, Nodes: []string{"w-1"}, Batch: 1, Update: true, Asked: "t1 update"}},
		"another try":   {[]Change{{"w-1", "", Look}}, "t1", contract.SoftwareRun{Packages: packages, Nodes: []string{"w-1"}, Batch: 1, Asked: "t1"}},
		"an older word": {[]Change{{"w-1", "jq", Install}}, "t1 update", contract.SoftwareRun{Packages: packages, Nodes: []string{"w-1"}, Batch: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(&tc.want, ForRun(wanted, tc.changes, tc.asked, 0, 0)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if got := ForRun(wanted, nil, "", 3, 90); got.Batch != 3 || got.DrainSeconds != 90 || wanted[0].Name != "jq" {
		t.Errorf("got %+v, and the argument is %+v", got, wanted)
	}
}
