package year

import (
	"fmt"
	"maps"
	"slices"
)

// Versions of Kubernetes in a year. The step from Older to Patched is a minor upgrade, that from Patched to Newest a
// patch upgrade.
const (
	Older   = "1.34.3"
	Patched = "1.35.3"
	Newest  = "1.35.4"
)

// World is what users want of the site, and what the cluster must be when all is done.
type World struct {
	Planes    int               // number of control planes: master-1 to master-N
	Workers   []string          // in the order of the spec
	Pool      int               // active nodes of the node set
	Standby   int               // standbys of the node set
	Plugins   []string          // in the order of the spec
	Packages  []string          // of the Software, such as tool!Drain
	Variables map[string]string // of kubespray
	// PoolVariable is the value of Draining for the nodes of the node set; empty: that of the cluster.
	PoolVariable string
	Kubernetes   string
	Patches      int  // of the operating systems, until now
	Backup       bool // one that can be restored
	Other        bool // a second Provisioning with one node
}

// New returns the world after the installation.
func New(kubernetes string) World {
	return World{Planes: 1, Workers: []string{"worker-1"}, Pool: 1, Variables: map[string]string{}, Kubernetes: kubernetes}
}

// most is the largest number of machines in use. The site has one more, so that a lost one can be replaced.
const most = 7

// Hosts is the number of machines that a site needs for the year.
const Hosts = most + 1

// Machines returns the number of machines in use.
func (w World) Machines() int {
	n := w.Planes + len(w.Workers) + w.Pool + w.Standby
	if w.Other {
		n++
	}
	return n
}

// Active returns the number of nodes of the cluster.
func (w World) Active() int { return w.Planes + len(w.Workers) + w.Pool }

// clone returns a copy that shares nothing with w.
func (w World) clone() World {
	w.Workers, w.Plugins, w.Packages = slices.Clone(w.Workers), slices.Clone(w.Plugins), slices.Clone(w.Packages)
	w.Variables = maps.Clone(w.Variables)
	return w
}

// String returns the world in one line.
func (w World) String() string {
	s := fmt.Sprintf("%d control planes, workers %v, pool %d+%d, plugins %v, packages %v, variables %v, Kubernetes %s",
		w.Planes, w.Workers, w.Pool, w.Standby, w.Plugins, w.Packages, w.Variables, w.Kubernetes)
	if w.Backup {
		s += ", a backup"
	}
	if w.Other {
		s += ", a second cluster"
	}
	return s
}
