package protocol

import "time"

// ClusterStatus is the answer to GET .../{owner}/{cluster}/status: the packages that the Softwares of a
// cluster request, by node.
type ClusterStatus struct {
	Owner       string `json:"owner"`
	ClusterName string `json:"cluster_name"`
	// Namespace is the namespace of the Softwares; empty: there are none that the account may read.
	Namespace string       `json:"namespace,omitempty"`
	Totals    StatusTotals `json:"totals"`
	Nodes     []NodeStatus `json:"nodes"` // sorted by name
}

// StatusTotals are the numbers of packages by state. A package counts once for each node.
type StatusTotals struct {
	Packages   int `json:"packages"`
	Pending    int `json:"pending"`
	Installing int `json:"installing"`
	Installed  int `json:"installed"`
	Failed     int `json:"failed"`
	Removing   int `json:"removing"`
	Drifted    int `json:"drifted"`
	Outdated   int `json:"outdated"`
}

// Add counts a package.
func (t *StatusTotals) Add(state string) {
	t.Packages++
	for name, n := range map[string]*int{
		"pending": &t.Pending, "installing": &t.Installing, "installed": &t.Installed, "failed": &t.Failed,
		"removing": &t.Removing, "drifted": &t.Drifted, "outdated": &t.Outdated,
	} {
		if name == state {
			*n++
		}
	}
}

// NodeStatus describes the packages of one node.
type NodeStatus struct {
	Node string `json:"node"`
	// Checked is when BPA last read which packages the node has.
	Checked *time.Time `json:"checked,omitempty"`
	// Message says why the node could not be read or changed.
	Message  string          `json:"message,omitempty"`
	Packages []PackageStatus `json:"packages"` // sorted by name
}

// PackageStatus describes one package on one node.
type PackageStatus struct {
	Name string `json:"name"`
	// Wanted is the version to be installed; empty: the newest that the node finds.
	Wanted string `json:"wanted,omitempty"`
	// Installed is the version that the node has; empty: none.
	Installed string `json:"installed,omitempty"`
	// State is the state of the Software's status in lower case, such as installed or failed.
	State   string     `json:"state"`
	Since   *time.Time `json:"since,omitempty"`
	Message string     `json:"message,omitempty"`
}
