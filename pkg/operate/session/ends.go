package session

import (
	"context"
	"fmt"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Ends returns a function that reports whether the controller asks the run to end after the nodes on which it works,
// because an urgent change of the cluster waits. If the question has no answer, the run goes on.
func (in Input) Ends(ports Ports) func(context.Context) bool {
	return func(ctx context.Context) bool {
		run, err := ports.Progress.Get(ctx, contract.KeyEnds)
		if err != nil {
			fmt.Fprintf(ports.Log, "  It is not known whether another change comes first: %v\n", err)
			return false
		}
		return run != "" && run == in.Run
	}
}
