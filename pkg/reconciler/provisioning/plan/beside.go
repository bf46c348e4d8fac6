package plan

import (
	"slices"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Beside returns the state as if the active run for Softwares had ended. It returns false if there is no such run, or
// if it is asked already to end after its batch.
func Beside(s Seen) (Seen, bool) {
	newest, active := s.Software.Newest(), s.ActiveRuns()
	if s.Deleting || len(active) != 1 || newest == nil || newest.State != Active || s.Software.Ends == newest.Name {
		return s, false
	}
	return s.withoutSoftwareRun(), true
}

// Waits reports whether the step, which follows from the state of Beside, waits for the end of the run for Softwares.
// Such a run is the last of all changes, and can be continued later.
func (s Step) Waits() bool {
	return s.Do == Fence || s.Do == StartRun && s.Operation != contract.OperationSoftware
}

func (s Seen) withoutSoftwareRun() Seen {
	s.Software.Runs = slices.DeleteFunc(slices.Clone(s.Software.Runs), func(r Run) bool { return r.State == Active })
	s.derived = nil
	return s
}

// endedEarly reports whether a run for Softwares has ended before it was at all of its nodes, because another change
// came first.
func (s Seen) endedEarly(r Run) bool { return r.State == Succeeded && s.Software.Ends == r.Name }

// softwareEnds reports whether the active run for Softwares is asked to end, because another change waits.
func (s Seen) softwareEnds() bool {
	return s.softwareActive() && s.Software.Ends == s.Software.Newest().Name
}

// besideSoftware returns the step while a run for Softwares is active. That run changes nothing that other
// steps depend on, so conditions say what they would say without it. Another run does not wait until it has changed
// all nodes: it is asked to end after those on which it works.
func besideSoftware(s Seen, r Run, now time.Time) Step {
	ends := "run " + r.Name + " ends after the nodes on which it works"
	switch {
	case s.Beside != nil:
		return Step{Do: EndSoftware, Runs: []string{r.Name}, Reason: ReasonRunning, Message: ends + ". Then: " + s.Beside.Message}
	case s.softwareEnds():
		return Step{Do: Stay, Reason: ReasonRunning, Message: ends + ", because another change waits"}
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
