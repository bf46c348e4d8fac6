package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// scope is what a command lists: the flags -A and -l, as kubectl get has them.
type scope struct {
	everywhere bool
	selector   string
}

func (c *scope) add(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&c.everywhere, "all-namespaces", "A", false, "list the objects of all namespaces")
	cmd.Flags().StringVarP(&c.selector, "selector", "l", "", "list only objects with these labels, such as rack=r1,owner!=c1")
}

// check returns a usage error if the flags have no meaning. name is an argument that names one object.
func (c *scope) check(name string) error {
	switch {
	case name != "" && c.everywhere:
		return usageError(errors.New("NAME and --all-namespaces exclude each other: the object NAME is in one namespace"))
	case name != "" && c.selector != "":
		return usageError(errors.New("NAME and --selector exclude each other"))
	}
	if _, err := labels.Parse(c.selector); err != nil {
		return usageError(fmt.Errorf("--selector is %q: %w", c.selector, err))
	}
	return nil
}

// set reports whether one of the flags is set: then the answer is a list, also if it has one item.
func (c *scope) set() bool { return c.everywhere || c.selector != "" }

// options returns the options for a list in the namespace of the site.
func (c *scope) options(s *site) []client.ListOption {
	var options []client.ListOption
	if !c.everywhere {
		options = append(options, client.InNamespace(s.namespace))
	}
	if selector, err := labels.Parse(c.selector); err == nil && c.selector != "" { // check has reported the error
		options = append(options, client.MatchingLabelsSelector{Selector: selector})
	}
	return options
}

// where names the place for a message.
func (c *scope) where(s *site) string {
	text := "in namespace " + s.namespace
	if c.everywhere {
		text = "in any namespace"
	}
	if c.selector != "" {
		text += " with the labels " + c.selector
	}
	return text
}

// in returns the same access for another namespace.
func (s *site) in(namespace string) *site {
	there := *s
	there.namespace = namespace
	return &there
}

// byNamespace splits sorted objects into those of each namespace.
func byNamespace[T any, P interface {
	*T
	metav1.Object
}](all []T) (parts [][]T) {
	for len(all) > 0 {
		namespace := P(&all[0]).GetNamespace()
		end := slices.IndexFunc(all, func(o T) bool { return P(&o).GetNamespace() != namespace })
		if end < 0 {
			end = len(all)
		}
		parts, all = append(parts, all[:end]), all[end:]
	}
	return parts
}

// withNamespace adds the namespace as the first column of a table over all namespaces.
func (c *scope) withNamespace(namespace string, row []string) []string {
	if !c.everywhere {
		return row
	}
	return append([]string{namespace}, row...)
}
