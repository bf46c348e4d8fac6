package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/nodemeta"
)

// Reasons of the conditions for hosts.
const (
	reasonClaimed  = "Claimed"
	reasonImaging  = "ProvisioningHosts"
	reasonProblems = "HostProblems"
)

// reportNodes lists the nodes whose hosts are claimed and the nodes that have lost their hosts. It
// leaves out all other nodes, because an earlier Provisioning of the same name may have written the
// list of nodes.
func reportNodes(status *v1alpha1.ProvisioningStatus, s Seen, now time.Time) {
	losses := s.losses()
	before := status.Nodes
	status.Nodes = nil
	for _, n := range s.nodes() {
		h, why := s.Site[n.Host], ""
		if i := slices.IndexFunc(losses, func(l Loss) bool { return l.of(n) }); i >= 0 {
			why = losses[i].Why + h.powerText(now) + s.aliveText(n)
		}
		if !h.Ours && why == "" || s.left(n) {
			continue
		}
		next := v1alpha1.NodeStatus{
			Name: n.Name, Roles: n.Roles, Host: n.Host, Address: n.Address, NodeSet: n.Set,
			State: s.nodeState(n, why != "", before), Problem: cut(cmp.Or(why, h.Trouble), longestProblem),
			HostLabels: nodemeta.FromHost(h.Labels, s.NodeLabels),
		}
		if was := statusOf(n.Name, before); h.Gone && was != nil && was.Host == n.Host {
			next.HostLabels = was.HostLabels // the node may be there without its host
		}
		if next.State == v1alpha1.NodeReady || next.State == v1alpha1.NodeLost && s.isMember(n.Host) {
			s.reportHealth(n, statusOf(n.Name, before), &next)
		}
		status.Nodes = append(status.Nodes, next)
	}
}

// left reports whether the last run has removed the node and reset its host, which is about to be released.
func (s Seen) left(n contract.Node) bool {
	removed := s.Installed() && s.Memory != nil && s.Started.Remove != nil && !n.Standby && !s.isMember(n.Host)
	return removed && s.States[s.Site[n.Host].UID] == contract.HostClean
}

// statusOf returns the status of a node, or nil if there is none.
func statusOf(node string, all []v1alpha1.NodeStatus) *v1alpha1.NodeStatus {
	for i := range all {
		if all[i].Name == node {
			return &all[i]
		}
	}
	return nil
}

// longestProblem limits the problem text of one host, in bytes.
const longestProblem = 256

// memberStates are the states of a node of the cluster that no run changes.
var memberStates = []v1alpha1.NodeState{v1alpha1.NodeReady, v1alpha1.NodeNotReady, v1alpha1.NodeUnknown}

// nodeState returns the state of a node as far as the runs know it. While a run replaces other nodes, a node that was Ready
// before on the same host stays Ready.
func (s Seen) nodeState(n contract.Node, lost bool, before []v1alpha1.NodeStatus) v1alpha1.NodeState {
	r := s.Newest()
	changes := r != nil && contract.OperationOf(r.Operation).ChangesCluster()
	was := statusOf(n.Name, before)
	wasReady := was != nil && was.Host == n.Host && slices.Contains(memberStates, was.State)
	switch {
	case lost:
		return v1alpha1.NodeLost
	case n.Standby:
		return v1alpha1.NodeStandby
	case s.removes(n):
		return v1alpha1.NodeRemoving
	case r != nil && r.Operation == contract.OperationRestore && r.State == Active && r.Touched && controlPlane(n):
		return v1alpha1.NodeInstalling
	case s.works() && (s.Memory == nil || s.isMember(n.Host)):
		return v1alpha1.NodeReady
	case r == nil:
		return v1alpha1.NodeClaimed
	case r.State == Failed && Classify(*r).Host == n.Name && !s.harmless(n, Classify(*r)):
		return v1alpha1.NodeFailed
	case r.State == Active && r.resets():
		return v1alpha1.NodeResetting
	case (changes || r.Operation == contract.OperationCollect) && (s.Memory == nil && wasReady || s.Memory != nil && s.isMember(n.Host)):
		return v1alpha1.NodeReady
	case r.State == Active && r.task(contract.TaskKubespray) != nil:
		return v1alpha1.NodeInstalling
	}
	return v1alpha1.NodeClaimed
}

// harmless reports whether the failure has changed nothing at this node of the cluster.
func (s Seen) harmless(n contract.Node, cause Cause) bool {
	return cause.Reason == contract.ReasonHostsNotFenced || s.isMember(n.Host) && (cause.Reason == contract.ReasonDrainBlocked || cause.Reason == contract.ReasonQuorumAtRisk)
}

func (c conditions) hostsClaimed() (corev1.ConditionStatus, string, string) {
	s := c.seen
	held := holding(s)
	complete := s.haveActive() == s.wantActive() && s.want() > 0
	imaging := s.imaging()
	switch {
	case s.Invalid != "":
		return corev1.ConditionFalse, ReasonInvalidSpec, s.Invalid
	case imaging != "":
		return corev1.ConditionUnknown, reasonImaging, imaging
	case complete && (s.have() == s.want() || s.installedDigest() != ""):
		return corev1.ConditionTrue, reasonClaimed, held
	case s.Installed() && (len(s.losses()) > 0 || s.blocked() && !s.restores() || s.pending() == ""):
		return c.claimedAfterInstall(held)
	case s.Installed():
		status, reason, text := c.changing()
		return status, reason, cut(held+": "+text, longestMessage)
	case c.step.Reason == string(contract.ReasonHostsNotAvailable) && c.step.Message != "":
		return corev1.ConditionFalse, c.step.Reason, c.step.Message
	case c.failure() != nil && c.status.Failure.Task == contract.TaskSelectHosts:
		return corev1.ConditionFalse, c.status.Failure.Reason, c.failureText()
	}
	if words := c.words(); words != "" {
		return corev1.ConditionUnknown, c.step.Reason, words
	}
	return corev1.ConditionUnknown, v1alpha1.ReasonWaiting, held
}

// holding describes how many hosts are claimed and how many standby hosts are missing. A cluster is
// complete without its standby hosts.
func holding(s Seen) string {
	text := fmt.Sprintf("%d of %d hosts are claimed", s.have(), s.want())
	if missing := s.want() - s.wantActive() - s.haveStandby(); missing > 0 {
		text += fmt.Sprintf("; standby hosts missing: %d", missing)
	}
	return text
}

// claimedAfterInstall returns the condition of an installed cluster that does not hold a host for
// every requested node. Either the cluster has lost a host, or the spec requests other nodes than
// the installed ones.
func (c conditions) claimedAfterInstall(held string) (corev1.ConditionStatus, string, string) {
	switch {
	case c.seen.specChanged():
		return corev1.ConditionUnknown, ReasonSpecChanged, c.seen.changedText()
	case len(c.seen.losses()) == 0:
		return corev1.ConditionUnknown, v1alpha1.ReasonWaiting, held
	}
	return corev1.ConditionFalse, ReasonHostsLost, cut(held+": "+describeLosses(c.seen.losses())+c.remedy(), longestMessage)
}

// hostsHealthy lists the problems of hosts that are claimed or lost.
func (c conditions) hostsHealthy() (corev1.ConditionStatus, string, string) {
	s := c.seen
	var bad []string
	for _, n := range c.status.Nodes {
		if n.Problem != "" {
			bad = append(bad, fmt.Sprintf("%s: %s is %s", n.Name, n.Host, n.Problem))
		}
	}
	for _, n := range s.notReset() {
		bad = append(bad, fmt.Sprintf("%s was not reset when %s was removed, and stays claimed; when the host answers, run `kubectl annotate -n %s bpa %s %s=\"$(date +%%s)\" --overwrite`",
			n.Host, n.Name, s.Namespace, s.Name, contract.AnnotationRetry))
	}
	for _, name := range s.spare() {
		bad = append(bad, fmt.Sprintf("%s, which is claimed but has no node any more, is %s%s", name, s.Site[name].Trouble, s.Site[name].powerText(c.now)))
	}
	switch {
	case len(bad) > 0:
		return corev1.ConditionFalse, reasonProblems, cut(some(bad, "; ")+c.remedy(), longestMessage)
	case len(s.Site) == 0 || s.have() == 0:
		return corev1.ConditionUnknown, v1alpha1.ReasonWaiting, "no host is claimed yet"
	}
	return corev1.ConditionTrue, v1alpha1.ReasonNoProblems, "no problem is reported for " + plural(len(c.status.Nodes), "host")
}

// spare returns the names, sorted, of the claimed hosts that have a problem and are not the host of
// any node. Such hosts exist after another host has replaced a lost host: the lost host stays
// claimed until a user has checked it.
func (s Seen) spare() []string {
	var names []string
	for name, h := range s.Site {
		used := slices.ContainsFunc(s.Nodes, func(n contract.Node) bool { return n.Host == name })
		if h.Ours && h.Trouble != "" && !used {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// controlPlaneAdvice describes what a user can do about lost control plane nodes that are not replaced
// automatically.
func (s Seen) controlPlaneAdvice() string {
	if !s.quorum() {
		return "etcd has lost its majority, so no control plane can be replaced: bring the hosts back (remove the quarantine, or set their " +
			"spec.consumerRef again); " + s.restoreAdvice()
	}
	return fmt.Sprintf("restore the host (remove the quarantine, or set its spec.consumerRef again); or let another host that fits replace it: "+
		"`kubectl annotate -n %s bpa %s %s=\"$(date +%%s)\" --overwrite`; spec.replacePolicy: Any does so in the future", s.Namespace, s.Name, contract.AnnotationRetry)
}

// remedy describes how the losses in an installed cluster are repaired: by the controller, or by an
// action of a user. It is empty if there are no losses.
func (c conditions) remedy() string {
	s := c.seen
	workers := s.lostWorkers()
	switch {
	case !s.Complete() || len(s.ActiveRuns()) > 0 || s.Deleting || len(workers)+len(s.lostControlPlanes()) == 0:
		return ""
	case c.step.Reason == ReasonRestoreRefused:
		return "; " + c.step.Message
	case c.step.Reason == ReasonFencing:
		return ". It is about to be replaced: " + c.step.Message
	case c.step.Do == StartRun && len(c.step.Replaces) > 0 && len(c.step.Replaces) < len(workers)+len(s.lostControlPlanes()):
		return fmt.Sprintf(". %s is being replaced", strings.Join(c.step.Request.Gone(), ", "))
	case c.step.Do == StartRun && len(c.step.Replaces) > 0:
		return ". It is being replaced"
	case c.step.Do == StartRun && len(c.step.Request.Gone()) > 0:
		return ". It is being removed"
	case s.Memory != nil && !slices.ContainsFunc(s.losses(), func(l Loss) bool { return !l.Node.Standby && s.requests(l.Node) }):
		return ". It is not requested any more and will be removed"
	case s.blocked() && !s.restores():
		return ". What to do: restore the spec that the cluster was installed from; no host is replaced before that"
	case c.step.Reason == ReasonHostsLost, len(s.lostControlPlanes()) > 0 && len(s.replaced()) == 0 && !s.restores():
		return ". What to do: " + s.controlPlaneAdvice() + s.holdsUp()
	case s.Paused:
		return ". No host is replaced while spec.paused is set"
	case c.step.Do == Stay && c.step.Reason != ReasonInstalled && c.step.Reason != ReasonUpgradeWaiting && c.step.Message != "":
		return ". It is not replaced yet: " + c.step.Message
	case s.Newest() != nil && s.Newest().State == Failed: // the condition with the failure says what to do
		return ""
	case s.Memory == nil:
		return ". Nothing is replaced, because BPA does not know which nodes the cluster has: the request of the last run contradicts the list of nodes. " +
			"What to do: restore the host (remove the quarantine, or set its spec.consumerRef again); or delete the Provisioning and apply it again"
	}
	if len(workers) == 0 {
		return ". What to do: " + s.controlPlaneAdvice() + s.holdsUp()
	}
	if waits := workers[0]; !waits.Sure && strings.HasPrefix(waits.Why, freed) {
		return fmt.Sprintf(". What to do: set spec.consumerRef of %s again", waits.Node.Host) + s.holdsUp()
	}
	if s.NoSpare != "" && s.upgrading() == nil {
		return ". It is not replaced yet: " + s.NoSpare
	}
	if s.NoSpare != "" && s.policy() == v1alpha1.ReplaceAny {
		return ". No free host can replace it, so the upgrade goes on without it. It is replaced between two runs as soon as a suitable host is free"
	}
	why := "no standby host can replace " + workers[0].Node.Name
	if s.policy() == v1alpha1.ReplaceNever {
		why = "spec.replacePolicy is Never, so " + workers[0].Node.Name + " is not replaced automatically"
	}
	return fmt.Sprintf(". What to do: %s. Make sure that a suitable host is free, then `kubectl annotate -n %s "+
		"bpa %s %s=\"$(date +%%s)\" --overwrite`; or remove the node from the spec", why, s.Namespace, s.Name, contract.AnnotationRetry) + s.holdsUp()
}

// holdsUp describes what an edit requests that waits until the lost nodes are replaced or removed.
func (s Seen) holdsUp() string {
	if len(s.waiting()) == 0 {
		return ""
	}
	return ". Until then, the nodes that the spec adds are not added"
}

// remains describes which nodes a user may have to delete from the cluster, after lost nodes were
// replaced by nodes with other names. A run deletes the nodes that it replaces, except nodes that
// still run.
func remains(s Seen) string {
	r := s.Newest()
	if r == nil || r.State != Succeeded || r.Operation == contract.OperationRestore { // a restore deletes all of them
		return ""
	}
	var gone []string
	for _, key := range r.Replaces {
		name, _, _ := strings.Cut(key, "=")
		if !slices.ContainsFunc(s.Nodes, func(n contract.Node) bool { return n.Name == name && !n.Standby }) {
			gone = append(gone, name)
		}
	}
	if len(gone) == 0 {
		return ""
	}
	return fmt.Sprintf("; replaced %s: a replaced node that still runs stays in the cluster until you run `kubectl delete node %s` there",
		strings.Join(gone, ", "), strings.Join(gone, " "))
}

// describeLosses describes each loss, such as "worker-2: host-7 is gone: its BareMetalHost does not
// exist".
func describeLosses(all []Loss) string {
	var texts []string
	for _, l := range all {
		texts = append(texts, fmt.Sprintf("%s: %s is %s", l.Node.Name, l.Node.Host, l.Why))
	}
	return some(texts, "; ")
}

// some joins at most the first five strings, and adds the number of the others.
func some(texts []string, separator string) string {
	const most = 5
	if len(texts) <= most {
		return strings.Join(texts, separator)
	}
	return fmt.Sprintf("%s%sand %d more", strings.Join(texts[:most], separator), separator, len(texts)-most)
}
