package software

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// TestRow checks how one row of the record is shown.
func TestRow(t *testing.T) {
	const (
		installed, failed  = contract.SoftwareInstalled, contract.SoftwareFailed
		outdated, drifted  = contract.SoftwareOutdated, contract.SoftwareDrifted
		pending, removing  = contract.SoftwarePending, contract.SoftwareRemoving
		available          = "version 1.6 is available, and automatic updates are off"
		leaves, twoMessage = "no Software requests the package any more; it waits for its removal", "two versions"
	)
	jq := contract.Software{Name: "jq", Version: "1.6", Workers: true, Files: []contract.SoftwareFile{{Format: "deb", SHA256: "abc"}}}
	held, problem, free, rpm, elsewhere := jq, jq, jq, jq, jq
	held.Hold, problem.Problem, free.Version, free.Files = true, twoMessage, "", nil
	rpm.Hold, rpm.Version, rpm.Files = true, "1.6^git", []contract.SoftwareFile{{Format: "rpm", SHA256: "abc"}}
	elsewhere.Workers, elsewhere.ControlPlanes, elsewhere.Problem = false, true, twoMessage
	intent := contract.SoftwareIntent(jq)
	type record = contract.SoftwarePackage
	type shown = v1alpha1.SoftwarePackageStatus
	at := metav1.Time{Time: ago(time.Hour)}
	for name, tc := range map[string]struct {
		wanted []contract.Software
		row    *record // nil: there is none
		// left means that the Software requests the package no more, and that its status has it.
		left bool
		want *shown
	}{
		"no row":                  {[]contract.Software{jq}, nil, false, &shown{Wanted: "1.6", State: "Pending"}},
		"no version":              {[]contract.Software{free}, nil, false, &shown{State: "Pending"}},
		"installed":               {[]contract.Software{jq}, &record{Installed: "1.6", Wanted: "1.6", State: installed, Intent: intent, Since: at.Time}, false, &shown{Wanted: "1.6", Installed: "1.6", State: "Installed", Since: &at}},
		"installed by its source": {[]contract.Software{free}, &record{Installed: "1.7", Wanted: "1.7", State: installed, Intent: "v1 "}, false, &shown{Wanted: "1.7", Installed: "1.7", State: "Installed"}},
		"newer version":           {[]contract.Software{jq}, &record{Installed: "1.5", Wanted: "1.5", State: installed, Intent: "v1 1.5 x", Since: at.Time, Message: "x"}, false, &shown{Wanted: "1.6", Installed: "1.5", State: "Pending"}},
		"newer version, failed":   {[]contract.Software{jq}, &record{Wanted: "1.5", State: failed, Intent: "v1 1.5 x", Message: "x"}, false, &shown{Wanted: "1.6", State: "Pending"}},
		"failed":                  {[]contract.Software{jq}, &record{Wanted: "1.6", State: failed, Intent: intent, Message: "exit status 1"}, false, &shown{Wanted: "1.6", State: "Failed", Message: "exit status 1"}},
		"drifted":                 {[]contract.Software{jq}, &record{Installed: "1.4", State: drifted, Intent: intent, Message: "x"}, false, &shown{Wanted: "1.6", Installed: "1.4", State: "Drifted", Message: "x"}},
		"under way":               {[]contract.Software{jq}, &record{Installed: "1.5", State: contract.SoftwareInstalling, Intent: "", Message: "x", Since: at.Time}, false, &shown{Wanted: "1.6", Installed: "1.5", State: "Installing", Message: "x", Since: &at}},
		"held, new version":       {[]contract.Software{held}, &record{Installed: "1.5", State: installed, Intent: "v1 1.5 x", Since: at.Time}, false, &shown{Wanted: "1.6", Installed: "1.5", State: "Outdated", Message: available}},
		"held, older version":     {[]contract.Software{held}, &record{Installed: "1.60", State: installed, Intent: "v1 1.60 x"}, false, &shown{Wanted: "1.6", Installed: "1.60", State: "Installed"}},
		"held, rpm":               {[]contract.Software{rpm}, &record{Installed: "1.6", State: installed, Intent: "v1 1.6 x"}, false, &shown{Wanted: "1.6^git", Installed: "1.6", State: "Outdated", Message: "version 1.6^git is available, and automatic updates are off"}},
		"held, processed":         {[]contract.Software{held}, &record{Installed: "1.5", State: outdated, Intent: "v1 hold 1.6 abc", Message: "x"}, false, &shown{Wanted: "1.6", Installed: "1.5", State: "Outdated", Message: "x"}},
		"conflict":                {[]contract.Software{problem}, nil, false, &shown{Wanted: "1.6", State: "Pending", Message: twoMessage}},
		"conflict, installed":     {[]contract.Software{problem}, &record{Installed: "1.5", State: installed, Intent: "v1 1.5 x"}, false, &shown{Wanted: "1.6", Installed: "1.5", State: "Installed"}},
		"conflict, failed":        {[]contract.Software{problem}, &record{State: failed, Intent: "v1 1.5 x", Message: "x"}, false, &shown{Wanted: "1.6", State: "Failed", Message: twoMessage}},
		"left":                    {nil, &record{Installed: "1.6", Wanted: "1.6", State: installed, Intent: intent, Ours: true, Since: at.Time}, true, &shown{Installed: "1.6", State: "Pending", Message: leaves}},
		"left, in a conflict":     {[]contract.Software{elsewhere}, &record{Installed: "1.6", State: installed, Intent: intent, Ours: true}, true, &shown{Installed: "1.6", State: "Pending", Message: twoMessage}},
		"left, unreadable entry":  {[]contract.Software{{Problem: twoMessage}}, &record{Installed: "1.6", State: installed, Intent: intent, Ours: true}, true, &shown{Installed: "1.6", State: "Pending", Message: twoMessage}},
		"left, being removed":     {nil, &record{Installed: "1.6", State: removing, Ours: true, Since: at.Time}, true, &shown{Installed: "1.6", State: "Removing", Since: &at}},
		"left, not removed":       {nil, &record{Installed: "1.6", State: failed, Intent: contract.SoftwareRemoval, Ours: true, Message: "x"}, true, &shown{Installed: "1.6", State: "Failed", Message: "x"}},
		"left, waits for a node":  {nil, &record{Installed: "1.6", State: pending, Intent: intent, Ours: true, Message: "x"}, true, &shown{Installed: "1.6", State: "Pending", Message: leaves}},
		"left, was there before":  {nil, &record{Installed: "1.6", State: installed, Intent: intent}, true, nil},
		"left, another wants it":  {[]contract.Software{jq}, &record{Installed: "1.6", State: installed, Intent: intent, Ours: true}, true, nil},
		"left, removed":           {nil, nil, true, nil},
		"of another Software":     {nil, nil, false, &shown{State: "Pending"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := softwareOf(t, "a", "{workerSoftware: [jq]}")
			if tc.left {
				s.Spec.WorkerSoftware = nil
				s.Status.Nodes = []v1alpha1.SoftwareNodeStatus{{Name: "w-1", Packages: []v1alpha1.SoftwarePackageStatus{{Name: "jq"}}}}
			}
			node := contract.SoftwareNode{Node: "w-1", Host: "uid-w-1"}
			if tc.row != nil {
				tc.row.Name = "jq"
				node.Packages = []contract.SoftwarePackage{*tc.row}
			}
			got := Rows(s, tc.wanted, []contract.Node{nodeOf("w-1", w)}, contract.SoftwareRecord{Nodes: []contract.SoftwareNode{node}})
			var want []v1alpha1.SoftwareNodeStatus
			if tc.want != nil {
				tc.want.Name = "jq"
				want = []v1alpha1.SoftwareNodeStatus{{Name: "w-1", Packages: []v1alpha1.SoftwarePackageStatus{*tc.want}}}
			}
			if diff := cmp.Diff(want, got.Nodes); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestRows checks the nodes and the counts. The times have the precision of the API server.
func TestRows(t *testing.T) {
	s := softwareOf(t, "a", "{masterSoftware: [curl], workerSoftware: [jq, curl]}")
	other := softwareOf(t, "b", "{workerSoftware: [tmux]}")
	nodes := []contract.Node{nodeOf("w-2", w), nodeOf("w-1", w), nodeOf("m-1", cp, w), nodeOf("w-3", w)}
	nodes[3].Standby = true
	wanted, _ := Merge([]*v1alpha1.Software{s, other}, nodes)
	row := func(name string, state contract.SoftwareState) contract.SoftwarePackage {
		return contract.SoftwarePackage{Name: name, State: state, Intent: "v1 ", Since: now.Add(700 * time.Millisecond)}
	}
	record := contract.SoftwareRecord{Nodes: []contract.SoftwareNode{
		{Node: "m-1", Host: "uid-m-1", Checked: now.Add(900 * time.Millisecond), Packages: []contract.SoftwarePackage{row("curl", contract.SoftwareInstalled), row("jq", contract.SoftwareFailed), row("tmux", contract.SoftwareFailed)}},
		{Node: "w-1", Host: "another", Message: "x", Packages: []contract.SoftwarePackage{row("curl", contract.SoftwareInstalled)}},
		{Node: "w-2", Host: "uid-w-2", Message: "no route to host", Packages: []contract.SoftwarePackage{row("jq", contract.SoftwareOutdated), row("curl", contract.SoftwareDrifted)}},
	}}
	got := Rows(s, wanted, nodes, record)
	at := &metav1.Time{Time: now}
	type shown = v1alpha1.SoftwarePackageStatus
	want := v1alpha1.SoftwareStatus{Summary: "2/6", Installed: 2, Failed: 1, Total: 6, Nodes: []v1alpha1.SoftwareNodeStatus{
		{Name: "m-1", Checked: at, Packages: []shown{{Name: "curl", State: "Installed", Since: at}, {Name: "jq", State: "Failed", Since: at}}},
		{Name: "w-1", Packages: []shown{{Name: "curl", State: "Pending"}, {Name: "jq", State: "Pending"}}},
		{Name: "w-2", Message: "no route to host", Packages: []shown{{Name: "curl", State: "Drifted", Since: at}, {Name: "jq", State: "Outdated", Since: at}}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if empty := Rows(other, nil, nil, record); empty.Summary != "0/0" || empty.Nodes != nil {
		t.Errorf("without nodes: %+v", empty)
	}
}

// The status says which version each node gets, if the architectures have different ones.
func TestRowsOfArchitectures(t *testing.T) {
	s := softwareOf(t, "a", "{workerSoftware: [jq]}")
	jq := contract.Software{Name: "jq", Workers: true, Version: "2.0", Versions: map[string]string{"amd64": "2.0", "arm64": "1.5"}}
	nodes := []contract.Node{nodeOf("w-1", w), nodeOf("w-2", w), nodeOf("w-3", w)}
	var record contract.SoftwareRecord
	for i, architecture := range []string{"x86_64", "aarch64", ""} {
		record.Nodes = append(record.Nodes, contract.SoftwareNode{Node: nodes[i].Name, Host: nodes[i].HostUID, Architecture: architecture})
	}
	got := map[string]string{}
	for _, n := range Rows(s, []contract.Software{jq}, nodes, record).Nodes {
		got[n.Name] = n.Packages[0].Wanted
	}
	if diff := cmp.Diff(map[string]string{"w-1": "2.0", "w-2": "1.5", "w-3": ""}, got); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
}

// The status of a large cluster is shorter than etcd's limit. It has all that is not installed, as far as this
// fits, and counts the rest.
func TestRowsOfALargeCluster(t *testing.T) {
	s := &v1alpha1.Software{}
	var wanted []contract.Software
	for k := range 20 {
		name := fmt.Sprint("package-", k)
		s.Spec.WorkerSoftware = append(s.Spec.WorkerSoftware, v1alpha1.SoftwareEntry{Name: name})
		wanted = append(wanted, contract.Software{Name: name, Workers: true, Version: "1.0"})
	}
	for _, tc := range []struct{ broken, left int }{{0, 0}, {100, 100}, {20000, 1000}} {
		var nodes []contract.Node
		var record contract.SoftwareRecord
		broken := tc.broken
		for i := range 1000 {
			n := nodeOf(fmt.Sprintf("w-%04d", i), w)
			of := contract.SoftwareNode{Node: n.Name, Host: n.HostUID}
			for _, p := range wanted {
				row := contract.SoftwarePackage{Name: p.Name, Installed: "1.0", State: contract.SoftwareInstalled, Intent: contract.SoftwareIntent(p)}
				if broken--; broken >= 0 {
					row.State, row.Message = contract.SoftwareFailed, strings.Repeat("m", 540)
				}
				of.Packages = append(of.Packages, row)
			}
			nodes, record.Nodes = append(nodes, n), append(record.Nodes, of)
		}
		got, left := Rows(s, wanted, nodes, record), 0
		for _, n := range got.Nodes {
			left += len(n.Packages)
			for _, p := range n.Packages {
				if p.State != string(contract.SoftwareFailed) {
					t.Fatalf("%d broken: %+v is there", tc.broken, p)
				}
			}
		}
		text, err := json.Marshal(got)
		if err != nil || len(text) > mostRows {
			t.Errorf("%d broken: %d bytes, %v", tc.broken, len(text), err)
		}
		if int(got.Omitted)+left != 20000 || left < tc.left || int(got.Failed) != tc.broken || got.Total != 20000 {
			t.Errorf("%d broken: %d rows and %d omitted, want at least %d rows; %d failed of %d", tc.broken, left, got.Omitted, tc.left, got.Failed, got.Total)
		}
	}
}
