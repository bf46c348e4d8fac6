package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// Do is the action of a step.
type Do string

const (
	// Stay does nothing until the observed state changes.
	Stay Do = "Stay"
	// StartRun creates the objects that a run needs, and then the run itself.
	StartRun Do = "StartRun"
	// CancelRun asks the run to stop.
	CancelRun Do = "CancelRun"
	// StoreKubeconfig creates the Secret from the results of the last run.
	StoreKubeconfig Do = "StoreKubeconfig"
	// Prune deletes old runs.
	Prune Do = "Prune"
	// Release releases the hosts and then removes the finalizer of the Provisioning.
	Release Do = "Release"
	// GiveBack releases hosts on which nothing was installed. The Provisioning stays.
	GiveBack Do = "GiveBack"
	// EndRun asks the run to end after the nodes on which it works.
	EndRun Do = "EndRun"
	// Fence asks Metal3 to power off lost hosts before a run replaces them.
	Fence Do = "Fence"
)

// Step is the result of Next.
type Step struct {
	Do Do
	// Reason and Message explain why the controller does no more than this step. Conditions show
	// them.
	Reason, Message string
	// Runs are the runs to cancel or to delete. Supersede means that the runs are cancelled because
	// the spec was edited. Such a run is cancelled only if it has not touched a host.
	Runs      []string
	Supersede bool
	// Number, Attempt and Operation describe the run to start. Replaces are the losses that this
	// run repairs; each is the result of Loss.Key.
	Number, Attempt int32
	Operation       string
	Replaces        []string
	// Inputs identifies what a run for Softwares is to do; empty: Seen.Inputs does so for all other runs.
	Inputs string
	// Idle is the step without a run for Softwares that starts or waits in the queue; nil: there is no such
	// run. Conditions show this step: the run changes nothing that they describe.
	Idle *Step
	// Request is the request of the run to start. It describes the cluster after the run. In an
	// installed cluster, it can differ from the request of the spec.
	Request contract.Request
	// Plugins means that the run installs the plugins of the request and removes all others.
	Plugins bool
	// Played is the digest of an inventory with which the playbook has already succeeded. If the
	// inventory of the new run is the same, the playbook does not run again. Empty: there is none.
	Played string
	// Hosts are the hosts to release, to reset or to power off.
	Hosts []string
	// Place is the place in the queue of the site's runs; 0: the step does not wait for a free run.
	Place int32
	// After is the time until the next check if nothing changes before; 0 means that no check is
	// needed.
	After time.Duration
}

// Reasons for waiting. The reasons of failures are in package contract.
const (
	ReasonDeleting       = "Deleting"
	ReasonInvalidSpec    = "InvalidSpec"
	ReasonLeftovers      = "EarlierRunsNotGone"
	ReasonPaused         = "Paused"
	ReasonSSHKeyMissing  = "SSHKeyMissing"
	ReasonSSHKeyInvalid  = "SSHKeyInvalid"
	ReasonBadSettings    = "InvalidSettings"
	ReasonDepotRefused   = "DepotRefused"
	ReasonVarsMissing    = "VarsMissing"
	ReasonAddressInUse   = "AddressInUse"
	ReasonStarting       = "Starting"
	ReasonRunning        = "Running"
	ReasonRestarting     = "Restarting"
	ReasonInstalled      = "Installed"
	ReasonSpecChanged    = v1alpha1.ReasonSpecChanged
	ReasonKubeconfigLost = "KubeconfigLost"
	ReasonExpired        = "KubeconfigExpired"
	ReasonHostsLost      = "HostsLost"
	ReasonUpgradeWaiting = "UpgradeWaiting"
	ReasonGivingBack     = "GivingBackHosts"
	ReasonFencing        = "FencingHosts"
	ReasonBackingUp      = "WaitingForBackup"
	ReasonRestoreRefused = "RestoreRefused"
	reasonAvailable      = "Available"
	reasonStoring        = "StoringKubeconfig"
)

// recheck is the time until the next check of a step that waits, for example until the pods of a
// cancelled run have ended.
const recheck = 2 * time.Second

// Next is the state machine: the first rule that applies returns the step. The rules are in the
// order in which the steps of an installation need each other.
func Next(seen Seen, now time.Time) Step {
	return decide(seen.fixed(), now)
}

func decide(seen Seen, now time.Time) Step {
	if step, ok := queued(seen, now); ok {
		return remind(seen, step, now)
	}
	return remind(seen, withSoftware(seen, next(seen, now), now), now)
}

// next returns the step without regard to Softwares.
func next(seen Seen, now time.Time) Step {
	rules := []func(Seen, time.Time) (Step, bool){
		deleting, storing, working, surplusClaims, installed, settings, invalid, plugins, depot, vars, leftovers, restoreRefused, unwanted, failed, changed, controlPlaneLost, upgradeWaits, paused, backingUp, hosts, sshKey, fence,
	}
	for _, rule := range rules {
		if step, ok := rule(seen, now); ok {
			return step
		}
	}
	return start(seen, now)
}

// remind makes sure that a running cluster is checked when its kubeconfig expires. It sets After
// only if the step does nothing and schedules no check.
func remind(s Seen, step Step, now time.Time) Step {
	if step.Do == Stay && step.After == 0 && s.Installed() && s.Kubeconfig != nil && s.Kubeconfig.Expires.After(now) {
		step.After = s.Kubeconfig.Expires.Sub(now) + time.Second
	}
	return step
}

func working(s Seen, now time.Time) (Step, bool) {
	active := s.ActiveRuns()
	if len(active) == 0 {
		return Step{}, false
	}
	r := active[len(active)-1]
	if r.Operation == contract.OperationSoftware && len(active) == 1 {
		return besideSoftware(s, r, now), true
	}
	if step, ok := supersede(s, r, len(active)); ok {
		return step, true
	}
	if step, ok := ending(s, r); ok {
		return step, true
	}
	message := "run " + r.Name + " is running" + withoutAcceleration(s.Started)
	if s.edited(r) {
		message += "; " + s.editedText(r)
	}
	return Step{Do: Stay, Reason: ReasonRunning, Message: message}, true
}

// installed prunes the old runs of a running cluster. In two cases it leaves the decision to the later
// rules, which may start a run: the cluster or its plugins are not the requested ones, or a user requests
// a run that could repair something.
func installed(s Seen, now time.Time) (Step, bool) {
	if !s.Installed() {
		return Step{}, false
	}
	if s.asked() && (!s.usable(now) || s.incomplete() && s.NoSpare == "" || s.repairsPlugins() || len(s.Unpinned) > 0) {
		return Step{}, false // a second run collects a new kubeconfig, finds hosts for missing nodes, repairs plugins, or pins host keys
	}
	if newest := s.Newest(); newest != nil && newest.State == Failed && !s.settled() {
		return Step{}, false // its plugins have failed
	}
	if old := surplus(s, now); len(old) > 0 {
		return Step{Do: Prune, Runs: old, Reason: ReasonInstalled}, true
	}
	if _, changes := s.nextChange(); changes || s.RestoreAsked() != "" || len(s.refused(false)) > 0 || s.upgradeWaiting() != "" || s.PluginChange() != "" {
		return Step{}, false
	}
	return Step{Do: Stay, Reason: ReasonInstalled}, true
}

// settings starts nothing new while the site's settings are invalid. With the defaults instead,
// nodes would download from the Internet.
func settings(s Seen, _ time.Time) (Step, bool) {
	return Step{Do: Stay, Reason: ReasonBadSettings, Message: s.Settings}, s.Settings != ""
}

// depot starts nothing if the webhook would reject this depot today. The Provisioning may have been
// stored before the webhook had the rule.
func depot(s Seen, _ time.Time) (Step, bool) {
	return Step{Do: Stay, Reason: ReasonDepotRefused, Message: s.Depot}, s.Depot != ""
}

// vars starts nothing while variables in Secrets cannot be read. The cluster that is installed keeps what it has.
func vars(s Seen, _ time.Time) (Step, bool) {
	return Step{Do: Stay, Reason: ReasonVarsMissing, Message: s.Vars}, s.Vars != ""
}

func invalid(s Seen, _ time.Time) (Step, bool) {
	return Step{Do: Stay, Reason: ReasonInvalidSpec, Message: s.Invalid}, s.Invalid != ""
}

// leftovers waits until the objects of an earlier Provisioning of the same name are deleted,
// because Tekton would mistake an old task of the same name for a task of the new run. One kind is
// never deleted automatically: a run that a user copied from a run of BPA, with BPA's labels and
// without an owner.
func leftovers(s Seen, _ time.Time) (Step, bool) {
	return Step{Do: Stay, Reason: ReasonLeftovers, After: recheck, Message: fmt.Sprintf(
		"waiting until objects of earlier runs with this name are deleted: %s; if one stays, delete it: "+
			"`kubectl get pipelineruns,taskruns -n %s -l %s=%s` lists them",
		strings.Join(s.Leftovers, ", "), s.Namespace, contract.LabelCluster, s.Name)}, len(s.Leftovers) > 0
}

// unwanted releases the hosts of a run that failed before anything was installed. It does so at
// once if the hosts are not needed any more: the spec has changed, or there is no automatic retry.
// Hosts with an image that the spec still requests stay claimed, because a release would erase them.
func unwanted(s Seen, _ time.Time) (Step, bool) {
	newest := s.Newest()
	if newest == nil || newest.State != Failed {
		return Step{}, false
	}
	if newest.Digest != s.Digest {
		if step, ok := giveBack(s, "the spec has changed since they were claimed", s.withoutImage()); ok {
			return step, true
		}
	}
	if step, ok := giveBack(s, "they have an OS image that the spec does not request any more", s.withOldImage()); ok {
		return step, true
	}
	cause := Classify(*newest)
	if _, again := retryAt(s, *newest, cause); again || !s.wanted(*newest) || newest.Digest != s.Digest || cause.Task != contract.TaskSelectHosts {
		return Step{}, false
	}
	return giveBack(s, "run "+newest.Name+" failed permanently in "+cause.Task, s.withoutImage())
}

// giveBack returns the step that releases these hosts, because their claims have no use any more.
// The caller passes only hosts that returnable has returned: nothing is installed on them.
func giveBack(s Seen, why string, names []string) (Step, bool) {
	return Step{Do: GiveBack, Hosts: names, Reason: ReasonGivingBack, After: recheck, Message: fmt.Sprintf(
		"releasing %s, on which nothing was installed: %s", some(names, ", "), why)}, len(names) > 0
}

// failed decides whether the controller makes another attempt or waits for a user. After a change
// of the spec or of the retry annotation, the number of attempts starts at 1 again.
func failed(s Seen, now time.Time) (Step, bool) {
	newest := s.Newest()
	if newest == nil || newest.State != Failed || !s.wanted(*newest) || s.otherRestore(*newest) {
		return Step{}, false
	}
	cause := Classify(*newest)
	at, again := retryAt(s, *newest, cause)
	if old := surplus(s, now); len(old) > 0 {
		return Step{Do: Prune, Runs: old, Reason: string(cause.Reason)}, true
	}
	if again && !at.After(now) || !again && s.repairsOther(*newest) {
		return Step{}, false
	}
	step := Step{Do: Stay, Reason: string(cause.Reason)}
	if again {
		step.After = at.Sub(now)
	}
	return step, true
}

// changed starts nothing if the spec requests what the cluster cannot become, such as other subnets.
// Parts of the spec that are only not applied yet do not keep other changes from being applied.
func changed(s Seen, _ time.Time) (Step, bool) {
	_, changes := s.nextChange()
	waits := s.blocked() || len(s.refused(false)) > 0 && !changes && !s.asked() && s.PluginChange() == ""
	waits = waits && !s.restores() // the control planes get what the record says
	return Step{Do: Stay, Reason: ReasonSpecChanged, Message: s.changedText()}, waits
}

// controlPlaneLost starts nothing while a control plane node is lost that is not replaced now. The
// other operations need every control plane.
func controlPlaneLost(s Seen, _ time.Time) (Step, bool) {
	lost := s.lostControlPlanes()
	if !s.Complete() || len(lost) == 0 || s.restores() {
		return Step{}, false
	}
	if replaced := s.replaced(); s.quorum() {
		lost = slices.DeleteFunc(lost, func(l Loss) bool {
			return slices.Contains(replaced, l.Key()) || s.Memory != nil && !s.requests(l.Node)
		})
	}
	if len(lost) == 0 {
		return Step{}, false
	}
	return Step{Do: Stay, Reason: ReasonHostsLost, Message: describeLosses(lost) + ": " + s.controlPlaneAdvice()}, true
}

func paused(s Seen, _ time.Time) (Step, bool) {
	return Step{Do: Stay, Reason: ReasonPaused, Message: "spec.paused is set: no new work is started"}, s.Paused
}

// backingUp starts no run that changes the members of etcd, or their machines, while a Backup copies etcd. The
// copy would fail, or be that of an etcd that is being filled.
func backingUp(s Seen, now time.Time) (Step, bool) {
	if s.BackingUp == "" || !contract.OperationOf(s.operation(now).Operation).ExcludesBackup() {
		return Step{}, false
	}
	return Step{Do: Stay, Reason: ReasonBackingUp, Message: "waiting until Backup " + s.BackingUp + " has ended"}, true
}

func hosts(s Seen, _ time.Time) (Step, bool) {
	if s.Hosts == nil || s.Hosts.Missing == "" {
		return Step{}, false
	}
	// Hosts with an image stay claimed: a release would erase them, although the next run can use
	// them as soon as a host for the missing node is there.
	if step, ok := giveBack(s, s.Hosts.Missing, s.withoutImage()); ok {
		return step, true
	}
	if s.Hosts.Reason != "" { // nothing wakes the Provisioning when this ends
		return Step{Do: Stay, Reason: s.Hosts.Reason, Message: s.Hosts.Missing, After: time.Minute}, true
	}
	return Step{Do: Stay, Reason: string(contract.ReasonHostsNotAvailable), Message: s.Hosts.Missing}, true
}

func sshKey(s Seen, _ time.Time) (Step, bool) {
	if s.SSH == nil || s.SSH.Missing == "" {
		return Step{}, false
	}
	return Step{Do: Stay, Reason: cmp.Or(s.SSH.Reason, ReasonSSHKeyMissing), Message: s.SSH.Missing}, true
}

func start(s Seen, now time.Time) Step {
	if s.Hosts == nil || s.SSH == nil { // not checked: a run must not start without the check
		return Step{Do: Stay, Reason: ReasonStarting, After: recheck}
	}
	step := Step{Do: StartRun, Reason: ReasonStarting, Number: s.nextNumber(), Attempt: 1}
	next := s.operation(now)
	step.Operation, step.Request, step.Replaces = next.Operation, next.Request, s.keysOf(gone(next))
	step.Played = s.played(step.Operation)
	if step.Plugins, step.Request.Plugins = s.installsPlugins(step.Operation), nil; step.Plugins {
		step.Request.Plugins = s.Request.Plugins
	}
	if r := step.Request.Restore; r != nil {
		restore := *r
		restore.Fenced = s.fenced(next, now)
		step.Request.Restore = &restore
	}
	step.Request.Software, step.Request.Unaccelerated = s.softwareForNew(step.Operation), ""
	if newest := s.Newest(); newest != nil {
		switch {
		case !s.wanted(*newest) || newest.State == Succeeded || s.otherChange(*newest, next), s.repairsOther(*newest), s.otherRestore(*newest):
		case costless(*newest, Classify(*newest).Reason):
			step.Attempt, step.Request.Unaccelerated = newest.Attempt, s.unaccelerated()
		default:
			step.Attempt, step.Request.Unaccelerated = newest.Attempt+1, s.unaccelerated()
		}
	}
	purpose := contract.OperationOf(step.Operation).Purpose
	if contract.OperationOf(step.Operation).ChangesCluster() {
		purpose = next.String()
	}
	if what := s.PluginChange(); step.Operation == contract.OperationPlugins && what != "" {
		purpose = what
	}
	step.Message = fmt.Sprintf("starting attempt %d to %s%s", step.Attempt, purpose, withoutAcceleration(step.Request))
	return step
}

// withoutAcceleration says that a run has no acceleration because of an earlier attempt, as a part of a message.
func withoutAcceleration(r contract.Request) string {
	if r.Unaccelerated == "" {
		return ""
	}
	return ", without acceleration, because run " + r.Unaccelerated + " failed with it"
}
