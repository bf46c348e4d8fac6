package imaging

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

const (
	// maxWait limits the wait if neither the context nor Tekton limits it. The time limit of a run
	// (spec.timeouts.install) is normally much shorter, and Tekton ends the task then.
	maxWait = 24 * time.Hour
	// reportEvery is the interval at which the log is written while nothing changes.
	reportEvery = 30 * time.Second
	// watchBackoff is the pause after a watch has ended. It limits the load on an API server with
	// problems.
	watchBackoff = time.Second
)

// Waiter waits for the operating systems of the hosts of one run. It counts the failed
// installations of each host, also across several calls of Await.
type Waiter struct {
	client  client.WithWatch
	request contract.Request
	log     io.Writer
	history *history
}

// NewWaiter returns a Waiter for the hosts that the Provisioning of the request holds.
func NewWaiter(c client.WithWatch, request contract.Request, log io.Writer) *Waiter {
	return &Waiter{client: c, request: request, log: log, history: newHistory()}
}

// Await waits until each of the nodes has its operating system. It writes nothing to the hosts: the
// controller asks Metal3 for the image as soon as all hosts are claimed (see Due). Metal3 repeats a
// failed installation, and Await waits for that. If a host has failed too often, or if it is no
// longer held, the error is a *Failed. The log shows each state of a host and how long it lasts.
func (a *Waiter) Await(ctx context.Context, nodes []contract.Node) error {
	ctx, stop := limited(ctx)
	defer stop()
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	w := &waiting{
		log: a.log, tick: tick.C, holder: hosts.OwnerOf(a.request), nodes: map[string]string{}, states: map[string]state{}, failed: map[string]*Failed{},
		history: a.history,
	}
	for _, node := range nodes {
		w.nodes[node.Host] = node.Name
	}
	scope := []client.ListOption{client.InNamespace(a.request.HostNamespace()), client.MatchingLabels{contract.LabelCluster: a.request.Provisioning}}
	for {
		version, err := w.list(ctx, a.client, scope)
		if done, failed := w.done(); err == nil && (done || failed != nil) {
			return failed
		}
		if err == nil {
			done, failed := w.follow(ctx, a.client, version, scope)
			if done || failed != nil {
				return failed
			}
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err, w.open())
		case <-time.After(watchBackoff):
		}
	}
}

// limited returns ctx with the time limit maxWait, unless ctx has a limit of its own.
func limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, maxWait, fmt.Errorf("hosts did not get their operating system within %s", maxWait))
}

// list records the current state of the hosts. It returns the resource version from which a watch
// must continue.
func (w *waiting) list(ctx context.Context, c client.Reader, scope []client.ListOption) (version string, err error) {
	var list metal3.BareMetalHostList
	if err := c.List(ctx, &list, scope...); err != nil {
		return "", fmt.Errorf("list the claimed BareMetalHosts: %w", err)
	}
	there := map[string]bool{}
	for i := range list.Items {
		there[list.Items[i].Name] = true
		w.see(&list.Items[i])
	}
	for host := range w.nodes {
		if !there[host] {
			w.gone(host)
		}
	}
	return list.ResourceVersion, nil
}

// follow records every change until all hosts are ready, a host has failed, or the watch ends. The
// end of a watch is not an error.
func (w *waiting) follow(ctx context.Context, c client.WithWatch, version string, scope []client.ListOption) (done bool, failed error) {
	options := append(slices.Clone(scope), &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: version}})
	events, err := c.Watch(ctx, &metal3.BareMetalHostList{}, options...)
	if err != nil {
		return false, nil
	}
	defer events.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, nil
		case <-w.tick:
			w.report()
			continue
		case event, open := <-events.ResultChan():
			host, ok := event.Object.(*metal3.BareMetalHost)
			switch {
			case !open || !ok: // the watch has ended, or it reported an error, such as a resourceVersion that is too old: list again
				return false, nil
			case event.Type == watch.Deleted: // the host was deleted, or it no longer has the label of the claim
				w.gone(host.Name)
			default:
				w.see(host)
			}
		}
		if done, failed = w.done(); done || failed != nil {
			return done, failed
		}
	}
}
