package session

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/kube"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// HostRecord stores the states of hosts (contract.HostStates). A host is HostUsed in the record before
// the task changes it for the first time, and HostClean only after a reset has been checked.
type HostRecord struct {
	store Store

	mu     sync.Mutex
	states contract.HostStates
	exists bool // the ConfigMap has the key
}

// ReadHostRecord reads the record. If it does not exist although a host key is pinned, it was lost: see Begin. Every host
// that has a pinned host key is then HostUsed, because it may have been changed.
func ReadHostRecord(ctx context.Context, store Store, pins ssh.Pins) (*HostRecord, error) {
	text, err := store.Get(ctx, contract.KeyHosts)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil, task.Because(contract.ReasonVersionSkew,
			fmt.Errorf("%w. The controller that started this run does not create this ConfigMap or its permissions, "+
				"so it is of an older build of BPA. Nothing was changed on any node. After an upgrade, the next attempt continues", err))
	}
	if err != nil {
		return nil, task.Because(kube.Reason(err), err)
	}
	states, err := contract.ParseHostStates(text)
	if err != nil {
		return nil, task.Because(contract.ReasonInvalidRequest, fmt.Errorf("read %s: %w", contract.KeyHosts, err))
	}
	r := &HostRecord{store: store, states: contract.HostStates{}, exists: text != ""}
	maps.Copy(r.states, states)
	if !r.exists {
		for _, pin := range pins {
			r.states[pin.UID] = contract.HostUsed
		}
	}
	return r, nil
}

// Begin writes the record if it does not exist. The caller calls it before it stores the first host
// key. A ConfigMap with host keys and without a record has then lost it.
func (r *HostRecord) Begin(ctx context.Context) error {
	if r.exists {
		return nil
	}
	return r.Set(ctx, "")
}

// Set stores one state for all of the given hosts in one write, and keeps the other hosts.
func (r *HostRecord) Set(ctx context.Context, state contract.HostState, uids ...string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := maps.Clone(r.states)
	for _, uid := range uids {
		next[uid] = state
	}
	if r.exists && maps.Equal(next, r.states) {
		return nil
	}
	text, err := json.Marshal(next)
	if err != nil {
		return task.Because(contract.ReasonInternal, err)
	}
	if err := r.store.Set(ctx, contract.KeyHosts, string(text)); err != nil {
		return task.Because(kube.Reason(err), err)
	}
	r.states, r.exists = next, true
	return nil
}

// Snapshot returns a copy of the states.
func (r *HostRecord) Snapshot() contract.HostStates {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.states)
}
