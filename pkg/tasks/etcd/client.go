package etcd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// ErrNone reports that a control plane has no member of etcd.
var ErrNone = errors.New("etcd is not found")

// Client runs etcdctl on a control plane.
type Client struct {
	Via     contract.Node
	Run     func(arguments string, into any) error
	Command string // etcdctl with the endpoint and the certificates
	InPod   bool   // Command runs in the pod of etcd
}

// Reach says how control planes are reached.
type Reach struct {
	Access node.Access
	// Kubectl returns the beginning of a command that runs kubectl on a control plane.
	Kubectl func(contract.Node) string
	Limit   time.Duration // of one command
}

// On calls do with a client on the first of the control planes that has a member. Kubespray leaves a control
// plane out of etcd if their number is even.
func (r Reach) On(ctx context.Context, planes []contract.Node, do func(Client) error) error {
	for _, via := range planes {
		if err := r.via(ctx, via, do); !errors.Is(err, ErrNone) {
			return err
		}
	}
	return fmt.Errorf("no Ready control plane has a member of etcd: %w", ErrNone)
}

func (r Reach) via(ctx context.Context, via contract.Node, do func(Client) error) error {
	conn, _, err := r.Access.FirstControlPlane(ctx, []contract.Node{via})
	if err != nil {
		return err
	}
	defer conn.Close()
	client, err := r.find(ctx, conn, via)
	if err != nil {
		return err
	}
	return do(client)
}

// Spares returns an error if etcd has no majority without the control plane node. planes are asked in their
// order.
func (r Reach) Spares(ctx context.Context, planes []contract.Node, n contract.Node) error {
	return r.On(ctx, planes, func(c Client) error {
		members, healthy, err := c.Look()
		if err != nil {
			return err
		}
		return Spare(members, healthy, []string{n.Address, n.Address6})
	})
}

// Look returns the members of etcd, and the client URLs of those that are healthy.
func (c Client) Look() (members []Member, healthy []string, err error) {
	var list struct{ Members []Member }
	if err := c.Run("member list", &list); err != nil {
		return nil, nil, fmt.Errorf("list the members of etcd on %s: %w", c.Via.Name, err)
	}
	var health []struct {
		Endpoint string
		Health   bool
	}
	var exit *ssh.ExitError
	if err := c.Run("endpoint health --cluster", &health); err != nil && (!errors.As(err, &exit) || len(health) == 0) { // it fails if one member is not healthy
		return nil, nil, fmt.Errorf("ask the members of etcd on %s for their health: %w", c.Via.Name, err)
	}
	for _, h := range health {
		if h.Health {
			healthy = append(healthy, h.Endpoint)
		}
	}
	return list.Members, healthy, nil
}

// Remove removes a member.
func (c Client) Remove(m Member) error {
	if err := c.Run(fmt.Sprintf("member remove %x", m.ID), nil); err != nil {
		return fmt.Errorf("remove member %x of etcd on %s: %w", m.ID, c.Via.Name, err)
	}
	return nil
}

// Places of etcd's client certificates on a control plane. Kubespray installs etcd on the machine, or
// lets kubeadm run it in a pod.
const (
	HostCertificates = "/etc/ssl/etcd/ssl/"
	Endpoint         = " --endpoints https://127.0.0.1:2379"
)

// find returns a client that runs etcdctl on a control plane and parses its output.
func (r Reach) find(ctx context.Context, conn node.Connection, via contract.Node) (Client, error) {
	asRoot := func(command string) ([]byte, error) {
		ctx, cancel := context.WithTimeout(ctx, r.Limit)
		defer cancel()
		return conn.Output(ctx, node.AsRoot(r.Access.Request, command), 1<<20)
	}
	client := HostCertificates + "admin-" + via.Name
	for i, way := range []struct{ needs, command string }{
		{client + ".pem", `env PATH="$PATH:/usr/local/bin:/opt/bin" ETCDCTL_API=3 etcdctl` + Endpoint +
			" --cacert " + HostCertificates + "ca.pem --cert " + client + ".pem --key " + client + "-key.pem "},
		{"/etc/kubernetes/ssl/etcd/server.crt", podEtcdctl(r.Kubectl(via), via, "/etc/kubernetes/ssl/etcd/")},
		{"/etc/kubernetes/pki/etcd/server.crt", podEtcdctl(r.Kubectl(via), via, "/etc/kubernetes/pki/etcd/")},
	} {
		var exit *ssh.ExitError
		if _, err := asRoot("test -s " + way.needs); errors.As(err, &exit) {
			continue
		} else if err != nil {
			return Client{}, err
		}
		return Client{Via: via, Run: JSON(asRoot, way.command), Command: way.command, InPod: i > 0}, nil
	}
	return Client{}, ErrNone
}

// JSON returns a function that runs etcdctl with arguments and parses its output.
func JSON(asRoot func(command string) ([]byte, error), etcdctl string) func(arguments string, into any) error {
	return func(arguments string, into any) error {
		text, err := asRoot(etcdctl + arguments + " --write-out json")
		if into != nil && len(text) > 0 {
			if broken := json.Unmarshal(text, into); broken != nil {
				return errors.Join(err, fmt.Errorf("the output of etcdctl is unreadable: %w", broken))
			}
		}
		return err
	}
}

// podEtcdctl is the command that runs etcdctl in the pod of etcd.
// command is kubectl on this control plane.
func podEtcdctl(command string, via contract.Node, certificates string) string {
	return strings.TrimSpace(command) + " --namespace kube-system exec etcd-" + via.Name + " -- etcdctl" + Endpoint +
		" --cacert " + certificates + "ca.crt --cert " + certificates + "server.crt --key " + certificates + "server.key "
}
