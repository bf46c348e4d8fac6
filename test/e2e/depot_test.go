//go:build e2e

package e2e

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	depotclient "github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/test/site"
)

// depotAdmin is an administrator's connection to the site's depot.
type depotAdmin struct {
	*depotclient.Depot
	address string // IP address of the depot
}

// keeper creates the account "keeper", which may write to the depot.
func keeper(t *testing.T, s *site.Site) {
	t.Helper()
	s = s.Admin()
	if out, err := s.TryKubectl("", "create", "serviceaccount", "keeper"); err != nil {
		if strings.Contains(out, "already exists") {
			return
		}
		t.Fatal(out)
	}
	// A test that was killed leaves the binding, because it has no namespace.
	s.Kubectl("delete", "clusterrolebinding", s.Namespace+"-keeper", "--ignore-not-found")
	s.Kubectl("create", "clusterrolebinding", s.Namespace+"-keeper", "--clusterrole=bpa-depot-writer", "--serviceaccount="+s.Namespace+":keeper")
	t.Cleanup(func() { s.Kubectl("delete", "clusterrolebinding", s.Namespace+"-keeper") })
}

// siteDepot connects to the site's depot with an account that it creates and that may write.
func siteDepot(t *testing.T, s *site.Site) *depotAdmin {
	t.Helper()
	s = s.Admin()
	settings := &corev1.ConfigMap{}
	if err := s.Get(context.Background(), client.ObjectKey{Namespace: "bpa-system", Name: "config-bpa"}, settings); err != nil {
		t.Fatal(err)
	}
	keeper(t, s)
	token := filepath.Join(t.TempDir(), "token")
	text := s.Kubectl("create", "token", "keeper", "--audience=depot.bpa.akraino.org", "--duration=1h")
	if err := os.WriteFile(token, []byte(strings.TrimSpace(text)), 0o600); err != nil {
		t.Fatal(err)
	}
	address, err := url.Parse(settings.Data["depot-url"])
	if err != nil {
		t.Fatal(err)
	}
	connected, err := depotclient.Connect(t.Context(), address.String(), depotclient.Options{TokenFile: token, CA: []byte(settings.Data["depot-ca"])})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(connected.Close)
	return &depotAdmin{connected, address.Hostname()}
}

// digest returns the digest of the test's image in the depot. It is empty if the depot lacks the
// image.
func (d *depotAdmin) digest(t *testing.T) string {
	t.Helper()
	digest, err := d.ImageDigest(context.Background(), artifacts.Place{Repository: "e2e/connected", Tag: "1"})
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

// clear deletes what a test that was killed has left of the test's image.
func (d *depotAdmin) clear(t *testing.T) {
	t.Helper()
	left := d.digest(t)
	if left == "" {
		return
	}
	if err := remote.Delete(d.Repository("e2e/connected").Digest(left), d.Remote()...); err != nil {
		t.Fatalf("remove %s: %v", left, err)
	}
}

// remove deletes the manifests of the test's image from the depot. The next garbage collection
// removes the blobs.
func (d *depotAdmin) remove(t *testing.T, index v1.ImageIndex) {
	t.Helper()
	all, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	root, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	digests := []v1.Hash{root}
	for _, m := range all.Manifests {
		digests = append(digests, m.Digest)
	}
	for _, digest := range digests {
		if err := remote.Delete(d.Repository("e2e/connected").Digest(digest.String()), d.Remote()...); err != nil && !strings.Contains(err.Error(), "MANIFEST_UNKNOWN") {
			t.Errorf("remove %s: %v", digest, err)
		}
	}
	if digest := d.digest(t); digest != "" {
		t.Errorf("%s is still in the depot", digest)
	}
}
