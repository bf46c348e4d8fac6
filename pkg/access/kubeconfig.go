package access

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig is the part of a kubeconfig that BPA uses. A kubeconfig can also name programs to run and
// files to read. BPA never does that, because users of the namespace can edit the Secret.
type Kubeconfig struct {
	Server, ServerName   string
	CA, Certificate, Key []byte // PEM
	Leaf                 *x509.Certificate
}

// ParseKubeconfig reads the current context of a kubeconfig. Its errors never quote the kubeconfig.
func ParseKubeconfig(value []byte) (Kubeconfig, error) {
	config, cluster, user, err := load(value)
	if err != nil {
		return Kubeconfig{}, err
	}
	k := Kubeconfig{
		Server: config.Clusters[cluster].Server, ServerName: config.Clusters[cluster].TLSServerName,
		CA:          config.Clusters[cluster].CertificateAuthorityData,
		Certificate: config.AuthInfos[user].ClientCertificateData, Key: config.AuthInfos[user].ClientKeyData,
	}
	server, err := url.Parse(k.Server)
	if err != nil || server.Scheme != "https" || server.Hostname() == "" {
		return Kubeconfig{}, errors.New("the kubeconfig has no https:// server address")
	}
	if len(k.CA) == 0 {
		return Kubeconfig{}, errors.New("the kubeconfig has no CA to verify the server with")
	}
	pair, err := tls.X509KeyPair(k.Certificate, k.Key)
	if err != nil {
		return Kubeconfig{}, fmt.Errorf("the certificate in the kubeconfig: %w", err)
	}
	k.Leaf = pair.Leaf
	return k, nil
}

func load(value []byte) (config *clientcmdapi.Config, cluster, user string, err error) {
	config, err = clientcmd.Load(value)
	if err != nil {
		return nil, "", "", errors.New("this is not a kubeconfig")
	}
	context := config.Contexts[config.CurrentContext]
	if context == nil || config.Clusters[context.Cluster] == nil || config.AuthInfos[context.AuthInfo] == nil {
		return nil, "", "", errors.New("the kubeconfig has no usable current context")
	}
	return config, context.Cluster, context.AuthInfo, nil
}

// Encode returns the kubeconfig as YAML. Its names of cluster, user and context come from the user of
// the certificate, without its random part, so that they stay when the user is replaced.
func (k Kubeconfig) Encode() ([]byte, error) {
	cluster, user := names(k.Leaf.Subject.CommonName)
	context := user + "@" + cluster
	config := clientcmdapi.NewConfig()
	config.Clusters[cluster] = &clientcmdapi.Cluster{Server: k.Server, TLSServerName: k.ServerName, CertificateAuthorityData: k.CA}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{ClientCertificateData: k.Certificate, ClientKeyData: k.Key}
	config.Contexts[context] = &clientcmdapi.Context{Cluster: cluster, AuthInfo: user}
	config.CurrentContext = context
	value, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("encode the kubeconfig: %w", err)
	}
	return value, nil
}

// names returns the names of cluster and user in a kubeconfig.
func names(commonName string) (cluster, user string) {
	if u, ok := ParseUser(commonName); ok {
		return u.Cluster, u.Cluster + "-" + string(u.Kind)
	}
	return strings.TrimSuffix(commonName, "-admin"), commonName // of an older build of BPA
}

// ReplaceCertificate returns a stored kubeconfig with another certificate and key. Everything else stays
// as it is, such as the names in it.
func ReplaceCertificate(value, certificate, key []byte) ([]byte, error) {
	config, _, user, err := load(value)
	if err != nil {
		return nil, err
	}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{ClientCertificateData: certificate, ClientKeyData: key}
	replaced, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("encode the kubeconfig: %w", err)
	}
	return replaced, nil
}

// RenewAt returns the time at which a certificate is to be renewed: half of its life.
func RenewAt(c *x509.Certificate) time.Time {
	return c.NotBefore.Add(c.NotAfter.Sub(c.NotBefore) / 2)
}
