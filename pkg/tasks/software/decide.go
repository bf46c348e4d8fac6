package software

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Node is what Decide reads about one node.
type Node struct {
	Name  string
	Roles []string
	// Changes reports that the run may change the node.
	Changes bool
	Seen    Seen
	Rows    []contract.SoftwarePackage // the record
}

// Decision is what a run does with one package of a node. Row is the record before the action, if there is one,
// and the record for the rest if there is none.
type Decision struct {
	Row        contract.SoftwarePackage
	Action     *Action // nil: none
	Disruption contract.Disruption
	Drop       bool // the record has no row of the package any more
	intent     string
	wish       contract.Software
}

// Rules are the settings that all nodes of a run share.
type Rules struct {
	Run      contract.SoftwareRun
	DepotURL string
	Retry    string // the command with which a person asks for another attempt
	Update   string // the command with which a person asks for newer versions
}

// RulesOf returns the rules of a request, which has software.
func RulesOf(r contract.Request) Rules {
	command := fmt.Sprintf("kubectl bpa software %s -n %s", r.Provisioning, r.Namespace)
	return Rules{Run: *r.Software, DepotURL: r.DepotURL, Retry: command + " --retry", Update: command + " --update"}
}

// retries reports that a person asks for another attempt at what has failed or was changed by hand.
func (r Rules) retries(n Node) bool { return r.Run.Asked != "" && n.Changes }

// Decide returns what to do with the packages of a node, removals first. Each package that is wanted on the node
// or recorded has one decision.
func Decide(r Rules, n Node) (all []Decision) {
	wanted := map[string]bool{}
	var installs []Decision
	for _, p := range r.Run.Packages {
		if p.On(n.Roles) {
			wanted[p.Name] = true
			installs = append(installs, r.want(n, p))
		}
	}
	for _, row := range n.Rows {
		if !wanted[row.Name] {
			all = append(all, r.unwant(n, row))
		}
	}
	return append(all, installs...)
}

// unwant decides about a recorded package that no Software requests for the node.
func (r Rules) unwant(n Node, row contract.SoftwarePackage) Decision {
	seen := n.Seen.Packages[row.Name]
	tar := row.Format == formatTar || seen.Tar != nil && (row.Format == "" || seen.Native == "")
	has := seen.Native
	if tar {
		has = tarVersion(seen)
	}
	d := Decision{Row: row, intent: contract.SoftwareRemoval}
	if r.stays(row.Name) {
		return d
	}
	d.Row.Wanted, d.Row.Installed = "", has
	switch {
	case !row.Ours || has == "" || !packageName.MatchString(row.Name):
		d.Drop = true
	case row.State == contract.SoftwareFailed && row.Intent == contract.SoftwareRemoval && !r.retries(n):
	case !n.Changes:
		d.Row.State, d.Row.Message = contract.SoftwarePending, "no Software requests it any more; the next run removes it"
	default:
		d.Disruption = cmp.Or(row.Disruption, contract.DisruptionNone)
		d.Action = &Action{Do: "remove", Name: row.Name, Tar: tar}
		d.Row.State, d.Row.Message, d.Row.Intent = contract.SoftwareRemoving, "", ""
	}
	return d
}

// stays reports that a package is not removed, so that all nodes keep what they have.
func (r Rules) stays(name string) bool { return contract.SoftwareStays(r.Run.Packages, name) != nil }

// want decides about a package that is wanted on the node.
func (r Rules) want(n Node, p contract.Software) Decision {
	row, intent := rowOf(n.Rows, p.Name), contract.SoftwareIntent(p) // of all architectures: the reconciler does not know that of a new node
	p = p.For(n.Seen.Architecture)
	d := Decision{Row: row, Disruption: p.Disruption, intent: intent, wish: p}
	if p.Problem != "" {
		d.Drop = row.State == ""
		return d
	}
	d.Row.Name, d.Row.Wanted, d.Row.Message, d.Row.Disruption = p.Name, p.Version, "", p.Disruption
	d.Row.Missing, d.Row.Later = false, false
	if p.Disruption == contract.DisruptionNone {
		d.Row.Disruption = ""
	}
	seen := n.Seen.Packages[p.Name]
	if problem := check(p); problem != "" {
		d.Row.Installed = cmp.Or(tarVersion(seen), seen.Native)
		return d.fail(problem)
	}
	file, err := choose(p, n.Seen)
	if err != nil {
		d.Row.Installed = cmp.Or(tarVersion(seen), seen.Native)
		return d.fail(err.Error())
	}
	format, have := formatOf(file, n.Seen, seen), seen.Native
	if format == formatTar {
		have = tarVersion(seen)
	}
	d.Row.Installed = have
	want := cmp.Or(p.Version, seen.Candidate)
	if d.satisfied(seen, file, have, want) {
		d.Row.State, d.Row.Intent = contract.SoftwareInstalled, d.intent
		return d.owned(row, format, format == formatTar)
	}
	return r.change(n, d, change{row: row, seen: seen, file: file, format: format, have: have, want: want})
}

// change is what a package needs that is not as it should be.
type change struct {
	row        contract.SoftwarePackage
	seen       SeenPackage
	file       *contract.SoftwareFile
	format     string // of what is installed or to be installed
	have, want string
}

// fromSources reports that the package is whatever the node's package sources have. Its version can change at any
// time, so a run that is about other packages must not update it.
func (c change) fromSources(p contract.Software) bool {
	return p.Version == "" && len(p.Files) == 0 && c.file == nil
}

func (r Rules) change(n Node, d Decision, c change) Decision {
	p, known := d.wish, d.known(c.row)
	missing := missing(p, n.Seen, c)
	found := c.row.Missing && missing == "" // since the last run
	switch {
	case known && c.drifted() && !r.retries(n):
		d.Row.State, d.Row.Message = contract.SoftwareDrifted, r.driftMessage(c)
		return d
	case known && c.row.State == contract.SoftwareFailed && !found && !r.retries(n):
		d.Row.State, d.Row.Message, d.Row.Missing = c.row.State, c.row.Message, c.row.Missing
		return d
	case p.Hold && c.have != "" && !r.Run.Update:
		d.Row.State, d.Row.Intent = contract.SoftwareOutdated, d.intent
		d.Row.Message = fmt.Sprintf("version %s is available, and automatic updates are off", c.want)
		return d
	case known && c.row.State == contract.SoftwareInstalled && c.have != "" && !c.drifted() && (!n.Changes || c.fromSources(p) && !r.Run.Update):
		d.Row.State, d.Row.Intent = contract.SoftwareInstalled, c.row.Intent
		d.Row.Message = fmt.Sprintf("version %s is in the node's package sources. To install it, run: %s", c.want, r.Update)
		return d
	}
	switch {
	case missing != "" && len(n.Seen.Notes) > 0: // it may be in a source that could not be read
		return d.later(fmt.Sprintf("package %s is not found, and the node's package sources cannot be read now. BPA tries again: %s",
			strings.TrimSpace(p.Name+" "+p.Version), n.Seen.Notes[0]))
	case missing != "":
		d.Row.Missing = true
		return d.fail(missing)
	case !n.Changes:
		d.Row.State, d.Row.Message = contract.SoftwarePending, "this run does not change the node; the next one installs it"
		if found {
			d.Row.Intent = ""
		}
		return d
	}
	d.Row.State, d.Row.Intent = contract.SoftwareInstalling, ""
	d = d.owned(c.row, c.format, c.have == "" || c.format == formatTar)
	d.Action = r.install(d, c)
	return d
}

// owned records whether BPA has installed the package in this format. What it has installed in another format does
// not count: the operating system can have had a deb package beside BPA's tar package.
func (d Decision) owned(row contract.SoftwarePackage, format string, installs bool) Decision {
	d.Row.Ours = installs || row.Ours && (row.Format == "" || row.Format == format)
	d.Row.Format = ""
	if d.Row.Ours {
		d.Row.Format = format
	}
	return d
}

// known reports that a run has processed the row for the same wish. A version that a Software names is the
// same one after its upload has left the depot.
func (d Decision) known(row contract.SoftwarePackage) bool {
	return row.Intent == d.intent || d.wish.Pinned && len(d.wish.Files) == 0 && strings.HasPrefix(row.Intent, d.intent+" ")
}

func (r Rules) install(d Decision, c change) *Action {
	a := &Action{Do: "install", Name: d.Row.Name, Version: c.want, Downgrade: c.have != "" && c.seen.Order[c.have][c.want] > 0}
	if c.file != nil {
		a.File = &File{URL: r.DepotURL + c.file.Path, Format: c.file.Format, SHA256: c.file.SHA256, Size: c.file.Size}
	}
	a.ReplacesTar = c.seen.Tar != nil && (c.file == nil || c.file.Format != formatTar)
	return a
}

// drifted reports that somebody has changed what the last run left.
func (c change) drifted() bool {
	switch c.row.State {
	case contract.SoftwareDrifted:
		return true
	case contract.SoftwareInstalled, contract.SoftwareOutdated:
		return c.row.Installed != c.have || c.seen.Broken
	}
	return false
}

func (r Rules) driftMessage(c change) string {
	repair := "To repair it, run: " + r.Retry
	switch {
	case c.row.State == contract.SoftwareDrifted && c.row.Installed == c.have:
		return c.row.Message // which names the version before
	case c.seen.Broken:
		return "it is not installed completely: somebody else has changed it. " + repair
	case c.have == "":
		return fmt.Sprintf("somebody else has removed version %s. %s", cmp.Or(c.row.Installed, c.want), repair)
	}
	return fmt.Sprintf("somebody else has replaced version %s by %s. %s", cmp.Or(c.row.Installed, c.want), c.have, repair)
}

// fail records a failure that another attempt would repeat.
func (d Decision) fail(message string) Decision {
	d.Row.State, d.Row.Intent, d.Row.Message = contract.SoftwareFailed, d.intent, shorten(message)
	return d
}

// later records what another attempt may repeat with success, such as after an outage of the depot.
func (d Decision) later(message string) Decision {
	d.Row.State, d.Row.Intent, d.Row.Message, d.Row.Later = contract.SoftwarePending, "", shorten(message), true
	return d
}

// satisfied reports that the node has what is wanted. A newer version than the newest of the depot is kept,
// unless a Software names the version.
func (d Decision) satisfied(seen SeenPackage, file *contract.SoftwareFile, have, want string) bool {
	if have == "" {
		return false
	}
	if file == nil && seen.Tar != nil { // its upload is not in the depot any more
		return d.wish.Version == "" || have == d.wish.Version
	}
	if file != nil && file.Format == formatTar {
		return have == want && seen.Tar.SHA256 == file.SHA256 || !d.wish.Pinned && seen.Order[have][want] > 0
	}
	if seen.Broken {
		return false
	}
	return want == "" || have == want || !d.wish.Pinned && seen.Order[have][want] > 0
}

func tarVersion(s SeenPackage) string {
	if s.Tar == nil {
		return ""
	}
	return s.Tar.Version
}

func rowOf(rows []contract.SoftwarePackage, name string) contract.SoftwarePackage {
	for _, r := range rows {
		if r.Name == name {
			return r
		}
	}
	return contract.SoftwarePackage{Name: name}
}
