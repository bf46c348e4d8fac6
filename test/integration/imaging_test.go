//go:build integration

package integration

import (
	"bytes"
	"context"
	"testing"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/cache"
	"github.com/akraino-icn/bpa/pkg/hosts/imaging"
	"github.com/akraino-icn/bpa/pkg/tasks/selecthosts"
)

// memoryInventory is an inventory in memory.
type memoryInventory map[string]string

func (m memoryInventory) Set(_ context.Context, key, value string) error {
	m[key] = value
	return nil
}

// selectHosts runs the task and, concurrently, the controller's part: the controller sets the image
// of claimed hosts, and releases the hosts that the task gives up. It returns the task's output and
// log.
func selectHosts(t *testing.T, ctx context.Context, c client.WithWatch, request contract.Request) (selecthosts.Output, string, error) {
	t.Helper()
	controllerCtx, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- imageHosts(controllerCtx, request) }()
	go hurry(controllerCtx, c, request.Namespace)
	log := &bytes.Buffer{}
	out, err := selecthosts.Run(ctx, selecthosts.Input{Request: request}, selecthosts.Ports{Hosts: c, Record: memoryInventory{}, Outcome: memoryInventory{}, Log: log})
	within(t, 3*time.Minute, "hosts that the task gave up are released", func() bool {
		var list metal3.BareMetalHostList
		return c.List(ctx, &list, client.InNamespace(request.Namespace), client.HasLabels{contract.LabelRelease},
			client.MatchingLabels{contract.LabelCluster: request.Provisioning}) == nil && len(list.Items) == 0
	})
	stop()
	if failed := <-done; failed != nil {
		t.Errorf("the controller's part failed: %v", failed)
	}
	return out, log.String(), err
}

// imageHosts does the controller's part in selectHosts: it acts at each change of its cache of
// hosts, until ctx ends.
func imageHosts(ctx context.Context, request contract.Request) error {
	config, _, err := accountConfig(shared.kubeconfig, "")
	if err != nil {
		return err
	}
	cache, err := cache.New(ctx, config)
	if err != nil {
		return err
	}
	changed := make(chan struct{}, 1)
	if err := cache.Watch(ctx, func(string, string, ...types.NamespacedName) {
		select {
		case changed <- struct{}{}:
		default:
		}
	}); err != nil {
		return err
	}
	if err := cache.Start(ctx); err != nil {
		return err
	}
	var slots []string
	for _, slot := range request.Slots {
		slots = append(slots, slot.Name)
	}
	owner := hosts.OwnerOf(request)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
		held, err := cache.Held(ctx, owner)
		if err != nil {
			return err
		}
		var names []string
		for _, h := range imaging.GivenUp(held) {
			names = append(names, h.Name)
		}
		if _, err := cache.ReleaseGivenUp(ctx, owner, names); err != nil {
			return err
		}
		due := imaging.Due(slots, request.Sets, held)
		if _, err := cache.Image(ctx, owner, *request.OSImage, due); err != nil {
			return err
		}
	}
}

// hurry makes Metal3 repeat a failed installation at once instead of after 1 to 2 minutes: Metal3
// handles a host after each change of its annotations.
func hurry(ctx context.Context, c client.Client, namespace string) {
	failing, tick := map[string]bool{}, time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			var list metal3.BareMetalHostList
			if c.List(ctx, &list, client.InNamespace(namespace)) != nil {
				continue // the next tick tries again
			}
			for i := range list.Items {
				h := &list.Items[i]
				is, was := h.Status.ErrorType == metal3.ProvisioningError, failing[h.Name]
				if is && !was {
					patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"test/hurry":"`+now.Format(time.RFC3339)+`"}}}`))
					is = c.Patch(ctx, h, patch) == nil
				}
				failing[h.Name] = is
			}
		}
	}
}
