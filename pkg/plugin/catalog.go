package plugin

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/plugins"
)

// Catalog has plugins by their names.
type Catalog map[string]Plugin

// Shipped returns the plugins that are shipped with BPA. The caller must not change the map or its
// plugins.
var Shipped = sync.OnceValue(func() Catalog {
	all, err := LoadAll(plugins.FS)
	if err != nil {
		panic(err) // a test loads them
	}
	return all
})

// LoadAll loads each directory of dir as a plugin of this name.
func LoadAll(dir fs.FS) (Catalog, error) {
	entries, err := fs.ReadDir(dir, ".")
	if err != nil {
		return nil, err
	}
	all := Catalog{}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		sub, err := fs.Sub(dir, entry.Name())
		if err != nil {
			return nil, err
		}
		p, err := Load(sub)
		if err != nil {
			return nil, fmt.Errorf("plugin %s: %w", entry.Name(), err)
		}
		if p.Name != entry.Name() {
			return nil, fmt.Errorf("plugin %s: its plugin.yaml has the name %s", entry.Name(), p.Name)
		}
		all[p.Name] = p
	}
	return all, nil
}

// With returns the catalog with further plugins. They replace plugins with the same names.
func (c Catalog) With(own ...Plugin) Catalog {
	all := maps.Clone(c)
	for _, p := range own {
		all[p.Name] = p
	}
	return all
}

// Names returns the names of all plugins, sorted.
func (c Catalog) Names() []string { return slices.Sorted(maps.Keys(c)) }

// live returns the names of the plugins that can be installed, sorted.
func (c Catalog) live() []string {
	return slices.DeleteFunc(c.Names(), func(name string) bool { return c[name].Status == Retired })
}

// Order returns the named plugins and all plugins that they need, each after those that it needs. The
// order of names counts as far as the needs permit, and a name may occur twice. A retired plugin needs
// none.
func (c Catalog) Order(names ...string) ([]Plugin, error) {
	o := order{catalog: c, state: map[string]visit{}}
	for _, name := range names {
		if err := o.add(name); err != nil {
			return nil, err
		}
	}
	return o.out, nil
}

type visit int

const (
	open visit = iota + 1 // the plugins that it needs are being added
	added
)

type order struct {
	catalog Catalog
	state   map[string]visit
	path    []string // the plugins that are open, outermost first
	out     []Plugin
}

func (o *order) add(name string) error {
	p, ok := o.catalog[name]
	switch {
	case !ok && len(o.path) > 0:
		return &OrderError{Problem{Kind: Unknown, Plugin: o.path[len(o.path)-1],
			Message: fmt.Sprintf("plugin %s needs plugin %q, which does not exist", o.path[len(o.path)-1], name), Advice: o.catalog.instead(name)}}
	case !ok:
		return &OrderError{o.catalog.unknown(name)}
	case o.state[name] == added:
		return nil
	case o.state[name] == open:
		circle := append(slices.Clone(o.path[slices.Index(o.path, name):]), name)
		return &OrderError{Problem{Kind: Circle, Plugin: name, Message: "plugins need each other: " + strings.Join(circle, " needs "),
			Advice: "remove one of these needs in a plugin.yaml"}}
	}
	o.state[name] = open
	o.path = append(o.path, name)
	for _, need := range p.Needs {
		if err := o.add(need); err != nil {
			return err
		}
	}
	o.path = o.path[:len(o.path)-1]
	o.state[name] = added
	o.out = append(o.out, p)
	return nil
}

// Asked is a plugin that a user asks for.
type Asked struct {
	Name       string
	Version    string // empty: any
	Parameters json.RawMessage
}

// Choose returns what a cluster gets of the plugins that a user asks for: they and the plugins that
// they need, in the order of their needs, with complete parameters. skip tells why a plugin is not
// installed, in words such as "no node has SR-IOV"; empty: it is installed. It is called only for plugins
// that can be installed: a retired plugin is always skipped, and has neither version nor parameters. A
// plugin is also skipped if one that it needs is, and a plugin that only skipped plugins need is left out.
// Problems are those of Validate; with one, nothing is chosen.
func (c Catalog) Choose(asked []Asked, skip func(Definition) string) ([]contract.Plugin, []Problem) {
	if found := c.Validate(asked); len(found) > 0 {
		return nil, found
	}
	parameters, names := map[string]json.RawMessage{}, []string{}
	for _, a := range asked {
		names = append(names, a.Name)
		parameters[a.Name] = a.Parameters
	}
	ordered, err := c.Order(names...)
	if err != nil {
		return nil, []Problem{problemOfOrder(err)}
	}
	reasons := reasonsToSkip(ordered, skip)
	needed := neededBy(ordered, names, reasons)
	chosen := []contract.Plugin{}
	for _, p := range ordered {
		if !slices.Contains(names, p.Name) && len(needed[p.Name]) == 0 {
			continue
		}
		one := contract.Plugin{Name: p.Name, Version: p.Version, Skip: reasons[p.Name], Digest: p.Digest()}
		if p.Status != Retired {
			complete, found := p.Complete(parameters[p.Name])
			if len(found) > 0 {
				return nil, found
			}
			one.Parameters = complete
		}
		if !slices.Contains(names, p.Name) {
			one.NeededBy = needed[p.Name]
		}
		chosen = append(chosen, one)
	}
	return chosen, nil
}

func reasonsToSkip(ordered []Plugin, skip func(Definition) string) map[string]string {
	reasons := map[string]string{}
	for _, p := range ordered {
		reason := p.WhyRetired()
		if p.Status != Retired {
			reason = skip(p.Definition)
		}
		for _, need := range p.Needs {
			if reason == "" && reasons[need] != "" {
				reason = fmt.Sprintf("it needs %s, which is skipped: %s", need, reasons[need])
			}
		}
		reasons[p.Name] = reason
	}
	return reasons
}

// neededBy returns, for each plugin, which plugins of the cluster need it and are not skipped.
func neededBy(ordered []Plugin, asked []string, reasons map[string]string) map[string][]string {
	needed := map[string][]string{}
	for _, p := range slices.Backward(ordered) { // a plugin comes after those that it needs
		if reasons[p.Name] != "" || !slices.Contains(asked, p.Name) && len(needed[p.Name]) == 0 {
			continue
		}
		for _, need := range p.Needs {
			needed[need] = append(needed[need], p.Name)
			slices.Sort(needed[need])
		}
	}
	return needed
}
