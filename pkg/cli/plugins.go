package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts/assign"
	"github.com/akraino-icn/bpa/pkg/plugin"
)

func newPlugins(s *session) *cobra.Command {
	var o output
	cmd := &cobra.Command{
		Use:   "plugins",
		Short: "List the plugins that BPA ships; show, test and push plugins",
		Long: `List the plugins that BPA ships. A Provisioning requests plugins in spec.KUDPlugins, and
gives them parameters in spec.plugins. The list is that of this program, which is
normally the one of the BPA of the site.`,
		Example: "  kubectl bpa plugins\n  kubectl bpa plugins show sriov-network\n  kubectl bpa plugins test edge-1 multus",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := o.check(); err != nil {
				return err
			}
			if !o.table() {
				return o.printReport(s.Out, reportPlugins, pluginReport{definitions(plugin.Shipped())})
			}
			_, err := fmt.Fprint(s.Out, pluginList(plugin.Shipped()))
			return err
		},
	}
	o.add(cmd)
	cmd.AddCommand(newPluginsShow(s), newPluginsTest(s), newPluginsPush(s))
	return cmd
}

// pluginList returns all plugins, those that can be installed first.
func pluginList(all plugin.Catalog) string {
	rows, retired := [][]string{{"NAME", "VERSION", "STATUS", "NEEDS", "SUMMARY"}}, [][]string{}
	for _, name := range all.Names() {
		p := all[name]
		if p.Status == plugin.Retired {
			retired = append(retired, []string{name, "-", "retired", "-", successor(p)})
			continue
		}
		rows = append(rows, []string{name, p.Version, string(p.Status), dash(strings.Join(p.Needs, ", ")), p.Description})
	}
	return columns(append(rows, retired...))
}

func successor(p plugin.Plugin) string {
	if p.Successor == "" {
		return p.Reason
	}
	return "use " + p.Successor
}

// pluginReport has plugins with all that their files say.
type pluginReport struct {
	Plugins []plugin.Definition `json:"plugins"`
}

func definitions(all plugin.Catalog) (list []plugin.Definition) {
	for _, name := range all.Names() {
		list = append(list, all[name].Definition)
	}
	return list
}

func newPluginsShow(s *session) *cobra.Command {
	var o output
	cmd := &cobra.Command{
		Use:     "show NAME",
		Short:   "Show what a plugin needs, its parameters and its images",
		Example: "  kubectl bpa plugins show sriov-network",
		Args:    onePlugin("NAME"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			p, ok := plugin.Shipped()[args[0]]
			if !ok {
				return unknownPlugin(args[0])
			}
			if !o.table() {
				return o.printReport(s.Out, reportPlugins, pluginReport{[]plugin.Definition{p.Definition}})
			}
			text, err := pluginPage(p)
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(s.Out, text)
			return err
		},
	}
	completeArgs(cmd, pluginNames)
	o.add(cmd)
	return cmd
}

// onePlugin accepts arguments with these names.
func onePlugin(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != len(names) {
			return usageError(fmt.Errorf("expected %s, got %d arguments; see %s --help", strings.Join(names, " and "), len(args), cmd.CommandPath()))
		}
		return nil
	}
}

func unknownPlugin(name string) error {
	if near := plugin.Shipped().Nearest(name); near != "" {
		return fmt.Errorf("BPA ships no plugin %q: did you mean %s?", name, near)
	}
	return fmt.Errorf("BPA ships no plugin %q: `kubectl bpa plugins` lists them", name)
}

// pluginPage describes a plugin.
func pluginPage(p plugin.Plugin) (string, error) {
	if p.Status == plugin.Retired {
		return fmt.Sprintf("%s  (retired)\n%s\n\nIt is skipped in every cluster: %s.\n", p.Name, p.Description, strings.TrimRight(p.Reason, ".")) + instead(p), nil
	}
	parameters, err := parameterTable(p)
	if err != nil {
		return "", err
	}
	rows := [][]string{}
	add := func(title string, lines ...string) {
		for _, line := range lines {
			if line != "" {
				rows = append(rows, []string{"  " + title, line})
				title = ""
			}
		}
	}
	add("upstream", p.Upstream)
	add("license", p.License)
	add("needs", strings.Join(p.Needs, ", "))
	add("nodes", nodeNeeds(p.Nodes))
	add("changes nodes", changesNodes(p))
	add("test", map[bool]string{true: "yes", false: "none"}[p.Has(plugin.TestFile)])
	add("kubespray", kubesprayVars(p.Kubespray)...)
	add("images", p.Images...)
	add("more images", p.IndirectImages...)
	for _, f := range p.Files {
		add("files", f.URL)
	}
	return fmt.Sprintf("%s  %s\n%s\n\n%s%s", p.Name, p.Version, p.Description, columns(rows), parameters), nil
}

func instead(p plugin.Plugin) string {
	if p.Successor == "" {
		return ""
	}
	return fmt.Sprintf("Use %s instead: kubectl bpa plugins show %s\n", p.Successor, p.Successor)
}

// nodeNeeds describes which clusters get a plugin.
func nodeNeeds(n contract.Needs) string {
	text := assign.Needs(contract.Slot{Needs: n})
	if text == "" {
		return ""
	}
	return text + "; without such a node, the plugin is skipped"
}

func changesNodes(p plugin.Plugin) string {
	if !p.Has(plugin.ConfigureFile) {
		return ""
	}
	text := "its playbook " + plugin.ConfigureFile + " runs on the nodes"
	if p.Drains {
		text += ", and drains those that it changes, one after the other"
	}
	return text
}

func kubesprayVars(k plugin.Kubespray) (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(k.Vars)) {
		lines = append(lines, name+": "+string(k.Vars[name]))
	}
	return lines
}

// parameterTable lists the parameters with their defaults.
func parameterTable(p plugin.Plugin) (string, error) {
	var schema struct {
		Required   []string `json:"required"`
		Properties map[string]struct {
			Type        string            `json:"type"`
			Description string            `json:"description"`
			Default     json.RawMessage   `json:"default"`
			Enum        []json.RawMessage `json:"enum"`
		} `json:"properties"`
	}
	if len(p.Parameters) == 0 {
		return "\nIt has no parameters.\n", nil
	}
	if err := json.Unmarshal(p.Parameters, &schema); err != nil {
		return "", errors.Join(fmt.Errorf("parameters of plugin %s", p.Name), err)
	}
	rows := [][]string{{"PARAMETER", "TYPE", "DEFAULT", "DESCRIPTION"}}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		q := schema.Properties[name]
		value, text := string(q.Default), q.Description
		if slices.Contains(schema.Required, name) {
			value = "required"
		}
		if len(q.Enum) > 0 {
			var all []string
			for _, one := range q.Enum {
				all = append(all, string(one))
			}
			text += " One of " + strings.Join(all, ", ") + "."
		}
		rows = append(rows, []string{name, q.Type, dash(value), text})
	}
	return "\n" + columns(rows), nil
}
