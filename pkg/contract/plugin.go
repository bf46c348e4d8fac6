package contract

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
)

// Plugin is a plugin that the Provisioning asks for, or that such a plugin needs. A Request lists
// plugins in the order of their needs.
type Plugin struct {
	Name string `json:"name"`
	// Version is empty only for a retired plugin, which is skipped.
	Version string `json:"version"`
	// Parameters are a JSON object: the user's parameters, completed with the defaults of the plugin's
	// schema. Empty: no parameters.
	Parameters json.RawMessage `json:"parameters,omitempty"`
	// NeededBy are the plugins of the same request that need this one, sorted, if the Provisioning does
	// not ask for it itself.
	NeededBy []string `json:"neededBy,omitempty"`
	// Skip is the reason in words why the plugin is not installed in this cluster, such as "no node has
	// SR-IOV". Empty: the plugin is installed.
	Skip string `json:"skip,omitempty"`
	// Source is the artifact of a site's own plugin in the depot: plugins/NAME:VERSION, or
	// plugins/NAME@sha256:HEX. Empty: the plugin is shipped with BPA.
	Source string `json:"source,omitempty"`
	// Digest is the digest of the plugin's files (plugin.Plugin.Digest). Empty: not known, which is so
	// for a plugin of the depot that no task has read yet.
	Digest string `json:"digest,omitempty"`
	// Hosts are the names, sorted, of those BareMetalHosts of the cluster that meet the plugin's
	// requirements on nodes. Empty: the plugin has no requirements, or none is met (see Skip).
	Hosts []string `json:"hosts,omitempty"`
	// Intent identifies what the spec asks of the plugin: the version and the parameters as the user
	// writes them, and whether the plugin is skipped. It does not depend on what the build of BPA ships,
	// so that another version in a newer build starts no run.
	Intent string `json:"intent,omitempty"`
	// Vars and Groups are what the plugin adds to the inventory, with its parameters; see
	// Request.AddPlugins. Empty for a skipped plugin.
	Vars   map[string]json.RawMessage `json:"vars,omitempty"`
	Groups []PluginGroup              `json:"groups,omitempty"`
}

// AddPlugins sets PluginVars and PluginGroups from those of the plugins. If two plugins set the same
// variable, which the webhook refuses, the last one counts.
func (s *Spec) AddPlugins(plugins []Plugin) {
	s.PluginVars, s.PluginGroups = nil, nil
	for _, p := range plugins {
		for name, value := range p.Vars {
			if s.PluginVars == nil {
				s.PluginVars = map[string]json.RawMessage{}
			}
			s.PluginVars[name] = value
		}
		s.PluginGroups = append(s.PluginGroups, p.Groups...)
	}
}

// PluginGroup is a group of the inventory that a plugin adds.
type PluginGroup struct {
	Name string `json:"name"`
	// Members is all, control-planes, workers or fitting. Hosts are the names of the BareMetalHosts whose
	// nodes are members of a group with fitting.
	Members string   `json:"members"`
	Hosts   []string `json:"hosts,omitempty"`
}

// PluginState is the state of a plugin in an application cluster.
type PluginState string

// Skipped is not a kind of success: nothing of a skipped plugin is in the cluster.
const (
	PluginInstalling PluginState = "Installing"
	PluginInstalled  PluginState = "Installed" // its objects are ready, and its test did not fail
	PluginSkipped    PluginState = "Skipped"
	PluginFailed     PluginState = "Failed"
	PluginRemoving   PluginState = "Removing"
)

// PluginTestState is the result of a plugin's test.
type PluginTestState string

const (
	TestPassed  PluginTestState = "passed"
	TestFailed  PluginTestState = "failed"
	TestSkipped PluginTestState = "skipped" // the plugin has a test that did not run; PluginTest.Message says why
	TestNone    PluginTestState = "none"    // the plugin has no test
)

// PluginTest is what a plugin's test has shown.
type PluginTest struct {
	State PluginTestState `json:"state"`
	// Message is the end of the test's output, or the reason why the test did not run.
	Message string `json:"message,omitempty"`
}

// PluginStatus is the record of one plugin in an application cluster.
type PluginStatus struct {
	Name    string      `json:"name"`
	Version string      `json:"version,omitempty"`
	State   PluginState `json:"state"`
	// Message is the reason for Skipped or Failed, and the object that Installing and Removing wait for.
	Message string     `json:"message,omitempty"`
	Test    PluginTest `json:"test,omitzero"`
	// Digest identifies what was applied: the plugin's files and its parameters (plugin.Plugin.Applied).
	Digest string `json:"digest,omitempty"`
	// Intent is Plugin.Intent of the request that the task has processed. If that of the next request
	// differs, another run is needed. The task copies it; empty: the task has not begun with the plugin.
	Intent string `json:"intent,omitempty"`
	// Since is the time of the last change of State.
	Since time.Time `json:"since,omitzero"`
}

// The following names are those of objects in an application cluster.
const (
	// LabelPlugin is on every object that BPA has applied for a plugin. Its value is the name of the
	// plugin. BPA never deletes an object without this label.
	LabelPlugin = "bpa.akraino.org/plugin"
	// FieldManagerPlugins owns the fields of those objects.
	FieldManagerPlugins = "bpa-plugins"
	// NamespacePlugins has one ConfigMap PluginInventoryName for each plugin, with the objects that BPA
	// has applied or is about to apply.
	NamespacePlugins = "bpa-plugins"
)

// PluginInventoryName returns the name of the ConfigMap with the objects of a plugin.
func PluginInventoryName(plugin string) string { return "bpa-plugin-" + plugin }

// PluginsDigest identifies plugins by their names and intents. It is empty if there are none.
func PluginsDigest(plugins []Plugin) string {
	if len(plugins) == 0 {
		return ""
	}
	sum := sha256.New()
	for _, p := range plugins {
		line, _ := json.Marshal([]string{p.Name, p.Intent}) // strings can always be encoded
		sum.Write(line)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}
