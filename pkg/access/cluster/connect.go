package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/akraino-icn/bpa/pkg/access"
)

// CallLimit bounds one call to the API server. A watch also ends after this time, and is then started
// again.
const CallLimit = 15 * time.Second

// Limits of one answer. Users of a namespace can edit the Secret with the kubeconfig, so the server can
// be theirs, and must not fill the controller's memory. Each element of a decoded list can need 1 KiB
// however short it was, such as "{},", so commas are limited too. Lists are read in pages.
const (
	answerLimit = 256 << 10
	commaLimit  = 4 << 10
	headerLimit = 64 << 10
	pageSize    = 30
)

// errTooLong is in errors about an answer that exceeds the limits.
var errTooLong = errors.New("the answer of the API server is too long")

// Connect returns clients for the cluster of a kubeconfig. disconnect ends their connections.
func Connect(k access.Kubeconfig) (kube kubernetes.Interface, disconnect func(), err error) {
	config := k.RESTConfig("bpa-controller")
	config.Timeout = CallLimit
	config.Proxy = http.ProxyFromEnvironment // client-go keeps no transport of a config with a function
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		if transport, ok := next.(*http.Transport); ok { // of this config alone, because of Proxy
			transport.MaxResponseHeaderBytes = headerLimit
		}
		return bounded{next}
	})
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, nil, fmt.Errorf("connect to %s: %w", k.Server, err)
	}
	set, err := kubernetes.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, nil, fmt.Errorf("connect to %s: %w", k.Server, err)
	}
	return set, func() { utilnet.CloseIdleConnectionsFor(client.Transport) }, nil
}

// bounded fails reads beyond the limits.
type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := b.next.RoundTrip(request)
	if err == nil {
		answer.Body = &boundedBody{ReadCloser: answer.Body, left: answerLimit, commas: commaLimit}
	}
	return answer, err
}

// WrappedRoundTripper lets CloseIdleConnectionsFor find the transport.
func (b bounded) WrappedRoundTripper() http.RoundTripper { return b.next }

type boundedBody struct {
	io.ReadCloser
	left, commas int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 || b.commas <= 0 {
		return 0, errTooLong
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left, b.commas = b.left-n, b.commas-bytes.Count(p[:n], []byte(","))
	return n, err
}
