package installplugins

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/kube"
	"github.com/akraino-icn/bpa/pkg/tasks/playbook"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// keyApplied is a key of the record. Its value is a JSON object with an applied for each plugin that the
// cluster may have. Only the task reads it.
const keyApplied = "applied.json"

// applied is what the removal of a plugin needs. It is not read from the cluster, because administrators
// of the cluster could make the task run any playbook there.
type applied struct {
	Version    string          `json:"version"`
	Source     string          `json:"source,omitempty"` // as contract.Plugin.Source, with the digest
	Needs      []string        `json:"needs,omitempty"`
	Parameters json.RawMessage `json:"parameters,omitempty"`
	// HasRemove reports whether the plugin has a remove.yml, so that the depot is needed for its removal.
	HasRemove bool `json:"hasRemove,omitempty"`
}

// record is the state of the plugins, in a ConfigMap that the reconciler watches. It is stored after each
// change, so that it says what a killed task has done.
type record struct {
	store playbook.Store
	now   func() time.Time
	order []string // names, in the order in which the rows are stored; others follow by name

	rows    []contract.PluginStatus
	applied map[string]applied
}

func readRecord(ctx context.Context, store playbook.Store, order []string, now func() time.Time) (*record, error) {
	r := &record{store: store, now: now, order: order, applied: map[string]applied{}}
	if err := r.read(ctx, contract.KeyPlugins, &r.rows); err != nil {
		return nil, err
	}
	if err := r.read(ctx, keyApplied, &r.applied); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *record) read(ctx context.Context, key string, into any) error {
	text, err := r.store.Get(ctx, key)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return task.Because(contract.ReasonVersionSkew, fmt.Errorf("%w. The controller that started this run does not create this ConfigMap or its permissions, "+
			"so it is of an older build of BPA. Nothing was changed in the cluster", err))
	}
	if err != nil {
		return task.Because(kube.Reason(err), err)
	}
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return task.Because(contract.ReasonInvalidRequest, fmt.Errorf("read %s: %w", key, err))
	}
	return nil
}

// row returns the row of a plugin; the zero value: there is none.
func (r *record) row(name string) contract.PluginStatus {
	i := slices.IndexFunc(r.rows, func(p contract.PluginStatus) bool { return p.Name == name })
	if i < 0 {
		return contract.PluginStatus{}
	}
	return r.rows[i]
}

// set stores the row of a plugin.
func (r *record) set(ctx context.Context, row contract.PluginStatus) error {
	before := r.row(row.Name)
	row.Since = r.now().UTC().Truncate(time.Second)
	if before.State == row.State && !before.Since.IsZero() {
		row.Since = before.Since
	}
	r.rows = append(slices.DeleteFunc(r.rows, func(p contract.PluginStatus) bool { return p.Name == row.Name }), row)
	return r.write(ctx)
}

// drop removes a plugin from the record.
func (r *record) drop(ctx context.Context, name string) error {
	r.rows = slices.DeleteFunc(r.rows, func(p contract.PluginStatus) bool { return p.Name == name })
	if err := r.forget(ctx, name); err != nil {
		return err
	}
	return r.write(ctx)
}

// remember stores what the removal of a plugin needs, before anything of the plugin is applied.
func (r *record) remember(ctx context.Context, name string, a applied) error {
	r.applied[name] = a
	return r.writeApplied(ctx)
}

// forget removes what remember has stored.
func (r *record) forget(ctx context.Context, name string) error {
	if _, ok := r.applied[name]; !ok {
		return nil
	}
	delete(r.applied, name)
	return r.writeApplied(ctx)
}

func (r *record) writeApplied(ctx context.Context) error { return r.put(ctx, keyApplied, r.applied) }

func (r *record) write(ctx context.Context) error {
	place := func(name string) int {
		if i := slices.Index(r.order, name); i >= 0 {
			return i
		}
		return len(r.order)
	}
	slices.SortStableFunc(r.rows, func(a, b contract.PluginStatus) int {
		return cmp.Or(place(a.Name)-place(b.Name), cmp.Compare(a.Name, b.Name))
	})
	return r.put(ctx, contract.KeyPlugins, r.rows)
}

func (r *record) put(ctx context.Context, key string, value any) error {
	text, err := json.Marshal(value)
	if err == nil {
		err = r.store.Set(ctx, key, string(text))
	}
	if err != nil {
		return task.Because(kube.Reason(err), err)
	}
	return nil
}
