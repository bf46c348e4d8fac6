package fleet

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"

	"golang.org/x/crypto/ssh"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ensureKey creates an SSH key pair for the namespace of the hosts if it has none. The private key
// is in the Secret that the product reads. The public key is in a ConfigMap that machines mount.
func (f *Fleet) ensureKey(ctx context.Context) (ssh.Signer, error) {
	signer, err := f.Key(ctx)
	if apierrors.IsNotFound(err) {
		signer, err = f.createKey(ctx)
	}
	if err != nil {
		return nil, err
	}
	public := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: PodNamespace, Name: keyConfigName(f.Namespace)},
		Data:       map[string]string{authorizedKeys: string(ssh.MarshalAuthorizedKey(signer.PublicKey()))},
	}
	if err := f.replace(ctx, public); err != nil {
		return nil, err
	}
	return signer, nil
}

// Key returns the private SSH key for the machines of this namespace.
func (f *Fleet) Key(ctx context.Context) (ssh.Signer, error) {
	var secret corev1.Secret
	if err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.Namespace, Name: SSHSecret}, &secret); err != nil {
		return nil, fmt.Errorf("read the machines' SSH key: %w", err)
	}
	signer, err := ssh.ParsePrivateKey(secret.Data[corev1.SSHAuthPrivateKey])
	if err != nil {
		return nil, fmt.Errorf("secret %s/%s, key %s: %w", f.Namespace, SSHSecret, corev1.SSHAuthPrivateKey, err)
	}
	return signer, nil
}

func (f *Fleet) createKey(ctx context.Context) (ssh.Signer, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	block, err := ssh.MarshalPrivateKey(private, "lab "+f.Namespace)
	if err != nil {
		return nil, err
	}
	err = f.Client.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: SSHSecret},
		Type:       corev1.SecretTypeSSHAuth,
		Data:       map[string][]byte{corev1.SSHAuthPrivateKey: pem.EncodeToMemory(block)},
	})
	if err != nil {
		return nil, fmt.Errorf("store the machines' SSH key: %w", err)
	}
	return ssh.NewSignerFromKey(private)
}
