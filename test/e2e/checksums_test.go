//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/test/site"
)

// trustDepotChecksums makes the depot the source of the checksums of the files that nodes download.
func trustDepotChecksums(p *v1alpha1.Provisioning) {
	p.Spec.Depot.Checksums = v1alpha1.ChecksumsDepot
	for name := range p.Spec.Kubespray.Vars {
		if strings.HasSuffix(name, "_checksum") {
			delete(p.Spec.Kubespray.Vars, name)
		}
	}
}

// checkPinned checks that the playbook's variables contain the digest of the depot's kubelet.
func checkPinned(t *testing.T, s *site.Site, name string) {
	t.Helper()
	kubelet := "http://10.60.0.1:5000/files/dl.k8s.io/release/v" + v1alpha1.DefaultKubernetesVersion + "/bin/linux/amd64/kubelet.sha256"
	resp, err := http.Get(kubelet)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	sum, err := io.ReadAll(io.LimitReader(resp.Body, 64))
	if err != nil || resp.StatusCode != http.StatusOK || len(sum) != 64 {
		t.Fatalf("%s: %s, %q, %v", kubelet, resp.Status, sum, err)
	}
	inventory := &corev1.ConfigMap{}
	if err := s.Admin().Get(context.Background(), types.NamespacedName{Namespace: s.Namespace, Name: contract.OutcomeName(contract.RunRequestName(name, 1))}, inventory); err != nil {
		t.Fatal(err)
	}
	var vars map[string]any
	if err := json.Unmarshal([]byte(inventory.Data[contract.KeyGroupVars]), &vars); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(vars["kubelet_binary_checksum"]), `"sha256:`+string(sum)+`"`; !strings.Contains(got, want) {
		t.Errorf("the playbook's checksum of kubelet is %s; the depot has %s", got, want)
	}
}
