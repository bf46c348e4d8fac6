package software

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/software"
)

// Reasons of the conditions. Those that say what state packages have are the names of these states.
const (
	reasonAccepted         = "Accepted"
	reasonClusterNotFound  = "ClusterNotFound"
	reasonConflict         = "Conflict"
	reasonInstalled        = string(contract.SoftwareInstalled)
	reasonOutdated         = string(contract.SoftwareOutdated)
	reasonInstalling       = string(contract.SoftwareInstalling)
	reasonWaiting          = "Waiting"
	reasonFailed           = string(contract.SoftwareFailed)
	reasonRunFailed        = "RunFailed"
	reasonDrifted          = string(contract.SoftwareDrifted)
	reasonDepotUnreachable = "DepotUnreachable"
)

// longestMessage limits a message, in bytes.
const longestMessage = 1024

// view is what the reconciler has seen for one Software.
type view struct {
	// cluster is the Provisioning; nil: there is none.
	cluster *v1alpha1.Provisioning
	// doubt is why it is not certain which cluster the Software is for; nil: it is certain, or there is none.
	doubt *software.Doubt
	// passed are the names of other Provisionings that the Software fits too; empty: there are none.
	passed string
	// former is the Provisioning in the status, if it still exists.
	former string
	// problem explains why the packages cannot be computed; empty: there is no problem.
	problem string
	// wanted are the packages of the cluster, and conflicts those of all its Softwares.
	wanted    []contract.Software
	conflicts []software.Conflict
	// nodes are the nodes of the cluster that are not lost. installed means that it is installed.
	nodes     []contract.Node
	installed bool
	record    contract.SoftwareRecord
	// depot is why the versions of packages without a version are not known; empty: they are known.
	depot string
}

// condition is the value of a condition.
type condition struct {
	status          corev1.ConditionStatus
	reason, message string
}

// report writes the status of a Software.
func report(s *v1alpha1.Software, v view) {
	rows := v1alpha1.SoftwareStatus{Cluster: v.former} // kept, so that the packages do not move silently later
	if v.cluster != nil && v.problem == "" {
		rows = software.Rows(s, v.wanted, v.nodes, v.record)
	}
	if v.cluster != nil {
		rows.Cluster = v.cluster.Name
	}
	status := &s.Status
	status.Cluster, status.Nodes, status.Summary = rows.Cluster, rows.Nodes, rows.Summary
	status.Omitted = rows.Omitted
	status.Installed, status.Failed, status.Total = rows.Installed, rows.Failed, rows.Total
	status.InitializeConditions()
	accepted, installed := v.accepted(s), v.installedCondition(s)
	if accepted.status == corev1.ConditionFalse && installed.status == corev1.ConditionFalse {
		installed.status = corev1.ConditionUnknown // Ready shows one of them: always the first
	}
	status.Mark(v1alpha1.ConditionSoftwareAccepted, accepted.status, accepted.reason, cut(accepted.message))
	status.Mark(v1alpha1.ConditionSoftwareInstalled, installed.status, installed.reason, cut(installed.message))
	switch corev1.ConditionFalse {
	case accepted.status:
		status.MarkStalled(accepted.reason, cut(accepted.message))
	case installed.status:
		status.MarkStalled(installed.reason, cut(installed.message))
	default:
		status.MarkStalled("", "")
	}
}

// cut shortens a message. It never cuts a character in two.
func cut(text string) string {
	if len(text) <= longestMessage {
		return text
	}
	return strings.ToValidUTF8(text[:longestMessage-len("...")], "") + "..."
}

func (v view) accepted(s *v1alpha1.Software) condition {
	cluster := s.ClusterName()
	switch {
	case cluster == "":
		return condition{corev1.ConditionFalse, reasonClusterNotFound, "the Software names no cluster: set spec.cluster, or the label \"" + v1alpha1.LabelCluster + "\", to the name of a Provisioning"}
	case v.doubt != nil:
		return condition{corev1.ConditionFalse, v.doubt.Reason, v.doubt.Message}
	case v.cluster == nil:
		return condition{corev1.ConditionFalse, reasonClusterNotFound, fmt.Sprintf("namespace %s has no Provisioning named %s, and none with the label %s=%s: create it, or correct spec.cluster",
			s.Namespace, cluster, v1alpha1.LabelCluster, cluster)}
	}
	var texts []string
	for _, c := range v.conflicts {
		if slices.Contains(c.Softwares, s.Name) {
			texts = append(texts, c.Message)
		}
	}
	if len(texts) > 0 {
		return condition{corev1.ConditionFalse, reasonConflict, strings.Join(texts, "; ")}
	}
	text := "the packages are for the cluster of Provisioning " + v.cluster.Name
	if v.passed != "" {
		text += fmt.Sprintf(", and not for %s, where %q is the name or the label too. Write spec.cluster: %s, so that this does not depend on labels", v.passed, cluster, v.cluster.Name)
	}
	return condition{corev1.ConditionTrue, reasonAccepted, text}
}

// installedCondition returns the condition Installed. It is False if a user must act.
func (v view) installedCondition(s *v1alpha1.Software) condition {
	runs := v.runs()
	failed, drifted, open := pick(s, contract.SoftwareFailed), pick(s, contract.SoftwareDrifted),
		pick(s, contract.SoftwarePending, contract.SoftwareInstalling, contract.SoftwareRemoving)
	switch {
	case v.doubt != nil:
		return condition{corev1.ConditionUnknown, reasonWaiting, v.doubt.Message}
	case v.cluster == nil:
		return condition{corev1.ConditionUnknown, reasonWaiting, "the cluster does not exist"}
	case v.problem != "":
		return condition{corev1.ConditionUnknown, reasonWaiting, v.problem}
	case len(failed) > 0:
		return condition{corev1.ConditionFalse, reasonFailed, fmt.Sprintf("%s. What to do: correct the cause, then `%s`", describe(failed), v.command("--retry"))}
	case len(drifted) > 0:
		return condition{corev1.ConditionFalse, reasonDrifted, fmt.Sprintf("%s. To repair it: `%s`", describe(drifted), v.command("--retry"))}
	case len(open) > 0 && runs.Failure != nil:
		return v.runFailed(runs)
	case v.working() && len(open) > 0:
		return condition{corev1.ConditionUnknown, reasonInstalling, fmt.Sprintf("run %s is running: %s packages are installed", v.cluster.Status.Run.Name, s.Status.Summary)}
	case !v.installed:
		return condition{corev1.ConditionUnknown, reasonWaiting, "the cluster is not installed yet"}
	case v.depot != "" && v.follows(s):
		return condition{corev1.ConditionUnknown, reasonDepotUnreachable, v.depot + ". Packages without a version wait until the depot answers"}
	case len(open) > 0:
		return condition{corev1.ConditionUnknown, reasonWaiting, v.waiting(open)}
	}
	return v.complete(s)
}

// complete returns the condition if every node has every package.
func (v view) complete(s *v1alpha1.Software) condition {
	text := fmt.Sprintf("%s packages are installed", s.Status.Summary)
	if s.Status.Total == 0 {
		text = "no node of the cluster is to have a package of this Software"
	}
	if outdated := pick(s, contract.SoftwareOutdated); len(outdated) > 0 {
		return condition{corev1.ConditionTrue, reasonOutdated, fmt.Sprintf("%s, but %s. To update: `%s`", text, describe(outdated), v.command("--update"))}
	}
	return condition{corev1.ConditionTrue, reasonInstalled, text}
}

// runs returns what the Provisioning says about its runs for Softwares.
func (v view) runs() v1alpha1.SoftwareRunStatus {
	if v.cluster == nil || v.cluster.Status.Software == nil {
		return v1alpha1.SoftwareRunStatus{}
	}
	return *v.cluster.Status.Software
}

// working reports whether a run is active that may install packages.
func (v view) working() bool {
	run := v.cluster.Status.Run
	return run != nil && run.CompletionTime == nil && (run.Operation == contract.OperationSoftware || !v.installed)
}

// runFailed describes a run that could not do its work. It is False if no other run follows automatically.
func (v view) runFailed(runs v1alpha1.SoftwareRunStatus) condition {
	f := runs.Failure
	var parts []string
	for _, part := range []string{f.Task, f.Host, f.Step, f.Message} {
		if part != "" {
			parts = append(parts, strings.TrimRight(part, ". \n"))
		}
	}
	text := fmt.Sprintf("run %s failed: %s", runs.Run, strings.Join(parts, ": "))
	if f.NextAttempt != nil {
		return condition{corev1.ConditionUnknown, reasonWaiting, text + ". " + cmp.Or(runs.Waiting, "The next run starts automatically")}
	}
	return condition{corev1.ConditionFalse, reasonRunFailed, text + ". What to do: " + f.Hint}
}

// waiting says what the packages wait for: the cluster, another run, or a node.
func (v view) waiting(open []row) string {
	if text := v.runs().Waiting; text != "" {
		return describe(open[:1]) + ": " + text
	}
	first := open[0]
	for _, n := range v.cluster.Status.Nodes {
		if n.Name == first.node && slices.Contains([]v1alpha1.NodeState{v1alpha1.NodeNotReady, v1alpha1.NodeUnknown}, n.State) {
			return fmt.Sprintf("%s: node %s is %s, and the packages follow when it is Ready again", describe(open[:1]), n.Name, n.State)
		}
	}
	if first.nodeMessage != "" {
		return fmt.Sprintf("%s: node %s: %s", describe(open[:1]), first.node, first.nodeMessage)
	}
	return describe(open)
}

// follows reports whether the Software has a package whose version comes from the depot.
func (v view) follows(s *v1alpha1.Software) bool {
	return slices.ContainsFunc(slices.Concat(s.Spec.MasterSoftware, s.Spec.WorkerSoftware), func(e v1alpha1.SoftwareEntry) bool {
		return slices.ContainsFunc(v.wanted, func(w contract.Software) bool { return w.Name == e.Name && !w.Pinned })
	})
}

// command returns the command of kubectl bpa that requests a run.
func (v view) command(flag string) string {
	return fmt.Sprintf("kubectl bpa software %s -n %s %s", v.cluster.Name, v.cluster.Namespace, flag)
}

// row is one package on one node.
type row struct {
	node, nodeMessage string
	v1alpha1.SoftwarePackageStatus
}

// pick returns the rows with one of these states, in the order of the status.
func pick(s *v1alpha1.Software, states ...contract.SoftwareState) (rows []row) {
	for _, n := range s.Status.Nodes {
		for _, p := range n.Packages {
			if slices.Contains(states, contract.SoftwareState(p.State)) {
				rows = append(rows, row{n.Name, n.Message, p})
			}
		}
	}
	return rows
}

// describe describes the first of rows, and how many there are.
func describe(rows []row) string {
	first := rows[0]
	text := fmt.Sprintf("%s on %s is %s", first.Name, first.node, first.State)
	if first.Message != "" {
		text += ": " + strings.TrimRight(first.Message, ". \n")
	}
	if more := len(rows) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}
