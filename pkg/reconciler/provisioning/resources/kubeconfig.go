package resources

import (
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/access"
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// Keys in the data of the two Secrets.
const (
	KeyKubeconfig = "value"       // in Secret <name>-kubeconfig, as in Cluster API
	KeyPrivateKey = "tls.key"     // in <name>-kubeconfig-key: PEM
	KeyCSR        = "request.pem" // in Secret <name>-kubeconfig-key: the certificate request

	// In Secret <name>-kubeconfig-key: the results of collect-kubeconfig for this key, which are public. With them, the
	// kubeconfig can be created again after the run was deleted.
	KeyCA, KeyCertificate, KeyEndpoint = "ca.crt", "tls.crt", "endpoint"
)

// secretTypeCAPI is the type of Cluster API's kubeconfig Secrets.
const secretTypeCAPI corev1.SecretType = "cluster.x-k8s.io/secret"

// MakeKubeconfigKey returns a Secret with a new user, a new private key for its kubeconfig, and the
// request for its certificate. Only this Secret and the kubeconfig contain the key; the request is
// public. The controller creates the Secret once and keeps it, so every attempt uses the same request,
// until a rotation replaces it. The new user answers the rotation that p requests, if there is one.
func MakeKubeconfigKey(p *v1alpha1.Provisioning, random io.Reader) (*corev1.Secret, error) {
	user, err := access.NewUser(p.ClusterName(), access.Admin, random)
	if err != nil {
		return nil, err
	}
	key, err := access.NewKey(user.String(), random)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	m := meta(p, contract.KubeconfigKeyName(p.Name))
	if rotate := p.Annotations[contract.AnnotationRotateKubeconfig]; rotate != "" {
		m.Annotations = map[string]string{contract.AnnotationRotated: rotate}
	}
	return &corev1.Secret{
		ObjectMeta: m,
		Type:       corev1.SecretTypeOpaque,
		Data:       map[string][]byte{KeyPrivateKey: key.Private, KeyCSR: key.Request},
	}, nil
}

// Access contains the results of collect-kubeconfig, which are all public.
type Access struct {
	CA, Certificate, Endpoint string
}

// KeepAccess returns a copy of the Secret with the key, with the access that belongs to it. restored is Installed.Restored
// of the cluster that gave the access.
func KeepAccess(key *corev1.Secret, a Access, restored string) *corev1.Secret {
	key = key.DeepCopy()
	maps.Copy(key.Data, map[string][]byte{KeyCA: []byte(a.CA), KeyCertificate: []byte(a.Certificate), KeyEndpoint: []byte(a.Endpoint)})
	if delete(key.Annotations, contract.AnnotationRestored); restored != "" {
		metav1.SetMetaDataAnnotation(&key.ObjectMeta, contract.AnnotationRestored, restored)
	}
	return key
}

// KeptAccess returns the access that KeepAccess has stored; nil: there is none.
func KeptAccess(key *corev1.Secret) *Access {
	if len(key.Data[KeyCertificate]) == 0 {
		return nil
	}
	return &Access{CA: string(key.Data[KeyCA]), Certificate: string(key.Data[KeyCertificate]), Endpoint: string(key.Data[KeyEndpoint])}
}

// MakeKubeconfigSecret makes a kubeconfig from the access and from the Secret with its key. It returns
// an error if the certificate does not match the key.
func MakeKubeconfigSecret(p *v1alpha1.Provisioning, a Access, key *corev1.Secret) (*corev1.Secret, error) {
	private := key.Data[KeyPrivateKey]
	pair, err := tls.X509KeyPair([]byte(a.Certificate), private)
	if err != nil {
		return nil, fmt.Errorf("the certificate does not match the key in Secret %s: %w", contract.KubeconfigKeyName(p.Name), err)
	}
	value, err := access.Kubeconfig{Server: a.Endpoint, CA: []byte(a.CA), Certificate: []byte(a.Certificate), Key: private, Leaf: pair.Leaf}.Encode()
	if err != nil {
		return nil, err
	}
	m := meta(p, contract.KubeconfigName(p.Name))
	m.Labels[LabelCAPICluster] = p.Name
	if rotated := key.Annotations[contract.AnnotationRotated]; rotated != "" {
		m.Annotations = map[string]string{contract.AnnotationRotated: rotated}
	}
	return &corev1.Secret{ObjectMeta: m, Type: secretTypeCAPI, Data: map[string][]byte{KeyKubeconfig: value}}, nil
}

// MakeHealthSecret returns a Secret with a new user for health checks, its private key, and the request
// for its certificate. It has no kubeconfig yet.
func MakeHealthSecret(p *v1alpha1.Provisioning, random io.Reader) (*corev1.Secret, access.User, error) {
	user, err := access.NewUser(p.ClusterName(), access.Health, random)
	if err != nil {
		return nil, user, err
	}
	key, err := access.NewKey(user.String(), random)
	if err != nil {
		return nil, user, fmt.Errorf("kubeconfig for health checks: %w", err)
	}
	return &corev1.Secret{
		ObjectMeta: meta(p, contract.HealthKubeconfigName(p.Name)),
		Type:       corev1.SecretTypeOpaque,
		Data:       map[string][]byte{KeyPrivateKey: key.Private, KeyCSR: key.Request},
	}, user, nil
}

// ReadKubeconfig returns the API server of a stored kubeconfig and the time at which its
// certificate expires.
func ReadKubeconfig(secret *corev1.Secret) (endpoint string, expires time.Time, err error) {
	k, err := ParseKubeconfig(secret)
	if err != nil {
		return "", time.Time{}, err
	}
	return k.Server, k.Leaf.NotAfter, nil
}

// ParseKubeconfig reads a stored kubeconfig.
func ParseKubeconfig(secret *corev1.Secret) (access.Kubeconfig, error) {
	k, err := access.ParseKubeconfig(secret.Data[KeyKubeconfig])
	if err != nil {
		return k, fmt.Errorf("key %q of Secret %s: %w", KeyKubeconfig, secret.Name, err)
	}
	return k, nil
}

// MoveKubeconfig returns a copy of a stored kubeconfig that names the API server at another address,
// with the same port, certificates and key. moved is nil if the kubeconfig names this address already.
// endpoint is the URL of the API server after the move.
func MoveKubeconfig(secret *corev1.Secret, address string) (moved *corev1.Secret, endpoint string, err error) {
	bad := func(err error) (*corev1.Secret, string, error) {
		return nil, "", fmt.Errorf("key %q of Secret %s: %w", KeyKubeconfig, secret.Name, err)
	}
	k, err := access.ParseKubeconfig(secret.Data[KeyKubeconfig])
	if err != nil {
		return bad(err)
	}
	server, err := url.Parse(k.Server)
	if err != nil {
		return bad(err)
	}
	if server.Hostname() == address {
		return nil, k.Server, nil
	}
	port := server.Port()
	if port == "" {
		port = "443"
	}
	server.Host = net.JoinHostPort(address, port)
	k.Server = server.String()
	value, err := k.Encode()
	if err != nil {
		return bad(err)
	}
	moved = secret.DeepCopy()
	moved.Data[KeyKubeconfig] = value
	return moved, k.Server, nil
}

// FitsUntil returns when the certificate expires. It is zero if the certificate does not belong to this key.
func FitsUntil(certificate, key []byte) time.Time {
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return time.Time{}
	}
	return pair.Leaf.NotAfter
}
