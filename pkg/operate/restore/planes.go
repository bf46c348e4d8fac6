package restore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/cluster"
	"github.com/akraino-icn/bpa/pkg/operate/controlplane"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/etcd"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// manifestsAside is the folder for the manifests of static pods that are stopped. The kubelet does not
// read it.
const manifestsAside = "/etc/kubernetes/bpa-restore"

// stopScript stops the control plane of a machine and its member of etcd. The kubelet stops a static pod
// whose manifest is gone.
const stopScript = `set -eu; umask 077; mkdir -p %[1]s
for c in kube-apiserver kube-controller-manager kube-scheduler etcd; do
  f=/etc/kubernetes/manifests/$c.yaml; [ ! -e "$f" ] || mv "$f" %[1]s/
done
if [ %[2]s = host ]; then systemctl stop etcd; fi
`

// startScript moves manifests back. The arguments are the folder and the names.
const startScript = `set -eu
for c in %[2]s; do
  f=%[1]s/$c.yaml; [ ! -e "$f" ] || mv "$f" /etc/kubernetes/manifests/
done
`

// stop stops all control planes and etcd. None may start again before all members have the new data.
func (r *restoration) stop(ctx context.Context, places []place, kinds map[string]string) error {
	const step = "stop the control plane"
	on := r.on()
	return r.eachPlane(ctx, step, func(ctx context.Context, n contract.Node, conn node.Connection) error {
		server, err := on.APIServer(ctx, n)
		if err != nil {
			return err
		}
		kind := kinds[n.Name]
		if kind == "" {
			kind = "none"
		}
		if _, err := r.sh(ctx, conn, fmt.Sprintf(stopScript, manifestsAside, kind)); err != nil {
			return err
		}
		// each pattern is one argument together with -e, so that grep does not find itself
		patterns := []string{"--etcd-servers=" + server.Servers, "--kubeconfig=/etc/kubernetes/controller-manager.conf", "--kubeconfig=/etc/kubernetes/scheduler.conf"}
		for _, p := range places {
			if p.node.HostUID == n.HostUID && kind == "pod" {
				patterns = append(patterns, "--initial-advertise-peer-urls="+p.member.PeerURLs[0])
			}
		}
		running := `if grep -qszxF`
		for _, p := range patterns {
			running += ` -e"` + p + `"`
		}
		running += ` /proc/[0-9]*/cmdline; then echo "a static pod still runs" >&2; exit 1; fi`
		return on.Await(ctx, n, step, func(ctx context.Context) error {
			_, err := r.sh(ctx, conn, running)
			return err
		})
	})
}

// startEtcd starts all members of etcd, and waits until they are those of the restore and healthy.
func (r *restoration) startEtcd(ctx context.Context, places []place, kinds map[string]string) error {
	err := r.eachMember(ctx, "start etcd", places, func(ctx context.Context, p place, conn node.Connection) error {
		script := fmt.Sprintf(startScript, manifestsAside, "etcd")
		if kinds[p.node.Name] == "host" {
			script = "systemctl start --no-block etcd" // it would wait for the other members
		}
		_, err := r.sh(ctx, conn, script)
		return err
	})
	if err != nil {
		return err
	}
	first := places[0].node
	return r.onFirst(ctx, "wait for etcd", places[0], kinds, func(e etcd.Client) error {
		return r.on().Await(ctx, first, "wait for etcd", func(context.Context) error {
			members, healthy, err := e.Look()
			if err != nil {
				return err
			}
			if bad := controlplane.UnhealthyMembers(members, healthy); bad != "" {
				return errors.New(bad)
			}
			now, err := placesOf(members, r.planes)
			if err == nil && initialCluster(now) != initialCluster(places) {
				err = fmt.Errorf("etcd has the members %s, want %s", initialCluster(now), initialCluster(places))
			}
			return err
		})
	})
}

// onFirst calls do with a client of etcd that needs no API server.
func (r *restoration) onFirst(ctx context.Context, step string, at place, kinds map[string]string, do func(etcd.Client) error) error {
	conn, _, err := r.access().FirstControlPlane(ctx, []contract.Node{at.node})
	if err != nil {
		return err
	}
	defer conn.Close()
	ca, pair := etcd.HostCertificates+"ca.pem", etcd.HostCertificates+"admin-"+at.node.Name
	options := " --cacert " + ca + " --cert " + pair + ".pem --key " + pair + "-key.pem "
	if kinds[at.node.Name] != "host" {
		pair = r.backup.Manifest.PKIFolder + "/etcd/"
		options = " --cacert " + pair + "ca.crt --cert " + pair + "server.crt --key " + pair + "server.key "
	}
	command := "env ETCDCTL_API=3 " + r.work() + "/etcdctl" + etcd.Endpoint + options
	asRoot := func(command string) ([]byte, error) {
		ctx, cancel := context.WithTimeout(ctx, r.in.ProbeLimit)
		defer cancel()
		return conn.Output(ctx, node.AsRoot(r.in.Request, command), 1<<20)
	}
	client := etcd.Client{Via: at.node, Run: etcd.JSON(asRoot, command), Command: command}
	if err := do(client); err != nil {
		return stepFailed(at.node, step, err)
	}
	return nil
}

// revokedKeys are the beginnings of the keys in etcd of the bindings of BPA's users (access.User).
var revokedKeys = []string{
	"/registry/clusterrolebindings/bpa-admin-", "/registry/clusterrolebindings/bpa-health-", "/registry/rolebindings/kube-node-lease/bpa-health-",
}

// revoke takes the rights of all users of BPA in the backup, before an API server runs: some of them may
// have been revoked since. The run then makes new users.
func (r *restoration) revoke(ctx context.Context, at place, kinds map[string]string) error {
	return r.onFirst(ctx, "revoke the users of the backup", at, kinds, func(e etcd.Client) error {
		total := 0
		for _, key := range revokedKeys {
			var answer struct{ Deleted int }
			if err := e.Run("del --prefix "+key, &answer); err != nil {
				return err
			}
			total += answer.Deleted
		}
		fmt.Fprintf(r.ports.Log, "  the rights of the kubeconfigs in the backup are revoked (%s)\n", session.Count(total, "binding"))
		return nil
	})
}

// startServers starts the API servers, and corrects what the backup says about nodes and addresses.
func (r *restoration) startServers(ctx context.Context, made map[string]nodeObject) error {
	if err := r.startPods(ctx, "start the API server", "kube-apiserver"); err != nil {
		return err
	}
	on := r.on()
	for _, n := range r.planes {
		server, err := on.APIServer(ctx, n)
		if err != nil {
			return err
		}
		if err := on.AwaitServer(ctx, n, server); err != nil {
			return err
		}
	}
	known, err := r.registered(ctx)
	if err != nil {
		return err
	}
	if err := r.checkRevoked(ctx); err != nil {
		return err
	}
	if err := r.deleteNodes(ctx, known); err != nil {
		return err
	}
	if err := r.restartKubelets(ctx, restartAnew); err != nil { // they register their nodes
		return err
	}
	if err := r.label(ctx, made, known); err != nil {
		return err
	}
	return r.correct(ctx)
}

// startPods starts static pods that were stopped.
func (r *restoration) startPods(ctx context.Context, step, components string) error {
	return r.eachPlane(ctx, step, func(ctx context.Context, _ contract.Node, conn node.Connection) error {
		_, err := r.sh(ctx, conn, fmt.Sprintf(startScript, manifestsAside, components))
		return err
	})
}

// startControllers starts the controller managers and the schedulers.
func (r *restoration) startControllers(ctx context.Context) error {
	return r.startPods(ctx, "start the control plane", "kube-controller-manager kube-scheduler")
}

// checkRevoked returns an error if a user of BPA in the backup still has rights: the API server may keep
// its objects under other keys.
func (r *restoration) checkRevoked(ctx context.Context) error {
	w := r.watch()
	defer w.Close()
	for _, kind := range []string{"clusterrolebindings", "rolebindings --namespace " + leaseNamespace} {
		text, err := w.Ask(ctx, "get "+kind+" --output name --request-timeout=30s", cluster.MaxObjects)
		if err != nil {
			return cluster.Unanswered("list "+kind, err)
		}
		for line := range strings.Lines(string(text)) {
			_, name, _ := strings.Cut(strings.TrimSpace(line), "/")
			if !slices.ContainsFunc([]string{"bpa-admin-", "bpa-health-"}, func(p string) bool { return strings.HasPrefix(name, p) }) || !session.KubernetesName.MatchString(name) {
				continue
			}
			if _, err := w.Ask(ctx, "delete "+kind+" "+name+" --ignore-not-found", 64<<10); err != nil {
				return cluster.Unanswered("delete "+kind+" "+name, err)
			}
		}
	}
	return nil
}

// correct corrects what the content of the backup says about the addresses of the control planes. A
// joining node reads it.
func (r *restoration) correct(ctx context.Context) error {
	on := r.on()
	if err := on.Repoint(ctx); err != nil {
		return err
	}
	script := controlplane.OnPath + "kubeadm init phase upload-config kubeadm --config " + controlplane.KubeadmConfig + " >/dev/null"
	_, err := on.Must(ctx, r.planes[0], "store the configuration of kubeadm", script)
	return err
}

// tidy removes what the restore has left on the control planes: programs, and the data of the etcd that
// the playbook has installed. If it fails, nothing depends on it: the next reset of a machine removes them.
func (r *restoration) tidy(ctx context.Context) {
	err := r.eachPlane(ctx, "remove the files of the restore", func(ctx context.Context, _ contract.Node, conn node.Connection) error {
		_, err := r.sh(ctx, conn, "rm -rf "+r.work()+" "+manifestsAside)
		return err
	})
	if err != nil {
		fmt.Fprintf(r.ports.Log, "  files of the restore are left: %v\n", err)
	}
}
