package look

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/health"
)

// Limits of one look. A control plane that is off must leave time to ask another one.
const (
	lookLimit   = 12 * time.Second
	dialLimit   = 2 * time.Second
	answerLimit = 5 * time.Second
	// keepIdle is how long a connection is kept. It is longer than the usual time between two looks.
	keepIdle = 90 * time.Second
)

// Limits of memory. Users of a namespace can edit the Secret with the credentials, so the API server can
// be theirs. Answers are decoded item by item, so a look keeps less than 1 MiB and what it returns.
const (
	// mostItem limits one node. A real one has about 15 KiB. A kubelet lists at most 50 images with 5
	// names each, which makes 64 KiB of long names.
	mostItem = 128 << 10
	// mostBytes and mostBytesPerNode limit an answer, which costs time, but no memory: an answer about
	// 1,000 nodes has about 15 MiB.
	mostBytes        = 8 << 20
	mostBytesPerNode = 32 << 10
	mostHeader       = 64 << 10
)

// Client looks at one cluster. It is not safe for concurrent use.
type Client struct {
	servers []*url.URL // the control planes
	at      int        // the one that answered last
	token   string
	http    *http.Client
	pool    *http.Transport
}

// New returns a Client for the cluster of the kubeconfig. addresses are those of all control planes. If
// the server of the kubeconfig does not answer, the same port of the others is asked: kubespray puts the
// addresses of all control planes into the certificates of their API servers.
func New(kubeconfig []byte, addresses []string) (*Client, error) {
	a, err := readKubeconfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	servers := []*url.URL{a.server}
	for _, address := range addresses {
		other := *a.server
		other.Host = net.JoinHostPort(address, a.server.Port())
		if address != "" && !slices.ContainsFunc(servers, func(s *url.URL) bool { return s.Host == other.Host }) {
			servers = append(servers, &other)
		}
	}
	pool := &http.Transport{
		DialContext:            (&net.Dialer{Timeout: dialLimit}).DialContext,
		TLSClientConfig:        a.tls,
		TLSHandshakeTimeout:    answerLimit,
		ResponseHeaderTimeout:  answerLimit,
		MaxIdleConnsPerHost:    1,
		IdleConnTimeout:        keepIdle,
		MaxResponseHeaderBytes: mostHeader,
		ReadBufferSize:         1 << 10, // a connection is idle most of the time, and there is one for each cluster
		WriteBufferSize:        1 << 10,
		DisableCompression:     true, // the controller would spend more time on it than the network saves
		Protocols:              new(http.Protocols),
	}
	pool.Protocols.SetHTTP1(true) // three requests in a row need no HTTP/2, whose connections need more memory
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{servers: servers, token: a.token, pool: pool, http: &http.Client{Transport: pool, CheckRedirect: stay}}, nil
}

// Close closes the connection.
func (c *Client) Close() { c.pool.CloseIdleConnections() }

// Look looks once at the expected nodes, and skips all others. It asks the control plane that answered
// last, and if that one is silent the others.
func (c *Client) Look(ctx context.Context, expected []string) health.Observation {
	names := make(map[string]bool, len(expected))
	for _, name := range expected {
		names[name] = true
	}
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	var silent []string
	var first health.Observation
	for i := range c.servers {
		at := (c.at + i) % len(c.servers)
		o := c.lookAt(ctx, c.servers[at], names)
		if o.Silent == "" {
			c.at = at
			return o
		}
		if i == 0 {
			first = o
		}
		silent = append(silent, c.servers[at].Host+": "+o.Silent)
		if ctx.Err() != nil {
			break
		}
	}
	first.Silent = strings.Join(silent, "; ")
	return first
}

// lookAt asks one control plane.
func (c *Client) lookAt(ctx context.Context, server *url.URL, expected map[string]bool) (o health.Observation) {
	most := int64(mostBytes + len(expected)*mostBytesPerNode)
	if err := c.get(ctx, server, "/readyz", &o, func(r io.Reader) error { return discard(io.LimitReader(r, mostItem)) }); err != nil {
		return failed(o, err)
	}
	nodes := map[string]health.Node{}
	err := c.get(ctx, server, "/api/v1/nodes?resourceVersion=0", &o, func(r io.Reader) error {
		return eachItem(r, most, func(n node) {
			if expected[n.Metadata.Name] {
				nodes[n.Metadata.Name] = n.reduce()
			}
		})
	})
	if err != nil {
		return failed(o, err)
	}
	leases, times := make(map[string]string, len(nodes)), make(map[string]time.Duration, len(nodes))
	err = c.get(ctx, server, "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases?resourceVersion=0", &o, func(r io.Reader) error {
		return eachItem(r, most, func(l lease) {
			if expected[l.Metadata.Name] {
				leases[l.Metadata.Name] = l.reduce()
				times[l.Metadata.Name] = time.Duration(l.Spec.Seconds) * time.Second
			}
		})
	})
	var status *statusError
	switch {
	case err == nil:
		o.Leases, o.LeaseTimes = leases, times
	case !errors.As(err, &status) || !status.denied(): // without the right to list leases, the conditions must do
		return failed(o, err)
	}
	o.Nodes = nodes
	return o
}

// failed adds to the observation why nothing was seen.
func failed(o health.Observation, err error) health.Observation {
	var status *statusError
	if errors.As(err, &status) && status.denied() {
		o.Denied = status.Error()
		return o
	}
	o.Silent = explain(err)
	if expires, ok := expired(err); ok {
		o.NotAfter = expires
	}
	return o
}

// get sends one request, and passes the body of the answer to read.
func (c *Client) get(ctx context.Context, server *url.URL, path string, o *health.Observation, read func(io.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(server.String(), "/")+path, nil)
	if err != nil {
		return fmt.Errorf("make the request: %w", err)
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "bpa-controller/health")
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.TLS != nil && len(answer.TLS.PeerCertificates) > 0 {
		o.NotAfter = answer.TLS.PeerCertificates[0].NotAfter
	}
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 16<<10)) // what is missing explains less
		return &statusError{code: answer.StatusCode, path: path, checks: failedChecks(string(text))}
	}
	if err := read(answer.Body); err != nil {
		return err
	}
	return discard(io.LimitReader(answer.Body, mostItem)) // to the end, so that the connection can be used again
}

func discard(r io.Reader) error {
	_, err := io.Copy(io.Discard, r)
	return err
}
