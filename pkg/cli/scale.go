package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

type scaleOptions struct {
	sets, standby []string // NAME=NUMBER
	waiting       waitFlags
	dryRun        serverDryRun
}

func newScale(s *session) *cobra.Command {
	var o scaleOptions
	cmd := &cobra.Command{
		Use:   "scale NAME --set SET=NUMBER",
		Short: "Set the number of nodes of a node set",
		Long: `Set the number of nodes of a node set. The command changes spec.nodeSets of the Provisioning,
as an edit does. With --dry-run=server it shows the operations that this leads to, without
the change.

The scale command of kubectl cannot do this: it sets one number, and a cluster has several node sets.`,
		Example: "  kubectl bpa scale edge-1 --set pool=6 --dry-run=server\n  kubectl bpa scale edge-1 --set pool=6 --standby pool=1 --wait --timeout=1h",
		Args:    oneName(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(o.waiting.check(), o.dryRun.check(o.waiting.wait)); err != nil {
				return err
			}
			counts, err := o.counts()
			if err != nil {
				return usageError(err)
			}
			return s.scale(cmd.Context(), args[0], counts, o)
		},
	}
	cmd.Flags().StringArrayVar(&o.sets, "set", nil, "node set and its number of nodes, as SET=NUMBER (repeatable)")
	cmd.Flags().StringArrayVar(&o.standby, "standby", nil, "node set and its number of standby hosts, as SET=NUMBER (repeatable)")
	o.waiting.add(cmd, "the cluster has these nodes or the change has failed permanently", "1h")
	o.dryRun.add(cmd)
	completeArgs(cmd, s.clusterNames())
	return cmd
}

// count is a requested number of nodes.
type count struct {
	set     string
	standby bool
	nodes   int32
}

func (o scaleOptions) counts() (all []count, err error) {
	for _, group := range []struct {
		flag    string
		values  []string
		standby bool
	}{{"--set", o.sets, false}, {"--standby", o.standby, true}} {
		for _, text := range group.values {
			name, number, found := strings.Cut(text, "=")
			n, err := strconv.ParseInt(number, 10, 32)
			if !found || name == "" || err != nil || n < 0 {
				return nil, fmt.Errorf("%s %q is not like pool=6", group.flag, text)
			}
			all = append(all, count{name, group.standby, int32(n)})
		}
	}
	if len(all) == 0 {
		return nil, errors.New("--set is missing: give a node set and its number of nodes, such as --set pool=6")
	}
	return all, nil
}

func (s *session) scale(ctx context.Context, name string, counts []count, o scaleOptions) error {
	ctx, cancel := withTimeout(ctx, o.waiting.timeout)
	defer cancel()
	site, p, err := s.cluster(ctx, name)
	if err != nil {
		return err
	}
	spec := *p.Spec.DeepCopy()
	patch, what, err := site.scaled(p.Name, &spec, counts)
	if err != nil {
		return err
	}
	if len(what) == 0 {
		_, err := fmt.Fprintf(s.Out, "%s has these numbers of nodes in its spec already: nothing was changed.\n", p.Name)
		return err
	}
	return s.edit(ctx, site, p, client.RawPatch(types.JSONPatchType, patch), spec, strings.Join(what, ", "), o.waiting, o.dryRun)
}

// scaled changes the spec, and returns the JSON patch that does it and a description of each change. The patch fails if another user has moved the node sets.
func (s *site) scaled(name string, spec *v1alpha1.ProvisioningSpec, counts []count) (patch []byte, what []string, err error) {
	if len(spec.NodeSets) == 0 {
		return nil, nil, fmt.Errorf("%s has no node sets: its nodes are named in spec.masters and spec.workers. Add or remove them there:\n  %s", name, s.kubectl("edit bpa "+name, ""))
	}
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	var operations []operation
	for _, c := range counts {
		i := slices.IndexFunc(spec.NodeSets, func(set v1alpha1.NodeSet) bool { return set.Name == c.set })
		if i < 0 {
			var names []string
			for _, set := range spec.NodeSets {
				names = append(names, set.Name)
			}
			return nil, nil, fmt.Errorf("%s has no node set %s: there are %s", name, c.set, strings.Join(names, ", "))
		}
		field, number, nodes := "active", &spec.NodeSets[i].Count.Active, "nodes"
		if c.standby {
			field, number, nodes = "standby", &spec.NodeSets[i].Count.Standby, "standby hosts"
		}
		if *number == c.nodes {
			continue
		}
		what = append(what, fmt.Sprintf("node set %s: %d to %d %s", c.set, *number, c.nodes, nodes))
		*number = c.nodes
		path := fmt.Sprintf("/spec/nodeSets/%d/", i)
		operations = append(operations, operation{"test", path + "name", c.set}, operation{"add", path + "count/" + field, c.nodes})
	}
	patch, err = json.Marshal(operations)
	return patch, what, err
}
