package claim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/facts"
	"github.com/akraino-icn/bpa/pkg/tasks/contract"
)

// errLost means that the world is no more as it was when the assignment was made: decide again.
var errLost = errors.New("somebody else was faster")

// rereads bounds how often one host is read again because of a conflict: Metal3 writes a host's status at any time.
const rereads = 5

// take claims one host, or changes the labels of one that is ours.
func (c *claimant) take(ctx context.Context, host *metal3.BareMetalHost, placed hosts.Placed) error {
	seen := essence(host)
	if !c.me.Holds(seen) {
		// Noted first: after a broken connection nobody knows whether the host is ours. To give back what is not ours does nothing.
		c.taken = append(c.taken, host.Name)
	}
	var err error
	for range rereads {
		if err = c.write(ctx, host, placed); !apierrors.IsConflict(err) {
			break
		}
		fresh := &metal3.BareMetalHost{}
		if err = c.client.Get(ctx, client.ObjectKeyFromObject(host), fresh); err != nil {
			break
		}
		if !reflect.DeepEqual(essence(fresh), seen) {
			return errLost
		}
		host = fresh
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return fmt.Errorf("%w: %w", errLost, err)
	}
	return err
}

// essence is what a decision about a host was based on, apart from its HardwareData.
func essence(host *metal3.BareMetalHost) hosts.Host { return facts.Of(host, nil) }

// write puts our reference and labels on a host, if nobody has changed it since it was read. It is a patch, so that fields of newer versions
// of Metal3 are kept, with the resourceVersion in it, so that it fails where an update would.
func (c *claimant) write(ctx context.Context, host *metal3.BareMetalHost, placed hosts.Placed) error {
	changed := host.DeepCopy()
	changed.Spec.ConsumerRef = &corev1.ObjectReference{
		APIVersion: hosts.Group + "/v1alpha1",
		Kind:       hosts.Kind,
		Namespace:  c.request.Namespace,
		Name:       c.request.Provisioning,
		UID:        types.UID(c.request.UID),
	}
	dropLabels(changed)
	if changed.Labels == nil {
		changed.Labels = map[string]string{}
	}
	changed.Labels[contract.LabelCluster] = c.request.Provisioning
	changed.Labels[contract.LabelNode] = placed.Node
	for _, role := range placed.Roles {
		changed.Labels[contract.LabelRolePrefix+role] = "true"
	}
	return patch(ctx, c.client, host, changed)
}

func patch(ctx context.Context, c client.Client, host, changed *metal3.BareMetalHost) error {
	if reflect.DeepEqual(host.Labels, changed.Labels) && reflect.DeepEqual(host.Spec.ConsumerRef, changed.Spec.ConsumerRef) {
		return nil
	}
	return c.Patch(ctx, changed, client.MergeFromWithOptions(host, client.MergeFromWithOptimisticLock{}))
}

// dropLabels removes the labels of a claim; those that describe hardware stay.
func dropLabels(host *metal3.BareMetalHost) {
	maps.DeleteFunc(host.Labels, func(label, _ string) bool {
		return label == contract.LabelCluster || label == contract.LabelNode || strings.HasPrefix(label, contract.LabelRolePrefix)
	})
}

// read lists the hosts of a namespace with their hardware. An older Metal3 has no HardwareData; then the hosts' status tells it.
func read(ctx context.Context, c client.Client, namespace string) (world, error) {
	var hardware metal3.HardwareDataList
	if err := c.List(ctx, &hardware, client.InNamespace(namespace)); err != nil && !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
		return world{}, fmt.Errorf("list the HardwareData of namespace %s: %w", namespace, err)
	}
	data := map[string]*metal3.HardwareData{}
	for i := range hardware.Items {
		data[hardware.Items[i].Name] = &hardware.Items[i]
	}
	var list metal3.BareMetalHostList
	if err := c.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return world{}, fmt.Errorf("list the BareMetalHosts of namespace %s: %w", namespace, err)
	}
	w := world{objects: map[string]*metal3.BareMetalHost{}}
	for i := range list.Items {
		host := &list.Items[i]
		w.objects[host.Name] = host
		w.facts = append(w.facts, facts.Of(host, data[host.Name]))
	}
	return w, nil
}
