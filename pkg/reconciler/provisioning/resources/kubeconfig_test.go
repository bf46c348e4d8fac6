package resources

import (
	"crypto/rand"
	"crypto/tls"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/access"
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// kubeconfigSecret returns the Secret with a kubeconfig for this server.
func kubeconfigSecret(t *testing.T, k access.Kubeconfig, server string) *corev1.Secret {
	t.Helper()
	k.Server = server
	value, err := k.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "edge-1-kubeconfig", ResourceVersion: "7"}, Data: map[string][]byte{KeyKubeconfig: value, "other": []byte("kept")}}
}

// signedKubeconfig returns a kubeconfig with a certificate.
func signedKubeconfig(t *testing.T) access.Kubeconfig {
	t.Helper()
	key, err := MakeKubeconfigKey(&v1alpha1.Provisioning{ObjectMeta: metav1.ObjectMeta{Namespace: "site", Name: "edge-1"}}, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	certificate := []byte(signed(t, key.Data[KeyCSR]))
	pair, err := tls.X509KeyPair(certificate, key.Data[KeyPrivateKey])
	if err != nil {
		t.Fatal(err)
	}
	return access.Kubeconfig{CA: certificate, Certificate: certificate, Key: key.Data[KeyPrivateKey], Leaf: pair.Leaf}
}

func TestMoveKubeconfig(t *testing.T) {
	k := signedKubeconfig(t)
	for _, tc := range []struct{ server, address, want string }{
		{"https://10.0.0.1:6443", "10.0.0.2", "https://10.0.0.2:6443"},
		{"https://10.0.0.1", "10.0.0.2", "https://10.0.0.2:443"},
		{"https://10.0.0.1:6443", "fd00::2", "https://[fd00::2]:6443"},
		{"https://[fd00::1]:8443", "10.0.0.2", "https://10.0.0.2:8443"},
	} {
		before := kubeconfigSecret(t, k, tc.server)
		moved, endpoint, err := MoveKubeconfig(before, tc.address)
		if err != nil || endpoint != tc.want {
			t.Fatalf("from %s to %s: %s, %v; want %s", tc.server, tc.address, endpoint, err, tc.want)
		}
		if diff := cmp.Diff(kubeconfigSecret(t, k, tc.want), moved); diff != "" {
			t.Errorf("from %s to %s: more than the server has changed (-want +got):\n%s", tc.server, tc.address, diff)
		}
		if diff := cmp.Diff(kubeconfigSecret(t, k, tc.server), before); diff != "" {
			t.Errorf("the given Secret was changed (-before +after):\n%s", diff)
		}
		if again, endpoint, err := MoveKubeconfig(moved, tc.address); again != nil || endpoint != tc.want || err != nil {
			t.Errorf("a second move: %v, %s, %v", again, endpoint, err)
		}
	}
}

func TestMoveBrokenKubeconfig(t *testing.T) {
	for _, value := range []string{"", "no kubeconfig", `{"apiVersion":"v1","kind":"Config","current-context":"c"}`} {
		secret := &corev1.Secret{Data: map[string][]byte{KeyKubeconfig: []byte(value)}}
		if moved, _, err := MoveKubeconfig(secret, "10.0.0.2"); err == nil || moved != nil {
			t.Errorf("%q was moved: %v", value, moved)
		}
	}
}
