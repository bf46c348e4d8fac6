package remove

import (
	"context"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
)

// repin pins the host keys of members that have none, because a user has deleted their lines: no other run
// contacts a member for the first time. meet proves whose machines they are. A machine that does not answer gets
// no pin; the check of the cluster reports its node.
func (r *remover) repin(ctx context.Context) error {
	missing := slices.DeleteFunc(slices.Clone(r.in.Nodes), func(n contract.Node) bool {
		known := r.c.Pins.Of(n.HostUID) != nil || slices.Contains(r.in.Request.Lost, n.Name)
		return known || n.Address == "" || !session.HasName(r.members.Now.Nodes, n.Name)
	})
	if len(missing) == 0 {
		return nil
	}
	r.progress.Set(0, "Pin the SSH host keys of "+session.JoinNames(missing))
	in := r.in.For(missing)
	in.Request.OperatingSystem = "" // does not matter here
	c, err := session.Connect(ctx, in, r.key, r.ports)
	if err != nil {
		return err
	}
	r.c = c
	visits := slices.Clone(c.Visits)
	for i := range visits {
		if session.IsSilent(visits[i].Err) {
			visits[i].Err = nil
		}
	}
	return session.Worst(in, visits)
}
