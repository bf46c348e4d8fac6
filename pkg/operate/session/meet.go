package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/machine"
	"github.com/akraino-icn/bpa/pkg/ssh"
)

// Connect connects to all hosts whose machines are to be reset, and stores the host keys of new ones. The error of a
// host is in its Visit: WhyAbsent decides whether the host is left out. An error means that the run ends.
func Connect(ctx context.Context, in Input, key ssh.Key, ports Ports) (Contact, error) {
	c, err := Recall(ctx, in, ports)
	if err != nil {
		return c, err
	}
	fmt.Fprintf(ports.Log, "Connecting to %s by SSH as user %s\n", Count(len(in.Nodes), "host"), in.Request.SSHUser)
	c.Visits = VisitAll(ctx, in, ports.Log, c.patience(in), func(n contract.Node) Visit {
		if n.Address == "" {
			return Visit{Err: ErrNoAddress}
		}
		v := ProbeNode(ctx, in, n, key, c.Pins.Of(n.HostUID), ports)
		if v.Err == nil {
			v.Err = c.CheckOwn(in, n, v.Report)
		}
		return v
	})
	if err := Stopped(ctx, "the reset"); err != nil {
		return c, err
	}
	err = c.pin(ctx, in, ports)
	LogVisits(in, c.Visits, ports.Log)
	return c, err
}

var (
	// ErrNoAddress reports that a node has no address.
	ErrNoAddress = errors.New("its address is not known")
	// errUnproven reports that nothing proves that a machine is the host.
	errUnproven = errors.New("no MAC address and no SSH host key of the host is known, and nothing of this Provisioning is on the machine")
)

// CheckOwn returns an error if a reset could hit a machine that is not in use by this Provisioning.
// A request without a UID is for a host that a user has named, so it accepts the cluster of another
// owner. It needs a MAC address or a pinned key too: another machine may have the address of the host.
func (c Contact) CheckOwn(in Input, n contract.Node, r machine.Report) error {
	known := c.Pins.Of(n.HostUID) != nil || len(machine.MACs(n.MACs)) > 0
	switch {
	case in.Request.UID == "":
		if !known {
			return errUnproven
		}
		return nil
	case r.User != contract.User{} && r.User.UID != in.Request.UID:
		return fmt.Errorf("%w: %s", ErrOccupied, DescribeOwner(r.User))
	case r.User == contract.User{} && !known:
		return errUnproven
	}
	return nil
}

// WhyAbsent returns why a host is left out of a reset, as the end of a sentence that begins with the host;
// empty: it is not left out. A host that rejects the login is not left out, because a user can
// correct this.
func WhyAbsent(err error) string {
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
	case errors.Is(err, ErrOccupied):
		return "has the cluster of another Provisioning"
	case errors.Is(err, ErrNoAddress):
		return "has no known address"
	case errors.Is(err, ssh.ErrUnreachable):
		return "did not answer"
	}
	return ""
}
