package change

import "github.com/akraino-icn/bpa/pkg/contract"

// Software returns the operation that gives the nodes of the cluster the packages of its Softwares. Like the
// one for plugins, it changes neither the members nor their versions.
func Software(s State) Step { return s.asItIs(contract.OperationSoftware) }
