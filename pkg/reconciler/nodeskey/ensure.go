package nodeskey

import (
	"context"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/owned"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
	"github.com/akraino-icn/bpa/pkg/ssh"
)

// Ensure makes sure that the SSH key of a cluster exists, and returns the fingerprint of its public part.
// A key that is lost or damaged is replaced by another one, which the next run installs on the machines.
func Ensure(ctx context.Context, secrets owned.Client[*corev1.Secret], p *v1alpha1.Provisioning, random io.Reader) (string, error) {
	name := contract.NodesKeyName(p.Name)
	if have, err := secrets.Get(ctx, name, metav1.GetOptions{}); err == nil && metav1.IsControlledBy(have, p) {
		if key, err := ssh.ParseKey(have.Data[corev1.SSHAuthPrivateKey]); err == nil {
			return ssh.Fingerprint(key.PublicKey()), nil
		}
	}
	made, err := ssh.NewKey(random)
	if err != nil {
		return "", err
	}
	secret, err := owned.Ensure(ctx, p, secrets, resources.MakeNodesKey(p, made), func(have, want *corev1.Secret) {
		if _, err := ssh.ParseKey(have.Data[corev1.SSHAuthPrivateKey]); err != nil {
			have.Data = want.Data
		}
	})
	if err != nil {
		return "", err
	}
	key, err := ssh.ParseKey(secret.Data[corev1.SSHAuthPrivateKey])
	if err != nil {
		return "", fmt.Errorf("key %s of Secret %s %w", corev1.SSHAuthPrivateKey, name, err)
	}
	return ssh.Fingerprint(key.PublicKey()), nil
}
