package kubespray

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// servers returns the URLs of etcd for an API server, or nil if each control plane runs its own
// etcd in a pod, so that its API server uses only this one.
func (p planes) servers(ctx context.Context) ([]string, error) {
	now, err := p.apiServer(ctx, p.stay[0])
	if err != nil || !slices.ContainsFunc(strings.Split(now.servers, ","), func(s string) bool { return !loopback(s) }) {
		return nil, err
	}
	var all []string
	for _, n := range p.stay {
		if n.Etcd == "" {
			continue
		}
		host, err := hostOf(n)
		if err != nil {
			return nil, err
		}
		all = append(all, "https://"+host+":2379")
	}
	if len(all) == 0 {
		return nil, task.Because(contract.ReasonInvalidRequest, errors.New("no control plane that stays has a member of etcd"))
	}
	return all, nil
}

// loopback reports whether a URL has an address of the machine itself.
func loopback(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err == nil && ip.IsLoopback()
}

// manifest is what the manifest of an API server says.
type manifest struct{ servers, port string }

var portNumber = regexp.MustCompile(`^[0-9]{1,5}$`)

// apiServer reads the manifest of the API server on a control plane.
func (p planes) apiServer(ctx context.Context, n contract.Node) (m manifest, err error) {
	const script = `sed -n "s/^ *- --\(etcd-servers\|secure-port\)=/\1 /p" /etc/kubernetes/manifests/kube-apiserver.yaml`
	text, err := p.must(ctx, n, "read the manifest of the API server", script)
	if err != nil {
		return m, err
	}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case name == "etcd-servers":
			m.servers = value
		case name == "secure-port" && portNumber.MatchString(value):
			m.port = value
		}
	}
	if m.servers == "" {
		return m, &task.Error{Reason: contract.ReasonClusterUnhealthy, Host: n.Name, Step: "read the manifest of the API server",
			Err: fmt.Errorf("the manifest of the API server on %s does not say where etcd is", n.Name)}
	}
	return m, nil
}

// useServers lets all API servers use all members of etcd, one after the other, so that the others
// answer while one of them restarts.
func (p planes) useServers(ctx context.Context, report func(percent int, step string)) error {
	wanted, err := p.servers(ctx)
	if err != nil || wanted == nil {
		return err
	}
	for i, n := range p.stay {
		report(100*i/len(p.stay), "Update the API server of "+n.Name)
		now, err := p.apiServer(ctx, n)
		if err != nil {
			return err
		}
		if all := strings.Join(wanted, ","); now.servers != all {
			fmt.Fprintf(p.ports.Log, "  the API server of %s uses these members of etcd now: %s\n", n.Name, all)
			script := onPath + writeServers(wanted) + "kubeadm init phase control-plane apiserver --config " + kubeadmConfig + " >/dev/null"
			if _, err := p.must(ctx, n, "update the API server", script); err != nil {
				return err
			}
			if now, err = p.apiServer(ctx, n); err != nil {
				return err
			}
			if now.servers != all {
				return &task.Error{Reason: contract.ReasonClusterUnhealthy, Host: n.Name, Step: "update the API server",
					Err: fmt.Errorf("kubeadm wrote the members of etcd %s into the manifest of the API server on %s, but they are %s", session.Printable(now.servers), n.Name, all)}
			}
		}
		if err := p.awaitServer(ctx, n, now); err != nil {
			return err
		}
	}
	return nil
}

// kubeadmConfig is the configuration of kubeadm that kubespray writes on each control plane.
const kubeadmConfig = "/etc/kubernetes/kubeadm-config.yaml"

// writeServers returns a script that writes the members of etcd into kubeadmConfig. Kubespray has
// done this already if it has run there with them.
func writeServers(wanted []string) string {
	var lines strings.Builder
	for _, server := range wanted {
		fmt.Fprintf(&lines, `\n\1- \"%s\"`, server)
	}
	return `sed -i -e "/^ *- \"https:[^\"]*:2379\"\$/d" -e "s#^\( *\)endpoints:\$#&` + lines.String() + `#" ` + kubeadmConfig + "\n"
}

// awaitServer waits until the API server of a control plane runs with its manifest and is ready.
func (p planes) awaitServer(ctx context.Context, n contract.Node, m manifest) error {
	host, err := hostOf(n)
	if err != nil {
		return err
	}
	if m.port == "" {
		m.port = "6443"
	}
	// the pattern is one argument together with -e, so that grep does not find itself
	script := onPath + `grep -qszxFe"--etcd-servers=` + m.servers + `" /proc/[0-9]*/cmdline || exit 1
kubectl --server https://` + host + ":" + m.port + ` --request-timeout=5s get --raw /readyz`
	return p.await(ctx, n, "wait for the API server", func(ctx context.Context) error {
		_, err := p.run(ctx, n, script)
		return err
	})
}

// await repeats a check until it succeeds.
func (p planes) await(ctx context.Context, n contract.Node, step string, check func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, p.in.HealthLimit)
	defer cancel()
	tick := time.NewTicker(p.in.PollInterval())
	defer tick.Stop()
	var last error
	for {
		err := check(limited)
		if err == nil {
			return nil
		}
		if limited.Err() == nil {
			last = err
		}
		select {
		case <-tick.C:
		case <-limited.Done():
			if err := session.Stopped(ctx, step); err != nil {
				return err
			}
			return &task.Error{Reason: contract.ReasonClusterUnhealthy, Host: n.Name, Step: step,
				Err: fmt.Errorf("%s on %s: not within %s: %w", step, n.Name, p.in.HealthLimit, errors.Join(last, limited.Err()))}
		}
	}
}
