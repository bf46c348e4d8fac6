package controlplane

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
func (p Group) servers(ctx context.Context) ([]string, error) {
	now, err := p.APIServer(ctx, p.Stay[0])
	if err != nil || !slices.ContainsFunc(strings.Split(now.Servers, ","), func(s string) bool { return !Loopback(s) }) {
		return nil, err
	}
	var all []string
	for _, n := range p.Stay {
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

// Loopback reports whether a URL has an address of the machine itself.
func Loopback(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err == nil && ip.IsLoopback()
}

// Manifest is what the manifest of an API server says.
type Manifest struct{ Servers, port string }

var portNumber = regexp.MustCompile(`^[0-9]{1,5}$`)

// APIServer reads the manifest of the API server on a control plane.
func (p Group) APIServer(ctx context.Context, n contract.Node) (m Manifest, err error) {
	const script = `sed -n "s/^ *- --\(etcd-servers\|secure-port\)=/\1 /p" /etc/kubernetes/manifests/kube-apiserver.yaml`
	text, err := p.Must(ctx, n, "read the manifest of the API server", script)
	if err != nil {
		return m, err
	}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case name == "etcd-servers":
			m.Servers = value
		case name == "secure-port" && portNumber.MatchString(value):
			m.port = value
		}
	}
	if m.Servers == "" {
		return m, &task.Error{Reason: contract.ReasonClusterUnhealthy, Host: n.Name, Step: "read the manifest of the API server",
			Err: fmt.Errorf("the manifest of the API server on %s does not say where etcd is", n.Name)}
	}
	return m, nil
}

// UseServers lets all API servers use all members of etcd, one after the other, so that the others
// answer while one of them restarts.
func (p Group) UseServers(ctx context.Context, report func(percent int, step string)) error {
	wanted, err := p.servers(ctx)
	if err != nil || wanted == nil {
		return err
	}
	for i, n := range p.Stay {
		report(100*i/len(p.Stay), "Update the API server of "+n.Name)
		now, err := p.APIServer(ctx, n)
		if err != nil {
			return err
		}
		if all := strings.Join(wanted, ","); now.Servers != all {
			fmt.Fprintf(p.Ports.Log, "  the API server of %s uses these members of etcd now: %s\n", n.Name, all)
			script := OnPath + writeServers(wanted) + "kubeadm init phase control-plane apiserver --config " + KubeadmConfig + " >/dev/null"
			if _, err := p.Must(ctx, n, "update the API server", script); err != nil {
				return err
			}
			if now, err = p.APIServer(ctx, n); err != nil {
				return err
			}
			if now.Servers != all {
				return &task.Error{Reason: contract.ReasonClusterUnhealthy, Host: n.Name, Step: "update the API server",
					Err: fmt.Errorf("kubeadm wrote the members of etcd %s into the manifest of the API server on %s, but they are %s", session.Printable(now.Servers), n.Name, all)}
			}
		}
		if err := p.AwaitServer(ctx, n, now); err != nil {
			return err
		}
	}
	return nil
}

// KubeadmConfig is the configuration of kubeadm that kubespray writes on each control plane.
const KubeadmConfig = "/etc/kubernetes/kubeadm-config.yaml"

// writeServers returns a script that writes the members of etcd into KubeadmConfig. Kubespray has
// done this already if it has run there with them.
func writeServers(wanted []string) string {
	var lines strings.Builder
	for _, server := range wanted {
		fmt.Fprintf(&lines, `\n\1- \"%s\"`, server)
	}
	return `sed -i -e "/^ *- \"https:[^\"]*:2379\"\$/d" -e "s#^\( *\)endpoints:\$#&` + lines.String() + `#" ` + KubeadmConfig + "\n"
}

// AwaitServer waits until the API server of a control plane runs with its manifest and is ready.
func (p Group) AwaitServer(ctx context.Context, n contract.Node, m Manifest) error {
	host, err := hostOf(n)
	if err != nil {
		return err
	}
	if m.port == "" {
		m.port = "6443"
	}
	// the pattern is one argument together with -e, so that grep does not find itself
	script := OnPath + `grep -qszxFe"--etcd-servers=` + m.Servers + `" /proc/[0-9]*/cmdline || exit 1
kubectl --server https://` + host + ":" + m.port + ` --request-timeout=5s get --raw /readyz`
	return p.Await(ctx, n, "wait for the API server", func(ctx context.Context) error {
		_, err := p.Run(ctx, n, script)
		return err
	})
}

// Await repeats a check until it succeeds, at most for Input.HealthLimit. step names the check in the error, which is
// about n.
func (p Group) Await(ctx context.Context, n contract.Node, step string, check func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, p.Input.HealthLimit)
	defer cancel()
	tick := time.NewTicker(p.Input.PollInterval())
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
				Err: fmt.Errorf("%s on %s: not within %s: %w", step, n.Name, p.Input.HealthLimit, errors.Join(last, limited.Err()))}
		}
	}
}
