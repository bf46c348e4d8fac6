package collectkubeconfig

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// deadAddress is the address of a control plane at which nothing answers.
const deadAddress = "192.0.2.1"

// withDead puts a dead control plane before the one that answers. If silent is false, the dead one
// answers by SSH, but has no admin.conf.
func (w *fixture) withDead(silent bool) node.Dial {
	w.in.Nodes = append([]contract.Node{{Name: "master-0", Host: "host-0", HostUID: "u1", Address: deadAddress, Roles: []string{contract.RoleControlPlane}}}, w.in.Nodes...)
	return func(ctx context.Context, to ssh.Target, key ssh.Key, pinned ssh.HostKey) (node.Connection, error) {
		if to.Address != deadAddress {
			return node.DialSSH(ctx, to, key, pinned)
		}
		if silent {
			return nil, ssh.ErrUnreachable
		}
		to.Address = w.ssh.Address
		conn, err := node.DialSSH(ctx, to, key, pinned)
		return empty{conn}, err
	}
}

// empty is a connection to a machine on which no cluster is installed.
type empty struct{ node.Connection }

func (empty) Output(context.Context, string, int) ([]byte, error) {
	return nil, errors.New("no such file")
}

// names makes admin.conf name the API server at another host, with the right port.
func (w *fixture) names(host string) {
	server, err := url.Parse(w.api.URL)
	if err != nil {
		w.t.Fatal(err)
	}
	w.adminConf = strings.ReplaceAll(w.adminConf, w.api.URL, "https://"+host+":"+server.Port())
}

// TestFirstControlPlaneIsDead: the admin.conf of every control plane names the first one. If that one
// is dead, or has left the cluster, the endpoint is that of a control plane that answers.
func TestFirstControlPlaneIsDead(t *testing.T) {
	for _, tc := range []struct {
		name  string
		spoil func(*fixture) node.Dial
	}{
		{"no SSH", func(w *fixture) node.Dial { w.names(deadAddress); return w.withDead(true) }},
		{"SSH, but no cluster", func(w *fixture) node.Dial { w.names(deadAddress); return w.withDead(false) }},
		{"removed by this run", func(w *fixture) node.Dial {
			w.names(deadAddress)
			w.in.Request.Members = []contract.Node{{Name: "master-0", Address: deadAddress}}
			return node.DialSSH
		}},
		{"removed earlier", func(w *fixture) node.Dial { w.names("master-0.invalid"); return node.DialSSH }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newFixture(t)
			dial := tc.spoil(w)
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			out, err := Run(ctx, w.in, Ports{Dial: dial, KnownHosts: w, Log: &w.log})
			if err != nil || out.Endpoint != w.api.URL {
				t.Fatalf("endpoint %s, %v; want %s\n%s", out.Endpoint, err, w.api.URL, w.log.String())
			}
			w.opens(out)
			w.hidesAdmin(map[string]string{})
		})
	}
}

// TestNoControlPlaneWorks: the failure is that of the first control plane.
func TestNoControlPlaneWorks(t *testing.T) {
	w := newFixture(t)
	dial := w.withDead(true)
	w.api.Close()
	_, err := Run(t.Context(), w.in, Ports{Dial: dial, KnownHosts: w, Log: &w.log})
	if f := task.FailureOf(err); f.Reason != contract.ReasonAPIUnavailable {
		t.Errorf("no API server answers: %+v", f)
	}
	w.ssh.Stop()
	_, err = Run(t.Context(), w.in, Ports{Dial: dial, KnownHosts: w, Log: &w.log})
	if f := task.FailureOf(err); f.Reason != contract.ReasonHostUnreachable || f.Host != "master-0" {
		t.Errorf("no control plane answers: %+v", f)
	}
}

// TestLoadBalancerStays: if the user's variables name a load balancer, the endpoint is what admin.conf
// says, even if it does not answer now or has the address of a node.
func TestLoadBalancerStays(t *testing.T) {
	w := newFixture(t)
	w.in.Request.Vars = map[string]json.RawMessage{"loadbalancer_apiserver": json.RawMessage(`{"address":"192.0.2.1","port":6443}`)}
	w.withDead(true)
	w.names("lb.invalid")
	if out, err := w.run(); err == nil {
		t.Errorf("the endpoint %s takes the place of a load balancer that does not answer", out.Endpoint)
	}
}
