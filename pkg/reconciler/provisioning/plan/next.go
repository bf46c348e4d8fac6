package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Do is what is done next.
type Do string

const (
	// Stay: nothing to do until the world changes.
	Stay Do = "Stay"
	// StartRun: make what a run needs, then the run.
	StartRun Do = "StartRun"
	// CancelRun: ask the run to stop.
	CancelRun Do = "CancelRun"
	// StoreKubeconfig: make the Secret from the results of the last run.
	StoreKubeconfig Do = "StoreKubeconfig"
	// Prune: delete old runs.
	Prune Do = "Prune"
	// Release: give back the hosts, then let the Provisioning go.
	Release Do = "Release"
	// GiveBack: give back hosts on which nothing was installed; the Provisioning stays.
	GiveBack Do = "GiveBack"
)

// Step is what Next chose, and why.
type Step struct {
	Do Do
	// Reason and Message say why nothing more is done; a condition shows them.
	Reason, Message string
	// Runs are those to cancel or to delete. Supersede: they are cancelled since the spec was edited, and must not have touched a host.
	Runs      []string
	Supersede bool
	// Number, Attempt and Operation of the run to start, and the losses that it makes good, each a Loss.Key.
	Number, Attempt int32
	Operation       string
	Replaces        []string
	// Hosts are those to give back.
	Hosts []string
	// After is when to look again even if nothing changes; 0: never.
	After time.Duration
}

// Reasons of waiting; those of failures are in package contract.
const (
	ReasonDeleting       = "Deleting"
	ReasonInvalidSpec    = "InvalidSpec"
	ReasonLeftovers      = "EarlierRunsNotGone"
	ReasonPaused         = "Paused"
	ReasonSSHKeyMissing  = "SSHKeyMissing"
	ReasonSSHKeyInvalid  = "SSHKeyInvalid"
	ReasonBadSettings    = "InvalidSettings"
	ReasonDepotRefused   = "DepotRefused"
	ReasonStarting       = "Starting"
	ReasonRunning        = "Running"
	ReasonRestarting     = "Restarting"
	ReasonInstalled      = "Installed"
	ReasonSpecChanged    = "SpecChanged"
	ReasonKubeconfigLost = "KubeconfigLost"
	ReasonExpired        = "KubeconfigExpired"
	ReasonHostsLost      = "HostsLost"
	ReasonGivingBack     = "GivingBackHosts"
	reasonAvailable      = "Available"
	reasonStoring        = "StoringKubeconfig"
)

// recheck is how often the pods of a cancelled run are counted.
const recheck = 2 * time.Second

// Next is the state machine: the first rule that has something to say decides. The order is the checklist of an installation.
func Next(seen Seen, now time.Time) Step {
	rules := []func(Seen, time.Time) (Step, bool){
		deleting, working, installed, settings, invalid, depot, leftovers, unwanted, failed, changed, controlPlaneLost, paused, hosts, sshKey,
	}
	for _, rule := range rules {
		if step, ok := rule(seen, now); ok {
			return remind(seen, step, now)
		}
	}
	return start(seen)
}

// remind looks again when the kubeconfig of a running cluster ends, whatever else the cluster waits for.
func remind(s Seen, step Step, now time.Time) Step {
	if step.Do == Stay && step.After == 0 && s.Installed() && s.Kubeconfig != nil && s.Kubeconfig.Expires.After(now) {
		step.After = s.Kubeconfig.Expires.Sub(now) + time.Second
	}
	return step
}

// tektonAsks: ending runs and their pods is Tekton's work.
const tektonAsks = "if this lasts, see whether Tekton's controller runs: `kubectl get pods -n tekton-pipelines`"

// deleting ends the work before it gives anything back: every run with the cluster's label is stopped, whoever made it, and only when none of their
// pods is left the hosts are released.
func deleting(s Seen, _ time.Time) (Step, bool) {
	if !s.Deleting {
		return Step{}, false
	}
	var stop, ending []string
	for _, r := range append(s.ActiveRuns(), s.ForeignRuns...) {
		ending = append(ending, r.Name)
		if !r.Cancelling {
			stop = append(stop, r.Name)
		}
	}
	switch {
	case len(stop) > 0:
		return Step{Do: CancelRun, Runs: stop, Reason: ReasonDeleting, After: recheck, Message: "stopping run " + strings.Join(stop, ", ")}, true
	case len(ending) > 0:
		return Step{Do: Stay, Reason: ReasonDeleting, After: recheck, Message: "run " + strings.Join(ending, ", ") + " is stopping; " + tektonAsks}, true
	case len(s.Pods) > 0:
		return Step{Do: Stay, Reason: ReasonDeleting, After: recheck, Message: fmt.Sprintf(
			"the hosts are kept until the pods that may work on them have ended: %s; %s; a pod on a machine that is gone for good ends with "+
				"`kubectl delete pod -n %s NAME --force`", strings.Join(s.Pods, ", "), tektonAsks, s.Namespace)}, true
	}
	return Step{Do: Release, Reason: ReasonDeleting}, true
}

func working(s Seen, _ time.Time) (Step, bool) {
	active := s.ActiveRuns()
	if len(active) == 0 {
		return Step{}, false
	}
	r := active[len(active)-1]
	if step, ok := supersede(s, r, len(active)); ok {
		return step, true
	}
	message := "run " + r.Name + " works"
	if s.edited(r) {
		message += "; " + s.editedText(r)
	}
	return Step{Do: Stay, Reason: ReasonRunning, Message: message}, true
}

// installed keeps a running cluster's kubeconfig and tidies up, and lets through what makes the cluster whole: a standby for a lost worker, or
// what a person asks for.
func installed(s Seen, now time.Time) (Step, bool) {
	if !s.Installed() {
		return Step{}, false
	}
	unusable := s.Kubeconfig == nil || s.Kubeconfig.Broken != "" || !s.Kubeconfig.Expires.After(now)
	switch {
	case unusable && s.Collected:
		return Step{Do: StoreKubeconfig, Reason: ReasonInstalled}, true
	case s.asked() && (unusable || s.incomplete()):
		return Step{}, false // the installation runs again: it collects a new kubeconfig, and finds hosts for what is missing
	}
	if old := surplus(s); len(old) > 0 {
		return Step{Do: Prune, Runs: old, Reason: ReasonInstalled}, true
	}
	if len(s.due()) > 0 {
		return Step{}, false
	}
	return Step{Do: Stay, Reason: ReasonInstalled}, true
}

// settings: with wrong settings of the site nothing new starts, since the defaults send nodes to the Internet.
func settings(s Seen, _ time.Time) (Step, bool) {
	return Step{Do: Stay, Reason: ReasonBadSettings, Message: s.Settings}, s.Settings != ""
}

// depot refuses a depot that the webhook would refuse today, for objects that were stored before.
func depot(s Seen, _ time.Time) (Step, bool) {
	return Step{Do: Stay, Reason: ReasonDepotRefused, Message: s.Depot}, s.Depot != ""
}

func invalid(s Seen, _ time.Time) (Step, bool) {
	return Step{Do: Stay, Reason: ReasonInvalidSpec, Message: s.Invalid}, s.Invalid != ""
}

// leftovers are waited for: Tekton would take a task of the same name for the new run's own. A run that a person made of one of ours, with our
// labels and no owner, does not go by itself.
func leftovers(s Seen, _ time.Time) (Step, bool) {
	return Step{Do: Stay, Reason: ReasonLeftovers, After: recheck, Message: fmt.Sprintf(
		"waiting for what earlier runs of this name left to be deleted: %s; if one stays, delete it: "+
			"`kubectl get pipelineruns,taskruns -n %s -l %s=%s` shows them",
		strings.Join(s.Leftovers, ", "), s.Namespace, contract.LabelCluster, s.Name)}, len(s.Leftovers) > 0
}

// unwanted gives back, at once, the hosts of a run that failed before anything was installed, if they are not wanted any more: the spec has
// changed, or nobody tries again by himself.
func unwanted(s Seen, _ time.Time) (Step, bool) {
	newest := s.Newest()
	if newest == nil || newest.State != Failed {
		return Step{}, false
	}
	if newest.Digest != s.Digest {
		return giveBack(s, "the spec has changed since they were claimed", s.returnable())
	}
	if step, ok := giveBack(s, "they have an OS image that the spec does not ask for any more", s.withOldImage()); ok {
		return step, true
	}
	cause := Classify(*newest)
	if _, again := retryAt(s, *newest, cause); again || !s.wanted(*newest) || cause.Task != contract.TaskSelectHosts {
		return Step{}, false
	}
	return giveBack(s, "run "+newest.Name+" failed in "+cause.Task+" for good", s.returnable())
}

// giveBack is the step for hosts, some of the returnable ones, that are held for nothing. Hosts on which something may be installed stay.
func giveBack(s Seen, why string, names []string) (Step, bool) {
	return Step{Do: GiveBack, Hosts: names, Reason: ReasonGivingBack, After: recheck, Message: fmt.Sprintf(
		"giving back %s, on which nothing was installed: %s", some(names, ", "), why)}, len(names) > 0
}

// failed decides between another attempt and waiting for a person. A changed spec or retry annotation is a new beginning.
func failed(s Seen, now time.Time) (Step, bool) {
	newest := s.Newest()
	if newest == nil || newest.State != Failed || !s.wanted(*newest) {
		return Step{}, false
	}
	cause := Classify(*newest)
	at, again := retryAt(s, *newest, cause)
	if old := surplus(s); len(old) > 0 {
		return Step{Do: Prune, Runs: old, Reason: string(cause.Reason)}, true
	}
	if again && !at.After(now) {
		return Step{}, false
	}
	step := Step{Do: Stay, Reason: string(cause.Reason)}
	if again {
		step.After = at.Sub(now)
	}
	return step, true
}

// changed: a run for another spec would take hosts from the cluster that is there; this version does not change clusters.
func changed(s Seen, _ time.Time) (Step, bool) {
	return Step{Do: Stay, Reason: ReasonSpecChanged, Message: s.changedText()}, s.specChanged()
}

// controlPlaneLost: a run would put the node on another host, as if etcd did not remember the old one.
func controlPlaneLost(s Seen, _ time.Time) (Step, bool) {
	lost := s.lostControlPlanes()
	if s.installedDigest() == "" || len(lost) == 0 {
		return Step{}, false
	}
	return Step{Do: Stay, Reason: ReasonHostsLost, Message: tellLosses(lost) + ": " + controlPlaneAdvice}, true
}

func paused(s Seen, _ time.Time) (Step, bool) {
	return Step{Do: Stay, Reason: ReasonPaused, Message: "spec.paused is set: nothing new is started"}, s.Paused
}

func hosts(s Seen, _ time.Time) (Step, bool) {
	if s.Hosts == nil || s.Hosts.Missing == "" {
		return Step{}, false
	}
	if step, ok := giveBack(s, s.Hosts.Missing, s.returnable()); ok {
		return step, true
	}
	return Step{Do: Stay, Reason: string(contract.ReasonHostsNotAvailable), Message: s.Hosts.Missing}, true
}

func sshKey(s Seen, _ time.Time) (Step, bool) {
	if s.SSH == nil || s.SSH.Missing == "" {
		return Step{}, false
	}
	return Step{Do: Stay, Reason: cmp.Or(s.SSH.Reason, ReasonSSHKeyMissing), Message: s.SSH.Missing}, true
}

func start(s Seen) Step {
	if s.Hosts == nil || s.SSH == nil { // not looked: never start blindly
		return Step{Do: Stay, Reason: ReasonStarting, After: recheck}
	}
	step := Step{Do: StartRun, Reason: ReasonStarting, Number: 1, Attempt: 1}
	step.Operation, step.Replaces = s.operation()
	if newest := s.Newest(); newest != nil {
		step.Number = newest.Number + 1
		switch {
		case !s.wanted(*newest) || newest.State == Succeeded:
		case costless(*newest, Classify(*newest).Reason):
			step.Attempt = newest.Attempt
		default:
			step.Attempt = newest.Attempt + 1
		}
	}
	if step.Operation == contract.OperationReplace {
		step.Message = fmt.Sprintf("starting attempt %d to put other hosts in the place of lost ones: %s", step.Attempt, some(step.Replaces, ", "))
	} else {
		step.Message = fmt.Sprintf("starting attempt %d to install the cluster", step.Attempt)
	}
	return step
}

// operation is what a run that starts now is for. Another attempt goes on with what the last one began, whose nodes are written already.
func (s Seen) operation() (string, []string) {
	if s.installedDigest() == "" {
		return contract.OperationInstall, nil
	}
	var replaces []string
	newest := s.Newest()
	again := newest != nil && newest.State == Failed && newest.Operation == contract.OperationReplace
	if again {
		replaces = slices.Clone(newest.Replaces)
	}
	for _, l := range s.lostWorkers() {
		if !slices.Contains(replaces, l.Key()) {
			replaces = append(replaces, l.Key())
		}
	}
	if again || len(replaces) > 0 || s.have() < s.want() {
		return contract.OperationReplace, replaces
	}
	return contract.OperationInstall, nil
}

// surplus are the finished runs beyond those to keep. The newest run always stays: it is what later visits know.
func surplus(s Seen) []string {
	var old []string
	keep := max(s.Limits.History, 1)
	for i, r := range s.Runs {
		if len(s.Runs)-i > keep && r.State != Active {
			old = append(old, r.Name)
		}
	}
	return old
}
