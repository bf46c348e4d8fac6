package plugins

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/pkg/plugin"
	"github.com/akraino-icn/bpa/pkg/plugin/render"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// Found is a plugin of a request with its definition.
type Found struct {
	contract.Plugin // Parameters are complete
	Definition      plugin.Plugin
	// Exact is Source with the digest of the artifact that was read; empty for a shipped plugin.
	Exact string
	// Err is why the plugin cannot be installed, with a failure reason; nil: it can.
	Err error
}

// Depot opens the depot, which the caller closes. It is called at most once, and only if a plugin is in
// the depot.
type Depot func(context.Context) (*client.Depot, error)

// Find returns the plugins of a request, each after those that it needs.
func Find(ctx context.Context, request contract.Request, catalog plugin.Catalog, open Depot) []Found {
	source := &source{request: request, catalog: catalog, open: open}
	var all []Found
	for _, p := range request.Plugins {
		one := Found{Plugin: p}
		one.Definition, one.Exact, one.Err = source.find(ctx, p)
		if one.Err == nil {
			one.Parameters, one.Err = complete(one.Definition, p.Parameters)
		}
		all = append(all, one)
	}
	return order(all)
}

// Renders returns an error if the plugin cannot be rendered for the request, and what it renders to.
func (f Found) Render(request contract.Request) (render.Rendered, error) {
	out, err := render.Render(f.Definition, f.Parameters, render.Cluster{KubernetesVersion: request.KubernetesVersion})
	if err != nil {
		return out, task.Because(contract.ReasonInvalidRequest, err)
	}
	return out, nil
}

type source struct {
	request contract.Request
	catalog plugin.Catalog
	open    Depot
	depot   *client.Depot
}

func (s *source) find(ctx context.Context, p contract.Plugin) (found plugin.Plugin, exact string, err error) {
	if p.Source == "" {
		found, err = s.shipped(p)
		return found, "", err
	}
	if s.depot == nil {
		depot, err := s.open(ctx)
		if err != nil {
			return plugin.Plugin{}, "", task.Because(contract.ReasonDepotUnavailable, err)
		}
		s.depot = depot
	}
	found, exact, err = Pull(ctx, s.depot, p.Source)
	if err != nil {
		return found, "", err
	}
	if found.Name != p.Name {
		err = fmt.Errorf("%s in the depot is plugin %s", p.Source, found.Name)
	} else if wrong := found.CheckOwn(); wrong != nil {
		err = fmt.Errorf("%s in the depot cannot be used: %w", p.Source, wrong)
	}
	if err != nil {
		err = task.Because(contract.ReasonInvalidRequest, err)
	}
	return found, exact, err
}

// shipped returns the plugin of this build of BPA. The controller that has made the request can be of
// another build, for example during an upgrade.
func (s *source) shipped(p contract.Plugin) (plugin.Plugin, error) {
	found, ok := s.catalog[p.Name]
	switch {
	case p.Skip != "" && p.Version == "": // retired in the controller's build; nothing of its definition is used
		return plugin.Plugin{Definition: plugin.Definition{Name: p.Name, Status: plugin.Retired}}, nil
	case !ok || found.Version != p.Version || p.Digest != "" && found.Digest() != p.Digest:
		return found, task.Because(contract.ReasonVersionSkew, fmt.Errorf("version %s is not part of this build of BPA: apply config/ of the controller's release", p.Version))
	}
	return found, nil
}

func complete(p plugin.Plugin, parameters json.RawMessage) (json.RawMessage, error) {
	done, problems := p.Complete(parameters)
	if len(problems) == 0 {
		return done, nil
	}
	var texts []string
	for _, one := range problems {
		texts = append(texts, one.String())
	}
	return nil, task.Because(contract.ReasonInvalidRequest, errors.New(strings.Join(texts, ". ")))
}

// order sorts plugins by their needs. The controller cannot do that for plugins of the depot.
func order(all []Found) []Found {
	catalog := plugin.Catalog{}
	for _, f := range all {
		if f.Definition.Name != "" {
			catalog[f.Name] = f.Definition
		}
	}
	index := func(name string) int { return slices.IndexFunc(all, func(f Found) bool { return f.Name == name }) }
	var names []string
	for i, f := range all {
		if f.Err != nil {
			continue
		}
		for _, need := range f.Definition.Needs {
			if index(need) < 0 {
				all[i].Err = task.Because(contract.ReasonInvalidRequest, fmt.Errorf("it needs plugin %s: add it to spec.KUDPlugins", need))
			}
		}
	}
	var sorted []Found
	for _, f := range all {
		ordered, err := catalog.Order(f.Name)
		for _, p := range ordered {
			names = append(names, p.Name)
		}
		var wrong *plugin.OrderError
		if i := index(f.Name); errors.As(err, &wrong) && wrong.Problem.Kind == plugin.Circle && all[i].Err == nil {
			all[i].Err = task.Because(contract.ReasonInvalidRequest, err)
		}
		names = append(names, f.Name)
	}
	for _, name := range names {
		if i := index(name); i >= 0 && !slices.ContainsFunc(sorted, func(f Found) bool { return f.Name == name }) {
			sorted = append(sorted, all[i])
		}
	}
	return sorted
}
