package software

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
)

var now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return now.Add(-d) }

// alive is what is known of a node that was never dead.
func alive(contract.Node) (time.Time, bool) { return time.Time{}, true }

// rowsOf returns the record of node w-1.
func rowsOf(rows ...contract.SoftwarePackage) contract.SoftwareNode {
	return contract.SoftwareNode{Node: "w-1", Host: "uid-w-1", Checked: ago(time.Hour), Tried: ago(time.Hour), Packages: rows}
}

// texts returns changes as "VERB PACKAGE NODE".
func texts(changes []Change) (all []string) {
	for _, c := range changes {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s", c.Verb, c.Package, c.Node)))
	}
	return all
}

func TestDue(t *testing.T) {
	const (
		installed = contract.SoftwareInstalled
		failed    = contract.SoftwareFailed
		drifted   = contract.SoftwareDrifted
		outdated  = contract.SoftwareOutdated
		pending   = contract.SoftwarePending
	)
	jq := contract.Software{Name: "jq", Version: "1.6", Workers: true, Files: []contract.SoftwareFile{{SHA256: "abc"}}}
	held, pinned, problem, gone, elsewhere := jq, jq, jq, jq, jq
	held.Hold, pinned.Pinned, problem.Problem = true, true, "two versions"
	gone.Pinned, gone.Files = true, nil
	elsewhere.ControlPlanes, elsewhere.Workers = true, false
	conflictElsewhere := elsewhere
	conflictElsewhere.Problem = "two versions"
	unread := contract.Software{Problem: "an entry cannot be read"}
	intent, before, hold := contract.SoftwareIntent(jq), "v1 1.5 def", contract.SoftwareIntent(held)
	row := func(state contract.SoftwareState, has, intent string) contract.SoftwarePackage {
		return contract.SoftwarePackage{Name: "jq", State: state, Installed: has, Wanted: "1.6", Intent: intent, Ours: true, Since: ago(time.Hour)}
	}
	theirs := row(installed, "1.6", intent)
	theirs.Ours = false
	const plain, check, update = "t1", "t1 check", "t1 update"
	for name, tc := range map[string]struct {
		wanted []contract.Software
		rows   []contract.SoftwarePackage
		asked  string
		want   []string
	}{
		"nothing":                                  {},
		"new":                                      {wanted: []contract.Software{jq}, want: []string{"install jq w-1"}},
		"for the other role":                       {wanted: []contract.Software{elsewhere}},
		"installed":                                {wanted: []contract.Software{jq}, rows: []contract.SoftwarePackage{row(installed, "1.6", intent)}},
		"newer version":                            {wanted: []contract.Software{jq}, rows: []contract.SoftwarePackage{row(installed, "1.5", before)}, want: []string{"update jq w-1"}},
		"newer version after a failure":            {wanted: []contract.Software{jq}, rows: []contract.SoftwarePackage{row(failed, "", before)}, want: []string{"install jq w-1"}},
		"newer version after drift":                {wanted: []contract.Software{jq}, rows: []contract.SoftwarePackage{row(drifted, "1.4", before)}, want: []string{"repair jq w-1"}},
		"failed":                                   {wanted: []contract.Software{jq}, rows: []contract.SoftwarePackage{row(failed, "", intent)}},
		"drifted":                                  {wanted: []contract.Software{jq}, rows: []contract.SoftwarePackage{row(drifted, "1.4", intent)}},
		"failed, on request":                       {wanted: []contract.Software{jq}, rows: []contract.SoftwarePackage{row(failed, "", intent)}, asked: plain, want: []string{"look  w-1", "install jq w-1"}},
		"failed update, on request":                {wanted: []contract.Software{jq}, rows: []contract.SoftwarePackage{row(failed, "1.5", intent)}, asked: plain, want: []string{"look  w-1", "update jq w-1"}},
		"drifted, on request":                      {wanted: []contract.Software{jq}, rows: []contract.SoftwarePackage{row(drifted, "1.4", intent)}, asked: plain, want: []string{"look  w-1", "repair jq w-1"}},
		"failed, request was answered":             {wanted: []contract.Software{jq}, rows: []contract.SoftwarePackage{row(failed, "", intent)}, asked: "t0"},
		"installed, on request":                    {wanted: []contract.Software{jq}, rows: []contract.SoftwarePackage{row(installed, "1.6", intent)}, asked: plain, want: []string{"look  w-1"}},
		"a check":                                  {wanted: []contract.Software{jq}, rows: []contract.SoftwarePackage{row(failed, "", intent)}, asked: check, want: []string{"look"}},
		"a check before an update":                 {wanted: []contract.Software{jq}, rows: []contract.SoftwarePackage{row(installed, "1.5", before)}, asked: check, want: []string{"look"}},
		"a check of nothing":                       {asked: check},
		"held, new":                                {wanted: []contract.Software{held}, want: []string{"install jq w-1"}},
		"held, newer version":                      {wanted: []contract.Software{held}, rows: []contract.SoftwarePackage{row(installed, "1.5", before)}},
		"held, newer version, on request":          {wanted: []contract.Software{held}, rows: []contract.SoftwarePackage{row(installed, "1.5", before)}, asked: update, want: []string{"look  w-1", "update jq w-1"}},
		"held, outdated":                           {wanted: []contract.Software{held}, rows: []contract.SoftwarePackage{row(outdated, "1.5", hold)}},
		"held, outdated, another request":          {wanted: []contract.Software{held}, rows: []contract.SoftwarePackage{row(outdated, "1.5", hold)}, asked: plain, want: []string{"look  w-1"}},
		"held, outdated, on request":               {wanted: []contract.Software{held}, rows: []contract.SoftwarePackage{row(outdated, "1.5", hold)}, asked: update, want: []string{"look  w-1", "update jq w-1"}},
		"held, drifted, on request":                {wanted: []contract.Software{held}, rows: []contract.SoftwarePackage{row(drifted, "1.4", before)}, asked: plain, want: []string{"look  w-1", "repair jq w-1"}},
		"held no more":                             {wanted: []contract.Software{jq}, rows: []contract.SoftwarePackage{row(outdated, "1.5", hold)}, want: []string{"update jq w-1"}},
		"named version":                            {wanted: []contract.Software{pinned}, rows: []contract.SoftwarePackage{row(installed, "1.6", intent)}},
		"named version has left the depot":         {wanted: []contract.Software{gone}, rows: []contract.SoftwarePackage{row(installed, "1.6", intent)}},
		"named version has left it, for a new one": {wanted: []contract.Software{gone}, want: []string{"install jq w-1"}},
		"another named version has left it":        {wanted: []contract.Software{gone}, rows: []contract.SoftwarePackage{row(installed, "1.60", "v1 1.60 abc")}, want: []string{"update jq w-1"}},
		"a conflict":                               {wanted: []contract.Software{problem}, rows: []contract.SoftwarePackage{row(installed, "1.5", before)}},
		"a conflict, on request":                   {wanted: []contract.Software{problem}, rows: []contract.SoftwarePackage{row(failed, "", before)}, asked: plain, want: []string{"look  w-1"}},
		"removed":                                  {rows: []contract.SoftwarePackage{row(installed, "1.6", intent)}, want: []string{"remove jq w-1"}},
		"removed from the role":                    {wanted: []contract.Software{elsewhere}, rows: []contract.SoftwarePackage{row(installed, "1.6", intent)}, want: []string{"remove jq w-1"}},
		"removed from the role, in a conflict":     {wanted: []contract.Software{conflictElsewhere}, rows: []contract.SoftwarePackage{row(installed, "1.6", intent)}},
		"removed, an entry cannot be read":         {wanted: []contract.Software{unread}, rows: []contract.SoftwarePackage{row(installed, "1.6", intent)}},
		"new, an entry cannot be read":             {wanted: []contract.Software{unread, jq}, want: []string{"install jq w-1"}},
		"removed, was there before":                {rows: []contract.SoftwarePackage{theirs}},
		"removed after a failure":                  {rows: []contract.SoftwarePackage{row(failed, "1.5", intent)}, want: []string{"remove jq w-1"}},
		"failed removal":                           {rows: []contract.SoftwarePackage{row(failed, "1.6", contract.SoftwareRemoval)}},
		"failed removal, on request":               {rows: []contract.SoftwarePackage{row(failed, "1.6", contract.SoftwareRemoval)}, asked: plain, want: []string{"look  w-1", "remove jq w-1"}},
		"requested again after a failed removal":   {wanted: []contract.Software{jq}, rows: []contract.SoftwarePackage{row(failed, "1.6", contract.SoftwareRemoval)}, want: []string{"update jq w-1"}},
		"not begun":                                {wanted: []contract.Software{jq}, rows: []contract.SoftwarePackage{row(pending, "", "")}, want: []string{"install jq w-1"}},
		"a killed run":                             {wanted: []contract.Software{jq}, rows: []contract.SoftwarePackage{row(contract.SoftwareInstalling, "", intent)}, want: []string{"install jq w-1"}},
		"a killed removal":                         {rows: []contract.SoftwarePackage{row(contract.SoftwareRemoving, "1.6", contract.SoftwareRemoval)}, want: []string{"remove jq w-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			record := contract.SoftwareRecord{Nodes: []contract.SoftwareNode{rowsOf(tc.rows...)}, Asked: "t0"}
			got, next := Due(tc.wanted, []contract.Node{nodeOf("w-1", w)}, record, alive, tc.asked, now)
			if diff := cmp.Diff(tc.want, texts(got)); diff != "" || !next.IsZero() {
				t.Errorf("next %v, (-want +got):\n%s", next, diff)
			}
		})
	}
}

// TestDueOnlyOnNodesOfTheCluster has nodes that are dead, that have another host than before, and standby ones.
func TestDueOnlyOnNodesOfTheCluster(t *testing.T) {
	jq := contract.Software{Name: "jq", Workers: true}
	row := contract.SoftwarePackage{Name: "jq", State: contract.SoftwareInstalled, Intent: contract.SoftwareIntent(jq), Ours: true}
	replaced := rowsOf(row)
	replaced.Host = "another"
	former := rowsOf(row)
	former.Node = "w-9"
	standby := nodeOf("w-3", w)
	standby.Standby = true
	got, _ := Due([]contract.Software{jq}, []contract.Node{standby, nodeOf("w-2", w), nodeOf("w-1", w)}, contract.SoftwareRecord{Nodes: []contract.SoftwareNode{replaced, former}},
		func(n contract.Node) (time.Time, bool) { return time.Time{}, n.Name != "w-2" }, "", now)
	if diff := cmp.Diff([]string{"install jq w-1"}, texts(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDueWaits checks when a node is tried again that the last run could not read or change.
func TestDueWaits(t *testing.T) {
	jq := contract.Software{Name: "jq", Workers: true}
	pending := contract.SoftwarePackage{Name: "jq", State: contract.SoftwarePending, Since: ago(8 * time.Minute)}
	foreign := contract.SoftwarePackage{Name: "foo", State: contract.SoftwareInstalled, Ours: true}
	for name, tc := range map[string]struct {
		node  contract.SoftwareNode
		alive time.Time // since when
		asked string
		want  []string
		next  time.Time
	}{
		"it did not answer": {node: contract.SoftwareNode{Checked: ago(time.Hour), Tried: ago(9 * time.Minute), Message: "no route to host",
			Packages: []contract.SoftwarePackage{pending, foreign}}, next: now.Add(time.Minute)},
		"it did not answer ten minutes ago": {node: contract.SoftwareNode{Tried: ago(10 * time.Minute), Message: "no route to host",
			Packages: []contract.SoftwarePackage{foreign}}, want: []string{"remove foo w-1", "install jq w-1"}},
		"it was dead since": {node: contract.SoftwareNode{Tried: ago(9 * time.Minute), Message: "no route to host",
			Packages: []contract.SoftwarePackage{pending}}, alive: ago(time.Second), want: []string{"install jq w-1"}},
		"it was dead before": {node: contract.SoftwareNode{Tried: ago(9 * time.Minute), Message: "no route to host",
			Packages: []contract.SoftwarePackage{pending}}, alive: ago(10 * time.Minute), next: now.Add(2 * time.Minute)},
		"a user asks": {node: contract.SoftwareNode{Tried: ago(time.Second), Message: "no route to host",
			Packages: []contract.SoftwarePackage{pending}}, asked: "t1", want: []string{"look  w-1", "install jq w-1"}},
		"the run ended before its turn": {node: contract.SoftwareNode{Tried: ago(70 * time.Second), Packages: []contract.SoftwarePackage{pending}}, want: []string{"install jq w-1"}},
		"the run has just ended": {node: contract.SoftwareNode{Checked: ago(40 * time.Second), Packages: []contract.SoftwarePackage{pending, foreign}},
			want: []string{"remove foo w-1"}, next: now.Add(20 * time.Second)},
	} {
		t.Run(name, func(t *testing.T) {
			tc.node.Node, tc.node.Host = "w-1", "uid-w-1"
			got, next := Due([]contract.Software{jq}, []contract.Node{nodeOf("w-1", w)}, contract.SoftwareRecord{Nodes: []contract.SoftwareNode{tc.node}},
				func(contract.Node) (time.Time, bool) { return tc.alive, true }, tc.asked, now)
			if diff := cmp.Diff(tc.want, texts(got)); diff != "" || !next.Equal(tc.next) {
				t.Errorf("next %v, want %v; (-want +got):\n%s", next, tc.next, diff)
			}
		})
	}
}

// TestParseAsk checks that only the documented values change nodes, and not a mistyped word.
func TestParseAsk(t *testing.T) {
	retry, update, check := ask{requested: true, retry: true}, ask{requested: true, retry: true, update: true}, ask{requested: true, check: true}
	for value, want := range map[string]ask{
		"": {}, "  ": {}, "t0": {}, // t0 is answered
		"t1": retry, "t1 ": retry, " T1\n": retry, "2026-11-22T12:00:00Z": retry,
		"t1 update": update, "t1  Update ": update, "update": update, "UPDATE": update,
		"t1 check": check, "t1\tCHECK": check, "check": check, "Check ": check,
		"t1 chek": check, "t1 updates": check, "t1 retry": check, "t1 check update": check, "t1 x update": check, "update t1": check,
	} {
		if got := parseAsk(value, contract.SoftwareRecord{Asked: "t0"}); got != want {
			t.Errorf("%q: %+v, want %+v", value, got, want)
		}
	}
}

// A node that an earlier run has changed and not rebooted is due, also if its packages are as requested. A
// package that waits for the end of an outage is due at intervals.
func TestDueLater(t *testing.T) {
	jq := contract.Software{Name: "jq", Workers: true}
	nodes := []contract.Node{{Name: "w-1", HostUID: "uid-w-1", Roles: []string{contract.RoleWorker}}}
	due := func(n contract.SoftwareNode) ([]Change, time.Time) {
		return Due([]contract.Software{jq}, nodes, contract.SoftwareRecord{Nodes: []contract.SoftwareNode{n}}, alive, "", now)
	}
	owes := rowsOf(contract.SoftwarePackage{Name: "jq", State: contract.SoftwareInstalled, Installed: "1.6", Intent: contract.SoftwareIntent(jq)})
	if got, _ := due(owes); len(got) > 0 {
		t.Errorf("%v without a reason", got)
	}
	owes.Reboot = true
	got, _ := due(owes)
	if text := Text(got); text != "reboot w-1" || len(ForRun(nil, got, "", 1, 60).Nodes) != 1 {
		t.Errorf("%q of %v, want a reboot", text, got)
	}
	outage := rowsOf(contract.SoftwarePackage{Name: "jq", State: contract.SoftwarePending, Later: true, Since: ago(5 * time.Minute)})
	outage.Checked, outage.Tried = ago(5*time.Minute), ago(5*time.Minute)
	if got, next := due(outage); len(got) > 0 || !next.Equal(now.Add(5*time.Minute)) {
		t.Errorf("5 minutes after an outage: %v, next at %s", got, next)
	}
	outage.Checked, outage.Tried, outage.Packages[0].Since = ago(retryAfter), ago(retryAfter), ago(retryAfter)
	if got, _ := due(outage); len(got) != 1 {
		t.Errorf("%s after an outage: %v", retryAfter, got)
	}
}
