package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/health"
)

// Reasons of the conditions for the health of the cluster.
const (
	reasonHealthy  = "NodesReady"
	reasonChecking = "CheckingNodes"
	// reasonLooksStopped means that the cluster was not healthy when it was last seen, and that nothing
	// looks at it any more.
	reasonLooksStopped = "ChecksStopped"
	reasonValid        = "Valid"
	reasonExpiresSoon  = "CertificatesExpireSoon"
	reasonExpired      = "CertificatesExpired"
)

// expiresSoon is how long before its end a certificate needs attention. kubespray's timer runs every
// month, and renews what would expire before it runs again.
const expiresSoon = 30 * 24 * time.Hour

// longestHealth limits the text about one node, in bytes. It contains words of another cluster.
const longestHealth = 256

// Health is what the looks at the installed cluster have shown. No decision depends on it, except which nodes
// get their Softwares now, and whether a node on a host in quarantine is drained before another host replaces it.
type Health struct {
	// Unchecked explains why nothing can be seen; empty: Report says what was seen. Denied means that the
	// cluster rejects the credentials.
	Unchecked string
	Denied    bool
	health.Report
}

// WatchedNodes returns the names of the nodes that the installed cluster should have, and the addresses
// of its control planes. It returns none if nothing should look at the cluster.
func (s Seen) WatchedNodes() (nodes, addresses []string) {
	if s.Deleting || !s.Complete() {
		return nil, nil
	}
	for _, n := range s.members() {
		nodes = append(nodes, n.Name)
		if controlPlane(n) {
			addresses = append(addresses, n.Address)
		}
	}
	return nodes, addresses
}

// ChangingNodes returns the names of the nodes of the installed cluster that the active run changes.
func (s Seen) ChangingNodes() (names []string) {
	for _, n := range s.members() {
		if s.worksOn(n) {
			names = append(names, n.Name)
		}
	}
	return names
}

// reportHealth completes the status of a node that is Ready or Lost as far as the runs and the hosts
// know. A lost node stays Lost, with a message if it does not work any more. prev is the status before.
// A restart of the controller changes nothing: as long as nothing is known, prev stays. So it does while
// a run works on the node, because the node comes and goes then.
func (s Seen) reportHealth(n contract.Node, prev, next *v1alpha1.NodeStatus) {
	if prev == nil || prev.Host != next.Host {
		prev = &v1alpha1.NodeStatus{}
	}
	next.Version, next.Unschedulable, next.AppliedMetadata = prev.Version, prev.Unschedulable, prev.AppliedMetadata
	was := healthOf(*prev)
	set := func(state v1alpha1.NodeState, at *metav1.Time, message string) {
		if next.State == v1alpha1.NodeReady {
			next.State = state
		} else if state == v1alpha1.NodeUnknown {
			return
		}
		if next.Message, next.Since = cut(message, longestHealth), at; was == state && prev.Since != nil {
			next.Since = prev.Since
		}
	}
	var seen health.NodeReport
	if s.Health != nil {
		seen = s.Health.Nodes[n.Name]
	}
	if seen.Version != "" {
		next.Version, next.Unschedulable, next.AppliedMetadata = seen.Version, seen.Unschedulable, seen.Applied
	}
	busy := s.worksOn(n)
	switch {
	case s.Health != nil && s.Health.Unchecked != "" && was != v1alpha1.NodeReady && next.State == v1alpha1.NodeReady:
		set(v1alpha1.NodeUnknown, prev.Since, lastSeen(*prev)) // to look no more proves nothing
	case s.Health != nil && s.Health.Denied && was == v1alpha1.NodeReady && !busy:
		set(v1alpha1.NodeUnknown, nil, "the cluster denies the looks at it")
	case s.Health != nil && s.Health.Unchecked != "" && was == v1alpha1.NodeReady:
	case s.Health != nil && s.Health.API == health.APISilent && !busy:
		set(v1alpha1.NodeUnknown, instant(s.Health.Since), "the API server of the cluster does not answer")
	case was == v1alpha1.NodeUnknown && s.Health != nil && s.Health.API == health.APIAnswers && undecided(seen):
		set(was, prev.Since, "the API server answers again, and the node is being checked")
	case s.Health == nil || busy || undecided(seen):
		if was != v1alpha1.NodeReady {
			set(was, prev.Since, prev.Message)
		}
	case seen.State != health.NodeReady:
		set(v1alpha1.NodeNotReady, instant(seen.Since), seen.Text)
	}
}

// lastSeen is the message of a node that was not Ready when the looks stopped.
func lastSeen(prev v1alpha1.NodeStatus) string {
	if prev.State == v1alpha1.NodeUnknown {
		return prev.Message
	}
	return string(prev.State) + " when it was last seen: " + prev.Message
}

// undecided reports whether the looks have not decided about the node yet.
func undecided(seen health.NodeReport) bool {
	return seen.State == "" || seen.State == health.NodeUnknown
}

// healthOf returns the state of a node by what the looks have shown, also for a lost one.
func healthOf(n v1alpha1.NodeStatus) v1alpha1.NodeState {
	switch {
	case n.State == v1alpha1.NodeUnknown:
		return v1alpha1.NodeUnknown
	case n.State == v1alpha1.NodeNotReady, n.State == v1alpha1.NodeLost && n.Message != "":
		return v1alpha1.NodeNotReady
	}
	return v1alpha1.NodeReady
}

// worksOn reports whether the active run changes this node of the cluster. A run that adds or removes
// or upgrades workers does not change the others. A run that does so with a control plane changes all
// control planes.
func (s Seen) worksOn(n contract.Node) bool {
	for _, r := range s.ActiveRuns() {
		switch contract.OperationOf(r.Operation).Name {
		case contract.OperationCollect, contract.OperationConfigure: // no kubelet restarts
		case contract.OperationSoftware:
			if s.softwareWorksOn(n) {
				return true
			}
		case contract.OperationAddNodes, contract.OperationRemoveNodes:
			if s.removes(n) || !s.isMember(n.Host) {
				return true
			}
		case contract.OperationUpgradeNodes:
			if s.Started.Upgrade == nil || slices.Contains(s.Started.Upgrade.Nodes, n.Name) {
				return true
			}
		case contract.OperationAddControlPlane, contract.OperationRemoveControlPlane, contract.OperationUpgradeControlPlane:
			if controlPlane(n) || s.removes(n) {
				return true
			}
		default:
			return true
		}
	}
	return false
}

// clusterHealthy returns the condition from the states of the nodes in the status.
func (c conditions) clusterHealthy() (corev1.ConditionStatus, string, string) {
	s, before := c.seen, c.status.GetCondition(v1alpha1.ConditionClusterHealthy)
	switch {
	case s.Deleting:
		return corev1.ConditionUnknown, ReasonDeleting, c.words()
	case !s.Complete():
		return corev1.ConditionUnknown, v1alpha1.ReasonWaiting, "the cluster is not installed yet"
	case s.Health == nil && (before == nil || before.Reason == v1alpha1.ReasonWaiting || before.Reason == v1alpha1.ReasonNotChecked):
		return corev1.ConditionUnknown, v1alpha1.ReasonNotChecked, firstLooks
	case s.Health == nil:
		return before.Status, before.Reason, before.Message
	case s.Health.Denied:
		return corev1.ConditionUnknown, v1alpha1.ReasonAccessDenied, c.deniedText()
	case s.Health.Unchecked != "" && before != nil && before.Reason == reasonLooksStopped:
		return before.Status, before.Reason, before.Message
	case s.Health.Unchecked != "" && before != nil && !before.IsTrue() && before.Reason != v1alpha1.ReasonNotChecked && before.Reason != v1alpha1.ReasonWaiting:
		return corev1.ConditionUnknown, reasonLooksStopped, cut("nothing looks at the cluster any more: "+s.Health.Unchecked+". The last look has shown: "+before.Message, longestMessage)
	case s.Health.Unchecked != "":
		return corev1.ConditionUnknown, v1alpha1.ReasonNotChecked, cut("nothing looks at the cluster, so Ready says what its last run said: "+s.Health.Unchecked, longestMessage)
	case s.Health.API == health.APISilent && before != nil && before.Reason == v1alpha1.ReasonAPIUnavailable:
		return before.Status, before.Reason, before.Message // with the time from before a restart of the controller
	case s.Health.API == health.APISilent:
		return corev1.ConditionUnknown, v1alpha1.ReasonAPIUnavailable, c.silentText()
	}
	if c.unjudged() && (before == nil || before.Reason == v1alpha1.ReasonNotChecked) {
		return corev1.ConditionUnknown, v1alpha1.ReasonNotChecked, firstLooks
	}
	return c.nodesReady()
}

// deniedText describes a cluster that denies the looks at it, and what to do.
func (c conditions) deniedText() string {
	return cut(fmt.Sprintf("the state of the nodes is unknown: %s. BPA gives its looks their rights again if the cluster accepts the kubeconfig. "+
		"What to do if this stays: see the condition KubeconfigReady and the events; if the cluster denies the kubeconfig too, `kubectl bpa retry %s -n %s` collects another one",
		c.seen.Health.Unchecked, c.seen.Name, c.seen.Namespace), longestMessage)
}

const firstLooks = "the first looks at the cluster are not complete yet"

// unjudged reports whether no health check has confirmed a node yet that the last run left Ready.
func (c conditions) unjudged() bool {
	return slices.ContainsFunc(c.status.Nodes, func(n v1alpha1.NodeStatus) bool {
		return n.State == v1alpha1.NodeReady && undecided(c.seen.Health.Nodes[n.Name])
	})
}

func (c conditions) nodesReady() (corev1.ConditionStatus, string, string) {
	var bad []v1alpha1.NodeStatus
	var unknown []string
	ready := 0
	for _, n := range c.status.Nodes {
		switch {
		case healthOf(n) == v1alpha1.NodeNotReady:
			bad = append(bad, n)
		case n.State == v1alpha1.NodeUnknown:
			unknown = append(unknown, n.Name)
		case n.State == v1alpha1.NodeReady || n.State == v1alpha1.NodeLost:
			ready++
		}
	}
	switch {
	case len(bad) > 0:
		return corev1.ConditionFalse, v1alpha1.ReasonNodesNotReady, c.notReadyText(bad)
	case len(unknown) > 0:
		return corev1.ConditionUnknown, reasonChecking, "the API server answers again; being checked: " + some(unknown, ", ")
	}
	return corev1.ConditionTrue, reasonHealthy, "the API server answers, and " + readyText(ready)
}

func readyText(n int) string {
	if n == 1 {
		return "1 node is Ready"
	}
	return fmt.Sprintf("%d nodes are Ready", n)
}

// notReadyText describes the nodes that are not Ready, and what to do about the first.
func (c conditions) notReadyText(bad []v1alpha1.NodeStatus) string {
	var texts []string
	remedy := ""
	for _, n := range bad {
		text := n.Name + " is not Ready"
		if n.Since != nil {
			text += " since " + n.Since.UTC().Format(time.RFC3339)
		}
		texts = append(texts, text+": "+strings.TrimRight(n.Message, ". "))
		if remedy == "" && n.State != v1alpha1.NodeLost {
			remedy = fmt.Sprintf("see the log of its kubelet, `%s`", c.logCommand(n.Address))
		}
	}
	if remedy == "" {
		remedy = "its host is lost, and the condition HostsHealthy says how it is replaced"
	}
	return cut(some(texts, "; ")+". What to do: "+remedy, longestMessage)
}

// silentText describes an API server that does not answer, and what to do.
func (c conditions) silentText() string {
	var planes []string
	address := ""
	for _, n := range c.seen.members() {
		if controlPlane(n) {
			planes = append(planes, n.Name)
			if address == "" {
				address = n.Address
			}
		}
	}
	return cut(fmt.Sprintf("the API server does not answer since %s, so the state of the nodes is unknown: %s. What to do: see the log of the kubelet on a control plane (%s), `%s`",
		c.seen.Health.Since.UTC().Format(time.RFC3339), c.seen.Health.Text, some(planes, ", "), c.logCommand(address)), longestMessage)
}

// logCommand returns the command that shows the log of the kubelet on a machine.
func (c conditions) logCommand(address string) string {
	r := c.seen.Request
	port := ""
	if r.SSHPort != 0 && r.SSHPort != 22 {
		port = fmt.Sprintf("-p %d ", r.SSHPort)
	}
	user, sudo := r.SSHUser, "sudo "
	if user == "" || user == "root" {
		user, sudo = "root", ""
	}
	return fmt.Sprintf("ssh %s%s@%s %sjournalctl -u kubelet -n 50", port, user, address, sudo)
}

// reportCertificate stores when the API server's certificate expires. It stays known while nothing looks.
func reportCertificate(status *v1alpha1.ProvisioningStatus, s Seen) {
	switch {
	case !s.Complete() || s.Deleting:
		status.APICertificateExpires = nil
	case s.Health != nil && !s.Health.CertificateExpires.IsZero():
		status.APICertificateExpires = instant(s.Health.CertificateExpires)
	}
}

func (c conditions) certificatesValid() (corev1.ConditionStatus, string, string) {
	const remedy = "kubespray's timer k8s-certs-renew renews the certificates on each control plane in the first week of a month, unless auto_renew_certificates is false. " +
		"What to do if it does not: on each control plane, see `systemctl status k8s-certs-renew.timer k8s-certs-renew.service`, and run `/usr/local/bin/k8s-certs-renew.sh`"
	expires := c.status.APICertificateExpires
	if expires == nil {
		return corev1.ConditionUnknown, v1alpha1.ReasonWaiting, "the certificate of the API server was not seen yet"
	}
	at := expires.UTC().Format(time.RFC3339)
	switch left := expires.Sub(c.now); {
	case left <= 0:
		return corev1.ConditionFalse, reasonExpired, "the certificate of the API server expired at " + at + ". " + remedy
	case left < expiresSoon:
		return corev1.ConditionFalse, reasonExpiresSoon, "the certificate of the API server expires at " + at + ". " + remedy
	}
	return corev1.ConditionTrue, reasonValid, "the certificate of the API server is valid until " + at
}
