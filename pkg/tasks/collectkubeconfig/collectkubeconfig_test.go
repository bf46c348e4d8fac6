package collectkubeconfig

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	certificates "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/ssh/sshtest"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

func TestRun(t *testing.T) {
	w := newFixture(t)
	out, err := w.run()
	if err != nil {
		t.Fatal(err)
	}
	if out.Endpoint != w.api.URL || out.Version != "v1.35.4" {
		t.Errorf("endpoint %s, version %s; want %s, v1.35.4", out.Endpoint, out.Version, w.api.URL)
	}
	w.opens(out)
	if want := []certificates.KeyUsage{certificates.UsageDigitalSignature, certificates.UsageClientAuth}; cmp.Diff(want, w.csr.Spec.Usages) != "" ||
		w.csr.Spec.SignerName != "kubernetes.io/kube-apiserver-client" || *w.csr.Spec.ExpirationSeconds != 365*24*3600 {
		t.Errorf("asked for %+v", w.csr.Spec)
	}
	results, err := out.Results()
	if err != nil || len(results) != 4 {
		t.Errorf("Results() = %d results, %v", len(results), err)
	}
	w.hidesAdmin(results)

	again, err := w.run()
	if diff := cmp.Diff(out, again); err != nil || diff != "" || w.creates != 2 {
		t.Errorf("a second run: %v after %d requests (-first +second):\n%s", err, w.creates, diff)
	}
}

// Only a user of BPA gets rights, and only from a binding that the task made for this user.
func TestBinding(t *testing.T) {
	for _, tc := range []struct {
		name    string
		subject pkix.Name
		want    []string
	}{
		{"a user of its own", pkix.Name{CommonName: "bpa:edge-1:admin:0123abcd"}, []string{"bpa-admin-0123abcd cluster-admin bpa:edge-1:admin:0123abcd"}},
		{"a user in a group of administrators", pkix.Name{CommonName: "edge-1-admin", Organization: []string{"kubeadm:cluster-admins"}}, nil},
		{"a user of BPA in a group", pkix.Name{CommonName: "bpa:edge-1:admin:0123abcd", Organization: []string{"x"}}, nil},
		{"a health check", pkix.Name{CommonName: "bpa:edge-1:health:0123abcd"}, nil},
		{"another user", pkix.Name{CommonName: "system:kube-scheduler"}, nil},
		{"more than a user", pkix.Name{CommonName: "bpa:edge-1:admin:0123abcd "}, nil},
	} {
		w := newFixture(t)
		w.in.CertificateRequest = w.request(tc.subject)
		for range 2 { // a second run accepts the binding of the first
			if _, err := w.run(); err != nil {
				t.Fatalf("%s: %v", tc.name, err)
			}
		}
		var got []string
		for _, b := range w.bindings {
			got = append(got, b.Name+" "+b.RoleRef.Name+" "+b.Subjects[0].Name)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// A binding of the user's name that gives rights to another subject is not accepted.
func TestForeignBinding(t *testing.T) {
	w := newFixture(t)
	w.bindings["bpa-admin-0123abcd"] = &rbacv1.ClusterRoleBinding{Subjects: []rbacv1.Subject{{Kind: "Group", Name: "system:authenticated"}}}
	_, err := w.run()
	if f := task.FailureOf(err); f.Reason != contract.ReasonInternal || !strings.Contains(f.Message, "ClusterRoleBinding bpa-admin-0123abcd") {
		t.Errorf("failure %+v", f)
	}
}

// opens checks that the returned certificate gives access to the API server, as with kubectl.
func (w *fixture) opens(out Output) {
	w.t.Helper()
	pair, err := tls.X509KeyPair([]byte(out.Certificate), []byte(keyPEM(w.t, w.key)))
	if err != nil {
		w.t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(out.CA))
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}}, Timeout: 10 * time.Second}
	answer, err := client.Get(out.Endpoint + "/version")
	if err != nil || answer.StatusCode != 200 {
		w.t.Fatalf("with the certificate: %v, %v", answer, err)
	}
	answer.Body.Close()
}

// hidesAdmin checks that neither the log nor the results contain the administrator's key.
func (w *fixture) hidesAdmin(results map[string]string) {
	w.t.Helper()
	body := strings.Split(w.adminKey, "\n")[1]
	for where, text := range map[string]string{"log": w.log.String(), "results": strings.Join([]string{results["ca"], results["certificate"], results["endpoint"], results["failure"]}, "")} {
		for _, secret := range []string{body, base64.StdEncoding.EncodeToString([]byte(w.adminKey))[:60], "PRIVATE KEY"} {
			if strings.Contains(text, secret) {
				w.t.Errorf("the %s shows the administrator's key:\n%s", where, text)
			}
		}
	}
}

// If only the control plane can reach the API server, the task connects through SSH.
func TestThroughTheControlPlane(t *testing.T) {
	w := newFixture(t)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	server := "https://" + closed.Addr().String() // refuses us
	w.adminConf = strings.Replace(w.adminConf, w.api.URL, server, 1)
	out, err := Run(t.Context(), w.in, Ports{Dial: dialForwarding(w.api.Listener.Addr().String()), KnownHosts: w, Log: &w.log})
	if err != nil || out.Endpoint != server {
		t.Errorf("through the control plane: %+v, %v", out, err)
	}
}

func TestFailures(t *testing.T) {
	stranger, strangerFile := sshtest.NewKey(t)
	for _, tc := range []struct {
		name   string
		spoil  func(*fixture)
		reason contract.Reason
		says   string
	}{
		{"no request", func(w *fixture) { w.in.CertificateRequest = "nonsense" }, contract.ReasonInvalidRequest, "certificate-request"},
		{"a key instead of a request", func(w *fixture) { w.in.CertificateRequest = w.adminKey }, contract.ReasonInvalidRequest, "certificate-request"},
		{"key refused", func(w *fixture) { w.in.PrivateKey = strangerFile }, contract.ReasonSSHDenied, "user root"},
		{"host key changed", func(w *fixture) { w.pins[0].Key = stranger.PublicKey() }, contract.ReasonHostKeyChanged, ssh.Fingerprint(stranger.PublicKey())},
		{"host never seen", func(w *fixture) { w.pins = nil }, contract.ReasonInvalidRequest, "no SSH host key is pinned"},
		{"host down", func(w *fixture) { w.ssh.Stop() }, contract.ReasonHostUnreachable, "connection refused"},
		{"no cluster there", func(w *fixture) { w.adminConf = "" }, contract.ReasonClusterUnhealthy, "no such file"},
		{"admin.conf is broken", func(w *fixture) { w.adminConf = "client-key-data: " + w.adminKey }, contract.ReasonClusterUnhealthy, "not a kubeconfig"},
		{"admin.conf trusts anybody", func(w *fixture) { w.adminConf = kubeconfig(w.api.URL, "", "", "") }, contract.ReasonClusterUnhealthy, "no CA"},
		{"API server down", func(w *fixture) { w.api.Close() }, contract.ReasonAPIUnavailable, "version"},
		{"another CA", func(w *fixture) {
			other := newAuthority(w.t)
			key, err := x509.MarshalPKCS8PrivateKey(other.key)
			if err != nil {
				w.t.Fatal(err)
			}
			certificate := inPEM("CERTIFICATE", other.cert.Raw)
			w.adminConf = kubeconfig(w.api.URL, certificate, certificate, inPEM("PRIVATE KEY", key))
		}, contract.ReasonAPIUnavailable, "x509"},
		{"signer refuses", func(w *fixture) {
			w.sign = func(csr *certificates.CertificateSigningRequest) {
				csr.Status.Conditions = append(csr.Status.Conditions, certificates.CertificateSigningRequestCondition{
					Type: certificates.CertificateFailed, Status: corev1.ConditionTrue, Reason: "SignerValidationFailure", Message: "no"})
			}
		}, contract.ReasonClusterUnhealthy, "SignerValidationFailure"},
		{"signer sleeps", func(w *fixture) {
			w.in.SignLimit = time.Second
			w.sign = func(*certificates.CertificateSigningRequest) {}
		}, contract.ReasonClusterUnhealthy, "kube-controller-manager"},
		{"certificate of another key", func(w *fixture) {
			w.sign = func(csr *certificates.CertificateSigningRequest) { w.issueTo(csr, w.ca, &newKey(w.t).PublicKey) }
		}, contract.ReasonClusterUnhealthy, "another key"},
		{"certificate of another CA", func(w *fixture) {
			other := newAuthority(w.t)
			w.sign = func(csr *certificates.CertificateSigningRequest) { w.issueTo(csr, other, nil) }
		}, contract.ReasonClusterUnhealthy, "unknown authority"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newFixture(t)
			tc.spoil(w)
			_, err := w.run()
			f := task.FailureOf(err)
			if f.Reason != tc.reason || !strings.Contains(f.Message, tc.says) {
				t.Errorf("failure %+v, want %s with %q", f, tc.reason, tc.says)
			}
			w.hidesAdmin(map[string]string{"failure": f.Message})
		})
	}
}

func TestResultsMustFit(t *testing.T) {
	w := newFixture(t)
	out := Output{CA: strings.Repeat(w.clientCA, 10), Certificate: w.clientCA, Endpoint: "https://10.0.0.7:6443", Version: "v1.35.4"}
	results, err := out.Results()
	if err == nil || results != nil || task.FailureOf(err).Reason != contract.ReasonInternal {
		t.Errorf("Results() = %d results, %v", len(results), err)
	}
}
