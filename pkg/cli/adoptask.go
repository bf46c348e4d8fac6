package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/akraino-icn/bpa/pkg/adopt"
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/etcd"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// mostOfCluster limits an answer of the cluster, in bytes. A node has about 10 KB.
const mostOfCluster = 64 << 20

// askAll asks the servers of the hosts.
func (s *session) askAll(ctx context.Context, a *adoption, name string, wanted *v1alpha1.Provisioning, o *adoptOptions) ([]adopt.Server, error) {
	there := a.site
	if wanted != nil {
		there = a.site.in(wanted.HostNamespace())
	}
	view, err := there.hosts(ctx)
	if err != nil {
		return nil, err
	}
	n := namespaceFacts{keys: map[string]ssh.Key{}}
	if err := a.site.addLogin(ctx, &n, o.login); err != nil {
		return nil, err
	}
	if len(n.logins) == 0 {
		return nil, fmt.Errorf("there is no Secret %s in namespace %s: make it from the SSH key of the site:\n  %s", o.login.secret, a.site.namespace,
			a.site.kubectl("create secret generic "+o.login.secret, "--type=kubernetes.io/ssh-auth --from-file=ssh-privatekey=FILE"))
	}
	known, err := a.site.configMapOrNone(ctx, contract.KnownHostsName(name))
	if err != nil {
		return nil, err
	}
	if n.pins, err = ssh.ParsePins(known[contract.KeyKnownHosts]); err != nil {
		return nil, fmt.Errorf("ConfigMap %s: %w", contract.KnownHostsName(name), err)
	}
	var asked []*askedHost
	var servers []adopt.Server
	for i := range view.facts {
		h := &view.facts[i]
		if len(o.hosts) > 0 && !slices.Contains(o.hosts, h.Name) {
			continue
		}
		if err := there.readNetworkData(ctx, view.objects[i], h, resetOptions{}); err != nil {
			return nil, err
		}
		host := n.asked(h, view.objects[i])
		host.server.Member = true
		asked, servers = append(asked, host), append(servers, adopt.Server{Host: *h})
		a.objects[h.Name] = view.objects[i]
	}
	for _, name := range o.hosts {
		if a.objects[name] == nil {
			return nil, usageError(fmt.Errorf("--hosts names %s, which namespace %s does not have", name, there.namespace))
		}
	}
	if len(asked) == 0 {
		return nil, noHosts(there.namespace, wanted)
	}
	if err := s.ask(ctx, asked, o.limit, markOf); err != nil {
		return nil, err
	}
	for i := range asked {
		servers[i].Answer = asked[i].answer
	}
	return servers, nil
}

// noHosts says what to do about a namespace without hosts: that of the file, or without one, that of the Provisioning.
func noHosts(namespace string, wanted *v1alpha1.Provisioning) error {
	const register = "register those of the cluster first, with externallyProvisioned: true"
	if wanted != nil {
		return fmt.Errorf("there are no BareMetalHosts in namespace %s: %s", namespace, register)
	}
	return fmt.Errorf("there are no BareMetalHosts in namespace %s: if those of the cluster are in another namespace, give a file with spec.hostNamespace with -f; otherwise %s", namespace, register)
}

// markOf says in words whose cluster is on a server.
func markOf(a *askedHost) string {
	switch {
	case a.answer.Err != nil:
		return string(a.standing)
	case a.answer.User == contract.User{}:
		return "has no mark of a cluster"
	}
	return "has the mark of " + clean(a.answer.User.Cluster())
}

// askCluster asks the cluster and its etcd, on the first control plane that answers.
func (s *session) askCluster(ctx context.Context, user contract.User, servers []adopt.Server, limit time.Duration) (adopt.Cluster, error) {
	planes := adopt.Planes(user, servers)
	if len(planes) == 0 {
		return adopt.Cluster{}, fmt.Errorf("no control plane of %s answers, so that nothing proves which nodes it has. See which servers answer:\n  kubectl bpa hosts attach -n %s --dry-run=server", user.Cluster(), user.Namespace)
	}
	var first error
	for _, plane := range planes {
		_, _ = fmt.Fprintf(s.ErrOut, "asking the cluster on %s\n", plane.Host.Name)
		c, err := s.askPlane(ctx, plane, planes, limit)
		if err == nil {
			return c, nil
		}
		first = cmp.Or(first, fmt.Errorf("ask the cluster on the control plane %s: %w", plane.Host.Name, err))
		if ctx.Err() != nil {
			return c, exitf(codeInterrupted, "interrupted: nothing was changed")
		}
	}
	return adopt.Cluster{}, first
}

// asPlane returns the server as a control plane of package node. Its name is that of its node.
func asPlane(s adopt.Server) contract.Node {
	return contract.Node{Name: s.Answer.Member.Node(), Host: s.Host.Name, HostUID: s.Host.UID, Address: s.Answer.Address, Roles: []string{contract.RoleControlPlane}}
}

func (s *session) askPlane(ctx context.Context, plane adopt.Server, planes []adopt.Server, limit time.Duration) (c adopt.Cluster, err error) {
	login, n := plane.Answer.Login, asPlane(plane)
	access := node.Access{Dial: s.dial, Request: contract.Request{Spec: contract.Spec{SSHUser: login.User, SSHPort: login.Port}}, Key: login.Key,
		Pins: ssh.Pins{{UID: plane.Host.UID, Host: plane.Host.Name, At: plane.Answer.At, Key: plane.Answer.Key}}, Limit: limit}
	conn, _, err := access.FirstControlPlane(ctx, []contract.Node{n})
	if err != nil {
		return c, err
	}
	defer conn.Close()
	ask := func(kubectl string) (c adopt.Cluster, err error) {
		for _, q := range adopt.Questions {
			answer, err := answerOf(ctx, conn, node.AsRoot(access.Request, kubectl+q.Arguments), limit)
			if err == nil {
				err = q.Read(&c, answer)
			}
			if err != nil {
				return c, fmt.Errorf("kubectl %s: %w", q.Arguments, err)
			}
		}
		return c, nil
	}
	kubectl := node.OwnKubectl(n, nil) // its admin.conf can name a control plane, or a load balancer, that does not answer
	c, err = ask(kubectl)
	if plain := node.Kubectl(n, nil, nil); err != nil && plain != kubectl { // its API server has another port, or does not answer
		var failed error
		if c, failed = ask(plain); failed == nil {
			kubectl, err = plain, nil
		}
	}
	if err != nil {
		return c, err
	}
	reach := etcd.Reach{Access: access, Kubectl: func(contract.Node) string { return kubectl }, Limit: limit}
	err = reach.On(ctx, []contract.Node{n}, func(client etcd.Client) error {
		var list struct{ Members []etcd.Member }
		err := client.Run("member list", &list)
		for _, m := range list.Members {
			c.Members = append(c.Members, adopt.Member{Name: m.Name, PeerURLs: m.PeerURLs})
		}
		return err
	})
	if errors.Is(err, etcd.ErrNone) && len(planes) > 1 {
		return c, fmt.Errorf("it has no member of etcd: %w", err)
	}
	if err != nil {
		return c, fmt.Errorf("list the members of etcd: %w", err)
	}
	return c, nil
}

func answerOf(ctx context.Context, conn node.Connection, command string, limit time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return conn.Output(ctx, command, mostOfCluster)
}
