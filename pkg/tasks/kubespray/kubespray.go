package kubespray

import (
	"context"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/join"
	"github.com/akraino-icn/bpa/pkg/operate/remove"
	"github.com/akraino-icn/bpa/pkg/operate/reset"
	"github.com/akraino-icn/bpa/pkg/operate/restore"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/operate/upgrade"
)

// Run installs a cluster, removes nodes from it if the playbook is contract.PlaybookRemove, upgrades
// nodes if it is contract.PlaybookUpgrade, or removes the whole cluster if it is contract.PlaybookReset. If
// the operation is contract.OperationConfigure, it applies variables, and if it is
// contract.OperationRestore, it restores a backup. It can be repeated if the playbook can
// be repeated.
func Run(ctx context.Context, in session.Input, ports session.Ports) (session.Output, error) {
	return session.Run(ctx, in, ports, operationOf(in))
}

// operationOf returns what the run does.
func operationOf(in session.Input) session.Operation {
	switch in.Playbook {
	case contract.PlaybookReset:
		return reset.Run
	case contract.PlaybookRemove:
		return remove.Run
	case contract.PlaybookUpgrade:
		return upgrade.Run
	case contract.PlaybookInstall:
		switch in.Request.Operation {
		case contract.OperationAddControlPlane:
			return join.AddControlPlane
		case contract.OperationConfigure:
			return upgrade.Configure
		case contract.OperationRestore:
			return restore.Run
		}
	}
	return join.Install
}
