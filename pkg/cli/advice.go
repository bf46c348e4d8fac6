package cli

import (
	"fmt"

	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// verdict is what a Provisioning's status means for somebody who waits for it.
type verdict int

const (
	underway verdict = iota // wait
	ready                   // the wanted cluster is there
	failed                  // it will not be there unless a person acts
)

// verdictOf trusts only what the controller said about the present spec.
func verdictOf(p *v1alpha1.Provisioning) verdict {
	f := p.Status.Failure
	switch {
	case p.Status.ObservedGeneration < p.Generation, p.DeletionTimestamp != nil:
		return underway
	case p.Status.GetCondition(apis.ConditionReady).IsTrue():
		return ready
	case stalled(p) != nil, f != nil && f.NextAttempt == nil && !retryAsked(p):
		return failed
	}
	return underway
}

// stalled is the condition of that name if nothing goes on before a person acts, for another reason than a failed run; else nil.
func stalled(p *v1alpha1.Provisioning) *apis.Condition {
	cond, f := p.Status.GetCondition(v1alpha1.ConditionStalled), p.Status.Failure
	if !cond.IsTrue() || running(p) || (f != nil && f.NextAttempt == nil && f.Reason == cond.Reason) {
		return nil
	}
	return cond
}

// retryAsked reports whether a person asked for another attempt and the
// controller has not yet obeyed.
func retryAsked(p *v1alpha1.Provisioning) bool {
	asked := p.Annotations[contract.AnnotationRetry]
	return asked != "" && (p.Status.Failure == nil || asked != p.Status.Failure.ObservedRetry)
}

// advice says what to do next, with the commands to type.
func (s *site) advice(p *v1alpha1.Provisioning) []string {
	v := verdictOf(p)
	switch {
	case p.DeletionTimestamp != nil:
		return []string{"It is being deleted; its hosts are released first."}
	case v == ready:
		return s.useIt(p)
	case v == failed && stalled(p) != nil:
		cond := stalled(p)
		return []string{"Nothing goes on before a person acts: " + clean(cond.Reason), clean(cond.Message)} // which says what to do
	case v == failed:
		return s.afterFailure(p)
	case p.Spec.Paused:
		return []string{"Nothing new is started while it is paused. Resume:", "  " + s.kubectl("patch provisioning "+p.Name, `--type=merge -p '{"spec":{"paused":false}}'`)}
	case p.Status.ObservedGeneration == 0:
		return []string{"The controller has not looked at it yet. If that lasts, see whether it runs:", "  kubectl get pods -n bpa-system" + s.flags}
	case p.Status.Run == nil:
		return []string{"It waits. The conditions say for what; which hosts there are, and why each does or not:", "  " + s.kubectl("bpa hosts", "--for "+p.Name)}
	}
	follow := "Follow it:"
	if f := p.Status.Failure; f != nil && f.NextAttempt != nil {
		follow = fmt.Sprintf("The controller tries again by itself at %s. Follow it:", timeOfDay(f.NextAttempt))
	}
	return []string{follow, "  " + s.kubectl("bpa watch "+p.Name, "")}
}

func (s *site) useIt(p *v1alpha1.Provisioning) []string {
	file := p.Name + ".kubeconfig"
	return []string{
		"Use the cluster:",
		"  " + s.kubectl("bpa kubeconfig "+p.Name, "-o "+file),
		fmt.Sprintf("  kubectl --kubeconfig %s get nodes", file),
	}
}

// afterFailure shows where to look before how to try again.
func (s *site) afterFailure(p *v1alpha1.Provisioning) []string {
	var lines []string
	if hint := clean(p.Status.Failure.Hint); hint != "" {
		lines = append(lines, hint)
	}
	if run := p.Status.Run; run != nil {
		lines = append(lines, "See the log:",
			"  "+s.kubectl("logs -l tekton.dev/pipelineRun="+run.Name, "--all-containers --prefix --tail=60"))
	}
	return append(lines, "Try again, once the cause is gone:",
		"  "+s.kubectl("annotate provisioning "+p.Name, "--overwrite "+contract.AnnotationRetry+`="$(date +%s)"`))
}

// kubectl writes a command that reaches the same place as this one did.
func (s *site) kubectl(what, options string) string {
	line := fmt.Sprintf("kubectl %s -n %s%s", what, s.namespace, s.flags)
	if options != "" {
		line += " " + options
	}
	return line
}
