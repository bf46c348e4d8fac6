package prepare

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/operate/vip"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// addressLimit bounds the time of the script on one node.
const addressLimit = 2 * time.Minute

// giveAddress gives a control plane its part of the address that moves, if the request has one. It comes before the playbook:
// kubeadm calls the API at the address as soon as the first API server runs.
func giveAddress(ctx context.Context, in session.Input, n contract.Node, conn node.Connection) error {
	if !in.Request.API.Moves() || !slices.Contains(n.Roles, contract.RoleControlPlane) {
		return nil
	}
	script, err := vip.Write(in.Request.API, n, node.ControlPlanes(in.AllNodes()))
	if err != nil {
		return fmt.Errorf("%w: %w", session.ErrNoAddressOfServers, err)
	}
	ctx, cancel := context.WithTimeout(ctx, addressLimit)
	defer cancel()
	_, err = node.Shell(in.Request, conn)(ctx, script)
	var exit *ssh.ExitError
	if errors.As(err, &exit) {
		return fmt.Errorf("%w: %w", session.ErrNoAddressOfServers, exit)
	}
	return err
}
