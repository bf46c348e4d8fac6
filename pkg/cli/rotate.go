package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/access"
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// rotate requests a new user of the kubeconfig, waits until the cluster refuses the old one, and returns
// the new kubeconfig. old is the present kubeconfig.
func (s *session) rotate(ctx context.Context, site *site, name string, old []byte, timeout time.Duration) ([]byte, error) {
	ctx, cancel := withTimeout(ctx, timeout)
	defer cancel()
	p, err := site.get(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := site.rotatable(p, old, s.now()); err != nil {
		return nil, err
	}
	value := s.stamp()
	if err := site.ask(ctx, p, contract.AnnotationRotateKubeconfig, value, "a new user of the kubeconfig"); err != nil {
		return nil, err
	}
	_, _ = fmt.Fprintf(s.ErrOut, "A new user of the kubeconfig of %s was requested.\n", name)
	if running(p) && contract.OperationOf(p.Status.Run.Operation).Has(contract.TaskCollectKubeconfig) {
		_, _ = fmt.Fprintf(s.ErrOut, "The rotation waits for the end of PipelineRun %s. To stop that run:\n  %s\n", p.Status.Run.Name, site.kubectl("bpa cancel "+name, ""))
	}
	secret, err := s.followRotation(ctx, site, name, value)
	if err != nil {
		return nil, notRotated(ctx, site, name, timeout, err)
	}
	data := secret.Data[kubeconfigKey]
	_, _ = fmt.Fprintln(s.ErrOut, afterRotation(old))
	return data, nil
}

// rotatable returns an error if the controller could not rotate: it works through the present kubeconfig.
func (s *site) rotatable(p *v1alpha1.Provisioning, old []byte, now time.Time) error {
	k, err := access.ParseKubeconfig(old)
	switch {
	case p.DeletionTimestamp != nil:
		return fmt.Errorf("%s is being deleted: its kubeconfig is not rotated", p.Name)
	case p.Status.InstalledDigest == "":
		return exitf(codeNotYet, "the cluster of %s is not installed yet: %s", p.Name, whyNoKubeconfig(p))
	case err != nil:
		return fmt.Errorf("secret %s: %w: if the Secret was edited, delete it, and the controller creates it again", contract.KubeconfigName(p.Name), err)
	case !k.Leaf.NotAfter.After(now):
		return fmt.Errorf("the kubeconfig of %s expired on %s, so the controller cannot use it. Collect a new one:\n  %s",
			p.Name, k.Leaf.NotAfter.UTC().Format(time.DateOnly), s.kubectl("bpa retry "+p.Name, ""))
	}
	return nil
}

// followRotation watches the Secret until it answers the request with this value, and shows each step.
func (s *session) followRotation(ctx context.Context, site *site, name, value string) (*corev1.Secret, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watch, err := watchAll(ctx, []client.Object{&corev1.Secret{}}, []*selection{{
		client: site.client, list: func() client.ObjectList { return &corev1.SecretList{} },
		options: []client.ListOption{client.InNamespace(site.namespace), client.MatchingLabels{contract.LabelCluster: name}},
	}})
	if err != nil {
		return nil, err
	}
	shown := false
	for {
		o, _, _ := watch.informers[0].GetStore().GetByKey(site.namespace + "/" + contract.KubeconfigName(name))
		if secret, ok := o.(*corev1.Secret); ok && secret.Annotations[contract.AnnotationRotated] == value {
			k, err := access.ParseKubeconfig(secret.Data[kubeconfigKey])
			if err != nil {
				return nil, fmt.Errorf("secret %s: %w", secret.Name, err)
			}
			if !shown {
				_, _ = fmt.Fprintf(s.ErrOut, "Secret %s has the new user %s, valid until %s.\n", secret.Name, clean(k.Leaf.Subject.CommonName), k.Leaf.NotAfter.UTC().Format(time.DateOnly))
			}
			if shown = true; access.RevokedFor(secret.Annotations[contract.AnnotationRevoked], k.Leaf.Subject.CommonName) {
				return secret, nil
			}
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case err := <-watch.failed:
			return nil, site.explain(err)
		case <-watch.changed:
		}
	}
}

// afterRotation says what has become of the old kubeconfig.
func afterRotation(old []byte) string {
	before, err := access.ParseKubeconfig(old)
	if err != nil {
		return "The cluster refuses the old user now."
	}
	user := before.Leaf.Subject.CommonName
	if _, own := access.ParseUser(user); own && len(before.Leaf.Subject.Organization) == 0 {
		return fmt.Sprintf("The cluster refuses the old user %s now: all earlier copies of the kubeconfig are useless.", user)
	}
	return fmt.Sprintf("Copies of the old kubeconfig work until %s: its user %s is none of those that BPA makes, and has its rights from a group, which cannot be revoked for one user.",
		before.Leaf.NotAfter.UTC().Format(time.DateOnly), clean(user))
}

// notRotated returns the error of a rotation that was not seen to end.
func notRotated(ctx context.Context, site *site, name string, timeout time.Duration, err error) error {
	where := fmt.Sprintf("The controller continues. If it cannot reach the cluster, an event says so:\n  %s",
		site.kubectl("get events", "--field-selector involvedObject.name="+name))
	switch {
	case errors.Is(context.Cause(ctx), errTimeout):
		return exitf(codeTimeout, "timeout of %v: the old kubeconfig of %s may still work. %s", timeout, name, where)
	case ctx.Err() != nil:
		return exitf(codeInterrupted, "interrupted: the old kubeconfig of %s may still work. %s", name, where)
	}
	return err
}
