package restore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/cluster"
	"github.com/akraino-icn/bpa/pkg/operate/controlplane"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// leaseNamespace is the namespace in which kubelets renew the Leases of their nodes.
const leaseNamespace = "kube-node-lease"

// sign is what a kubelet has written last: the time in its Lease, and that in the condition Ready of its
// Node. A restored etcd has those of the backup, which say nothing about the present. Each kubelet is
// restarted after the restore, and a new kubelet writes both at once. Only a change is looked at, because
// the clocks of the machines may differ.
type sign struct{ lease, ready string }

// newer reports whether the kubelet has written both since before.
func (s sign) newer(before sign) bool {
	return s.lease != "" && s.ready != "" && s.lease != before.lease && s.ready != before.ready
}

// signs returns the signs of all kubelets, by the names of their nodes.
func (r *restoration) signs(ctx context.Context) (map[string]sign, error) {
	nodes, err := r.registered(ctx)
	if err != nil {
		return nil, err
	}
	w := r.watch()
	defer w.Close()
	var list struct {
		Items []struct {
			Metadata struct{ Name string }
			Spec     struct{ RenewTime string }
		}
	}
	if err := w.Get(ctx, "leases --namespace "+leaseNamespace, &list); err != nil {
		return nil, cluster.Unanswered("read the leases of the nodes", err)
	}
	all := map[string]sign{}
	for name, o := range nodes {
		for _, c := range o.Status.Conditions {
			if c.Type == "Ready" {
				all[name] = sign{ready: c.LastHeartbeatTime}
			}
		}
	}
	for _, l := range list.Items {
		all[l.Metadata.Name] = sign{l.Spec.RenewTime, all[l.Metadata.Name].ready}
	}
	return all, nil
}

// restartKubelet restarts a kubelet.
const restartKubelet = "systemctl restart kubelet"

// restartAnew restarts a kubelet without the pods and the network of the cluster that the playbook has installed. The
// node gets another range of addresses than it had there: a bridge with an address of that range would let no pod
// start. Pods with the network of the node stay. The network plugin writes the files again, and until then the kubelet
// starts no other pod. Only kube-router does not: it changes the range in the file of kubespray.
const restartAnew = controlplane.OnPath + `systemctl stop kubelet
for p in $(crictl pods --quiet); do
  n=$(crictl inspectp --output go-template --template "{{.status.linux.namespaces.options.network}}" $p || :)
  [ "$n" = NODE ] || crictl rmp --force $p >/dev/null 2>&1 || :
done
for l in cni0 cbr0 kube-bridge flannel.1 flannel-v6.1; do ip link delete $l 2>/dev/null || :; done
rm -f /run/flannel/subnet.env
for f in $(grep -lsE "\"subnet\": *\"[0-9a-f]*[.:]" /etc/cni/net.d/* || :); do
  case $f in *kuberouter*) ;; *) rm -f $f;; esac
done
systemctl start kubelet
`

// restartKubelets runs the script, which restarts the kubelets, on all control planes, and remembers what all kubelets
// have written before.
func (r *restoration) restartKubelets(ctx context.Context, script string) (err error) {
	if r.seen, err = r.signs(ctx); err != nil {
		return err
	}
	return r.eachPlane(ctx, "restart the kubelet", func(ctx context.Context, _ contract.Node, conn node.Connection) error {
		_, err := r.sh(ctx, conn, script)
		return err
	})
}

// awaitSigns waits until the kubelets of these nodes have written that they are alive. Before that, the
// conditions of a Node are those of the backup, in which all nodes may be Ready.
func (r *restoration) awaitSigns(ctx context.Context, names []string) error {
	limited, cancel := context.WithTimeout(ctx, r.in.HealthLimit)
	defer cancel()
	tick := time.NewTicker(r.in.PollInterval())
	defer tick.Stop()
	for {
		now, err := r.signs(limited)
		names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return err == nil && now[name].newer(r.seen[name]) })
		if len(names) == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-limited.Done():
			if err := session.Stopped(ctx, "the restore"); err != nil {
				return err
			}
			return &task.Error{Reason: contract.ReasonClusterUnhealthy, Host: names[0], Others: names[1:], Step: "wait for the kubelets",
				Err: fmt.Errorf("etcd has the content of the backup, but the kubelets of these nodes have not reached an API server within %s: %s. "+
					"On each of them, see: journalctl --unit kubelet. The next attempt continues", r.in.HealthLimit, strings.Join(names, ", "))}
		}
	}
}
