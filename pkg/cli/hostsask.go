package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/survey"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// askedHost is a host with what the objects say about it, and what its server says.
type askedHost struct {
	object   *metal3.BareMetalHost
	server   survey.Server
	expected survey.Expected
	answer   survey.Answer
	standing survey.Standing
	why      string
}

// login are the flags by which servers are asked that no Provisioning holds.
type login struct {
	secret, user string
	port         int
}

// servers returns what the objects of a namespace say about its hosts.
func (s *site) servers(ctx context.Context, view *hostView, other login) ([]*askedHost, error) {
	list, err := s.list(ctx, scope{})
	if err != nil {
		return nil, err
	}
	n := namespaceFacts{clusters: map[string]*clusterFacts{}, keys: map[string]ssh.Key{}}
	for i := range list {
		if err := s.readCluster(ctx, &list[i], &n); err != nil {
			return nil, err
		}
	}
	if err := s.addLogin(ctx, &n, other); err != nil {
		return nil, err
	}
	all := make([]*askedHost, len(view.facts))
	for i := range view.facts {
		h := &view.facts[i]
		if err := s.readNetworkData(ctx, view.objects[i], h, resetOptions{}); err != nil {
			return nil, err
		}
		all[i] = n.asked(h, view.objects[i])
	}
	return all, nil
}

// namespaceFacts is what is recorded about the clusters of a namespace. logins are in the order of the Provisionings.
type namespaceFacts struct {
	clusters map[string]*clusterFacts // by Provisioning
	pins     ssh.Pins
	logins   []survey.Login
	keys     map[string]ssh.Key // by Secret
}

type clusterFacts struct {
	user      contract.User
	login     []survey.Login
	states    contract.HostStates
	installed contract.Installed
}

// readCluster reads what is recorded about a cluster. A record that cannot be parsed counts as missing: then no node of
// the cluster agrees.
func (s *site) readCluster(ctx context.Context, p *v1alpha1.Provisioning, n *namespaceFacts) error {
	c := &clusterFacts{user: contract.User{Namespace: p.Namespace, Name: p.Name, UID: p.ClusterUID()}}
	n.clusters[p.Name] = c
	record, err := s.configMapOrNone(ctx, contract.InstalledName(p.Name))
	if err != nil {
		return err
	}
	c.states, _ = contract.ParseHostStates(record[contract.KeyHosts])
	_ = json.Unmarshal([]byte(record[contract.KeyInstalled]), &c.installed)
	known, err := s.configMapOrNone(ctx, contract.KnownHostsName(p.Name))
	if err != nil {
		return err
	}
	pins, err := ssh.ParsePins(known[contract.KeyKnownHosts])
	if err != nil {
		return fmt.Errorf("ConfigMap %s: %w", contract.KnownHostsName(p.Name), err)
	}
	n.pins = append(n.pins, pins...)
	p = p.DeepCopy()
	p.SetDefaults(ctx)
	before := len(n.logins)
	err = s.addLogin(ctx, n, login{p.Spec.SSH.SecretName, p.Spec.SSH.User, int(p.Spec.SSH.Port)})
	c.login = n.logins[before:]
	return err
}

// configMapOrNone returns the data of a ConfigMap, or nil if it does not exist.
func (s *site) configMapOrNone(ctx context.Context, name string) (map[string]string, error) {
	var cm corev1.ConfigMap
	if err := s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, &cm); client.IgnoreNotFound(err) != nil {
		return nil, s.explain(err)
	}
	return cm.Data, nil
}

// addLogin adds a way to log in. A Secret that does not exist is none.
func (s *site) addLogin(ctx context.Context, n *namespaceFacts, l login) error {
	key, known := n.keys[l.secret]
	if !known {
		var secret corev1.Secret
		err := s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: l.secret}, &secret)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the SSH key to the servers, Secret %s: %w", l.secret, s.explain(err))
		}
		if key, err = ssh.ParseKey(secret.Data[node.KeyFile]); err != nil {
			return fmt.Errorf("the key %s of Secret %s in namespace %s %w", node.KeyFile, l.secret, s.namespace, err)
		}
		n.keys[l.secret] = key
	}
	n.logins = append(n.logins, survey.Login{User: l.user, Port: l.port, Key: key})
	return nil
}

// asked returns a host with the cluster that the objects give it, and the ways to reach it.
func (n *namespaceFacts) asked(h *hosts.Host, object *metal3.BareMetalHost) *askedHost {
	a := &askedHost{object: object, expected: survey.Expected{MACs: h.MACs, Cluster: h.UsedBy}}
	a.server = survey.Server{Pinned: n.pins.Of(h.UID), MACs: h.MACs}
	switch {
	case h.Holder == nil:
	case h.Holder.Kind != hosts.Kind || h.Holder.Group != hosts.Group:
		a.expected.Holder = h.Holder.String()
	default:
		if c := n.clusters[h.Holder.Name]; c != nil && h.Holder.Namespace == c.user.Namespace {
			a.server.Logins = c.login
			i := slices.IndexFunc(c.installed.Nodes, func(n contract.Node) bool { return n.HostUID == h.UID })
			if a.expected.Member = i >= 0; i >= 0 {
				a.server.Add(c.installed.Nodes[i].Address, c.installed.Nodes[i].Address6)
			}
			if i >= 0 || c.states[h.UID] == contract.HostUsed {
				a.expected.Cluster = c.user
			}
		}
	}
	a.expected.Pinned = a.server.Pinned != nil
	a.server.Logins = slices.Concat(a.server.Logins, n.logins)
	for _, nic := range h.NICs {
		for _, ip := range nic.IPs {
			a.server.Add(ip.String())
		}
	}
	for _, data := range h.NetworkData {
		a.server.Add(data.IP.String())
	}
	return a
}

// ask asks the servers, and reports each answer in words as soon as it is there.
func (s *session) ask(ctx context.Context, all []*askedHost, limit time.Duration, words func(*askedHost) string) error {
	servers := make([]survey.Server, len(all))
	for i, a := range all {
		servers[i] = a.server
	}
	count := 0
	survey.AskAll(ctx, s.dial, servers, limit, func(i int, answer survey.Answer) {
		a := all[i]
		a.answer = answer
		a.standing, a.why = survey.Judge(a.expected, answer)
		count++
		_, _ = fmt.Fprintf(s.ErrOut, "asked %d of %d: %s/%s %s\n", count, len(all), a.object.Namespace, a.object.Name, words(a))
	})
	if ctx.Err() != nil {
		return exitf(codeInterrupted, "interrupted: nothing was changed")
	}
	return nil
}
