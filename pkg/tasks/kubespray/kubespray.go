package kubespray

import (
	"context"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Run installs a cluster, removes nodes from it if the playbook is contract.PlaybookRemove, upgrades
// nodes if it is contract.PlaybookUpgrade, or removes the whole cluster if it is contract.PlaybookReset. If
// the operation is contract.OperationConfigure, it applies variables, and if it is
// contract.OperationRestore, it restores a backup. It can be repeated if the playbook can
// be repeated.
func Run(ctx context.Context, in Input, ports Ports) (Output, error) {
	return runOperation(ctx, in, ports, operationOf(in))
}

// operationOf returns what the run does.
func operationOf(in Input) operation {
	switch in.Playbook {
	case contract.PlaybookReset:
		return reset
	case contract.PlaybookRemove:
		return remove
	case contract.PlaybookUpgrade:
		return upgrade
	case contract.PlaybookInstall:
		switch in.Request.Operation {
		case contract.OperationAddControlPlane:
			return addControlPlane
		case contract.OperationConfigure:
			return configure
		case contract.OperationRestore:
			return restore
		}
	}
	return install
}
