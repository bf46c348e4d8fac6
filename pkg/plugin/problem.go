package plugin

import (
	"errors"
	"fmt"
	"strings"

	"github.com/akraino-icn/bpa/pkg/nearest"
)

// Kind is the kind of a Problem.
type Kind string

const (
	Unknown      Kind = "Unknown" // no such plugin in the catalog; the depot may have it
	Duplicate    Kind = "Duplicate"
	Circle       Kind = "Circle"
	BadVersion   Kind = "Version"
	BadParameter Kind = "Parameter"
)

// Problem is one reason why plugins cannot be installed as a user asks.
type Problem struct {
	Kind   Kind
	Plugin string // the plugin that the user asks for, or that needs another
	Path   string // of a parameter, below the plugin's parameters, such as resources[0].name
	// Message says what is wrong, and Advice what to do. Advice may be empty.
	Message, Advice string
}

func (p Problem) String() string {
	text := p.Message
	if p.Path != "" {
		text = fmt.Sprintf("parameter %s of plugin %s: %s", p.Path, p.Plugin, p.Message)
	}
	if p.Advice != "" {
		text += "; " + p.Advice
	}
	return text
}

// OrderError is the error of Order.
type OrderError struct{ Problem Problem }

func (e *OrderError) Error() string { return e.Problem.String() }

func problemOfOrder(err error) Problem {
	var o *OrderError
	if errors.As(err, &o) {
		return o.Problem
	}
	return Problem{Message: err.Error()}
}

// Validate returns everything that is wrong with what a user asks for. A plugin's version must be the
// one in the catalog. A retired plugin is no problem, whatever its version and parameters: it is skipped
// (see Choose), so that the files of its users stay valid.
func (c Catalog) Validate(asked []Asked) (found []Problem) {
	seen, good := map[string]bool{}, []string{}
	for _, a := range asked {
		p, ok := c[a.Name]
		switch {
		case seen[a.Name]:
			found = append(found, Problem{Kind: Duplicate, Plugin: a.Name, Message: fmt.Sprintf("plugin %q is listed twice", a.Name), Advice: "list each plugin once"})
			continue
		case !ok:
			found = append(found, c.unknown(a.Name))
		case p.Status != Retired:
			good = append(good, a.Name)
			found = append(found, p.validate(a)...)
		}
		seen[a.Name] = true
	}
	for _, name := range good {
		if _, err := c.Order(name); err != nil {
			found = append(found, problemOfOrder(err))
		}
	}
	return found
}

func (p Plugin) validate(a Asked) (found []Problem) {
	if a.Version != "" && a.Version != p.Version {
		found = append(found, Problem{Kind: BadVersion, Plugin: p.Name, Message: fmt.Sprintf("plugin %s has no version %q", p.Name, a.Version),
			Advice: fmt.Sprintf("use version %s, or leave the version out", p.Version)})
	}
	_, wrong := p.Complete(a.Parameters)
	return append(found, wrong...)
}

func (c Catalog) unknown(name string) Problem {
	return Problem{Kind: Unknown, Plugin: name, Message: fmt.Sprintf("plugin %.100q does not exist", name), Advice: c.instead(name)}
}

// instead is advice for a name that is not in the catalog.
func (c Catalog) instead(name string) string {
	if near := c.Nearest(name); near != "" {
		return "use " + near
	}
	return "use one of " + strings.Join(c.live(), ", ")
}

// Nearest returns the name of a plugin that can be installed and whose name differs little from name;
// empty: none does.
func (c Catalog) Nearest(name string) string { return nearest.Name(name, c.live()) }
