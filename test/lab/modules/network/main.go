// Command network is the pod network of an application cluster whose nodes share one link, as lab nodes do: on every
// node it keeps the CNI configuration (a bridge with the node's own pod range) and one route per other node. It is what
// kindnet or flannel's host-gw do, small enough to be built from modules that are served, and it is installed through
// kubespray's custom_cni like any other network add-on.
//
// Its one invariant: it touches only its own file and only routes that bear its protocol number.
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
		slog.Error("network of this node", "error", err)
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
	poke := func() {
		select {
		case changed <- struct{}{}:
		default: // one is waiting already
		}
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	nodes := factory.Core().V1().Nodes()
	_, err = nodes.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { poke() },
		UpdateFunc: func(any, any) { poke() },
		DeleteFunc: func(any) { poke() },
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	var last wanted
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
		if !nodes.Informer().HasSynced() {
			poke() // all of the first list, or routes of nodes that come last would be dropped for a moment
			continue
		}
		next := want(self, all(nodes.Informer().GetStore()))
		if next.equal(last) {
			continue
		}
		if err := apply(next); err != nil {
			return err // the kubelet starts us again, with its backoff
		}
		slog.Info("network of this node", "podCIDR", next.podCIDR, "routes", next.routes)
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
