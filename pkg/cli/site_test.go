package cli

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// A warning of the API server, such as one of BPA's webhook, reaches the user as with kubectl.
func TestWarningsOfTheServerAreShown(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.Contains(r.URL.Path, "/namespaces/") {
			w.Header().Add("Warning", `299 - "2 masters tolerate no more failures than 1"`)
			w.WriteHeader(http.StatusNotFound)
			return
		}
		err := json.NewEncoder(w).Encode(metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: v1alpha1.SchemeGroupVersion.String(),
			APIResources: []metav1.APIResource{{Name: "provisionings", Kind: "Provisioning", Namespaced: true}},
		})
		if err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	err := clientcmd.WriteToFile(api.Config{
		Clusters: map[string]*api.Cluster{"a": {Server: server.URL}}, Contexts: map[string]*api.Context{"a": {Cluster: "a"}}, CurrentContext: "a",
	}, path)
	if err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	Run(t.Context(), []string{"--kubeconfig", path, "status", "edge-1"}, genericiooptions.IOStreams{In: os.Stdin, Out: &out, ErrOut: &errOut})
	if want := "Warning: 2 masters tolerate no more failures than 1\n"; !strings.Contains(errOut.String(), want) {
		t.Errorf("stderr is %q, want %q in it", errOut.String(), want)
	}
}
