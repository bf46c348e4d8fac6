package assign

import (
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

// obstacle is the first reason why a host cannot be used for a place.
type obstacle int

const (
	noObstacle obstacle = iota
	held
	lost
	unfit // Host.Unusable describes the reason
	bare
	passedOver
	fixed
	occupied // the cluster of another Provisioning may still be on the host
	retired
	pinnedElsewhere // another node is pinned to the host
	lacking         // shortfall describes the gap
	noIP            // Host.Unreachable describes the reason
)

// hostObstacle returns the reason why a host cannot be used for any place, whatever the
// requirements are. An installed host keeps its place in spite of such a reason, because its place
// is fixed before this function is called. Any other held host with such a reason is replaced.
func (w *work) hostObstacle(h int) obstacle {
	switch host := w.hosts[h]; {
	case host.Holder != nil && !w.me.Holds(*host):
		return held
	case host.Unusable != "":
		return unfit
	case host.Lost:
		return lost
	case host.Bare && w.request.OSImage == nil:
		return bare
	case w.fixedIn[h] != none:
		return fixed
	case host.Occupied(&w.request):
		return occupied
	case slices.Contains(w.request.PassedOver, host.Name), slices.Contains(w.request.Unreset, host.Name):
		return passedOver
	}
	return noObstacle
}

// obstacle returns the reason why a host cannot be used for a place of a class. It does not check
// whether the host has the MAC address of a pinned class.
func (w *work) obstacle(c *class, h int) obstacle {
	if o := w.hostObstacle(h); o != noObstacle {
		return o
	}
	switch host := w.hosts[h]; {
	case w.pinned.has(h) && !slices.Contains(c.pins, h):
		return pinnedElsewhere
	case c.set != nil && w.retiredFrom[h] == c.set:
		return retired
	case !meets(c.needs, host):
		return lacking
	case host.Unreachable(c.mac, &w.request) != "":
		return noIP
	}
	return noObstacle
}

// foreign reports whether the reader, the author of a Provisioning, must not learn a name of this namespace: among hosts that
// several namespaces share, a tenant does not learn which clusters the others have.
func (w *work) foreign(namespace string) bool { return w.me.Pool != "" && namespace != w.me.Namespace }

// words describes an obstacle in words that complete "host-1 is ..." and "3 hosts: 2 ...". The
// result is empty if there is no obstacle.
func (w *work) words(o obstacle, c *class, host *hosts.Host) string {
	switch o {
	case held:
		return "held by others"
	case lost:
		return "lost"
	case unfit:
		return host.Unusable
	case bare:
		return "without an operating system (spec.osImage is not set)"
	case passedOver:
		return "passed over because it failed before, or because its node is lost (a new value of the annotation " + contract.AnnotationRetry + " allows it again)"
	case fixed:
		return "already installed"
	case occupied:
		if w.foreign(host.UsedBy.Namespace) {
			return "used by a cluster of another namespace"
		}
		return "used by cluster " + host.UsedBy.Cluster()
	case retired:
		return "leaving the set"
	case pinnedElsewhere:
		return "pinned to other nodes"
	case lacking:
		return shortfall(c.needs, host)
	case noIP:
		return host.Unreachable(c.mac, &w.request)
	}
	return ""
}
