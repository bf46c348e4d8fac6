package config

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
	"github.com/akraino-icn/bpa/bootstrap/internal/supervisor"
)

// Plan returns the plan with all components of the machine.
func Plan(l layout.Layout) supervisor.Plan {
	control := machineControlPlane(l)
	return supervisor.Plan{Components: []supervisor.Component{
		as("bpa-depot", l, depot(l), l.DepotDir()), as("bpa-etcd", l, control.Etcd(), l.Data("etcd")),
		as("bpa-apiserver", l, control.APIServer(), filepath.Dir(control.AuditLog)), as("bpa-controllers", l, controllerManager(l)), as("bpa-scheduler", l, scheduler(l)),
		containerdComponent(l), kubeletComponent(l), proxyComponent(l),
	}}
}

// as returns the component with a user of its own. The user owns the folders, and reads the keys that its arguments name.
// Only the API server and the controllers share a key, that of service accounts: it belongs to the API server, and the
// controllers read it. containerd, the kubelet and kube-proxy stay root: they make containers, mounts and firewall rules.
func as(user string, l layout.Layout, c supervisor.Component, folders ...string) supervisor.Component {
	c.User, c.Owns = user, folders
	for _, arg := range c.Args {
		file := arg[strings.Index(arg, "=")+1:]
		switch {
		case filepath.Dir(file) != l.PKI() || filepath.Ext(file) == ".crt" || filepath.Ext(file) == ".pub" || slices.Contains(c.Reads, file):
		case filepath.Base(file) == "sa.key" && c.Name == "kube-apiserver":
			c.Owns = append(c.Owns, file)
		default:
			c.Reads = append(c.Reads, file)
		}
	}
	return c
}

// Users are the users as whom components of the machine run.
func Users(l layout.Layout) []string {
	var names []string
	for _, c := range Plan(l).Components {
		if c.User != "" {
			names = append(names, c.User)
		}
	}
	return names
}

// depot returns the component that runs the depot. It needs no other component. In particular it
// does not wait for the API server that authorizes its clients, because no pod can start without
// images.
func depot(l layout.Layout) supervisor.Component {
	conf, net := filepath.Join(l.PKI(), "depot.kubeconfig"), l.Net()
	c := supervisor.Component{
		Name: "depot", Health: "http://" + layout.DepotProbe + "/readyz", Inputs: []string{l.Bin("depot"), conf},
		Args: []string{
			l.Bin("depot"), "--root=" + l.DepotDir(), "--listen=" + net.Depot(), "--tls-listen=" + net.DepotTLS(), "--local-listen=" + layout.DepotLocal,
			"--probe-listen=" + layout.DepotProbe, "--backup-reserve=2GiB",
			"--host=depot.bpa-system", "--host=depot.bpa-system.svc", "--host=depot.bpa-system.svc.cluster.local", "--kubeconfig=" + conf,
		},
	}
	for _, host := range net.Hosts() {
		c.Args = append(c.Args, "--host="+host)
	}
	return c
}

func controllerManager(l layout.Layout) supervisor.Component {
	conf := filepath.Join(l.PKI(), "controller-manager.kubeconfig")
	return supervisor.Component{
		Name: "kube-controller-manager", Needs: []string{"kube-apiserver"}, Health: "https://127.0.0.1:10257/healthz",
		Inputs: []string{l.Bin("kube"), conf, filepath.Join(l.PKI(), "sa.key")},
		Args: []string{
			l.Bin("kube-controller-manager"), "--bind-address=127.0.0.1", "--kubeconfig=" + conf,
			"--authentication-kubeconfig=" + conf, "--authorization-kubeconfig=" + conf,
			"--service-account-private-key-file=" + filepath.Join(l.PKI(), "sa.key"), "--root-ca-file=" + filepath.Join(l.PKI(), "ca.crt"),
			"--use-service-account-credentials", "--leader-elect=false",
			"--cluster-signing-cert-file=" + filepath.Join(l.PKI(), "ca.crt"), "--cluster-signing-key-file=" + filepath.Join(l.PKI(), "ca.key"),
		},
	}
}

func scheduler(l layout.Layout) supervisor.Component {
	conf := filepath.Join(l.PKI(), "scheduler.kubeconfig")
	return supervisor.Component{
		Name: "kube-scheduler", Needs: []string{"kube-apiserver"}, Health: "https://127.0.0.1:10259/healthz",
		Inputs: []string{l.Bin("kube"), conf},
		Args: []string{
			l.Bin("kube-scheduler"), "--bind-address=127.0.0.1", "--kubeconfig=" + conf,
			"--authentication-kubeconfig=" + conf, "--authorization-kubeconfig=" + conf, "--leader-elect=false",
		},
	}
}

func containerdComponent(l layout.Layout) supervisor.Component {
	conf := l.Etc("containerd.toml")
	return supervisor.Component{
		Name: "containerd", Notify: true, Health: "grpc+unix://" + l.ContainerdSocket(), Inputs: []string{l.Bin("containerd"), conf},
		Args: []string{l.Bin("containerd"), "--config=" + conf, "--log-level=info"},
		Env:  []string{"PATH=" + l.BinDir() + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, // containerd finds its shim in BinDir
	}
}

// kubeletComponent needs containerd, because the kubelet exits at once if containerd's socket is
// missing.
func kubeletComponent(l layout.Layout) supervisor.Component {
	conf, kubeconfig := l.Etc("kubelet.yaml"), filepath.Join(l.PKI(), "kubelet.kubeconfig")
	return supervisor.Component{
		Name: "kubelet", Needs: []string{"containerd", "kube-apiserver"}, Notify: true, Health: "http://127.0.0.1:10248/healthz",
		Inputs: []string{l.Bin("kube"), conf, kubeconfig, filepath.Join(l.PKI(), "kubelet.crt")},
		Args: []string{
			l.Bin("kubelet"), "--config=" + conf, "--kubeconfig=" + kubeconfig, "--hostname-override=" + layout.NodeName,
			"--node-ip=" + l.Net().NodeIP(), "--root-dir=" + l.Data("kubelet"), "--cert-dir=" + l.PKI(),
		},
	}
}

// proxyComponent needs the kubelet, because the kubelet creates the Node object that kube-proxy
// reads. If the object is missing, kube-proxy retries only with increasing backoff.
func proxyComponent(l layout.Layout) supervisor.Component {
	conf := l.Etc("proxy.yaml")
	return supervisor.Component{
		Name: "kube-proxy", Needs: []string{"kubelet"}, Health: "http://127.0.0.1:10256/livez",
		Inputs: []string{l.Bin("kube"), conf, filepath.Join(l.PKI(), "proxy.kubeconfig")},
		Args:   []string{l.Bin("kube-proxy"), "--config=" + conf},
	}
}
