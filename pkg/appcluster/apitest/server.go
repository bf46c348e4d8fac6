package apitest

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// Call is a request for objects.
type Call struct {
	Host                   string // address of the API server that is called
	Verb                   string // list, get, watch, create, patch, update, delete, deletecollection or evict
	Resource               string // in plural: pods
	Namespace, Name        string
	Fields, Labels         string         // selectors
	Body                   map[string]any // of create, update and patch
	group, version, subres string
}

// Server is the API of a cluster.
type Server struct {
	// Objects returns all objects of the cluster. It is called for each request.
	Objects func(Call) ([]runtime.Object, error)
	// Change makes a change. The answer of a patch is the object with the patch, without the help of Change.
	Change func(Call) error
	// Version returns the version of the API server at this address, such as v1.35.4; nil: it has none.
	Version func(host string) string
	server  *httptest.Server
}

// ErrAborted lets the server end a call without an answer.
var ErrAborted = errors.New("no answer")

// Start starts a server, which runs until the test ends.
func Start(t testing.TB) *Server {
	s := &Server{}
	s.server = httptest.NewUnstartedServer(s)
	s.server.EnableHTTP2 = true
	s.server.TLS = serverTLS(t)
	s.server.StartTLS()
	t.Cleanup(func() {
		s.server.CloseClientConnections()
		s.server.Close()
	})
	return s
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if text, found := discovery[strings.TrimSuffix(r.URL.Path, "/")]; found {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(text))
		return
	}
	if r.URL.Path == "/version" && s.Version != nil {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(version.Info{GitVersion: s.Version(hostOf(r))})
		return
	}
	call, err := parse(r)
	var answer any
	if err == nil {
		answer, err = s.answer(call)
	}
	code := http.StatusOK
	if errors.Is(err, ErrAborted) {
		panic(http.ErrAbortHandler)
	}
	if err != nil {
		status := apierrors.NewInternalError(err)
		errors.As(err, &status)
		problem := status.ErrStatus
		problem.TypeMeta = statusType
		answer, code = problem, int(problem.Code)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if answer != nil {
		_ = json.NewEncoder(w).Encode(answer)
	}
}

var statusType = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}

// discovery are the answers from which the library finds that pods can be evicted.
var discovery = map[string]string{
	"/api":    `{"kind":"APIVersions","versions":["v1"]}`,
	"/apis":   `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"policy","versions":[{"groupVersion":"policy/v1","version":"v1"}],"preferredVersion":{"groupVersion":"policy/v1","version":"v1"}}]}`,
	"/api/v1": `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[{"name":"pods/eviction","namespaced":true,"group":"policy","version":"v1","kind":"Eviction","verbs":["create"]}]}`,
}

func (s *Server) answer(call Call) (any, error) {
	all, err := s.Objects(call)
	if err != nil {
		return nil, err
	}
	found, err := call.selected(all)
	if err != nil {
		return nil, err
	}
	if call.Verb == "watch" { // it ends at once, as after its timeout
		return nil, nil
	}
	if call.Verb == "list" {
		return map[string]any{"kind": call.listKind(), "apiVersion": schema.GroupVersion{Group: call.group, Version: call.version}.String(), "metadata": map[string]any{"resourceVersion": "1"}, "items": found}, nil
	}
	if call.Verb != "create" && call.Verb != "deletecollection" && len(found) == 0 {
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: call.group, Resource: call.Resource}, call.Name)
	}
	if call.Verb == "get" {
		return found[0], nil
	}
	if err := s.Change(call); err != nil {
		return nil, err
	}
	switch call.Verb {
	case "patch":
		merge(found[0], call.Body)
		return found[0], nil
	case "create", "update":
		return call.Body, nil
	}
	return metav1.Status{TypeMeta: statusType, Status: metav1.StatusSuccess}, nil
}

// Through returns the connection with a way to the server: its kubeconfig is on the machine, and connections through it
// to any address lead to the server.
func (s *Server) Through(conn node.Connection) node.Connection { return tunnel{conn, s} }

type tunnel struct {
	node.Connection
	to *Server
}

func (t tunnel) Output(ctx context.Context, command string, limit int) ([]byte, error) {
	if !strings.HasSuffix(command, "cat /etc/kubernetes/admin.conf") {
		return t.Connection.Output(ctx, command, limit)
	}
	if _, err := t.Connection.Output(ctx, "true", limit); err != nil {
		return nil, err
	}
	return kubeconfig()
}

// DialContext opens a connection through the SSH connection. The address that the client wants is in its requests.
func (t tunnel) DialContext(ctx context.Context, network, _ string) (net.Conn, error) {
	return t.Connection.DialContext(ctx, network, t.to.server.Listener.Addr().String())
}
