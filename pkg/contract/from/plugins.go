package from

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/akraino-icn/bpa/pkg/admission"
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/plugin"
)

// Fit has the hosts of a cluster to which a plugin applies.
type Fit struct {
	// Hosts are the names, sorted, of the hosts that meet the plugin's requirements on nodes. Empty: the
	// plugin has no requirements, or none is met.
	Hosts []string
	// Skip is why the plugin is not installed, such as "no node has SR-IOV"; empty: it is installed.
	Skip string
}

// AnyHost is a Fit for every plugin, for decisions that do not depend on hosts.
func AnyHost(plugin.Definition) Fit { return Fit{} }

// Plugins returns the plugins of the cluster that the spec describes: those that BPA ships, in the order of
// their needs, and then the site's own ones in the order of the spec. fit is called for each shipped
// plugin that is not retired; a retired one is skipped. The site's own ones are installed in any case,
// because nothing is known of them here.
func Plugins(s *v1alpha1.ProvisioningSpec, fit func(plugin.Definition) Fit) ([]contract.Plugin, []plugin.Problem) {
	shipped, own := admission.AskedPlugins(s)
	fits := map[string]Fit{}
	chosen, found := plugin.Shipped().Choose(shipped, func(d plugin.Definition) string {
		fits[d.Name] = fit(d)
		return fits[d.Name].Skip
	})
	if len(found) > 0 {
		return nil, found
	}
	for i, p := range chosen {
		chosen[i].Intent = intent(s, p)
		if p.Skip != "" {
			continue
		}
		chosen[i].Hosts = fits[p.Name].Hosts
		if err := addInventory(&chosen[i], plugin.Shipped()[p.Name].Kubespray); err != nil {
			return nil, []plugin.Problem{{Kind: plugin.BadParameter, Plugin: p.Name, Message: err.Error()}}
		}
	}
	for _, a := range own {
		if a.Version == "" { // stored before BPA knew plugins
			return nil, []plugin.Problem{{Kind: plugin.Unknown, Plugin: a.Name, Message: fmt.Sprintf("BPA ships no plugin %q", a.Name),
				Advice: fmt.Sprintf("remove it from spec.KUDPlugins, or write the version of a plugin of the site to spec.plugins.%s.version", a.Name)}}
		}
		p := contract.Plugin{Name: a.Name, Version: a.Version, Parameters: a.Parameters, Source: fmt.Sprintf("plugins/%s:%s", a.Name, a.Version)}
		p.Intent = intent(s, p)
		chosen = append(chosen, p)
	}
	if len(chosen) == 0 {
		return nil, nil
	}
	return chosen, nil
}

// PluginProblem returns why the plugins of a Provisioning cannot be installed, and the next action. It is
// empty if they can. The webhook rejects such a spec; a spec can have a problem if it was stored before,
// or if an earlier BPA shipped other plugins.
func PluginProblem(p *v1alpha1.Provisioning) string {
	_, found := Plugins(&p.Spec, AnyHost)
	var texts []string
	for _, problem := range found {
		texts = append(texts, problem.String())
	}
	return strings.Join(texts, "; ")
}

// intent returns contract.Plugin.Intent.
func intent(s *v1alpha1.ProvisioningSpec, p contract.Plugin) string {
	settings := s.Plugins[p.Name]
	values := map[string]json.RawMessage{}
	for name, value := range settings.Parameters {
		values[name] = normal(value.Raw)
	}
	text, _ := json.Marshal(struct { // all values are JSON
		Version    string
		Parameters map[string]json.RawMessage
		Skipped    bool
	}{settings.Version, values, p.Skip != ""})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// normal returns a JSON value without spaces and with sorted keys. What is no JSON becomes null.
func normal(raw []byte) json.RawMessage {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		return json.RawMessage("null")
	}
	text, err := json.Marshal(value)
	if err != nil {
		return json.RawMessage("null")
	}
	return text
}

// addInventory sets what a shipped plugin adds to the inventory.
func addInventory(p *contract.Plugin, k plugin.Kubespray) error {
	values := map[string]any{}
	if err := utiljson.Unmarshal(p.Parameters, &values); err != nil {
		return fmt.Errorf("parameters: %w", err)
	}
	for name, text := range k.Vars {
		value, err := substituted(text, values)
		if err != nil {
			return fmt.Errorf("kubespray variable %s: %w", name, err)
		}
		if p.Vars == nil {
			p.Vars = map[string]json.RawMessage{}
		}
		p.Vars[name] = value
	}
	for _, name := range slices.Sorted(maps.Keys(k.Groups)) {
		group := contract.PluginGroup{Name: name, Members: string(k.Groups[name])}
		if k.Groups[name] == plugin.Fitting {
			group.Hosts = p.Hosts
		}
		p.Groups = append(p.Groups, group)
	}
	return nil
}

// substituted returns a variable's value with the parameters that it names. Whole numbers stay whole, which
// encoding/json would not do.
func substituted(text json.RawMessage, parameters map[string]any) (json.RawMessage, error) {
	var value any
	if err := utiljson.Unmarshal(text, &value); err != nil {
		return nil, err
	}
	value, err := plugin.Substitute(value, parameters)
	if err != nil {
		return nil, err
	}
	return json.Marshal(value)
}
