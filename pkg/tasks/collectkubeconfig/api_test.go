package collectkubeconfig

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	certificates "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/ssh/sshtest"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// authority is a certificate authority (CA).
type authority struct {
	t    *testing.T
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t *testing.T) *authority {
	key := newKey(t)
	a := &authority{t: t, key: key}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubernetes"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.cert = a.issue(template, template, &key.PublicKey)
	return a
}

func (a *authority) issue(template, parent *x509.Certificate, public *ecdsa.PublicKey) *x509.Certificate {
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, public, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(raw)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert
}

func (a *authority) leaf(subject pkix.Name, usage x509.ExtKeyUsage, public *ecdsa.PublicKey) *x509.Certificate {
	return a.issue(&x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: subject, NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{usage}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}, a.cert, public)
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func inPEM(kind string, raw []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}))
}

func keyPEM(t *testing.T, key *ecdsa.PrivateKey) string {
	raw, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return inPEM("EC PRIVATE KEY", raw)
}

// fixture simulates a new cluster: an API server with a signer of certificates, and a control plane
// with an SSH server and the file admin.conf.
type fixture struct {
	t        *testing.T
	ca       *authority
	adminKey string // PEM; it must not appear in the log or in the results
	user     ssh.Key
	host     ssh.Key
	ssh      *sshtest.Server
	in       Input
	key      *ecdsa.PrivateKey // of the request
	api      *httptest.Server
	pins     ssh.Pins
	log      strings.Builder
	// adminConf is the content of the file on the control plane. sign is called after the request
	// was approved.
	adminConf string
	// mark is the Provisioning that uses the control plane, as the file on the machine has it.
	mark contract.User
	sign func(csr *certificates.CertificateSigningRequest)

	mu       sync.Mutex
	csr      *certificates.CertificateSigningRequest
	creates  int
	bindings map[string]*rbacv1.ClusterRoleBinding
	clientCA string
}

func newFixture(t *testing.T) *fixture {
	w := &fixture{t: t, ca: newAuthority(t), key: newKey(t)}
	w.clientCA = inPEM("CERTIFICATE", w.ca.cert.Raw)
	w.sign = func(csr *certificates.CertificateSigningRequest) { w.issueTo(csr, w.ca, nil) }
	w.serveAPI()
	adminKey := newKey(t)
	w.adminKey = keyPEM(t, adminKey)
	adminCert := w.ca.leaf(pkix.Name{CommonName: "kubernetes-admin"}, x509.ExtKeyUsageClientAuth, &adminKey.PublicKey)
	w.adminConf = kubeconfig(w.api.URL, w.clientCA, inPEM("CERTIFICATE", adminCert.Raw), w.adminKey)

	var file []byte
	w.user, file = sshtest.NewKey(t)
	w.host, _ = sshtest.NewKey(t)
	w.ssh = sshtest.Start(t, w.user.PublicKey(), func(command string, stdout, stderr io.Writer) int {
		if strings.Contains(command, "/etc/bpa/used-by") {
			if w.mark != (contract.User{}) {
				fmt.Fprintln(stdout, "user "+base64.StdEncoding.EncodeToString([]byte(w.mark.String())))
			}
			fmt.Fprintln(stdout, "end")
			return 0
		}
		if command != "cat /etc/kubernetes/admin.conf" || w.adminConf == "" {
			fmt.Fprint(stderr, "no such file")
			return 1
		}
		fmt.Fprint(stdout, w.adminConf)
		return 0
	}, w.host)
	w.pins = ssh.Pins{{UID: "u1", Host: "host-1", At: "10.0.0.1:22", Key: w.host.PublicKey()}}
	w.in = Input{
		Request:            contract.Request{Spec: contract.Spec{Provisioning: "edge-1", Namespace: "site", UID: "uid-of-edge-1", SSHUser: "root", SSHPort: w.ssh.Port}},
		Nodes:              []contract.Node{{Name: "master-1", Host: "host-1", HostUID: "u1", Address: w.ssh.Address, Roles: []string{contract.RoleControlPlane}}},
		PrivateKey:         file,
		CertificateRequest: w.request(pkix.Name{CommonName: "bpa:edge-1:admin:0123abcd"}),
		ConnectLimit:       5 * time.Second, SignLimit: 10 * time.Second,
	}
	w.mark = w.in.Request.User()
	return w
}

func (w *fixture) request(subject pkix.Name) string {
	raw, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: subject}, w.key)
	if err != nil {
		w.t.Fatal(err)
	}
	return inPEM("CERTIFICATE REQUEST", raw)
}

func kubeconfig(server, ca, cert, key string) string {
	text, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "admin",
		"clusters": []any{map[string]any{"name": "c", "cluster": map[string]any{"server": server, "certificate-authority-data": []byte(ca)}}},
		"users":    []any{map[string]any{"name": "u", "user": map[string]any{"client-certificate-data": []byte(cert), "client-key-data": []byte(key)}}},
		"contexts": []any{map[string]any{"name": "admin", "context": map[string]any{"cluster": "c", "user": "u"}}},
	})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// issueTo signs a request, as kube-controller-manager does.
func (w *fixture) issueTo(csr *certificates.CertificateSigningRequest, ca *authority, public *ecdsa.PublicKey) {
	block, _ := pem.Decode(csr.Spec.Request)
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		w.t.Error(err)
		return
	}
	if public == nil {
		public = request.PublicKey.(*ecdsa.PublicKey)
	}
	csr.Status.Certificate = []byte(inPEM("CERTIFICATE", ca.leaf(request.Subject, x509.ExtKeyUsageClientAuth, public).Raw))
}

func (w *fixture) serveAPI() {
	mux := http.NewServeMux()
	const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
	mux.HandleFunc("GET /version", func(out http.ResponseWriter, _ *http.Request) {
		answer(out, 200, map[string]string{"gitVersion": "v1.35.4"})
	})
	mux.HandleFunc("GET /api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication", func(out http.ResponseWriter, _ *http.Request) {
		answer(out, 200, corev1.ConfigMap{TypeMeta: metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"}, Data: map[string]string{"client-ca-file": w.clientCA}})
	})
	mux.HandleFunc("POST "+requests, w.create)
	mux.HandleFunc("GET "+requests+"/{name}", func(out http.ResponseWriter, in *http.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.csr == nil || w.csr.Name != in.PathValue("name") {
			answer(out, 404, metav1.Status{Status: "Failure", Reason: metav1.StatusReasonNotFound, Code: 404})
			return
		}
		answer(out, 200, w.csr)
	})
	const bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
	w.bindings = map[string]*rbacv1.ClusterRoleBinding{}
	mux.HandleFunc("POST "+bindings, w.bind)
	mux.HandleFunc("GET "+bindings+"/{name}", func(out http.ResponseWriter, in *http.Request) { answer(out, 200, w.bindings[in.PathValue("name")]) })
	mux.HandleFunc("PUT "+requests+"/{name}/approval", w.approve)
	mux.HandleFunc("GET "+requests, w.watch)
	w.api = httptest.NewUnstartedServer(mux)
	pool := x509.NewCertPool()
	pool.AddCert(w.ca.cert)
	key := newKey(w.t)
	cert := w.ca.leaf(pkix.Name{CommonName: "kube-apiserver"}, x509.ExtKeyUsageServerAuth, &key.PublicKey)
	w.api.TLS = &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}},
		ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: pool,
	}
	w.api.StartTLS()
	w.t.Cleanup(w.api.Close)
}

func answer(out http.ResponseWriter, code int, what any) {
	out.Header().Set("Content-Type", "application/json")
	out.WriteHeader(code)
	_ = json.NewEncoder(out).Encode(what)
}

func decode(t *testing.T, in *http.Request, into runtime.Object) {
	body, err := io.ReadAll(in.Body)
	if err == nil {
		_, _, err = scheme.Codecs.UniversalDeserializer().Decode(body, nil, into) // JSON or protobuf
	}
	if err != nil {
		t.Error(err)
	}
}

func decodeCSR(t *testing.T, in *http.Request) *certificates.CertificateSigningRequest {
	csr := &certificates.CertificateSigningRequest{}
	decode(t, in, csr)
	csr.TypeMeta = metav1.TypeMeta{Kind: "CertificateSigningRequest", APIVersion: "certificates.k8s.io/v1"}
	return csr
}

func (w *fixture) bind(out http.ResponseWriter, in *http.Request) {
	b := &rbacv1.ClusterRoleBinding{}
	decode(w.t, in, b)
	if w.bindings[b.Name] != nil {
		answer(out, 409, metav1.Status{Status: "Failure", Reason: metav1.StatusReasonAlreadyExists, Code: 409})
		return
	}
	b.TypeMeta = metav1.TypeMeta{Kind: "ClusterRoleBinding", APIVersion: "rbac.authorization.k8s.io/v1"}
	w.bindings[b.Name] = b
	answer(out, 201, b)
}

func (w *fixture) create(out http.ResponseWriter, in *http.Request) {
	csr := decodeCSR(w.t, in)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.creates++
	if w.csr != nil && w.csr.Name == csr.Name {
		answer(out, 409, metav1.Status{Status: "Failure", Reason: metav1.StatusReasonAlreadyExists, Code: 409})
		return
	}
	csr.ResourceVersion = "1"
	w.csr = csr
	answer(out, 201, csr)
}

// approve stores the approval but does not sign. The watch of the task signs later, so the task
// cannot skip the watch.
func (w *fixture) approve(out http.ResponseWriter, in *http.Request) {
	csr := decodeCSR(w.t, in)
	w.mu.Lock()
	defer w.mu.Unlock()
	csr.ResourceVersion = "2"
	w.csr = csr
	answer(out, 200, csr)
}

func (w *fixture) watch(out http.ResponseWriter, in *http.Request) {
	query, _ := url.ParseQuery(in.URL.RawQuery)
	w.mu.Lock()
	defer w.mu.Unlock()
	if query.Get("watch") == "" || query.Get("fieldSelector") != "metadata.name="+w.csr.Name || query.Get("resourceVersion") != "2" {
		w.t.Errorf("not a watch of one object from where it was read: %s", in.URL)
	}
	out.Header().Set("Content-Type", "application/json")
	signed := w.csr.DeepCopy()
	signed.ResourceVersion = "3"
	w.sign(signed)
	if len(signed.Status.Certificate)+len(signed.Status.Conditions) == len(w.csr.Status.Conditions) {
		out.(http.Flusher).Flush()
		<-in.Context().Done() // this signer neither signs nor rejects
		return
	}
	w.csr = signed
	_ = json.NewEncoder(out).Encode(map[string]any{"type": "MODIFIED", "object": signed})
}

func (w *fixture) Get(context.Context, string) (string, error) { return w.pins.String(), nil }

func (w *fixture) run() (Output, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return Run(ctx, w.in, Ports{Dial: node.DialSSH, KnownHosts: w, Log: &w.log})
}

// dialForwarding returns a node.Dial that connects by SSH. All connections through its tunnels go
// to the given address.
func dialForwarding(to string) node.Dial {
	return func(ctx context.Context, target ssh.Target, key ssh.Key, pinned ssh.HostKey) (node.Connection, error) {
		conn, err := node.DialSSH(ctx, target, key, pinned)
		if err != nil {
			return nil, err
		}
		return forwarding{conn, to}, nil
	}
}

type forwarding struct {
	node.Connection
	to string
}

func (f forwarding) DialContext(ctx context.Context, network, _ string) (net.Conn, error) {
	return f.Connection.DialContext(ctx, network, f.to)
}
