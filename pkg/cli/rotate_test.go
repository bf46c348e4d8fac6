package cli

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/akraino-icn/bpa/pkg/access"
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

const (
	firstUser  = "bpa:edge-1:admin:00000001"
	secondUser = "bpa:edge-1:admin:00000002"
)

// certified returns a kubeconfig with the certificate of a user, valid until end.
func certified(t *testing.T, user string, groups []string, end time.Time) string {
	t.Helper()
	return certifiedFor(t, edge1, nil, user, groups, end)
}

// certifiedFor is like certified, for a server with the certificate ca; nil: that of the user.
func certifiedFor(t *testing.T, server string, ca *x509.Certificate, user string, groups []string, end time.Time) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: user, Organization: groups}, NotBefore: end.Add(-time.Hour), NotAfter: end}
	der, err := x509.CreateCertificate(rand.Reader, leaf, leaf, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	if leaf, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	value, err := access.Kubeconfig{
		Server: server, CA: access.EncodeCertificate(cmp.Or(ca, leaf)), Certificate: access.EncodeCertificate(leaf),
		Key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), Leaf: leaf,
	}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(value)
}

func ofEdge1(content string) *corev1.Secret {
	s := kubeconfigSecret("edge-1-kubeconfig", content)
	s.Labels = map[string]string{contract.LabelCluster: "edge-1"}
	return s
}

func installedEdge1(changes ...func(*v1alpha1.Provisioning)) *v1alpha1.Provisioning {
	p := provisioning("edge-1")
	isReady(p)
	p.Status.InstalledDigest = "v3:sha256:1"
	for _, change := range changes {
		change(p)
	}
	return p
}

// requestedRotation returns the value of the annotation that the command has written.
func requestedRotation(w *terminal) (value string) {
	set(w, provisioning("edge-1"), func(p *v1alpha1.Provisioning) { value = p.Annotations[contract.AnnotationRotateKubeconfig] })
	return value
}

// TestRotate: the command returns when the cluster refuses the old user, and not before.
func TestRotate(t *testing.T) {
	end := time.Now().Add(time.Hour)
	for _, tc := range []struct {
		name   string
		groups []string
		user   string
		says   string
	}{
		{"a user of its own", nil, firstUser, "The cluster refuses the old user " + firstUser + " now"},
		{"a user in a group", []string{"kubeadm:cluster-admins"}, "edge-1-admin", "Copies of the old kubeconfig work until " + end.UTC().Format(time.DateOnly)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			secret := ofEdge1(certified(t, tc.user, tc.groups, end))
			w := newTerminal(t, installedEdge1(), secret)
			file := filepath.Join(t.TempDir(), "new")
			code := w.start("kubeconfig", "edge-1", "--rotate", "--to", file)
			w.awaitWatch()
			next := certified(t, secondUser, nil, end)
			value := requestedRotation(w)
			set(w, secret, func(s *corev1.Secret) {
				s.Data["value"] = []byte(next)
				s.Annotations = map[string]string{contract.AnnotationRotated: value, contract.AnnotationRevoked: access.Revoked(tc.user, "", "", "run")}
			})
			select {
			case <-code:
				t.Fatalf("the command returned before the old user was revoked: %s", w.errOut.String())
			case <-time.After(200 * time.Millisecond): // the command must not return in this time
			}
			set(w, secret, func(s *corev1.Secret) {
				s.Annotations[contract.AnnotationRevoked] = access.Revoked(secondUser, "", "", "run")
			})
			w.expect(<-code, codeDone, "was requested", "new user "+secondUser+", valid until", tc.says, "wrote "+file+" (user "+secondUser)
			if got, err := os.ReadFile(file); err != nil || string(got) != next {
				t.Errorf("file: %v\n%s", err, got)
			}
			if strings.Contains(w.errOut.String()+w.text(), "PRIVATE KEY") {
				t.Error("the private key is printed")
			}
		})
	}
}

// TestRotateNeedsAKubeconfig: nothing is requested if the controller could not do it.
func TestRotateNeedsAKubeconfig(t *testing.T) {
	good := certified(t, firstUser, nil, time.Now().Add(time.Hour))
	for name, tc := range map[string]struct {
		p       *v1alpha1.Provisioning
		content string
		code    int
		says    string
	}{
		"not installed":  {installedEdge1(func(p *v1alpha1.Provisioning) { p.Status.InstalledDigest = "" }), good, codeNotYet, "is not installed yet"},
		"expired":        {installedEdge1(), certified(t, firstUser, nil, time.Now().Add(-time.Hour)), codeFailed, "kubectl bpa retry edge-1 -n site-a"},
		"no certificate": {installedEdge1(), kubeconfigOf(edge1), codeFailed, "delete it, and the controller creates it again"},
	} {
		w := newTerminal(t, tc.p, ofEdge1(tc.content))
		w.expect(w.run(t.Context(), "kubeconfig", "edge-1", "--rotate"), tc.code, tc.says)
		if got := requestedRotation(w); got != "" {
			t.Errorf("%s: a rotation was requested", name)
		}
	}
	w := newTerminal(t, installedEdge1(), ofEdge1(good))
	w.expect(w.run(t.Context(), "kubeconfig", "edge-1", "--timeout=1m"), codeUsage, "--timeout needs --rotate")
}

// TestRotateTimeout: a silent controller or cluster ends the wait, and the text says that the old file may
// still work. During a run it says how to stop the run.
func TestRotateTimeout(t *testing.T) {
	p := installedEdge1()
	isRunning(p, runOf(p, contract.OperationAddNodes, 2))
	w := newTerminal(t, p, ofEdge1(certified(t, firstUser, nil, time.Now().Add(time.Hour))))
	w.expect(w.run(t.Context(), "kubeconfig", "edge-1", "--rotate", "--timeout=300ms"), codeTimeout,
		"waits for the end of PipelineRun", "kubectl bpa cancel edge-1 -n site-a",
		"the old kubeconfig of edge-1 may still work", "kubectl get events -n site-a --field-selector involvedObject.name=edge-1")
	if requestedRotation(w) == "" {
		t.Error("nothing was requested")
	}

	isRunning(p, runOf(p, contract.OperationPlugins, 3)) // it does not delay the rotation
	w = newTerminal(t, p, ofEdge1(certified(t, firstUser, nil, time.Now().Add(time.Hour))))
	w.run(t.Context(), "kubeconfig", "edge-1", "--rotate", "--timeout=300ms")
	if strings.Contains(w.errOut.String(), "waits for the end") {
		t.Errorf("printed:\n%s", w.errOut.String())
	}
}
