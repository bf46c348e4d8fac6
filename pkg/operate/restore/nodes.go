package restore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/cluster"
	"github.com/akraino-icn/bpa/pkg/operate/session"
)

// nodeObject holds the fields of a Node that a restore reads.
type nodeObject struct {
	Metadata struct {
		Name   string
		Labels map[string]string
	}
	Spec struct {
		PodCIDRs []string
		Taints   []struct{ Key, Value, Effect string }
	}
	Status struct {
		Conditions []struct{ Type, LastHeartbeatTime string }
	}
}

// registered returns the Node objects of the cluster by their names.
func (r *restoration) registered(ctx context.Context) (map[string]nodeObject, error) {
	w := r.watch()
	defer w.Close()
	var list struct{ Items []nodeObject }
	if err := w.Get(ctx, "nodes", &list); err != nil {
		return nil, cluster.Unanswered("read the nodes of the cluster", err)
	}
	all := map[string]nodeObject{}
	for _, o := range list.Items {
		all[o.Metadata.Name] = o
	}
	return all, nil
}

// strangers returns the names of the Nodes in the backup that are not in the cluster any more. Lost nodes
// that stay in the cluster are not strangers.
func strangers(known map[string]nodeObject, nodes []contract.Node, kept []string) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if !session.HasName(nodes, name) && !slices.Contains(kept, name) && session.KubernetesName.MatchString(name) {
			all = append(all, name)
		}
	}
	return all
}

// deleteNodes deletes the Node objects of nodes that are not in the cluster any more.
func (r *restoration) deleteNodes(ctx context.Context, known map[string]nodeObject) error {
	w := r.watch()
	defer w.Close()
	for _, name := range strangers(known, r.in.Nodes, r.in.Request.Kept) {
		fmt.Fprintf(r.ports.Log, "  node %s of the backup is not in the cluster any more: it is deleted\n", name)
		if _, err := w.Ask(ctx, "delete node "+name+" --ignore-not-found --wait=false", 64<<10); err != nil {
			return cluster.Unanswered("delete node "+name, err)
		}
	}
	return nil
}

var (
	labelText   = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9./_-]*[A-Za-z0-9])?$`)
	taintEffect = regexp.MustCompile(`^(NoSchedule|PreferNoSchedule|NoExecute)$`)
)

// marksOf returns the arguments of kubectl that give a node the labels and taints of another object. A
// kubelet does not register the labels and taints of a control plane itself. The taints of a condition,
// such as not-ready, are left out.
func marksOf(o nodeObject) (labels, taints string) {
	valid := func(key, value string) bool {
		return labelText.MatchString(key) && (value == "" || labelText.MatchString(value))
	}
	for _, key := range slices.Sorted(maps.Keys(o.Metadata.Labels)) {
		if value := o.Metadata.Labels[key]; valid(key, value) {
			labels += " " + key + "=" + value
		}
	}
	for _, t := range o.Spec.Taints {
		if valid(t.Key, t.Value) && taintEffect.MatchString(t.Effect) && !strings.HasPrefix(t.Key, "node.kubernetes.io/") {
			taints += " " + t.Key + "=" + t.Value + ":" + t.Effect
		}
	}
	return labels, taints
}

// label gives new control planes, which the backup does not know, the labels and taints that the
// playbook has given them. made are the Nodes after the playbook, and known those of the backup.
func (r *restoration) label(ctx context.Context, made, known map[string]nodeObject) error {
	w := r.watch()
	defer w.Close()
	for _, n := range r.planes {
		if _, there := known[n.Name]; there {
			continue
		}
		labels, taints := marksOf(made[n.Name])
		err := r.on().Await(ctx, n, "wait for the registration of the node", func(ctx context.Context) error {
			state, err := w.Ask(ctx, "get node "+n.Name+" --ignore-not-found --output name", 64<<10)
			if err == nil && len(state) == 0 {
				err = errors.New("the node is not registered")
			}
			return err
		})
		if err != nil {
			return err
		}
		for kind, marks := range map[string]string{"label": labels, "taint": taints} {
			if marks == "" {
				continue
			}
			if _, err := w.Ask(ctx, kind+" node "+n.Name+" --overwrite"+marks, 64<<10); err != nil {
				return cluster.Unanswered(kind+" node "+n.Name, err)
			}
		}
	}
	return nil
}
