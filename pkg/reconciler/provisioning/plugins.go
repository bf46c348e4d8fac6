package provisioning

import (
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/contract/from"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
)

// observePlugins reads what the task install-plugins has stored, and whether the requested plugins can be
// installed.
func (r *Reconciler) observePlugins(p *v1alpha1.Provisioning, seen *plan.Seen) error {
	seen.Plugins = plan.Plugins{Problem: from.PluginProblem(p), Unconfirmed: plan.UnconfirmedPlugins(p)}
	return r.readJSON(p, contract.PluginsName(p.Name), contract.KeyPlugins, &seen.Plugins.Record)
}
