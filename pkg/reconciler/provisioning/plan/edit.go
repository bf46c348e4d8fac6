package plan

import (
	"fmt"
	"slices"

	"github.com/akraino-icn/bpa/pkg/change"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// supersede returns the step that stops the run if the spec was edited before the run touched a
// host. The next attempt then uses the new spec. supersede does not stop a run if the next attempt
// could not start.
func supersede(s Seen, r Run, active int) (Step, bool) {
	if step, ok := supersedeRestore(s, r, active); ok {
		return step, true
	}
	if r.Superseded {
		return Step{Do: Stay, Reason: ReasonRestarting, Message: "run " + r.Name + " is stopping because the spec was edited before the run touched a host; " +
			"the next attempt uses the new spec; " + tektonAsks}, true
	}
	if !s.edited(r) || r.Generation == 0 || active > 1 || s.Settings != "" || s.Depot != "" || s.Vars != "" || r.Name != s.Newest().Name || r.Touched || r.Cancelling || s.Complete() || s.Paused || s.Invalid != "" {
		return Step{}, false
	}
	return Step{Do: CancelRun, Runs: []string{r.Name}, Supersede: true, Reason: ReasonRestarting, Message: "stopping run " + r.Name +
		" because the spec was edited before the run touched a host" + s.edits()}, true
}

// supersedeRestore returns the step that stops the run of a restore that is not requested any more, if the
// run has touched no host and the restore has not begun.
func supersedeRestore(s Seen, r Run, active int) (Step, bool) {
	if r.Operation != contract.OperationRestore || r.Restore == s.RestoreAsked() || s.Memory == nil || s.Memory.Restoring != "" {
		return Step{}, false
	}
	why := "because the restore is not requested any more, and the run has touched no host"
	switch {
	case r.Superseded:
		return Step{Do: Stay, Reason: ReasonRestarting, Message: "run " + r.Name + " is stopping " + why + "; " + tektonAsks}, true
	case active > 1 || r.Name != s.Newest().Name || r.Touched || r.Cancelling:
		return Step{}, false
	}
	return Step{Do: CancelRun, Runs: []string{r.Name}, Supersede: true, Reason: ReasonRestarting, Message: "stopping run " + r.Name + " " + why}, true
}

// edited reports whether a user edited the spec, or a Secret with variables, after the newest run started, and whether
// the edit requires another run. It returns false if this is not known.
func (s Seen) edited(r Run) bool {
	return s.Edited && (r.Generation != s.Generation || len(s.VarsChanged) > 0)
}

// edits returns the list of changes in parentheses, for a message. It is empty if the changes are
// not known.
func (s Seen) edits() string {
	if len(s.Changes) == 0 {
		return ""
	}
	return " (" + some(s.Changes, ", ") + ")"
}

// editedText describes, for a message, what an edit of the spec means for the run that continues.
func (s Seen) editedText(r Run) string {
	if s.Complete() {
		return "the spec was edited after the run started" + s.edits() + "; the controller applies the edit when the run has ended"
	}
	return fmt.Sprintf("the spec was edited after the run started%s, and the run continues. If it succeeds, the controller then changes the installed cluster; "+
		"if it fails, the next attempt uses the new spec. To stop it: `kubectl patch pipelinerun -n %s %s --type=merge -p '{\"spec\":{\"status\":\"Cancelled\"}}'`",
		s.edits(), s.Namespace, r.Name)
}

// specChanged reports whether the spec describes another cluster than the installed one.
func (s Seen) specChanged() bool {
	if s.Memory != nil {
		return len(s.refused(false)) > 0 || len(s.unconfirmed()) > 0
	}
	was := s.installedDigest()
	return was != "" && s.Digest != "" && was != s.Digest
}

// blocked reports whether no run starts before the spec is restored.
func (s Seen) blocked() bool {
	return len(s.refused(true)) > 0 || len(s.unconfirmed()) > 0 || s.Memory == nil && s.specChanged()
}

// changedText describes the parts of the spec that are not applied to the installed cluster, and what
// a user can do.
func (s Seen) changedText() string {
	key, where, run := contract.KeyInstalled, contract.InstalledName(s.Name), ""
	if newest := s.Newest(); newest != nil {
		if run = contract.RunRequestName(s.Name, newest.Number); s.Memory == nil || s.Rebuilt {
			key, where = contract.KeyRequest, run
		}
	}
	back := fmt.Sprintf("restore the spec (key %s of ConfigMap %s holds the request that the cluster was installed from)", key, where)
	if s.Revertible {
		back = fmt.Sprintf("restore the spec that the cluster was installed from: `kubectl patch bpa -n %s %s --type=json -p \"$(kubectl get configmap -n %s %s "+
			"-o jsonpath='{.data.revert\\.json}')\"`", s.Namespace, s.Name, s.Namespace, run)
	}
	if nodes := s.unconfirmed(); len(nodes) > 0 && len(s.refused(true)) == 0 {
		return fmt.Sprintf("the spec does not request %s any more, but the record of the installed cluster is missing, so nothing is changed. "+
			"To drain and remove these nodes: `kubectl annotate -n %s bpa %s %s=\"$(date +%%s)\" --overwrite`. To keep them: %s",
			some(nodes, ", "), s.Namespace, s.Name, contract.AnnotationRetry, back)
	}
	edits, refused := s.edits(), s.refused(false)
	if len(refused) > 0 {
		edits = " (" + refusedText(refused) + ")"
	}
	if advice := adviceOf(refused); advice != "" {
		return "the spec requests what an upgrade of the installed cluster cannot do" + edits + ". What to do: " + advice + "; or " + back
	}
	return "the spec requests what BPA does not change in an installed cluster" + edits + ". What to do: " +
		back + "; the cluster is then Ready again. Or delete the Provisioning and apply it again"
}

// adviceOf returns the advice for parts of the spec that are only not applied. It is empty if a part must
// be restored.
func adviceOf(refused []change.Refusal) string {
	var texts []string
	for _, r := range refused {
		if r.Advice == "" {
			return ""
		}
		if !slices.Contains(texts, r.Advice) {
			texts = append(texts, r.Advice)
		}
	}
	return some(texts, "; ")
}

// unconfirmed returns the installed nodes that must not be removed before a user requests it with the
// retry annotation. The record was lost and is rebuilt, and no run shows that the spec was applied before: a
// node that only the spec lacks is no evidence that it may be drained. A run that changed the installed cluster for the
// same spec is such evidence.
func (s Seen) unconfirmed() (nodes []string) {
	newest := s.Newest()
	applied := newest != nil && s.wanted(*newest) && len(s.Started.Members) > 0
	if !s.Rebuilt || s.Memory == nil || !s.Complete() || s.Invalid != "" || s.asked() || applied {
		return nil
	}
	state := s.State()
	for _, step := range change.Plan(state) {
		if r := step.Request.Remove; r == nil || len(r.Alive) == 0 { // otherwise another host takes the node's place
			nodes = append(nodes, step.Remove...)
		}
	}
	return slices.DeleteFunc(nodes, func(name string) bool {
		return slices.ContainsFunc(state.Unfinished, func(n contract.Node) bool { return n.Name == name })
	})
}
