package kubespray

import (
	"context"
	"errors"
	"fmt"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/machine"
	"github.com/akraino-icn/bpa/pkg/ssh"
)

// meet connects to all hosts and stores the host keys of new ones.
func meet(ctx context.Context, in Input, key ssh.Key, ports Ports) (contact, error) {
	c, err := recall(ctx, in, ports)
	if err != nil {
		return c, err
	}
	fmt.Fprintf(ports.Log, "Connecting to %s by SSH as user %s\n", some(len(in.Nodes), "host"), in.Request.SSHUser)
	c.visits = visitAll(ctx, in, ports.Log, c.patience(in), func(n contract.Node) visit {
		if n.Address == "" {
			return visit{err: errNoAddress}
		}
		v := probeNode(ctx, in, n, key, c.pins.Of(n.HostUID), ports)
		if v.err == nil {
			v.err = c.checkOwn(in, n, v.report)
		}
		return v
	})
	if err := stopped(ctx, "the reset"); err != nil {
		return c, err
	}
	err = c.pin(ctx, in, ports)
	logVisits(in, c.visits, ports.Log)
	return c, err
}

var (
	// errNoAddress reports that a node has no address.
	errNoAddress = errors.New("its address is not known")
	// errUnproven reports that nothing proves that a machine is the host.
	errUnproven = errors.New("no MAC address and no SSH host key of the host is known, and nothing of this Provisioning is on the machine")
)

// checkOwn returns an error if a reset could hit a machine that is not in use by this Provisioning.
// A request without a UID is for a host that a user has named, so it accepts the cluster of another
// owner. It needs a MAC address or a pinned key too: another machine may have the address of the host.
func (c contact) checkOwn(in Input, n contract.Node, r machine.Report) error {
	known := c.pins.Of(n.HostUID) != nil || len(machine.MACs(n.MACs)) > 0
	switch {
	case in.Request.UID == "":
		if !known {
			return errUnproven
		}
		return nil
	case r.User != contract.User{} && r.User.UID != in.Request.UID:
		return fmt.Errorf("%w: %s", errOccupied, whose(r.User))
	case r.User == contract.User{} && !known:
		return errUnproven
	}
	return nil
}

// gone returns why a host is left out of a reset, as the end of a sentence that begins with the host;
// empty: it is not left out. A host that rejects the login is not left out, because a user can
// correct this.
func gone(err error) string {
	var changed *ssh.KeyChangedError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &changed):
		return "has another SSH host key"
	case errors.Is(err, errWrongMachine):
		return "is another machine"
	case errors.Is(err, errUnproven):
		return "cannot be identified: none of its MAC addresses is known"
	case errors.Is(err, errOccupied):
		return "has the cluster of another Provisioning"
	case errors.Is(err, errNoAddress):
		return "has no known address"
	case errors.Is(err, ssh.ErrUnreachable):
		return "did not answer"
	}
	return ""
}
