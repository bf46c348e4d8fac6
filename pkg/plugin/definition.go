package plugin

import (
	"encoding/json"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Definition is the content of a plugin.yaml. Unknown fields are errors.
type Definition struct {
	// Name is a DNS label of at most 40 characters that begins with a letter. It is the name of the
	// plugin's directory.
	Name string `json:"name"`
	// Version is the version of the plugin's content. It is also a tag in a depot: letters, digits,
	// dots, dashes and underscores. A retired plugin has none.
	Version string `json:"version,omitempty"`
	// Description says in one sentence what the plugin adds to a cluster.
	Description string `json:"description"`
	// Status tells if the plugin can be installed. Empty: live.
	Status Status `json:"status,omitempty"`
	// Reason and Successor are for a retired plugin: why it is skipped, and the name of the plugin that
	// users install instead. Successor is empty if no plugin does its work; Reason then says what does.
	Reason    string `json:"reason,omitempty"`
	Successor string `json:"successor,omitempty"`
	// Upstream is the URL of the software's home, and License its SPDX identifier.
	Upstream string `json:"upstream,omitempty"`
	License  string `json:"license,omitempty"`

	// Needs are the names of plugins that are installed before this one. They are installed even if
	// the user does not ask for them.
	Needs []string `json:"needs,omitempty"`
	// Nodes are requirements on nodes, in the form of the requirements on a host: sriov, qat,
	// architecture, cpuFlags and so on. If no node of the cluster meets all of them, the plugin is
	// skipped. Empty: every cluster can have the plugin.
	Nodes contract.Needs `json:"nodes,omitzero"`

	// Images are the complete references, with registry and with tag or digest, of all images that the
	// manifests, the chart and the test can name with any parameters.
	Images []string `json:"images,omitempty"`
	// IndirectImages are the images that no object names, such as those that an operator has built in
	// or that configure.yml pulls. Every installation needs them.
	IndirectImages []string `json:"indirectImages,omitempty"`
	// Files are what configure.yml downloads.
	Files []File `json:"files,omitempty"`

	// Parameters is a schema of type object: OpenAPI v3 as in a CRD, without references. The defaults
	// in it complete the user's parameters. Empty: the plugin has no parameters.
	Parameters json.RawMessage `json:"parameters,omitempty"`
	// Kubespray is what the plugin adds to the inventory.
	Kubespray Kubespray `json:"kubespray,omitzero"`
	// Drains reports that configure.yml and remove.yml drain the nodes that they change. Users are warned.
	Drains bool `json:"drains,omitempty"`
	// Namespace is the namespace of the namespaced objects that name none. It is created if the plugin
	// has no object for it. Empty: kube-system.
	Namespace string `json:"namespace,omitempty"`
}

// Status tells if a plugin can be installed.
type Status string

// A Retired plugin can be requested, because users have its name in their files, but it is skipped.
const (
	Live    Status = "live"
	Retired Status = "retired"
)

// WhyRetired returns why a retired plugin is skipped and what users install instead, such as "it is
// retired: REASON; use multus instead". It is empty for a plugin that can be installed.
func (d Definition) WhyRetired() string {
	if d.Status != Retired {
		return ""
	}
	text := "it is retired: " + strings.TrimRight(d.Reason, ".")
	if d.Successor != "" {
		text += "; use " + d.Successor + " instead"
	}
	return text
}

// File is a file that configure.yml downloads to nodes. The playbook reads plugin_files.NAME.url and
// plugin_files.NAME.sha256; the URL is that of the depot if the cluster has one.
type File struct {
	Name   string `json:"name"` // a name of a variable in Ansible, such as firmware
	URL    string `json:"url"`  // upstream, https
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size,omitempty"` // in bytes; 0: unknown
}

// Kubespray is what a plugin adds to the inventory.
type Kubespray struct {
	// Vars are group variables for all nodes. The user's variables override them. A string value may
	// have parameters in it; see Substitute.
	Vars map[string]json.RawMessage `json:"vars,omitempty"`
	// Groups are groups of the inventory and their members. Groups of several plugins with the same
	// name have the members of all of them.
	Groups map[string]Members `json:"groups,omitempty"`
}

// Members are the members of a group of the inventory.
type Members string

const (
	All           Members = "all"
	ControlPlanes Members = "control-planes"
	Workers       Members = "workers"
	Fitting       Members = "fitting" // the nodes that meet Definition.Nodes
)

// DefaultNamespace is the namespace of a plugin that names none.
const DefaultNamespace = "kube-system"
