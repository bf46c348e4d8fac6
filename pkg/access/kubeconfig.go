package access

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig is the part of a kubeconfig that BPA uses. A kubeconfig can also name programs to run and
// files to read. BPA never does that, because users of the namespace can edit the Secret, and a node can send
// any admin.conf.
type Kubeconfig struct {
	Server, ServerName   string
	CA, Certificate, Key []byte // PEM
	Leaf                 *x509.Certificate
}

// ParseKubeconfig reads the current context of a kubeconfig. It refuses one that names a program, a file or a
// proxy: for BPA it would mean something else than for kubectl. Its errors never quote the kubeconfig.
func ParseKubeconfig(value []byte) (Kubeconfig, error) {
	config, cluster, user, err := load(value)
	if err != nil {
		return Kubeconfig{}, err
	}
	if field := foreign(config.Clusters[cluster], config.AuthInfos[user]); field != "" {
		return Kubeconfig{}, fmt.Errorf("the kubeconfig has the field %s, which BPA does not use: it may have only an address, a CA, a certificate and its key", field)
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

// foreign returns the field of a kubeconfig that names a program, a file or a proxy, or that lets anybody answer;
// empty: there is none.
func foreign(cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) string {
	switch {
	case user.Exec != nil:
		return "exec"
	case user.AuthProvider != nil:
		return "auth-provider"
	case user.TokenFile != "":
		return "tokenFile"
	case user.ClientCertificate != "":
		return "client-certificate"
	case user.ClientKey != "":
		return "client-key"
	case cluster.CertificateAuthority != "":
		return "certificate-authority"
	case cluster.ProxyURL != "":
		return "proxy-url"
	case cluster.InsecureSkipTLSVerify:
		return "insecure-skip-tls-verify"
	}
	return ""
}

// RESTConfig returns the configuration of a client for the cluster.
func (k Kubeconfig) RESTConfig(userAgent string) *rest.Config {
	return &rest.Config{
		Host:            k.Server,
		UserAgent:       userAgent,
		TLSClientConfig: rest.TLSClientConfig{ServerName: k.ServerName, CAData: k.CA, CertData: k.Certificate, KeyData: k.Key},
	}
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

// Config returns the kubeconfig for client-go. Its names of cluster, user and context come from the user of
// the certificate, without its random part, so that they stay when the user is replaced.
func (k Kubeconfig) Config() *clientcmdapi.Config {
	cluster, user := names(k.Leaf.Subject.CommonName)
	context := user + "@" + cluster
	config := clientcmdapi.NewConfig()
	config.Clusters[cluster] = &clientcmdapi.Cluster{Server: k.Server, TLSServerName: k.ServerName, CertificateAuthorityData: k.CA}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{ClientCertificateData: k.Certificate, ClientKeyData: k.Key}
	config.Contexts[context] = &clientcmdapi.Context{Cluster: cluster, AuthInfo: user}
	config.CurrentContext = context
	return config
}

// Encode returns the Config as YAML.
func (k Kubeconfig) Encode() ([]byte, error) {
	value, err := clientcmd.Write(*k.Config())
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
	return strings.TrimSuffix(commonName, "-admin"), commonName // of a kubeconfig that a user has stored
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
