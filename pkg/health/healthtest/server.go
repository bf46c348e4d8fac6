package healthtest

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Server is the API server of an application cluster.
type Server struct {
	// URL is its address. Requests counts its requests, Connections those that were opened.
	URL                   string
	Requests, Connections atomic.Int64

	http     *http.Server
	listener net.Listener
	mu       sync.Mutex
	body     map[string][]byte // the answers by path
	code     map[string]int    // instead of 200
	header   map[string]string // of all answers
}

// Start starts a server at an address such as 127.0.0.1:0. It accepts only clients of the authority.
func Start(t testing.TB, a *Authority, address string, certificate tls.Certificate) *Server {
	t.Helper()
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(a.PEM)
	listener, err := tls.Listen("tcp", address, &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}, ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert,
		NextProtos: []string{"h2", "http/1.1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{URL: "https://" + listener.Addr().String(), listener: listener, body: map[string][]byte{"/readyz": []byte("ok")}, code: map[string]int{}, header: map[string]string{}}
	s.SetNodes(nil, time.Time{})
	s.http = &http.Server{Handler: s, ErrorLog: log.New(io.Discard, "", 0), ConnState: func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.Connections.Add(1)
		}
	}}
	go func() { _ = s.http.Serve(listener) }() // it always ends with an error
	t.Cleanup(s.Stop)
	return s
}

// Stop closes the server and its connections.
func (s *Server) Stop() {
	_ = s.listener.Close() // also if Serve has not begun
	_ = s.http.Close()
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.Requests.Add(1)
	s.mu.Lock()
	body, found := s.body[r.URL.Path]
	code := s.code[r.URL.Path]
	for name, value := range s.header {
		w.Header().Set(name, value)
	}
	s.mu.Unlock()
	switch {
	case code != 0:
		w.WriteHeader(code)
	case !found:
		w.WriteHeader(http.StatusNotFound)
	}
	_, _ = w.Write(body) // the client may be gone
}

// Answer sets the answer to a path. Code 0 means 200.
func (s *Server) Answer(path string, code int, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.code[path], s.body[path] = code, body
}

// SetHeader adds a field to the header of all answers.
func (s *Server) SetHeader(name, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.header[name] = value
}

// Paths of the lists.
const (
	Nodes  = "/api/v1/nodes"
	Leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
)

// SetNodes sets the nodes, which have renewed their leases at this time.
func (s *Server) SetNodes(nodes []corev1.Node, renewed time.Time) {
	list, leases := Lists(nodes, renewed)
	s.Answer(Nodes, 0, list)
	s.Answer(Leases, 0, leases)
}

// Lists returns the lists of the nodes and of their leases as JSON.
func Lists(nodes []corev1.Node, renewed time.Time) (list, leased []byte) {
	leases := coordinationv1.LeaseList{TypeMeta: metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "LeaseList"}, Items: []coordinationv1.Lease{}}
	seconds := int32(40)
	for _, n := range nodes {
		leases.Items = append(leases.Items, coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: n.Name},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &n.Name, RenewTime: &metav1.MicroTime{Time: renewed}, LeaseDurationSeconds: &seconds},
		})
	}
	return encode(corev1.NodeList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}, Items: nodes}), encode(leases)
}

func encode(o any) []byte {
	raw, err := json.Marshal(o)
	if err != nil {
		panic(err) // these types can always be encoded
	}
	return raw
}

// Node returns a node as a kubelet describes it: with conditions and a list of images, which make up
// most of a real node. An empty reason means that it is Ready.
func Node(name, reason string) corev1.Node {
	ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "kubelet is posting ready status"}
	if reason != "" {
		ready.Status, ready.Reason, ready.Message = corev1.ConditionFalse, reason, "container runtime network\nnot ready"
	}
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelOSStable: "linux"}}}
	n.Status.NodeInfo.KubeletVersion = "v1.35.4"
	for _, t := range []corev1.NodeConditionType{corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure} {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: t, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficient", Message: "kubelet has sufficient of it"})
	}
	n.Status.Conditions = append(n.Status.Conditions, ready)
	for range 40 {
		n.Status.Images = append(n.Status.Images, corev1.ContainerImage{SizeBytes: 1 << 27, Names: []string{
			"registry.example.org/some/project/with/an/image@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
			"registry.example.org/some/project/with/an/image:v1.2.3",
		}})
	}
	return n
}
