package controlplane

import (
	"context"
	"fmt"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/operate/vip"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// ShareAddress lets the control planes that stay pass the address of the API servers among planes, if it moves. Those that
// join must be known before they join: they would take the address for lost. The address stays where it is.
func (p Group) ShareAddress(ctx context.Context, planes []contract.Node) error {
	if !p.Input.Request.API.Moves() {
		return nil
	}
	for _, n := range p.Stay {
		script, err := vip.Write(p.Input.Request.API, n, planes)
		if err != nil {
			return task.Because(contract.ReasonInvalidRequest, err)
		}
		if _, err := p.Must(ctx, n, "update the control planes that have the address of the API servers", script); err != nil {
			return err
		}
	}
	return nil
}

// TakeAddress takes the address of the API servers, if it moves, from control planes that leave: another one has it within a
// second then. A machine whose keepalived does not end is no error here, because its reset proves that the address is gone.
func (p Group) TakeAddress(ctx context.Context, leave []contract.Node) {
	if !p.Input.Request.API.Moves() {
		return
	}
	for _, n := range leave {
		if _, err := p.Run(ctx, n, vip.Stop()); err != nil {
			fmt.Fprintf(p.Ports.Log, "  %s does not give up the address of the API servers: %s\n", n.Name, session.Printable(err.Error()))
		}
	}
}
