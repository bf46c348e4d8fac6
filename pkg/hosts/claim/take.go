package claim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/assign"
	"github.com/akraino-icn/bpa/pkg/hosts/facts"
)

// errLost means that a host has changed since the assignment was made. The claim must then be
// decided again.
var errLost = errors.New("another client changed a chosen host first")

// rereads limits how often one host is read and written again after a conflict. Conflicts are
// frequent, because Metal3 writes the status of a host at any time.
const rereads = 5

// take claims one host, or changes the labels of a host that is already held.
func (c *claimant) take(ctx context.Context, host *metal3.BareMetalHost, placed assign.Placed) error {
	seen := essence(host, c.request)
	_, isNew := c.taken[host.Name]
	isNew = isNew || !c.me.Holds(seen)
	var err error
	for range rereads {
		changed := c.claimed(host, placed)
		if same(host, changed) {
			return nil
		}
		if isNew {
			// The host is recorded before the write, because it is unknown after a broken
			// connection whether the write succeeded. If the host is not held, giving it back does
			// nothing.
			c.taken[host.Name] = nil
		}
		if err = write(ctx, c.client, host, changed); err == nil {
			if isNew {
				c.taken[host.Name] = changed
			}
			c.known[host.Name], c.written = changed, changed.ResourceVersion
			return nil
		}
		if !apierrors.IsConflict(err) {
			break
		}
		fresh := &metal3.BareMetalHost{}
		if failed := c.client.Get(ctx, client.ObjectKeyFromObject(host), fresh); failed != nil {
			err = failed
			break // else err stays the conflict, in case this was the last attempt
		}
		c.known[host.Name] = fresh
		if !c.me.Holds(facts.Of(fresh, nil)) {
			delete(c.taken, host.Name)
		}
		if !reflect.DeepEqual(essence(fresh, c.request), seen) {
			return errLost
		}
		host = fresh
	}
	if apierrors.IsNotFound(err) {
		c.known[host.Name] = nil
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return fmt.Errorf("%w: %w", errLost, err)
	}
	return err
}

// essence returns the facts of a host that a decision depends on, as far as the BareMetalHost
// contains them. If they change, the claim must be decided again. essence leaves out facts that
// other clients may change at any time: labels that the request does not use, problems that Metal3
// reports, the installed image, and the image and the power that the controller sets on a held
// host. It also leaves out a mark of the request's own cluster, and a mark that an image makes
// obsolete, because such marks do not exclude the host.
func essence(host *metal3.BareMetalHost, request contract.Request) hosts.Host {
	h := facts.Of(host, nil)
	h.Trouble, h.Retrying, h.Image, h.Imaged, h.Leaving, h.Offline = "", "", "", false, false, false
	h.PowerManaged, h.SwitchedOff, h.Fence = false, false, hosts.Fence{}
	if !h.Occupied(&request) {
		h.UsedBy = contract.User{}
	}
	used := usedLabels(request)
	h.Labels = maps.Clone(h.Labels)
	maps.DeleteFunc(h.Labels, func(label, _ string) bool { return !slices.Contains(used, label) })
	if len(h.Labels) == 0 {
		h.Labels = nil
	}
	return h
}

// usedLabels returns the labels of hosts that a request uses, for requirements or for a spread.
func usedLabels(request contract.Request) (labels []string) {
	add := func(n contract.Needs) {
		for _, term := range n.Labels {
			labels = append(labels, term.Key)
		}
	}
	for _, slot := range request.Slots {
		add(slot.Needs)
	}
	for _, set := range request.Sets {
		if add(set.Needs); set.Spread != nil {
			labels = append(labels, set.Spread.TopologyKey)
		}
	}
	return labels
}

// claimed returns a copy of the host with the consumerRef and the labels of the claim.
func (c *claimant) claimed(host *metal3.BareMetalHost, placed assign.Placed) *metal3.BareMetalHost {
	changed := host.DeepCopy()
	changed.Spec.ConsumerRef = &corev1.ObjectReference{
		APIVersion: hosts.Group + "/v1alpha1",
		Kind:       hosts.Kind,
		Namespace:  c.request.Namespace,
		Name:       c.request.Provisioning,
		UID:        types.UID(c.request.UID),
	}
	dropLabels(changed)
	setLabel(changed, contract.LabelCluster, c.request.Provisioning)
	setLabel(changed, contract.LabelNode, placed.Node)
	for _, role := range placed.Roles {
		setLabel(changed, contract.LabelRolePrefix+role, "true")
	}
	if placed.Set != "" {
		setLabel(changed, contract.LabelSet, placed.Set)
	}
	if placed.Standby {
		setLabel(changed, contract.LabelStandby, "true")
	}
	return changed
}

// images reports whether the controller will set the image of the request on the host. It also does
// so on a standby host, because the standby must be able to replace a node without waiting for an
// operating system.
func (c *claimant) images(host *metal3.BareMetalHost) bool {
	h := facts.Of(host, nil)
	return c.request.OSImage != nil && h.Bare && !h.Imaged
}

func setLabel(host *metal3.BareMetalHost, label, value string) {
	if host.Labels == nil {
		host.Labels = map[string]string{}
	}
	host.Labels[label] = value
}

// claimLabels are the labels of a claim, except the labels for roles, which have the prefix
// contract.LabelRolePrefix.
var claimLabels = []string{contract.LabelCluster, contract.LabelNode, contract.LabelSet, contract.LabelStandby, contract.LabelFormerNode, contract.LabelRelease}

// dropLabels removes the labels of a claim. It keeps all other labels, such as those that describe
// the hardware.
func dropLabels(host *metal3.BareMetalHost) {
	maps.DeleteFunc(host.Labels, func(label, _ string) bool {
		return slices.Contains(claimLabels, label) || strings.HasPrefix(label, contract.LabelRolePrefix)
	})
}
