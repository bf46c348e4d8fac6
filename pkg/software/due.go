package software

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Verbs of a Change.
const (
	Install = "install"
	Update  = "update"
	Remove  = "remove"
	Repair  = "repair" // what somebody else has changed
	Reboot  = "reboot" // without Package: an earlier run has changed packages and has not rebooted the node
	Look    = "look"   // a user has requested a run; without Package, and without Node: a look at all nodes that changes none
)

// Change is something that a run has to do on a node.
type Change struct{ Node, Package, Verb string }

const (
	// retryAfter is the time after which a node is tried again that is alive and did not answer to a run.
	retryAfter = 10 * time.Minute
	// resumeAfter is the time after which a run continues what a run has not come to the end of.
	resumeAfter = time.Minute
)

// Due returns the changes for which a run is needed, sorted; none: no run is needed. wanted are the packages
// of the cluster. nodes are its nodes without Lost ones. alive reports whether a node is alive, and since
// when, as far as known. asked is the value of contract.AnnotationSoftware. If something waits for its time,
// such as a node that did not answer, next is the time at which Due must be called again; zero: nothing does.
//
// After a run that has processed all changes, none of them is due again, whether they succeeded or failed.
func Due(wanted []contract.Software, nodes []contract.Node, record contract.SoftwareRecord, alive func(contract.Node) (since time.Time, ok bool),
	asked string, now time.Time) (changes []Change, next time.Time) {
	d := &due{wanted: wanted, now: now, ask: parseAsk(asked, record)}
	for _, n := range nodes {
		if since, ok := alive(n); ok && !n.Standby {
			changes = append(changes, d.node(n, record.Of(n), since)...)
		}
	}
	if d.ask.check && len(changes) > 0 {
		return []Change{{Verb: Look}}, d.next
	}
	slices.SortFunc(changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Package, b.Package), cmp.Compare(a.Verb, b.Verb))
	})
	return changes, d.next
}

// ask is the request of a user that no run has answered yet.
type ask struct {
	requested bool
	// retry requests that failed packages are tried again and drift is repaired, update that packages with
	// Hold are updated too, check that no node is changed.
	retry, update, check bool
}

// parseAsk reads a value of contract.AnnotationSoftware. A word that is none, such as a mistyped one, requests a
// check: it must not change nodes.
func parseAsk(asked string, record contract.SoftwareRecord) ask {
	words := strings.Fields(strings.ToLower(asked))
	if len(words) == 0 || asked == record.Asked {
		return ask{}
	}
	if len(words) == 1 && words[0] != contract.SoftwareCheck && words[0] != contract.SoftwareUpdate {
		return ask{requested: true, retry: true}
	}
	if len(words) <= 2 && words[len(words)-1] == contract.SoftwareUpdate {
		return ask{requested: true, retry: true, update: true}
	}
	return ask{requested: true, check: true}
}

// due is what the decisions about all nodes have in common.
type due struct {
	wanted []contract.Software
	now    time.Time
	ask    ask
	next   time.Time // when the first of what waits is due
}

// node returns the changes of one node that is alive.
func (d *due) node(n contract.Node, record contract.SoftwareNode, alive time.Time) (changes []Change) {
	wanted := map[string]bool{}
	for _, s := range d.wanted {
		if s.On(n.Roles) {
			wanted[s.Name] = true
			if row := rowOf(record, s.Name); s.Problem == "" && d.wants(s, row) && !d.waits(record, row, alive) {
				changes = append(changes, Change{n.Name, s.Name, verb(row)})
			}
		}
	}
	for _, row := range record.Packages {
		if row.Ours && !wanted[row.Name] && contract.SoftwareStays(d.wanted, row.Name) == nil && d.unwanted(row) && !d.waits(record, row, alive) {
			changes = append(changes, Change{n.Name, row.Name, Remove})
		}
	}
	if record.Reboot && !d.waits(record, contract.SoftwarePackage{State: contract.SoftwareInstalling}, alive) {
		changes = append(changes, Change{n.Name, "", Reboot})
	}
	if d.ask.requested && len(wanted)+len(record.Packages) > 0 {
		changes = append(changes, Change{n.Name, "", Look})
	}
	return changes
}

// wants reports whether a run has to process a package that the node should have.
func (d *due) wants(s contract.Software, row contract.SoftwarePackage) bool {
	switch {
	case unfinished(row.State):
		return true
	case d.ask.retry && (row.State == contract.SoftwareFailed || row.State == contract.SoftwareDrifted):
		return true
	case s.Hold && row.Installed != "" && !d.ask.update:
		return false
	case row.State == contract.SoftwareOutdated && d.ask.update:
		return true
	}
	return !processed(s, row)
}

// unwanted reports whether a run has to remove a package.
func (d *due) unwanted(row contract.SoftwarePackage) bool {
	return row.Intent != contract.SoftwareRemoval || unfinished(row.State) || d.ask.retry
}

// waits reports whether it is too early to try again what the last run could not process. A node that has
// been dead in the meantime is tried again at once, and so is what a user requests.
func (d *due) waits(record contract.SoftwareNode, row contract.SoftwarePackage, alive time.Time) bool {
	last, pause := later(record.Tried, record.Checked), time.Duration(0)
	if row.State != "" && unfinished(row.State) {
		last, pause = later(last, row.Since), resumeAfter
	}
	if record.Message != "" || row.Later {
		pause = retryAfter
	}
	due := last.Add(pause)
	if d.ask.requested || alive.After(last) || !d.now.Before(due) {
		return false
	}
	if d.next.IsZero() || due.Before(d.next) {
		d.next = due
	}
	return true
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// processed reports whether a run has done with the row what the package requires. A version that a Software
// names is the same one after its upload has left the depot.
func processed(s contract.Software, row contract.SoftwarePackage) bool {
	intent := contract.SoftwareIntent(s)
	return row.Intent == intent || s.Pinned && len(s.Files) == 0 && strings.HasPrefix(row.Intent, intent+" ")
}

// unfinished reports whether a run has not come to the end of a row. The empty state is that of no row.
func unfinished(state contract.SoftwareState) bool {
	return slices.Contains([]contract.SoftwareState{"", contract.SoftwarePending, contract.SoftwareInstalling, contract.SoftwareRemoving}, state)
}

// verb returns what a run does with a package that the node should have.
func verb(row contract.SoftwarePackage) string {
	switch {
	case row.State == contract.SoftwareDrifted:
		return Repair
	case row.Installed != "":
		return Update
	}
	return Install
}

// rowOf returns the row of a package, or an empty one.
func rowOf(record contract.SoftwareNode, name string) contract.SoftwarePackage {
	for _, row := range record.Packages {
		if row.Name == name {
			return row
		}
	}
	return contract.SoftwarePackage{Name: name}
}
