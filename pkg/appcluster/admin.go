package appcluster

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/akraino-icn/bpa/pkg/access"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/kube"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// admin is the administrator's access to the new cluster. It holds a private key and must never be
// printed.
type admin struct {
	config   *rest.Config
	ca       []byte // PEM, certificates only
	endpoint string
}

// parseAdmin reads a kubeconfig that was copied from a node. If the kubeconfig names a server on
// loopback, or on another node, parseAdmin replaces that name by the node's address. Its errors are
// shown after "read /etc/kubernetes/admin.conf: ", and never quote the kubeconfig. This process holds the SSH key of
// all hosts, so no program and no file that a node names may be used here: see access.ParseKubeconfig.
func parseAdmin(kubeconfig []byte, address string, otherNode func(host string) bool) (*admin, error) {
	k, err := access.ParseKubeconfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	if k.CA, err = onlyCertificates(k.CA); err != nil {
		return nil, err
	}
	server, err := url.Parse(k.Server)
	if err != nil {
		return nil, errors.New("the kubeconfig has no https:// server address")
	}
	k.Server = server.String()
	read := &admin{ca: k.CA, endpoint: k.Server, config: k.RESTConfig("bpa-task")}
	if local(server.Hostname()) || otherNode(server.Hostname()) {
		read = read.at(address)
	}
	return read, nil
}

// atServer returns the same access to the API server with another URL.
func (a *admin) atServer(server string) *admin {
	moved := *a
	moved.endpoint, moved.config = server, rest.CopyConfig(a.config)
	moved.config.Host = server
	return &moved
}

// at returns the same access to the API server at another address, with the same port.
func (a *admin) at(address string) *admin {
	server, err := url.Parse(a.endpoint)
	if err != nil { // cannot happen: parseAdmin has parsed it
		return a
	}
	port := server.Port()
	if port == "" {
		port = "443"
	}
	server.Host = net.JoinHostPort(address, port)
	return a.atServer(server.String())
}

func local(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// onlyCertificates returns the certificates of a PEM text. It drops comments, because the size of
// the results is limited. It returns an error if the text has anything else, such as a private key.
func onlyCertificates(text []byte) ([]byte, error) {
	var kept []byte
	for rest := text; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, errors.New("the CA in the file must contain only certificates")
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return nil, fmt.Errorf("the CA in the file: %w", err)
		}
		kept = append(kept, pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes})...)
	}
	if len(kept) == 0 {
		return nil, errors.New("the CA in the file is not a certificate")
	}
	return kept, nil
}

// callLimit bounds one call to the API server. A watch also ends after this time, and is then
// started again.
const callLimit = 30 * time.Second

// Calls for each second, and calls at once, as kubectl has them: a drain asks for each pod of a node.
const (
	callsPerSecond = 50
	callsAtOnce    = 300
)

// open makes clients for the API server, which connect to it through the node.
func (a *admin) open(through ssh.Dialer, limit time.Duration) (kubernetes.Interface, *route, error) {
	config := rest.CopyConfig(a.config)
	config.Timeout, config.QPS, config.Burst = callLimit, callsPerSecond, callsAtOnce
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON // half of the memory of JSON
	config.Wrap(boundAnswers)
	way := &route{through: through, limit: limit}
	config.Dial = way.dial
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, task.Because(kube.Reason(err), errors.New(adminPath+" of the new cluster has no usable client certificate"))
	}
	return clients, way, nil
}

func versionOf(clients kubernetes.Interface) (string, error) {
	version, err := clients.Discovery().ServerVersion()
	if err != nil {
		return "", task.Because(kube.Reason(err), fmt.Errorf("ask the new cluster for its version: %w", err))
	}
	return version.GitVersion, nil
}
