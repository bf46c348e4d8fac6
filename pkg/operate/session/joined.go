package session

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/kube"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// HasJoined reports whether a playbook has succeeded on the node's machine, and the machine was not
// reset since.
func (c Contact) HasJoined(in Input, n contract.Node, joined []string) bool {
	return slices.Contains(joined, n.HostUID) && slices.Contains(in.Request.Installed, n.Host) && c.States[n.HostUID] != contract.HostClean
}

// ReadJoined returns the UIDs of the hosts on which a playbook has succeeded. These are the hosts of
// the record of the cluster, and those that joined in a run that failed later, before it wrote the
// record. If nothing is stored, this is the first attempt to install, or the ConfigMap was lost. Then ReadJoined
// stores the installed hosts: in a later attempt, in.Request.Installed also has the new hosts.
func ReadJoined(ctx context.Context, in Input, store Store, members *ClusterRecord) ([]string, error) {
	joined, stored, err := parseJoined(ctx, store)
	if err != nil {
		return nil, err
	}
	if stored || members.Text != "" {
		return With(joined, HostUIDs(members.Now.Nodes)), nil
	}
	for _, n := range in.Nodes {
		if slices.Contains(in.Request.Installed, n.Host) {
			joined = append(joined, n.HostUID)
		}
	}
	return joined, StoreJoined(ctx, store, joined)
}

// parseJoined reads contract.KeyJoined; false: it does not exist.
func parseJoined(ctx context.Context, store Store) (joined []string, stored bool, err error) {
	text, err := store.Get(ctx, contract.KeyJoined)
	if err != nil {
		return nil, false, task.Because(kube.Reason(err), err)
	}
	if text == "" {
		return nil, false, nil
	}
	if err := json.Unmarshal([]byte(text), &joined); err != nil {
		return nil, false, task.Because(contract.ReasonInvalidRequest, fmt.Errorf("read %s: %w", contract.KeyJoined, err))
	}
	return joined, true, nil
}

// RemoveJoined removes hosts from contract.KeyJoined, because their nodes have left the cluster.
func RemoveJoined(ctx context.Context, store Store, uids []string) error {
	joined, stored, err := parseJoined(ctx, store)
	if err != nil || !stored {
		return err
	}
	if left := Without(joined, uids); len(left) < len(joined) {
		return StoreJoined(ctx, store, left)
	}
	return nil
}

// StoreJoined stores the UIDs of the hosts on which a playbook has succeeded, in place of those that are stored.
func StoreJoined(ctx context.Context, store Store, uids []string) error {
	text, err := json.Marshal(uids)
	if err != nil {
		return task.Because(contract.ReasonInternal, err)
	}
	if err := store.Set(ctx, contract.KeyJoined, string(text)); err != nil {
		return task.Because(kube.Reason(err), err)
	}
	return nil
}

// ReadComplete reports whether an earlier run has found the cluster complete and healthy. The
// controller sets Request.Complete only after a whole run has succeeded. Without contract.KeyComplete,
// a run that failed after the health check would leave a cluster that the next run takes for an
// unfinished one, and resets while its control plane boots.
func ReadComplete(ctx context.Context, store Store) (bool, error) {
	text, err := store.Get(ctx, contract.KeyComplete)
	if err != nil {
		return false, task.Because(kube.Reason(err), err)
	}
	return text == "true", nil
}

// StoreComplete stores whether a run has found the cluster complete and healthy.
func StoreComplete(ctx context.Context, store Store, complete bool) error {
	text := ""
	if complete {
		text = "true"
	}
	if err := store.Set(ctx, contract.KeyComplete, text); err != nil {
		return task.Because(kube.Reason(err), err)
	}
	return nil
}
