package cluster

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akraino-icn/bpa/pkg/appcluster/apitest"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/ssh/sshtest"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// machine is a connection to a control plane, which may have died.
type machine struct {
	plane
	dead *bool
}

func (m machine) Output(context.Context, string, int) ([]byte, error) {
	if *m.dead {
		return nil, ssh.ErrUnreachable
	}
	return nil, nil
}

func (m machine) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if *m.dead {
		return nil, ssh.ErrUnreachable
	}
	return m.plane.DialContext(ctx, network, address)
}

// calling is a client of a cluster with two control planes.
type calling struct {
	*Client
	answer error    // of the API servers; nil: they answer
	dead   bool     // the first control plane
	dialed []string // addresses
	called []string // addresses of API servers
}

func newCalling(t *testing.T) *calling {
	c := &calling{}
	api := apitest.Start(t)
	api.Objects = func(call apitest.Call) ([]runtime.Object, error) {
		c.called = append(c.called, call.Host)
		return nil, c.answer
	}
	key, _ := sshtest.NewKey(t)
	var nodes []contract.Node
	pins := ssh.Pins{}
	for _, id := range []string{"1", "2"} {
		nodes = append(nodes, contract.Node{Name: "master-" + id, HostUID: "uid-" + id, Address: "10.60.0." + id, Roles: []string{contract.RoleControlPlane}})
		pins = pins.With(ssh.Pin{UID: "uid-" + id, Host: "host-" + id, At: "10.60.0." + id + ":22", Key: key.PublicKey()})
	}
	alive := false
	dial := func(_ context.Context, to ssh.Target, _ ssh.Key, _ ssh.HostKey) (node.Connection, error) {
		c.dialed = append(c.dialed, to.Address)
		if to.Address != nodes[0].Address {
			return api.Through(machine{dead: &alive}), nil
		}
		if c.dead {
			return nil, ssh.ErrUnreachable
		}
		return api.Through(machine{dead: &c.dead}), nil
	}
	c.Client = &Client{Input: session.Input{Nodes: nodes, ProbeLimit: 10 * time.Second}, Access: node.Access{Dial: dial, Key: key, Pins: pins, Limit: time.Second}}
	return c
}

func (c *calling) expect(t *testing.T, what string, dialed, called []string) {
	t.Helper()
	if !slices.Equal(c.dialed, dialed) || !slices.Equal(c.called, called) {
		t.Errorf("%s: connected to %v, want %v; API servers called %v, want %v", what, c.dialed, dialed, c.called, called)
	}
	c.dialed, c.called = nil, nil
}

// Each control plane is asked for its own API server. When the first one dies, the next call goes to the second.
func TestCallGoesToTheNextControlPlane(t *testing.T) {
	c := newCalling(t)
	if _, err := c.NodeList(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.expect(t, "alive", []string{"10.60.0.1"}, []string{"10.60.0.1"})
	c.dead, c.answer = true, apitest.ErrAborted
	var silent *SilentError
	if _, err := c.NodeList(t.Context()); err == nil || errors.As(err, &silent) {
		t.Errorf("a control plane that has died: %v", err)
	}
	c.dialed, c.called, c.answer = nil, nil, nil
	if _, err := c.NodeList(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.expect(t, "the first has died", []string{"10.60.0.1", "10.60.0.2"}, []string{"10.60.0.2"})
}

// An API server that does not answer on a control plane that does is another error than a machine that does not, and an
// error that the API server answers is neither. The connection is kept.
func TestCallOfASilentServer(t *testing.T) {
	c := newCalling(t)
	c.answer = apitest.ErrAborted
	var silent *SilentError
	if _, err := c.NodeList(t.Context()); !errors.As(err, &silent) {
		t.Errorf("no answer: %v", err)
	}
	silent = nil
	c.answer = apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "", nil)
	if _, err := c.NodeList(t.Context()); errors.As(err, &silent) || !apierrors.IsForbidden(err) {
		t.Errorf("an answer: %v", err)
	}
	if len(c.dialed) != 1 {
		t.Errorf("connected to %v", c.dialed)
	}
}
