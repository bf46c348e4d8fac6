package resources

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

func kubeconfigSecret(t *testing.T, server string) *corev1.Secret {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["edge-1"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: []byte("ca")}
	config.AuthInfos["edge-1-admin"] = &clientcmdapi.AuthInfo{ClientCertificateData: []byte("certificate"), ClientKeyData: []byte("key")}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "edge-1", AuthInfo: "edge-1-admin"}
	config.CurrentContext = "c"
	value, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "edge-1-kubeconfig", ResourceVersion: "7"}, Data: map[string][]byte{KeyKubeconfig: value, "other": []byte("kept")}}
}

func TestMoveKubeconfig(t *testing.T) {
	for _, tc := range []struct{ server, address, want string }{
		{"https://10.0.0.1:6443", "10.0.0.2", "https://10.0.0.2:6443"},
		{"https://10.0.0.1", "10.0.0.2", "https://10.0.0.2:443"},
		{"https://10.0.0.1:6443", "fd00::2", "https://[fd00::2]:6443"},
		{"https://[fd00::1]:8443", "10.0.0.2", "https://10.0.0.2:8443"},
	} {
		before := kubeconfigSecret(t, tc.server)
		moved, endpoint, err := MoveKubeconfig(before, tc.address)
		if err != nil || endpoint != tc.want {
			t.Fatalf("from %s to %s: %s, %v; want %s", tc.server, tc.address, endpoint, err, tc.want)
		}
		if diff := cmp.Diff(kubeconfigSecret(t, tc.want), moved); diff != "" {
			t.Errorf("from %s to %s: more than the server has changed (-want +got):\n%s", tc.server, tc.address, diff)
		}
		if diff := cmp.Diff(kubeconfigSecret(t, tc.server), before); diff != "" {
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
