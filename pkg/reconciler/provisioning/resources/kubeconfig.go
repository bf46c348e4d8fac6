package resources

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// Keys in the data of the two Secrets.
const (
	KeyKubeconfig = "value"       // in Secret <name>-kubeconfig, as in Cluster API
	KeyPrivateKey = "tls.key"     // in <name>-kubeconfig-key: PEM
	KeyCSR        = "request.pem" // in Secret <name>-kubeconfig-key: the certificate request
)

// secretTypeCAPI is the type of Cluster API's kubeconfig Secrets.
const secretTypeCAPI corev1.SecretType = "cluster.x-k8s.io/secret"

// groupAdmins is the group of the kubeconfig's user. Every kubeadm cluster since 1.29 binds it to
// cluster-admin. This binding can be revoked, but the permissions of the group system:masters
// cannot.
const groupAdmins = "kubeadm:cluster-admins"

// MakeKubeconfigKey returns a Secret with a new private key for the kubeconfig, and with the
// request for the certificate. Only this Secret and the kubeconfig contain the key; the request is
// public. The controller creates the Secret once and keeps it, so every attempt uses the same
// request.
func MakeKubeconfigKey(p *v1alpha1.Provisioning, random io.Reader) (*corev1.Secret, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), random)
	if err != nil {
		return nil, fmt.Errorf("create the key of the kubeconfig: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode the key of the kubeconfig: %w", err)
	}
	request, err := x509.CreateCertificateRequest(random, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: user(p), Organization: []string{groupAdmins}},
	}, key)
	if err != nil {
		return nil, fmt.Errorf("create the certificate request of the kubeconfig: %w", err)
	}
	return &corev1.Secret{
		ObjectMeta: meta(p, contract.KubeconfigKeyName(p.Name)),
		Type:       corev1.SecretTypeOpaque,
		Data: map[string][]byte{
			KeyPrivateKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
			KeyCSR:        pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request}),
		},
	}, nil
}

// userSuffix is the end of the user's name in the kubeconfig. The beginning is the name of the
// cluster.
const userSuffix = "-admin"

func user(p *v1alpha1.Provisioning) string { return p.ClusterName() + userSuffix }

// Access contains the results of collect-kubeconfig, which are all public.
type Access struct {
	CA, Certificate, Endpoint string
}

// MakeKubeconfigSecret makes a kubeconfig from the access and the private key. It returns an error
// if the certificate does not match the key. The names of cluster, user and context come from the
// certificate. The certificate is requested only once for a Provisioning, so these names stay when
// the label with the cluster's name is changed later.
func MakeKubeconfigSecret(p *v1alpha1.Provisioning, access Access, key []byte) (*corev1.Secret, error) {
	pair, err := tls.X509KeyPair([]byte(access.Certificate), key)
	if err != nil {
		return nil, fmt.Errorf("the certificate does not match the key in Secret %s: %w", contract.KubeconfigKeyName(p.Name), err)
	}
	user := pair.Leaf.Subject.CommonName
	cluster := strings.TrimSuffix(user, userSuffix)
	name := user + "@" + cluster
	config := clientcmdapi.NewConfig()
	config.Clusters[cluster] = &clientcmdapi.Cluster{Server: access.Endpoint, CertificateAuthorityData: []byte(access.CA)}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{ClientCertificateData: []byte(access.Certificate), ClientKeyData: key}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: cluster, AuthInfo: user}
	config.CurrentContext = name
	value, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("encode the kubeconfig: %w", err)
	}
	m := meta(p, contract.KubeconfigName(p.Name))
	m.Labels[LabelCAPICluster] = p.Name
	return &corev1.Secret{ObjectMeta: m, Type: secretTypeCAPI, Data: map[string][]byte{KeyKubeconfig: value}}, nil
}

// ReadKubeconfig returns the API server of a stored kubeconfig and the time at which its
// certificate expires.
func ReadKubeconfig(secret *corev1.Secret) (endpoint string, expires time.Time, err error) {
	bad := func(err error) (string, time.Time, error) {
		return "", time.Time{}, fmt.Errorf("key %q of Secret %s: %w", KeyKubeconfig, secret.Name, err)
	}
	config, err := clientcmd.Load(secret.Data[KeyKubeconfig])
	if err != nil {
		return bad(err)
	}
	context := config.Contexts[config.CurrentContext]
	if context == nil || config.Clusters[context.Cluster] == nil || config.AuthInfos[context.AuthInfo] == nil {
		return bad(fmt.Errorf("no usable current context"))
	}
	user := config.AuthInfos[context.AuthInfo]
	pair, err := tls.X509KeyPair(user.ClientCertificateData, user.ClientKeyData)
	if err != nil {
		return bad(err)
	}
	return config.Clusters[context.Cluster].Server, pair.Leaf.NotAfter, nil
}

// MoveKubeconfig returns a copy of a stored kubeconfig that names the API server at another address,
// with the same port, certificates and key. moved is nil if the kubeconfig names this address already.
// endpoint is the URL of the API server after the move.
func MoveKubeconfig(secret *corev1.Secret, address string) (moved *corev1.Secret, endpoint string, err error) {
	bad := func(err error) (*corev1.Secret, string, error) {
		return nil, "", fmt.Errorf("key %q of Secret %s: %w", KeyKubeconfig, secret.Name, err)
	}
	config, err := clientcmd.Load(secret.Data[KeyKubeconfig])
	if err != nil {
		return bad(err)
	}
	context := config.Contexts[config.CurrentContext]
	if context == nil || config.Clusters[context.Cluster] == nil {
		return bad(errors.New("no usable current context"))
	}
	cluster := config.Clusters[context.Cluster]
	server, err := url.Parse(cluster.Server)
	if err != nil {
		return bad(err)
	}
	if server.Hostname() == address {
		return nil, cluster.Server, nil
	}
	port := server.Port()
	if port == "" {
		port = "443"
	}
	server.Host = net.JoinHostPort(address, port)
	cluster.Server = server.String()
	value, err := clientcmd.Write(*config)
	if err != nil {
		return bad(err)
	}
	moved = secret.DeepCopy()
	moved.Data[KeyKubeconfig] = value
	return moved, cluster.Server, nil
}

// Fits reports whether the certificate belongs to this key and has not expired.
func Fits(certificate, key []byte, now time.Time) bool {
	pair, err := tls.X509KeyPair(certificate, key)
	return err == nil && pair.Leaf.NotAfter.After(now)
}
