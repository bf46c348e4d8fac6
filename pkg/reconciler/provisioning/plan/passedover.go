package plan

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// FailedHost is a claimed host that did not receive its image.
type FailedHost struct {
	Name    string
	Message string // Metal3's error, in words that complete "host-1 is ..."; empty: not known any more
}

// PassedOverHosts returns the names, sorted, of the hosts that a run must not choose: the hosts
// that the status lists since the retry annotation has its present value, and the hosts that the
// status does not list yet.
func (s Seen) PassedOverHosts() []string {
	var names []string
	for _, h := range s.passedOver(time.Time{}) {
		names = append(names, h.Host)
	}
	slices.Sort(names)
	return names
}

// passedOver returns the list for the status. A new value of the retry annotation empties it. now
// is the time of new entries.
func (s Seen) passedOver(now time.Time) []v1alpha1.PassedOverHost {
	var all []v1alpha1.PassedOverHost
	for _, h := range s.PassedOver {
		if s.stillHolds(h) && !s.answeredSince(h) {
			all = append(all, h)
		}
	}
	for _, n := range s.unreachable() {
		if !s.recorded(n.Host) {
			r := s.Newest()
			all = append(all, v1alpha1.PassedOverHost{
				Host: n.Host, Reason: string(contract.ReasonHostUnreachable), Time: metav1.NewTime(r.Completed), ObservedRetry: s.Retry,
				Message: cut("run "+r.Name+": "+Classify(*r).Message, longestProblem),
			})
		}
	}
	for _, f := range s.Failed {
		if s.recorded(f.Name) {
			continue
		}
		all = append(all, v1alpha1.PassedOverHost{
			Host: f.Name, Reason: string(contract.ReasonHostProvisioningFailed), Time: metav1.NewTime(now), ObservedRetry: s.Retry,
			Message: cut(cmp.Or(f.Message, "did not receive its OS image; the log of the task select-hosts has the errors"), longestProblem),
		})
	}
	return all
}

// answeredSince reports whether a host that did not answer has answered since. Then the cluster is
// complete, or the host was changed and is not silent now. It may be a node, even a member of etcd.
func (s Seen) answeredSince(h v1alpha1.PassedOverHost) bool {
	if h.Reason != string(contract.ReasonHostUnreachable) {
		return false
	}
	silent := slices.ContainsFunc(s.unreachable(), func(n contract.Node) bool { return n.Host == h.Host })
	host := s.Site[h.Host]
	return s.Complete() || host.Ours && s.used(host) && !silent
}

// unreachable returns the nodes whose hosts did not answer in the newest run, if other hosts may
// replace them. A control plane node that may be a member of etcd is not replaced. If no host
// answered, the network is the likely cause, and no host is replaced, unless there is only one.
func (s Seen) unreachable() []contract.Node {
	r := s.Newest()
	if r == nil || r.State != Failed || r.Operation != contract.OperationInstall || r.Retry != s.Retry || s.Complete() || s.Deleting {
		return nil
	}
	cause := Classify(*r)
	if cause.Reason != contract.ReasonHostUnreachable {
		return nil
	}
	var silent []contract.Node
	active, answered := 0, 0
	for _, n := range s.Nodes {
		h := s.Site[n.Host]
		if n.Standby || !h.Ours {
			continue
		}
		active++
		switch {
		case n.Name != cause.Host && !slices.Contains(cause.Others, n.Name):
			answered++
		case !s.used(h) || !controlPlane(n):
			silent = append(silent, n)
		}
	}
	if answered == 0 && active > 1 {
		return nil
	}
	return silent
}

// SoftlyPassedOver reports whether a host is passed over only if another host fits. A host that did
// not answer may answer in the next attempt. A host that did not receive its image may receive it,
// as long as attempts are left.
func (s Seen) SoftlyPassedOver(host string) bool {
	r := s.Newest()
	return slices.ContainsFunc(s.passedOver(time.Time{}), func(h v1alpha1.PassedOverHost) bool {
		return h.Host == host && (h.Reason == string(contract.ReasonHostUnreachable) || r != nil && r.Attempt < s.Limits.Attempts)
	})
}

// recorded reports whether the stored status passes over the host.
func (s Seen) recorded(host string) bool {
	return slices.ContainsFunc(s.PassedOver, func(h v1alpha1.PassedOverHost) bool { return h.Host == host && s.stillHolds(h) })
}

// stillHolds reports whether an entry of the list holds: no user has requested another attempt since
// the host failed. Removing the annotation requests nothing.
func (s Seen) stillHolds(h v1alpha1.PassedOverHost) bool {
	return s.Retry == "" || h.ObservedRetry == s.Retry
}

// Releasable reports whether a host that select-hosts has given up can be released now. The failure
// of a host must be stored first. Otherwise the controller could stop between both writes, and the
// next run would choose the host again.
func (s Seen) Releasable(host string) bool {
	failed := slices.ContainsFunc(s.Failed, func(f FailedHost) bool { return f.Name == host })
	return !failed || s.recorded(host)
}
