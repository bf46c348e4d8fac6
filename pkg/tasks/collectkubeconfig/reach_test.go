package collectkubeconfig

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
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

// TestDeclaredLoadBalancer: with a load balancer in the spec, the kubeconfig names it, and the task asks the API server of
// the control plane itself, so that it does not depend on the load balancer.
func TestDeclaredLoadBalancer(t *testing.T) {
	for name, works := range map[string]bool{"it answers": true, "it does not": false} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t)
			server, err := url.Parse(w.api.URL)
			if err != nil {
				t.Fatal(err)
			}
			port, err := strconv.Atoi(server.Port())
			if err != nil {
				t.Fatal(err)
			}
			w.in.Request.Vars = map[string]json.RawMessage{"kube_apiserver_port": json.RawMessage(server.Port())}
			w.in.Request.API = &contract.API{Address: "lb.invalid", Port: port}
			w.names("lb.invalid")
			if works {
				w.in.Request.API.Address = server.Hostname()
			}
			out, err := w.run()
			if err != nil || out.Endpoint != w.in.Request.API.URL() {
				t.Fatalf("endpoint %q, %v; want %s\n%s", out.Endpoint, err, w.in.Request.API.URL(), w.log.String())
			}
			if warned := strings.Contains(w.log.String(), "the address of spec.kubernetes.api does not answer"); warned == works {
				t.Errorf("the log says:\n%s", w.log.String())
			}
		})
	}
}

// TestForeignCluster: the task takes nothing from the cluster of another owner and gives its user no rights
// there, although the machine accepts the login.
func TestForeignCluster(t *testing.T) {
	other := contract.User{Namespace: "site", Name: "edge-2", UID: "uid-of-edge-2"}
	for _, tc := range []struct {
		name  string
		spoil func(*fixture)
		says  string // empty: the task succeeds
	}{
		{"another Provisioning uses the machine", func(w *fixture) { w.mark = other }, `belongs to Provisioning "site/edge-2"`},
		{"also with this cluster's CA", func(w *fixture) { w.mark, w.in.Request.ClusterCA = other, w.clientCA }, `belongs to Provisioning "site/edge-2"`},
		{"a Provisioning of this name before", func(w *fixture) { w.mark.UID = "before" }, `belongs to an earlier Provisioning "site/edge-1"`},
		{"no mark, and no CA is known", func(w *fixture) { w.mark = contract.User{} }, "does not say whose it is"},
		{"another CA", func(w *fixture) { w.in.Request.ClusterCA = inPEM("CERTIFICATE", newAuthority(w.t).cert.Raw) }, "another CA"},
		{"the known CA", func(w *fixture) { w.in.Request.ClusterCA = w.clientCA }, ""},
		{"an old and a new CA", func(w *fixture) {
			w.in.Request.ClusterCA = inPEM("CERTIFICATE", newAuthority(w.t).cert.Raw) + w.clientCA
		}, ""},
		{"a lost mark, and the known CA", func(w *fixture) { w.mark, w.in.Request.ClusterCA = contract.User{}, w.clientCA }, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newFixture(t)
			tc.spoil(w)
			_, err := w.run()
			if tc.says == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil {
				t.Fatalf("the task succeeded, with %d signed requests and %d bindings", w.creates, len(w.bindings))
			}
			f := task.FailureOf(err)
			if f.Reason != contract.ReasonHostOccupied || f.Host != "master-1" || !strings.Contains(f.Message, tc.says) {
				t.Errorf("failure %+v, want %s with %q", f, contract.ReasonHostOccupied, tc.says)
			}
			if w.creates > 0 || len(w.bindings) > 0 {
				t.Errorf("%d requests were signed and %d bindings made in the cluster of another owner", w.creates, len(w.bindings))
			}
		})
	}
}

// TestForeignMachineIsPassedOver: the task goes on with a control plane that is of this Provisioning.
func TestForeignMachineIsPassedOver(t *testing.T) {
	w := newFixture(t)
	w.in.Nodes = append([]contract.Node{{Name: "master-0", HostUID: "u1", Address: deadAddress, Roles: []string{contract.RoleControlPlane}}}, w.in.Nodes...)
	out, err := Run(t.Context(), w.in, Ports{KnownHosts: w, Log: &w.log, Dial: func(ctx context.Context, to ssh.Target, key ssh.Key, pinned ssh.HostKey) (node.Connection, error) {
		foreign := to.Address == deadAddress
		to.Address = w.ssh.Address
		conn, err := node.DialSSH(ctx, to, key, pinned)
		if foreign && err == nil {
			return marked{conn, contract.User{Namespace: "site", Name: "edge-2", UID: "uid-of-edge-2"}}, nil
		}
		return conn, err
	}})
	if err != nil || out.Endpoint != w.api.URL || !strings.Contains(w.log.String(), "master-0, trying the next control plane") {
		t.Errorf("%+v, %v:\n%s", out, err, w.log.String())
	}
}

// marked is a connection to a machine that a Provisioning uses.
type marked struct {
	node.Connection
	user contract.User
}

func (m marked) Output(ctx context.Context, command string, limit int) ([]byte, error) {
	if strings.Contains(command, "/etc/bpa/used-by") {
		return []byte("user " + base64.StdEncoding.EncodeToString([]byte(m.user.String())) + "\nend\n"), nil
	}
	return m.Connection.Output(ctx, command, limit)
}
