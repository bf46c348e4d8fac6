// Command network is the pod network of a cluster that test/playbooks installs. All nodes must be in the same layer
// 2 network, as lab nodes are. On every node the command maintains the CNI configuration (a bridge
// with the pod range of the node) and one route to every other node. It works like kindnet or
// flannel's host-gw, but has few dependencies, which are all available as Go modules. kubespray
// installs it through custom_cni like any other network add-on.
//
// Invariant: it changes only its own file and only routes with its protocol number.
package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

const confFile = "/etc/cni/net.d/10-lab.conflist"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := run(ctx, os.Getenv("NODE_NAME")); err != nil {
		slog.Error("cannot set up the network of this node", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, self string) error {
	config, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	changed := make(chan struct{}, 1)
	notify := func() {
		select {
		case changed <- struct{}{}:
		default: // a notification is pending already
		}
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	nodes := factory.Core().V1().Nodes()
	_, err = nodes.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { notify() },
		UpdateFunc: func(any, any) { notify() },
		DeleteFunc: func(any) { notify() },
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	var last state
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
		if !nodes.Informer().HasSynced() {
			notify() // wait for the whole first list: a partial list would remove routes of the missing nodes
			continue
		}
		next := desired(self, all(nodes.Informer().GetStore()))
		if next.equal(last) {
			continue
		}
		if err := apply(next); err != nil {
			return err // the program ends, and the kubelet restarts it with backoff
		}
		slog.Info("network of this node is set up", "podCIDR", next.podCIDR, "routes", next.routes)
		last = next
	}
}

func all(store cache.Store) []*corev1.Node {
	var nodes []*corev1.Node
	for _, o := range store.List() {
		nodes = append(nodes, o.(*corev1.Node))
	}
	return nodes
}
