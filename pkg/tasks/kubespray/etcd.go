package kubespray

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// member is a member of etcd, as etcdctl prints it. A member that has never started has no name and
// no client URLs.
type member struct {
	ID                   uint64
	Name                 string
	PeerURLs, ClientURLs []string
	IsLearner            bool
}

// at reports whether the member is at one of the IP addresses.
func (m member) at(addresses ...string) bool {
	return slices.ContainsFunc(m.PeerURLs, func(peer string) bool { return atAddress(peer, addresses) })
}

// healthyIn reports whether the member answers. healthy are the client URLs of those that do.
func (m member) healthyIn(healthy []string) bool {
	return slices.ContainsFunc(m.ClientURLs, func(client string) bool { return slices.Contains(healthy, client) })
}

// removal returns the member of etcd at one of the addresses; false: there is none. healthy are the
// client URLs of the members that answer. It is an error if, without the member, etcd does not have
// a healthy majority.
func removal(members []member, healthy []string, addresses []string) (member, bool, error) {
	i := slices.IndexFunc(members, func(m member) bool { return m.at(addresses...) })
	if i < 0 {
		return member{}, false, nil
	}
	voters, alive := 0, 0
	for j, m := range members {
		if j == i || m.IsLearner {
			continue
		}
		voters++
		if m.healthyIn(healthy) {
			alive++
		}
	}
	if voters == 0 {
		return member{}, false, errors.New("it has the only member of etcd. Remove another control plane, or add one first")
	}
	if majority := voters/2 + 1; alive < majority {
		return member{}, false, fmt.Errorf("without it, only %d of %d members of etcd are healthy, and %d must be. "+
			"Switch on or repair another control plane first; the next attempt continues", alive, voters, majority)
	}
	return members[i], true, nil
}

// atAddress reports whether the host of a URL is one of the IP addresses.
func atAddress(text string, addresses []string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	at, err := netip.ParseAddr(u.Hostname())
	return err == nil && slices.ContainsFunc(addresses, func(address string) bool {
		one, err := netip.ParseAddr(address)
		return err == nil && one.Unmap() == at.Unmap()
	})
}

// errNoEtcd reports that a control plane has no member of etcd.
var errNoEtcd = errors.New("etcd is not found")

// removeMember removes a control plane from etcd, before its machine is reset. It asks the Ready
// control planes in their order, because kubespray leaves a control plane out of etcd if their
// number is even. If etcd does not have the member, nothing is left to do.
func (c *cluster) removeMember(ctx context.Context, all []contract.Node, n contract.Node) error {
	return c.leaveEtcd(ctx, all, n, true)
}

// checkQuorum returns an error if etcd would not have a healthy majority without the control plane.
func (c *cluster) checkQuorum(ctx context.Context, all []contract.Node, n contract.Node) error {
	return c.leaveEtcd(ctx, all, n, false)
}

// leaveEtcd finds the member of a control plane, checks that etcd can lose it, and removes it if
// remove is true.
func (c *cluster) leaveEtcd(ctx context.Context, all []contract.Node, n contract.Node, remove bool) error {
	others := slices.DeleteFunc(slices.Clone(all), func(via contract.Node) bool { return via.HostUID == n.HostUID })
	return c.onEtcd(ctx, others, func(e etcdClient) error {
		members, healthy, err := e.look()
		if err != nil {
			return err
		}
		m, found, err := removal(members, healthy, []string{n.Address, n.Address6})
		if err != nil || !found || !remove {
			return err
		}
		return e.remove(m)
	})
}

// onEtcd calls do with a client of etcd on the first of the Ready control planes that has a member.
func (c *cluster) onEtcd(ctx context.Context, all []contract.Node, do func(etcdClient) error) error {
	for _, via := range node.ControlPlanes(all) {
		if !c.ready[via.Name] || !kubernetesName.MatchString(via.Name) {
			continue
		}
		err := c.onEtcdVia(ctx, via, do)
		if !errors.Is(err, errNoEtcd) {
			return err
		}
	}
	return fmt.Errorf("no Ready control plane has a member of etcd: %w", errNoEtcd)
}

func (c *cluster) onEtcdVia(ctx context.Context, via contract.Node, do func(etcdClient) error) error {
	conn, _, err := c.w.access.FirstControlPlane(ctx, []contract.Node{via})
	if err != nil {
		return err
	}
	defer conn.Close()
	client, err := c.etcdctl(ctx, conn, via)
	if err != nil {
		return err
	}
	return do(client)
}

// etcdClient runs etcdctl on a control plane.
type etcdClient struct {
	via     contract.Node
	run     func(arguments string, into any) error
	command string // etcdctl with the endpoint and the certificates
	inPod   bool   // command runs in the pod of etcd
}

// look returns the members of etcd, and the client URLs of those that are healthy.
func (e etcdClient) look() (members []member, healthy []string, err error) {
	var list struct{ Members []member }
	if err := e.run("member list", &list); err != nil {
		return nil, nil, fmt.Errorf("list the members of etcd on %s: %w", e.via.Name, err)
	}
	var health []struct {
		Endpoint string
		Health   bool
	}
	var exit *ssh.ExitError
	if err := e.run("endpoint health --cluster", &health); err != nil && (!errors.As(err, &exit) || len(health) == 0) { // it fails if one member is not healthy
		return nil, nil, fmt.Errorf("ask the members of etcd on %s for their health: %w", e.via.Name, err)
	}
	for _, h := range health {
		if h.Health {
			healthy = append(healthy, h.Endpoint)
		}
	}
	return list.Members, healthy, nil
}

func (e etcdClient) remove(m member) error {
	if err := e.run(fmt.Sprintf("member remove %x", m.ID), nil); err != nil {
		return fmt.Errorf("remove member %x of etcd on %s: %w", m.ID, e.via.Name, err)
	}
	return nil
}

// Places of etcd's client certificates on a control plane. Kubespray installs etcd on the machine, or
// lets kubeadm run it in a pod.
const (
	hostCertificates = "/etc/ssl/etcd/ssl/"
	etcdEndpoint     = " --endpoints https://127.0.0.1:2379"
)

// etcdctl returns a client that runs etcdctl on a control plane and parses its output.
func (c *cluster) etcdctl(ctx context.Context, conn node.Connection, via contract.Node) (etcdClient, error) {
	asRoot := func(command string) ([]byte, error) {
		ctx, cancel := context.WithTimeout(ctx, c.w.in.ProbeLimit)
		defer cancel()
		return conn.Output(ctx, node.AsRoot(c.w.in.Request, command), 1<<20)
	}
	client := hostCertificates + "admin-" + via.Name
	for i, way := range []struct{ needs, command string }{
		{client + ".pem", `env PATH="$PATH:/usr/local/bin:/opt/bin" ETCDCTL_API=3 etcdctl` + etcdEndpoint +
			" --cacert " + hostCertificates + "ca.pem --cert " + client + ".pem --key " + client + "-key.pem "},
		{"/etc/kubernetes/ssl/etcd/server.crt", podEtcdctl(c.w.in.kubectlOn(via), via, "/etc/kubernetes/ssl/etcd/")},
		{"/etc/kubernetes/pki/etcd/server.crt", podEtcdctl(c.w.in.kubectlOn(via), via, "/etc/kubernetes/pki/etcd/")},
	} {
		var exit *ssh.ExitError
		if _, err := asRoot("test -s " + way.needs); errors.As(err, &exit) {
			continue
		} else if err != nil {
			return etcdClient{}, err
		}
		return etcdClient{via: via, run: jsonOf(asRoot, way.command), command: way.command, inPod: i > 0}, nil
	}
	return etcdClient{}, errNoEtcd
}

// jsonOf returns a function that runs etcdctl with arguments and parses its output.
func jsonOf(asRoot func(command string) ([]byte, error), etcdctl string) func(arguments string, into any) error {
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
	return strings.TrimSpace(command) + " --namespace kube-system exec etcd-" + via.Name + " -- etcdctl" + etcdEndpoint +
		" --cacert " + certificates + "ca.crt --cert " + certificates + "server.crt --key " + certificates + "server.key "
}
