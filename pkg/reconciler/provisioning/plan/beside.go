package plan

import (
	"slices"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Beside returns the state as if the active run had ended after the nodes on which it works. It returns false if there
// is no run that can end so, or if it is asked already.
func Beside(s Seen) (Seen, bool) {
	active := s.ActiveRuns()
	if s.Deleting || len(active) != 1 || active[0].Cancelling || s.mustEnd(active[0]) || !contract.OperationOf(active[0].Operation).EndsEarly() {
		return s, false
	}
	if s.softwareActive() {
		return s.withoutSoftwareRun(), true
	}
	s.Runs = slices.Clone(s.Runs)
	s.Runs[len(s.Runs)-1].State, s.endsEarly = Succeeded, true
	s.derived = nil
	return s, true
}

// Waits reports whether the step, which follows from the state of Beside, is one for which the active run ends. A run
// for Softwares is the last of all changes, and every other one is such a step. A run that removes or upgrades nodes
// ends only for what is urgent: a restore, and the replacement of a control plane.
func (s Seen) Waits(step Step) bool {
	switch {
	case step.Do != Fence && step.Do != StartRun:
		return false
	case !s.endsEarly:
		return step.Operation != contract.OperationSoftware
	case s.restores():
		return true
	}
	return (step.Do == Fence || step.Operation == contract.OperationAddControlPlane) && slices.ContainsFunc(s.lostControlPlanes(), func(l Loss) bool {
		return slices.Contains(step.Replaces, l.Key()) || slices.Contains(step.Hosts, l.Node.Host)
	})
}

// mustEnd reports whether the active run is asked to end after the nodes on which it works.
func (s Seen) mustEnd(r Run) bool { return r.Name == s.Ends || r.Name == s.Software.Ends }

// ending returns the step while another one waits for the end of the active run, or while the run is asked to end.
func ending(s Seen, r Run) (Step, bool) {
	text := "run " + r.Name + " ends after the nodes on which it works"
	switch {
	case s.Beside != nil:
		return Step{Do: EndRun, Runs: []string{r.Name}, Reason: ReasonRunning, Message: text + ". Then: " + s.Beside.Message}, true
	case s.mustEnd(r):
		return Step{Do: Stay, Reason: ReasonRunning, Message: text + ", because another change waits"}, true
	}
	return Step{}, false
}

func (s Seen) withoutSoftwareRun() Seen {
	s.Software.Runs = slices.DeleteFunc(slices.Clone(s.Software.Runs), func(r Run) bool { return r.State == Active })
	s.derived = nil
	return s
}

// endedEarly reports whether a run for Softwares has ended before it was at all of its nodes, because another change
// came first.
func (s Seen) endedEarly(r Run) bool { return r.State == Succeeded && s.Software.Ends == r.Name }

// ends reports whether an active run is asked to end, because another change waits.
func (s Seen) ends() bool { return slices.ContainsFunc(s.ActiveRuns(), s.mustEnd) }

// besideSoftware returns the step while a run for Softwares is active. That run changes nothing that other
// steps depend on, so conditions say what they would say without it. Another run does not wait until it has changed
// all nodes: it is asked to end after those on which it works.
func besideSoftware(s Seen, r Run, now time.Time) Step {
	if step, ok := ending(s, r); ok {
		return step
	}
	without := s.withoutSoftwareRun()
	if s.Hosts == nil {
		without.Hosts = &Need{}
	}
	if s.SSH == nil {
		without.SSH = &Need{}
	}
	without.Fix()
	switch step := next(without, now); step.Do {
	case Stay, Prune, StoreKubeconfig:
		return step
	}
	message := "run " + r.Name + " is running"
	if s.edited(r) {
		message += "; " + s.editedText(r)
	}
	return Step{Do: Stay, Reason: ReasonRunning, Message: message}
}
