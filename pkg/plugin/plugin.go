package plugin

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Plugin is a plugin's directory. It has these files:
//
//	plugin.yaml         the Definition
//	manifests/*.yaml    objects, applied as they are (see Substitute for parameters in them); or
//	chart/              a Helm chart, with the parameters as its values; never both
//	configure.yml       a playbook that Ansible runs on the nodes before the objects are applied
//	remove.yml          a playbook that Ansible runs on the nodes after the objects of a plugin are removed
//	test.yaml           objects with one or more Jobs, applied in a namespace of the test's own when the
//	                    plugin is ready; the test has passed when all Jobs are complete. A chart can have
//	                    its Jobs with the annotation helm.sh/hook: test instead
//
// The playbooks have the parameters as variables of the same names, and plugin_name, plugin_version
// and plugin_files (see File). Other files are for the playbooks and people, such as templates/ and
// README.md. A retired plugin has only its plugin.yaml.
type Plugin struct {
	Definition
	// Content has the bytes of each file of the directory by its path, with slashes.
	Content map[string][]byte
	// schema is Definition.Parameters, parsed; nil: no parameters.
	schema *schema
}

// The files and directories of a plugin that have a meaning.
const (
	DefinitionFile = "plugin.yaml"
	ManifestsDir   = "manifests"
	ChartDir       = "chart"
	ConfigureFile  = "configure.yml"
	RemoveFile     = "remove.yml"
	TestFile       = "test.yaml"
)

// Has reports whether the plugin has a file such as ConfigureFile, or files in a directory such as
// ChartDir.
func (p Plugin) Has(name string) bool {
	if _, ok := p.Content[name]; ok {
		return true
	}
	for path := range p.Content {
		if strings.HasPrefix(path, name+"/") {
			return true
		}
	}
	return false
}

// Paths returns the paths of the plugin's files, sorted.
func (p Plugin) Paths() []string { return slices.Sorted(maps.Keys(p.Content)) }

// Digest identifies the content of the plugin's files: sha256:HEX. Two plugins have the same digest
// only if they have the same files.
func (p Plugin) Digest() string {
	sum := sha256.New()
	for _, path := range p.Paths() {
		fmt.Fprintf(sum, "%d %s %d\n", len(path), path, len(p.Content[path]))
		sum.Write(p.Content[path])
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

// Applied identifies what the plugin is with these parameters, for contract.PluginStatus.Digest. The
// parameters are complete (see Complete); their order does not count.
func (p Plugin) Applied(parameters json.RawMessage) (string, error) {
	values, err := decodeParameters(parameters)
	if err != nil {
		return "", err
	}
	canonical, err := json.Marshal(values) // maps are written in the order of their keys
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append([]byte(p.Digest()+"\n"), canonical...))
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// TestNamespace is the namespace of the test of a plugin. It does not exist before and after the test.
func TestNamespace(name string) string { return "bpa-plugin-test-" + name }
