//go:build integration && bench

package integration

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// counter is a proxy between the controller and the API server. It counts the controller's requests, which neither the
// audit log nor the metrics of the API server can do alone: one leaves out reads, leases and status, and the other does
// not say who asked.
type counter struct {
	server *httptest.Server

	mu      sync.Mutex
	calls   map[string]int // by verb and resource, such as "create configmaps"
	keep    bool
	writes  []write                                          // if keep is set
	created func(resource string, name string, at time.Time) // called after each successful POST
}

// write is a request that changes something.
type write struct {
	verb, path, encoding string
	body                 []byte
}

// newCounter starts a proxy to the API server of a configuration.
func newCounter(t *testing.T, config *rest.Config) *counter {
	t.Helper()
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := tls.LoadX509KeyPair(config.CertFile, config.KeyFile)
	if len(config.CertData) > 0 {
		cert, err = tls.X509KeyPair(config.CertData, config.KeyData)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := rest.LoadTLSFiles(config); err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(config.CAData)
	c := &counter{calls: map[string]int{}}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval: -1, // events of watches go on at once
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}, MaxIdleConnsPerHost: 256, DisableCompression: true},
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }, // the controller was killed
	}
	c.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		verb, resource, name := describe(r)
		body := c.note(r, verb, resource)
		answer := &statusWriter{ResponseWriter: w}
		proxy.ServeHTTP(answer, r)
		if c.created != nil && verb == "create" && answer.status == http.StatusCreated {
			if resource == "pipelineruns" {
				name = nameIn(body)
			}
			c.created(resource, name, time.Now())
		}
	}))
	t.Cleanup(c.server.CloseClientConnections)
	return c
}

// nameIn returns the first name in the JSON of an object whose metadata come first.
func nameIn(body []byte) string {
	_, rest, _ := bytes.Cut(body, []byte(`"name":"`))
	name, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(name)
}

// statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (c *counter) note(r *http.Request, verb, resource string) []byte {
	var body []byte
	if isWrite(verb) && r.Body != nil {
		body, _ = io.ReadAll(r.Body) // a short body fails at the API server
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[verb+" "+resource]++
	if c.keep && isWrite(verb) && resource != "leases" && resource != "events" {
		c.writes = append(c.writes, write{verb, r.URL.Path, r.Header.Get("Content-Type"), body})
	}
	return body
}

func isWrite(verb string) bool {
	return slices.Contains([]string{"create", "update", "patch", "delete"}, verb)
}

// describe returns the verb, the resource with its subresource, and the name in a request.
func describe(r *http.Request) (verb, resource, name string) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		parts = parts[3:]
	default:
		return "get", "discovery", ""
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	resource = parts[0]
	if len(parts) > 1 {
		name = parts[1]
	}
	if len(parts) > 2 {
		resource += "/" + parts[2]
	}
	switch {
	case r.Method == http.MethodPost:
		verb = "create"
	case r.Method == http.MethodPut:
		verb = "update"
	case r.Method != http.MethodGet:
		verb = strings.ToLower(r.Method)
	case name != "":
		verb = "get"
	case r.URL.Query().Get("watch") != "":
		verb = "watch"
	default:
		verb = "list"
	}
	return verb, resource, name
}

// since returns what was counted since an earlier count.
func (c *counter) since(before map[string]int) map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := maps.Clone(c.calls)
	for what, n := range before {
		if now[what] -= n; now[what] == 0 {
			delete(now, what)
		}
	}
	return now
}

// sum adds those of the counts that which selects by verb and resource.
func sum(calls map[string]int, which func(verb, resource string) bool) (n int) {
	for what, count := range calls {
		if verb, resource, _ := strings.Cut(what, " "); which(verb, resource) {
			n += count
		}
	}
	return n
}

// kubeconfig writes a kubeconfig with which the controller calls the proxy.
func (c *counter) kubeconfig(t *testing.T) string {
	t.Helper()
	config := api.NewConfig()
	config.Clusters["site"] = &api.Cluster{Server: c.server.URL}
	config.AuthInfos["controller"] = &api.AuthInfo{Impersonate: "system:serviceaccount:bpa-system:bpa-controller"}
	config.Contexts["site"] = &api.Context{Cluster: "site", AuthInfo: "controller"}
	config.CurrentContext = "site"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}
