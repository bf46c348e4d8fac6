package plan

import (
	"fmt"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// supersede stops the installation of a spec that was edited before the run touched a host: the next attempt takes the new spec. It stops none if the
// next attempt could not start.
func supersede(s Seen, r Run, active int) (Step, bool) {
	if r.Superseded {
		return Step{Do: Stay, Reason: ReasonRestarting, Message: "run " + r.Name + " is stopping, since the spec was edited before the run touched a host; " +
			"the next attempt takes the new spec; " + tektonAsks}, true
	}
	if !s.edited(r) || r.Generation == 0 || active > 1 || s.Settings != "" || s.Depot != "" || r.Name != s.Newest().Name || r.Touched || r.Cancelling || s.installedDigest() != "" || s.Paused || s.Invalid != "" {
		return Step{}, false
	}
	return Step{Do: CancelRun, Runs: []string{r.Name}, Supersede: true, Reason: ReasonRestarting, Message: "stopping run " + r.Name +
		", since the spec was edited before the run touched a host" + s.edits()}, true
}

// edited reports whether a person edited the spec since the newest run started, as far as that is known, in a way that makes it another run.
func (s Seen) edited(r Run) bool {
	return s.Edited && r.Generation != s.Generation
}

// edits lists the changes in parentheses; empty if they are not known.
func (s Seen) edits() string {
	if len(s.Changes) == 0 {
		return ""
	}
	return " (" + some(s.Changes, ", ") + ")"
}

// editedText says what becomes of an edit while a run works that is not stopped.
func (s Seen) editedText(r Run) string {
	if s.installedDigest() != "" {
		return "the spec was edited after it started" + s.edits() + ", which is looked at when it has ended"
	}
	return fmt.Sprintf("the spec was edited after it started%s, and it is not stopped. If it succeeds, the cluster is the one of the spec before the edit; "+
		"if it fails, the next attempt takes the new spec. To stop it: `kubectl patch pipelinerun -n %s %s --type=merge -p '{\"spec\":{\"status\":\"Cancelled\"}}'`",
		s.edits(), s.Namespace, r.Name)
}

// specChanged reports whether the spec describes another cluster than the one that is there.
func (s Seen) specChanged() bool {
	was := s.installedDigest()
	return was != "" && s.Digest != "" && was != s.Digest
}

// changedText says how the spec differs from the cluster that is there, and the ways out: this version installs clusters, it does not change them.
func (s Seen) changedText() string {
	request := contract.RequestName(s.Name)
	back := fmt.Sprintf("set the spec back (key %s of ConfigMap %s is what the cluster was installed from)", contract.KeyRequest, request)
	if s.Revertible {
		back = fmt.Sprintf("put back the spec that the cluster was installed from: `kubectl patch provisioning -n %s %s --type=json -p \"$(kubectl get configmap -n %s %s "+
			"-o jsonpath='{.data.revert\\.json}')\"`", s.Namespace, s.Name, s.Namespace, request)
	}
	return "the spec was edited after the cluster was installed from it" + s.edits() + ", and this version of BPA does not change running clusters. What to do: " +
		back + "; the cluster is then Ready again by itself. Or delete the Provisioning and apply it again"
}
