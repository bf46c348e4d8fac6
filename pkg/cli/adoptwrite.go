package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/contract/from"
	"github.com/akraino-icn/bpa/pkg/hosts"
	hostfacts "github.com/akraino-icn/bpa/pkg/hosts/facts"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
)

// rehearsal returns the site whose writes are only checked. Everything that is written is checked before the first write, so that a missing
// right or the webhook stops the command before it has changed anything.
func (a *adoption) rehearsal() *site { return (&serverDryRun{value: dryRunServer}).of(a.site) }

// write writes the objects. After each step, an interruption leaves a paused Provisioning, with which the next call
// continues: the Provisioning, its identity, its records, the claims, and last the end of the pause.
func (a *adoption) write(ctx context.Context, site *site) error {
	p, err := a.pause(ctx, site)
	if err != nil {
		return fmt.Errorf("write Provisioning %s: %w", a.user.Name, site.explain(err))
	}
	digest, err := from.Digest(contract.Request{Spec: a.plan.Record.Request})
	if err != nil {
		return err
	}
	identify := func(s *v1alpha1.ProvisioningStatus) {
		if string(p.UID) != a.user.UID {
			s.ClusterUID = a.user.UID
		}
		s.InstalledDigest = digest // shows the controller that a cluster is installed before it sees the record
	}
	if err := a.setStatus(ctx, site, p, identify); err != nil {
		return fmt.Errorf("write the identity of the cluster into the status of Provisioning %s: %w", p.Name, site.explain(err))
	}
	if err := a.records(ctx, site, p); err != nil {
		return err
	}
	for _, n := range a.plan.Record.Nodes {
		if err := a.claim(ctx, site, n); err != nil {
			return fmt.Errorf("claim host %s for node %s: %w", n.Host, n.Name, site.explain(err))
		}
	}
	if site != a.site { // the rehearsal has stored no Provisioning
		return nil
	}
	if err := a.end(ctx, site, p); err != nil {
		return fmt.Errorf("end the adoption of Provisioning %s: %w", p.Name, site.explain(err))
	}
	return nil
}

// requests are the annotations by which users request something. Those of an old manifest request nothing again.
var requests = []string{contract.AnnotationRetry, contract.AnnotationRestore, contract.AnnotationPatch, contract.AnnotationSoftware, contract.AnnotationRotateKubeconfig}

// stays reports whether the Provisioning stays paused.
func (a *adoption) stays() bool {
	if a.stored != nil && a.stored.Annotations[contract.AnnotationAdopting] == contract.AdoptingPaused {
		return true
	}
	begun := a.stored != nil && a.stored.Annotations[contract.AnnotationAdopting] != ""
	return a.plan.Pause || !begun && a.stored != nil && a.stored.Spec.Paused || a.fromFile() && a.plan.Provisioning.Spec.Paused
}

// fromFile reports whether the Provisioning is not the stored one.
func (a *adoption) fromFile() bool {
	return a.stored == nil || a.plan.Provisioning.ResourceVersion != a.stored.ResourceVersion
}

// pause stores the Provisioning with a pause.
func (a *adoption) pause(ctx context.Context, site *site) (*v1alpha1.Provisioning, error) {
	state := contract.AdoptingResume
	if a.stays() {
		state = contract.AdoptingPaused
	}
	wanted := a.plan.Provisioning
	if a.stored == nil {
		p := &v1alpha1.Provisioning{Spec: *wanted.Spec.DeepCopy()}
		p.Namespace, p.Name = a.user.Namespace, a.user.Name
		p.Labels, p.Annotations = maps.Clone(wanted.Labels), asked(wanted.Annotations, state)
		p.Spec.Paused = true
		return p, site.client.Create(ctx, p)
	}
	p := a.stored.DeepCopy()
	before := p.DeepCopy()
	p.Spec = *wanted.Spec.DeepCopy()
	p.Labels, p.Annotations = merged(p.Labels, wanted.Labels), asked(merged(p.Annotations, wanted.Annotations), state)
	p.Spec.Paused = true
	return p, site.client.Patch(ctx, p, client.MergeFrom(before))
}

// asked returns the annotations without requests of earlier times, and with the state of the adoption.
func asked(annotations map[string]string, state string) map[string]string {
	all := map[string]string{contract.AnnotationAdopting: state}
	for name, value := range annotations {
		if name != contract.AnnotationAdopting && !slices.Contains(requests, name) && name != corev1.LastAppliedConfigAnnotation {
			all[name] = value
		}
	}
	return all
}

// setStatus edits the status. In a rehearsal of a new Provisioning, which is not there, it shows whether the user has the right.
func (a *adoption) setStatus(ctx context.Context, site *site, p *v1alpha1.Provisioning, edit func(*v1alpha1.ProvisioningStatus)) error {
	before := p.DeepCopy()
	edit(&p.Status)
	err := site.client.Status().Patch(ctx, p, client.MergeFrom(before))
	if a.stored == nil && site != a.site && apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// records stores the host keys, the key of the digests of variables, and the record.
func (a *adoption) records(ctx context.Context, site *site, p *v1alpha1.Provisioning) error {
	if a.varsKey != nil {
		if err := a.store(ctx, site, p, resources.MakeVarsKey(p, a.varsKey)); err != nil {
			return err
		}
	}
	joined := slices.Sorted(maps.Keys(a.plan.Hosts))
	data := map[string]map[string]any{contract.InstalledName(p.Name): {
		contract.KeyInstalled: a.plan.Record, contract.KeyClaimed: a.plan.Claimed, contract.KeyHosts: a.plan.Hosts, contract.KeyJoined: joined,
	}}
	texts := map[string]map[string]string{
		contract.InstalledName(p.Name):  {contract.KeyComplete: "true"},
		contract.KnownHostsName(p.Name): {contract.KeyKnownHosts: a.plan.Pins.String()},
	}
	for name, values := range data {
		for key, value := range values {
			text, err := json.Marshal(value)
			if err != nil {
				return err
			}
			texts[name][key] = string(text)
		}
	}
	for _, cm := range resources.MakeTaskConfigMaps(p) {
		if cm.Data = texts[cm.Name]; cm.Data == nil {
			continue
		}
		if err := a.store(ctx, site, p, cm); err != nil {
			return err
		}
	}
	return nil
}

// store creates or replaces an object of the Provisioning. It leaves that of another owner alone.
func (a *adoption) store(ctx context.Context, site *site, p *v1alpha1.Provisioning, o client.Object) error {
	what := fmt.Sprintf("%T %s", o, o.GetName())
	what = strings.TrimPrefix(what, "*v1.")
	have := o.DeepCopyObject().(client.Object)
	switch err := site.client.Get(ctx, client.ObjectKeyFromObject(o), have); {
	case apierrors.IsNotFound(err):
		if err := site.client.Create(ctx, o); err != nil {
			return fmt.Errorf("create %s: %w", what, site.explain(err))
		}
		return nil
	case err != nil:
		return fmt.Errorf("read %s: %w", what, site.explain(err))
	}
	if !metav1.IsControlledBy(have, p) {
		return fmt.Errorf("%s exists and does not belong to this Provisioning: delete it, unless an earlier Provisioning of this name is still being deleted", what)
	}
	o.SetResourceVersion(have.GetResourceVersion())
	if err := site.client.Update(ctx, o); err != nil {
		return fmt.Errorf("replace %s: %w", what, site.explain(err))
	}
	return nil
}

// tries limits how often a host is read again, because Metal3 writes the status of a host at any time.
const tries = 5

// claim claims the host of a node. It fails if the host was exchanged, or is claimed by another consumer by now.
func (a *adoption) claim(ctx context.Context, site *site, n contract.Node) error {
	host := a.objects[n.Host].DeepCopy()
	for try := 1; ; try++ {
		changed := host.DeepCopy()
		a.claimed(changed, n)
		err := site.client.Patch(ctx, changed, client.MergeFromWithOptions(host, client.MergeFromWithOptimisticLock{}))
		if !apierrors.IsConflict(err) || try == tries {
			return err
		}
		if err := site.client.Get(ctx, client.ObjectKeyFromObject(host), host); err != nil {
			return err
		}
		owner := hosts.OwnerIn(host.Namespace, a.user.Namespace, a.user.Name)
		h := hostfacts.Of(host, nil)
		if h.UID != n.HostUID || h.Holder != nil && !owner.Holds(h) || h.Bare {
			return fmt.Errorf("the host has changed since its server was asked: run the command again")
		}
	}
}

// claimed gives a host the claim, as select-hosts does, and the mark of the cluster, as the controller does.
func (a *adoption) claimed(host *metal3.BareMetalHost, n contract.Node) {
	host.Spec.ConsumerRef = &corev1.ObjectReference{APIVersion: hosts.Group + "/v1alpha1", Kind: hosts.Kind, Namespace: a.user.Namespace, Name: a.user.Name, UID: types.UID(a.user.UID)}
	labels := map[string]string{contract.LabelCluster: a.user.Name, contract.LabelNode: n.Name}
	for _, role := range n.Roles {
		labels[contract.LabelRolePrefix+role] = "true"
	}
	if n.Set != "" {
		labels[contract.LabelSet] = n.Set
	}
	maps.DeleteFunc(host.Labels, func(label, _ string) bool {
		claim := []string{contract.LabelCluster, contract.LabelNode, contract.LabelSet, contract.LabelStandby, contract.LabelFormerNode, contract.LabelRelease}
		return slices.Contains(claim, label) || strings.HasPrefix(label, contract.LabelRolePrefix)
	})
	host.Labels = merged(host.Labels, labels)
	host.Annotations = merged(host.Annotations, map[string]string{contract.AnnotationUsedBy: a.user.String()})
}

// end ends the pause and requests a kubeconfig, after it has seen that the identity is stored. The update fails if the
// object has changed since.
func (a *adoption) end(ctx context.Context, site *site, p *v1alpha1.Provisioning) error {
	for try := 1; ; try++ {
		if err := site.client.Get(ctx, client.ObjectKeyFromObject(p), p); err != nil {
			return err
		}
		if p.ClusterUID() != a.user.UID || p.Status.InstalledDigest == "" {
			return fmt.Errorf("its status has lost the identity of the cluster")
		}
		p.Spec.Paused = a.stays()
		delete(p.Annotations, contract.AnnotationAdopting)
		if p.Annotations == nil {
			p.Annotations = map[string]string{}
		}
		p.Annotations[contract.AnnotationRetry] = a.now().UTC().Format(time.RFC3339Nano)
		if err := site.client.Update(ctx, p); !apierrors.IsConflict(err) || try == tries {
			return err
		}
	}
}
