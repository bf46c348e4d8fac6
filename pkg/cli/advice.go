package cli

import (
	"fmt"
	"strconv"

	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// verdict tells a user who waits for the cluster whether to continue to wait.
type verdict int

const (
	underway verdict = iota // wait
	ready                   // the requested cluster exists
	failed                  // a user must act before the cluster can become ready
)

// verdictOf returns the verdict. The verdict is underway if the status is about an older version of
// the spec.
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

// stalled returns the condition Stalled if it is true. It returns nil in two cases even if the
// condition is true:
//   - A run is active. The end of the run then decides.
//   - The condition has the same reason as a failure after which no attempt is planned. It then
//     only repeats this failure.
func stalled(p *v1alpha1.Provisioning) *apis.Condition {
	cond, f := p.Status.GetCondition(v1alpha1.ConditionStalled), p.Status.Failure
	if !cond.IsTrue() || running(p) || (f != nil && f.NextAttempt == nil && f.Reason == cond.Reason) {
		return nil
	}
	return cond
}

// unhealthy reports whether the cluster is installed as requested, and not Ready only because of what the
// controller sees when it looks at it.
func unhealthy(p *v1alpha1.Provisioning) bool {
	cond := p.Status.GetCondition(apis.ConditionReady)
	return cond != nil && !running(p) && p.Status.ObservedGeneration >= p.Generation && p.Status.NeedsNothing()
}

// retryAsked reports whether a user requested another attempt that the
// controller has not processed yet.
func retryAsked(p *v1alpha1.Provisioning) bool {
	asked := p.Annotations[contract.AnnotationRetry]
	return asked != "" && (p.Status.Failure == nil || asked != p.Status.Failure.ObservedRetry)
}

// advice returns the next step as lines, with the commands to type.
func (s *site) advice(p *v1alpha1.Provisioning) []string {
	v := verdictOf(p)
	switch {
	case p.DeletionTimestamp != nil:
		return []string{"It is being deleted. Its hosts are released first."}
	case v != ready && p.Status.Queue != nil && p.Status.Queue.Place > 0:
		return s.whileQueued(p)
	case v == ready:
		return s.useIt(p)
	case unhealthy(p):
		cond := p.Status.GetCondition(apis.ConditionReady)
		return []string{"The cluster is installed, but it is not healthy: " + clean(cond.Message)} // the message has the next step
	case v == failed && stalled(p) != nil:
		cond := stalled(p)
		return []string{"A user must act before it continues: " + clean(cond.Reason), clean(cond.Message)} // the message has the next step
	case v == failed:
		return s.afterFailure(p)
	case p.Spec.Paused:
		return []string{"No run starts while it is paused. Resume it:", "  " + s.kubectl("bpa resume "+p.Name, "")}
	case p.Status.ObservedGeneration == 0:
		return []string{"The controller has not processed it yet. If this lasts, check that the controller runs:", "  kubectl get pods -n bpa-system" + s.flags}
	case p.Status.Run == nil:
		return []string{"It waits. The conditions show the reason. List the hosts, with the nodes that each fits:", "  " + s.kubectl("bpa hosts", "--for "+p.Name)}
	}
	follow := "Follow it:"
	if f := p.Status.Failure; f != nil && f.NextAttempt != nil {
		follow = fmt.Sprintf("The controller tries again automatically at %s. Follow it:", timeOfDay(f.NextAttempt))
	}
	return []string{follow, "  " + s.kubectl("bpa watch "+p.Name, "")}
}

// whileQueued returns the commands that show what the Provisioning waits for, and how to start it
// earlier.
func (s *site) whileQueued(p *v1alpha1.Provisioning) []string {
	lines := []string{
		"It waits for a free run, and starts automatically. List what runs and what waits:",
		"  kubectl get bpa -A" + s.flags,
	}
	if p.Status.Queue.Place == 1 {
		return lines
	}
	return append(lines, "Start it before those with a lower priority:",
		"  "+s.kubectl("patch bpa "+p.Name, fmt.Sprintf(`--type=merge -p '{"spec":{"priority":%d}}'`, p.Spec.Priority+1)))
}

func (s *site) useIt(p *v1alpha1.Provisioning) []string {
	file := p.Name + ".kubeconfig"
	return []string{
		"Use the cluster:",
		"  " + s.kubectl("bpa kubeconfig "+p.Name, "--to "+file),
		fmt.Sprintf("  kubectl --kubeconfig %s get nodes", file),
	}
}

// afterFailure returns the hint and the command that shows the log, followed by the command that
// requests another attempt.
func (s *site) afterFailure(p *v1alpha1.Provisioning) []string {
	var lines []string
	if hint := clean(p.Status.Failure.Hint); hint != "" {
		lines = append(lines, hint)
	}
	if run := p.Status.Run; run != nil {
		lines = append(lines, "See the log:",
			"  "+s.runLog(p.Name, run.Name, "--tail=60"))
	}
	return append(lines, "Try again after you have fixed the cause:",
		"  "+s.kubectl("bpa retry "+p.Name, ""))
}

// runLog returns the command that shows the log of a run of a cluster.
func (s *site) runLog(cluster, run, options string) string {
	if n := number(run); n > 0 {
		run = strconv.Itoa(n)
	}
	return s.kubectl("bpa logs "+cluster, "--run "+run+" "+options)
}

// resetLog returns the command that shows the log of a run of `kubectl bpa hosts reset`, which belongs to no cluster.
func (s *site) resetLog(run, options string) string {
	return s.kubectl("logs -l tekton.dev/pipelineRun="+run, "--all-containers --prefix "+options)
}

// kubectl returns a kubectl command with the namespace and the connection flags of this command.
func (s *site) kubectl(what, options string) string {
	line := fmt.Sprintf("kubectl %s -n %s%s", what, s.namespace, s.flags)
	if options != "" {
		line += " " + options
	}
	return line
}
