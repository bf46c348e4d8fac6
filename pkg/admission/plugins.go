package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/plugin"
)

// mostParameters limits the parameters of all plugins together, as JSON in bytes. They are stored in
// ConfigMaps of at most 1 MiB with the request and the nodes.
const mostParameters = 64 << 10

// validatePlugins checks the plugins that BPA ships. A retired one is a warning and no error, because ICN's
// own files must stay valid. What it cannot check is the content of the site's own plugins: the task
// seed-registry does that, before a host is claimed.
func validatePlugins(s *v1alpha1.ProvisioningSpec) (errs *apis.FieldError) {
	bad := map[string]bool{}
	for i, name := range s.KUDPlugins {
		err := validatePluginName(s, i, name)
		bad[name] = bad[name] || err.Filter(apis.ErrorLevel) != nil
		errs = errs.Also(err.ViaFieldIndex("KUDPlugins", i))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Plugins)) {
		if !slices.Contains(s.KUDPlugins, name) {
			errs = errs.Also(problem("plugins."+name, "add it to spec.KUDPlugins, or remove its settings", "plugin %q has settings, but is not requested", name))
		}
	}
	shipped, own := AskedPlugins(s)
	size := 0
	for _, p := range slices.Concat(shipped, own) {
		size += len(p.Parameters)
	}
	if size > mostParameters { // they are in the request of each run, and in the record of the plugins
		return errs.Also(problem("plugins", "write less, such as the name of a ConfigMap instead of its content",
			"the parameters of all plugins have %d bytes together, and at most %d are possible", size, mostParameters))
	}
	shipped = slices.DeleteFunc(shipped, func(a plugin.Asked) bool { return bad[a.Name] })
	for _, p := range plugin.Shipped().Validate(shipped) {
		errs = errs.Also(pluginProblem(s, p))
	}
	if errs.Filter(apis.ErrorLevel) != nil {
		return errs
	}
	return errs.Also(validateChosen(s, shipped))
}

// validatePluginName checks one name, without the path of the list.
func validatePluginName(s *v1alpha1.ProvisioningSpec, i int, name string) *apis.FieldError {
	p, shipped := plugin.Shipped()[name]
	switch {
	case !pluginPattern.MatchString(name) || plugin.CheckName(name) != nil:
		return problem(apis.CurrentField, "use at most 40 lower case letters, digits and dashes, and begin with a letter", "%q is not a plugin name", name)
	case slices.Contains(s.KUDPlugins[:i], name):
		return problem(apis.CurrentField, "list each plugin once", "plugin %q is listed twice", name)
	case shipped && p.Status == plugin.Retired:
		return warning(apis.CurrentField, "plugin %s is skipped, because %s. Remove it from the list", name, p.WhyRetired())
	case !shipped && s.Plugins[name].Version == "":
		advice := "`kubectl bpa plugins` lists the plugins"
		if near := plugin.Shipped().Nearest(name); near != "" {
			advice = "use " + near
		}
		return problem(apis.CurrentField, fmt.Sprintf("%s; for a plugin of the site, write its version in the depot to spec.plugins.%s.version", advice, name),
			"BPA ships no plugin %q", name)
	case !shipped:
		return warning(apis.CurrentField, "BPA ships no plugin %q: the depot must have it as plugins/%s:%s, which is checked before a host is claimed; `kubectl bpa plugins push DIR` uploads it",
			name, name, s.Plugins[name].Version)
	}
	return nil
}

// pluginProblem returns a problem of package plugin with the path of the field that causes it.
func pluginProblem(s *v1alpha1.ProvisioningSpec, p plugin.Problem) *apis.FieldError {
	path := "plugins." + p.Plugin
	switch p.Kind {
	case plugin.BadVersion:
		path += ".version"
	case plugin.BadParameter:
		path = strings.TrimRight(path+".parameters."+p.Path, ".")
	default:
		path = "KUDPlugins"
		if i := slices.Index(s.KUDPlugins, p.Plugin); i >= 0 {
			path = fmt.Sprintf("KUDPlugins[%d]", i)
		}
	}
	return problem(path, p.Advice, "%s", p.Message)
}

// validateChosen warns about what a user may not expect: plugins that are installed because others need
// them, and variables of plugins that the user's variables override.
func validateChosen(s *v1alpha1.ProvisioningSpec, asked []plugin.Asked) (errs *apis.FieldError) {
	chosen, _ := plugin.Shipped().Choose(asked, func(plugin.Definition) string { return "" })
	setBy := map[string]string{}
	for _, c := range chosen {
		if len(c.NeededBy) > 0 {
			errs = errs.Also(warning("KUDPlugins", "plugin %s is installed too, because %s needs it", c.Name, strings.Join(c.NeededBy, " and ")))
		}
		vars := plugin.Shipped()[c.Name].Kubespray.Vars
		for _, name := range slices.Sorted(maps.Keys(vars)) {
			if _, own := s.Kubespray.Vars[name]; own {
				errs = errs.Also(warning("kubespray.vars."+name, "plugin %s sets this variable too; the value in the spec is used", c.Name))
			} else if other := setBy[name]; other != "" {
				errs = errs.Also(problem("KUDPlugins", "write its value to spec.kubespray.vars."+name, "plugins %s and %s both set the kubespray variable %s", other, c.Name, name))
			}
			setBy[name] = c.Name
		}
	}
	return errs
}

// checkPlugins warns about an added plugin that drains the nodes of the cluster, and about one whose kubespray
// variables the present nodes do not get.
func (e *edit) checkPlugins() {
	for i, name := range e.is.KUDPlugins {
		p := plugin.Shipped()[name]
		switch {
		case !addsPlugin(e.is, e.was, name):
		case p.Drains:
			e.warn(fmt.Sprintf("KUDPlugins[%d]", i), "plugin %s drains each node of the cluster, one after the other, so that its pods move to other nodes; its removal does too", name)
		case len(p.Kubespray.Vars) > 0 && !p.Has(plugin.ConfigureFile):
			e.warn(fmt.Sprintf("KUDPlugins[%d]", i), "plugin %s has kubespray variables (%s), which take effect on a node when it is added or upgraded",
				name, strings.Join(slices.Sorted(maps.Keys(p.Kubespray.Vars)), ", "))
		}
	}
}

// addsPlugin reports whether the spec requests a plugin that another one does not.
func addsPlugin(s *v1alpha1.ProvisioningSpec, old *v1alpha1.ProvisioningSpec, name string) bool {
	return slices.Contains(s.KUDPlugins, name) && !slices.Contains(old.KUDPlugins, name)
}
