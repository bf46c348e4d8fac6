package change

import "github.com/akraino-icn/bpa/pkg/contract"

// Plugins returns the operation that gives the cluster the plugins of the spec and changes no node.
func Plugins(s State) Step { return s.asItIs(contract.OperationPlugins) }

// Collect returns the operation that requests a certificate for the kubeconfig and changes no node.
func Collect(s State) Step { return s.asItIs(contract.OperationCollect) }

// asItIs returns an operation that changes neither the members of the cluster nor their versions.
func (s State) asItIs(operation string) Step {
	step := s.step(operation, nil, nil, func(contract.Node) bool { return true })
	for i := range step.Request.Sets {
		step.Request.Sets[i].Standby = min(step.Request.Sets[i].Standby, s.standby(step.Request.Sets[i].Name))
	}
	step.Request.Lost, step.Request.Kept = s.losses(nil)
	return step
}
