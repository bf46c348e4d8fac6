package admission

import (
	"encoding/json"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/plugin"
)

// AskedPlugins returns the plugins that the spec requests, with their versions and parameters: those
// that are shipped with BPA, and those of the site. A name that BPA does not ship is a plugin of the
// site, which only the depot knows.
func AskedPlugins(s *v1alpha1.ProvisioningSpec) (shipped, own []plugin.Asked) {
	for _, name := range s.KUDPlugins {
		settings := s.Plugins[name]
		asked := plugin.Asked{Name: name, Version: settings.Version, Parameters: rawParameters(settings)}
		if _, ok := plugin.Shipped()[name]; ok {
			shipped = append(shipped, asked)
		} else {
			own = append(own, asked)
		}
	}
	return shipped, own
}

// rawParameters returns the parameters as one JSON object; nil: there are none. The API server stores only
// values that are JSON. Any other value becomes null, which no schema of a parameter permits.
func rawParameters(p v1alpha1.PluginSpec) json.RawMessage {
	if len(p.Parameters) == 0 {
		return nil
	}
	values := map[string]json.RawMessage{}
	for name, value := range p.Parameters {
		if values[name] = json.RawMessage(value.Raw); !json.Valid(value.Raw) {
			values[name] = json.RawMessage("null")
		}
	}
	text, _ := json.Marshal(values) // all values are JSON
	return text
}
