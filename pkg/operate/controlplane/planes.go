package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/etcd"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// Group changes what control planes know about each other. Kubespray changes this only when it
// installs a cluster. Every method can be repeated, and changes nothing that is right already.
type Group struct {
	Input  session.Input
	Access node.Access
	Ports  session.Ports
	Stay   []contract.Node // the control planes, in their order
	Gone   []contract.Node // control planes that have left or are leaving
}

// Run runs a script as root on a control plane. The script must not contain a single quote.
func (p Group) Run(ctx context.Context, n contract.Node, script string) (string, error) {
	conn, _, err := p.Access.FirstControlPlane(ctx, []contract.Node{n})
	if err != nil {
		return "", err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, p.Input.HealthLimit)
	defer cancel()
	text, err := node.Shell(p.Input.Request, conn)(ctx, script)
	return string(text), err
}

// Must is like Run, and returns an error with a reason for the user.
func (p Group) Must(ctx context.Context, n contract.Node, step, script string) (string, error) {
	text, err := p.Run(ctx, n, script)
	var known *task.Error
	if err == nil || errors.As(err, &known) {
		return text, err
	}
	failed := &task.Error{Reason: contract.ReasonClusterUnhealthy, Host: n.Name, Step: step, Err: fmt.Errorf("%s on %s: %w", step, n.Name, err)}
	if errors.Is(err, ssh.ErrUnreachable) {
		failed.Reason = contract.ReasonHostUnreachable
	}
	return text, failed
}

// OnPath begins scripts that run programs of Kubernetes. Some systems have no /usr/local/bin in the
// PATH of root.
const OnPath = `set -eu; PATH="$PATH:/usr/local/bin:/opt/bin"; export PATH KUBECONFIG=/etc/kubernetes/admin.conf
`

// hostOf returns the address of a node as a part of a URL. The result is safe in a script.
func hostOf(n contract.Node) (string, error) {
	ip, err := netip.ParseAddr(n.Address)
	if err != nil || ip.Zone() != "" {
		return "", task.Because(contract.ReasonInvalidRequest, fmt.Errorf("the address %q of node %s is no IP address", n.Address, n.Name))
	}
	if ip = ip.Unmap(); ip.Is6() {
		return "[" + ip.String() + "]", nil
	}
	return ip.String(), nil
}

// useOwnServer lets a control plane use its own API server in the files in which it uses another one.
// The file in /run exists until the kubelet was restarted, even if the script is interrupted.
const useOwnServer = `if grep -qF "server: https://%[1]s:" "$f"; then
  case "$f" in */kubelet.conf) : >/run/bpa-restart-kubelet;; esac
  sed -i "s#server: https://%[2]s:#server: https://%[3]s:#" "$f"
  echo "$f"
fi
`

// correctInfo corrects the address of the API server in cluster-info, which joining nodes read.
const correctInfo = `info="$(kubectl --namespace kube-public get configmap cluster-info --output yaml)"
if printf "%%s\n" "$info" | grep -qF "server: https://%[1]s:"; then
  printf "%%s\n" "$info" | sed "s#server: https://%[2]s:#server: https://%[3]s:#" | kubectl replace --filename - >/dev/null
fi
`

// Repoint lets each control plane use its own API server where it uses that of one that is gone, and
// corrects cluster-info. Kubespray's kubectl uses admin.conf, and kubeadm has written the address of
// the first control plane into it. The controller manager and the scheduler always use the API server
// of their own machine.
func (p Group) Repoint(ctx context.Context) error {
	for _, n := range p.Stay {
		script, err := p.perGone(n, useOwnServer)
		if err != nil || script == "" {
			return err
		}
		changed, err := p.Must(ctx, n, "point the control plane to its own API server", OnPath+
			`for f in /etc/kubernetes/admin.conf /root/.kube/config /etc/kubernetes/kubelet.conf; do
[ -s "$f" ] || continue
`+script+`done
if [ -e /run/bpa-restart-kubelet ]; then systemctl restart kubelet; rm -f /run/bpa-restart-kubelet; fi`)
		if err != nil {
			return err
		}
		if files := strings.Fields(changed); len(files) > 0 {
			fmt.Fprintf(p.Ports.Log, "  %s uses its own API server now: %s\n", n.Name, session.Printable(strings.Join(files, ", ")))
		}
	}
	script, err := p.perGone(p.Stay[0], correctInfo)
	if err != nil || script == "" {
		return err
	}
	_, err = p.Must(ctx, p.Stay[0], "correct the address of the API server in cluster-info", OnPath+script)
	return err
}

// perGone returns a part of a script for each control plane that is gone. In part, the arguments are
// its address, this address as a regular expression, and the address of n.
func (p Group) perGone(n contract.Node, part string) (string, error) {
	own, err := hostOf(n)
	if err != nil {
		return "", err
	}
	var script strings.Builder
	for _, g := range p.Gone {
		if g.Address == "" || g.Address == n.Address { // a new machine may have the address of the old one
			continue
		}
		address, err := hostOf(g)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&script, part, address, regexp.QuoteMeta(address), own)
	}
	return script.String(), nil
}

var (
	endpointInConfig = regexp.MustCompile(`https://[^"\s]+:2379`)
	serverInConfig   = regexp.MustCompile(`(?m)^ *server: *"?(https://[^"\s]+)`)
	controlEndpoint  = regexp.MustCompile(`(?m)^controlPlaneEndpoint: *"?([^"\s]+)`)
)

// Publish stores the configuration of the first control plane in the cluster, if the stored one
// names other members of etcd or a control plane that is gone. A joining control plane reads it.
func (p Group) Publish(ctx context.Context) error {
	wanted, err := p.servers(ctx)
	if err != nil {
		return err
	}
	first := p.Stay[0]
	stored, err := p.Must(ctx, first, "read the configuration of kubeadm",
		OnPath+`kubectl --namespace kube-system get configmap kubeadm-config --output "jsonpath={.data.ClusterConfiguration}"`)
	if err != nil || !p.outdated(stored, wanted) {
		return err
	}
	script := OnPath
	if wanted != nil {
		script += writeServers(wanted)
	}
	fmt.Fprintf(p.Ports.Log, "  the configuration of kubeadm in the cluster is that of %s now\n", first.Name)
	_, err = p.Must(ctx, first, "store the configuration of kubeadm", script+"kubeadm init phase upload-config kubeadm --config "+KubeadmConfig+" >/dev/null")
	return err
}

// outdated reports whether the stored configuration of kubeadm must be replaced.
func (p Group) outdated(stored string, wanted []string) bool {
	if found := endpointInConfig.FindAllString(stored, -1); wanted != nil && !slices.Equal(found, wanted) {
		return true
	}
	m := controlEndpoint.FindStringSubmatch(stored)
	return m != nil && slices.ContainsFunc(p.Gone, func(g contract.Node) bool {
		return g.Address != p.Stay[0].Address && etcd.AtAddress("https://"+m[1], []string{g.Address, g.Address6})
	})
}

// ForgetCertificates removes etcd's certificates for these names of nodes from the control planes that
// stay. The certificates have the address of the machine that had the name when they were made.
// Kubespray makes none for a name that has one, so a new machine would get those of another one.
func (p Group) ForgetCertificates(ctx context.Context, names []string) error {
	var files []string
	for _, name := range names {
		if !session.KubernetesName.MatchString(name) {
			return task.Because(contract.ReasonInvalidRequest, fmt.Errorf("%q is not the name of a node", name))
		}
		for _, kind := range []string{"member-", "admin-"} {
			files = append(files, etcd.HostCertificates+kind+name+".pem", etcd.HostCertificates+kind+name+"-key.pem")
		}
	}
	if len(files) == 0 {
		return nil
	}
	for _, n := range p.Stay {
		if _, err := p.Must(ctx, n, "remove old certificates of etcd", "rm -f "+strings.Join(files, " ")); err != nil {
			return err
		}
	}
	return nil
}
