package look

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"

	"sigs.k8s.io/yaml"
)

// kubeconfig has the parts of a kubeconfig that this package accepts.
type kubeconfig struct {
	CurrentContext string         `json:"current-context"`
	Contexts       []namedContext `json:"contexts"`
	Clusters       []namedCluster `json:"clusters"`
	Users          []namedUser    `json:"users"`
}

type namedContext struct {
	Name    string `json:"name"`
	Context struct {
		Cluster string `json:"cluster"`
		User    string `json:"user"`
	} `json:"context"`
}

type namedCluster struct {
	Name    string  `json:"name"`
	Cluster cluster `json:"cluster"`
}

type namedUser struct {
	Name string `json:"name"`
	User user   `json:"user"`
}

type cluster struct {
	Server     string `json:"server"`
	ServerName string `json:"tls-server-name"`
	CA         []byte `json:"certificate-authority-data"`
}

type user struct {
	Certificate []byte `json:"client-certificate-data"`
	Key         []byte `json:"client-key-data"`
	Token       string `json:"token"`
}

// access is how to reach the API server of one cluster.
type access struct {
	server *url.URL
	tls    *tls.Config
	token  string
}

// readKubeconfig reads the current context of a kubeconfig. The server must be https and prove itself
// with a certificate of the CA in the kubeconfig.
func readKubeconfig(raw []byte) (access, error) {
	var k kubeconfig
	if err := yaml.Unmarshal(raw, &k); err != nil {
		return access{}, errors.New("it is not a kubeconfig") // the error of the parser could repeat a part of a key
	}
	c, u, err := k.current()
	if err != nil {
		return access{}, err
	}
	server, err := url.Parse(c.Server)
	if err != nil || server.Scheme != "https" || server.Hostname() == "" || server.User != nil {
		return access{}, errors.New("its server is not an https address")
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.ServerName, RootCAs: x509.NewCertPool()}
	if !config.RootCAs.AppendCertsFromPEM(c.CA) {
		return access{}, errors.New("it has no certificate-authority-data")
	}
	switch {
	case len(u.Certificate) > 0:
		pair, err := tls.X509KeyPair(u.Certificate, u.Key)
		if err != nil {
			return access{}, errors.New("its client certificate does not match its key")
		}
		config.Certificates = []tls.Certificate{pair}
	case u.Token == "":
		return access{}, errors.New("it has neither client-certificate-data nor a token")
	}
	return access{server: &url.URL{Scheme: "https", Host: net.JoinHostPort(server.Hostname(), cmp.Or(server.Port(), "443")), Path: server.Path}, tls: config, token: u.Token}, nil
}

func (k kubeconfig) current() (c cluster, u user, err error) {
	for _, context := range k.Contexts {
		if context.Name != k.CurrentContext {
			continue
		}
		i := slices.IndexFunc(k.Clusters, func(c namedCluster) bool { return c.Name == context.Context.Cluster })
		j := slices.IndexFunc(k.Users, func(u namedUser) bool { return u.Name == context.Context.User })
		if i >= 0 && j >= 0 {
			return k.Clusters[i].Cluster, k.Users[j].User, nil
		}
	}
	return c, u, fmt.Errorf("its current context %.40q is incomplete", k.CurrentContext)
}
