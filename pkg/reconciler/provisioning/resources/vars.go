package resources

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/secretvars"
)

// MakeVarsKey returns the Secret with the key of the digests of variables in Secrets.
func MakeVarsKey(p *v1alpha1.Provisioning, key []byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: meta(p, contract.VarsKeyName(p.Name)), Data: map[string][]byte{secretvars.KeyData: key}}
}

// MakeNodesKey returns the Secret with the SSH key of the cluster.
func MakeNodesKey(p *v1alpha1.Provisioning, privateKey []byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: meta(p, contract.NodesKeyName(p.Name)), Type: corev1.SecretTypeSSHAuth, Data: map[string][]byte{corev1.SSHAuthPrivateKey: privateKey},
	}
}

// varsOf returns the files of contract.WorkspaceVars; nil: there are no variables in Secrets. A key that is missing is
// no file: otherwise the pod would wait for it until the end of the run. The task then says which variable is missing.
func varsOf(p *v1alpha1.Provisioning) []corev1.VolumeProjection {
	if len(p.Spec.Kubespray.VarsFrom) == 0 {
		return nil
	}
	file := func(secret, key, name string) corev1.VolumeProjection {
		return corev1.VolumeProjection{Secret: &corev1.SecretProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: secret}, Optional: ptr.To(true), Items: []corev1.KeyToPath{{Key: key, Path: name}},
		}}
	}
	files := []corev1.VolumeProjection{file(contract.VarsKeyName(p.Name), secretvars.KeyData, secretvars.KeyFile)}
	for i, s := range p.Spec.Kubespray.VarsFrom {
		files = append(files, file(s.SecretRef.Name, s.SecretRef.KeyOf(), secretvars.FileName(i, s.Variable)))
	}
	return files
}
