//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/artifacts"
	depotclient "github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/test/site"
)

// grantCommand matches the command at the end of a refusal. The command permits the account of this
// run, and no other account, to add to the depot. It permits nothing else.
var grantCommand = regexp.MustCompile(`kubectl create clusterrolebinding (\S+) --clusterrole=bpa-depot-seeder --serviceaccount=e2e-connected:edge-7-seed-registry\b`)

// TestConnected checks that an artifact that the depot lacks is copied from upstream before any
// host is claimed. This needs the permission of an administrator, who runs the command in the
// condition; the author of a Provisioning cannot give it. The test stops upstream before the nodes
// pull, because nodes must pull from the depot only.
func TestConnected(t *testing.T) {
	s := site.New(t, "e2e-connected", 1, 0)
	depot := siteDepot(t, s)
	up := startUpstream(t, depot.address)
	ref, index := up.publish(t, "e2e/connected:1")
	t.Cleanup(func() { depot.remove(t, index) })

	s.Apply(oneMaster(s, "edge-7", site.Var("node_images", images(t, ref)), func(p *v1alpha1.Provisioning) { connected := true; p.Spec.Depot.Connected = &connected }))
	refused := site.Await(s, &v1alpha1.ProvisioningList{}, "the refusal", 3*time.Minute, site.NotReady("ArtifactsMissing"))
	message := refused.Status.GetCondition(v1alpha1.ConditionArtifactsAvailable).GetMessage()
	command := grantCommand.FindStringSubmatch(message)
	if command == nil || strings.Count(message, "kubectl create") != 1 {
		t.Fatalf("the condition does not contain the command that grants the permission exactly once: %s", message)
	}
	if held := s.Holders(); len(held) != 0 {
		t.Errorf("hosts are held although nothing can be installed: %v", held)
	}
	if digest := depot.digest(t); digest != "" {
		t.Errorf("%s was copied to the depot without permission", digest)
	}

	s.Kubectl(strings.Fields(command[0])[1:]...)
	t.Cleanup(func() { s.Kubectl("delete", "clusterrolebinding", command[1]) })
	site.Await(s, &v1alpha1.ProvisioningList{}, "all artifacts in the depot", 3*time.Minute, func(p *v1alpha1.Provisioning) bool {
		return p.Status.GetCondition(v1alpha1.ConditionArtifactsAvailable).IsTrue()
	})
	if want, _ := index.Digest(); depot.digest(t) != want.String() {
		t.Errorf("the depot has %q, want %s", depot.digest(t), want)
	}
	different, all := up.blobs()
	if different == 0 || all > 2*different { // twice, because the attempt without permission may have read some blobs too
		t.Errorf("%d blobs were read %d times, want at least one blob, and at most twice each", different, all)
	}
	up.server.Close()

	ready := site.Await(s, &v1alpha1.ProvisioningList{}, "edge-7 to be Ready", installLimit, site.Ready)
	runPod(t, s, ready, ref)
}

// images returns, as JSON, the references of the images that the lab's nodes need, followed by the
// reference more.
func images(t *testing.T, more string) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal([]string{"{{ kube_image_repo }}/pause:{{ pause_version }}", "{{ kube_image_repo }}/kube-proxy:v{{ kube_version }}", more})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// runPod runs an image on the new cluster.
func runPod(t *testing.T, s *site.Site, p *v1alpha1.Provisioning, image string) {
	t.Helper()
	kubeconfig := kubeconfigOf(t, s, p)
	for _, args := range [][]string{
		{"run", "seeded", "--image=" + image, "--restart=Never"},
		{"wait", "pod/seeded", "--for=condition=Ready", "--timeout=90s"},
	} {
		if out, err := site.Kubectl(kubeconfig, "", args...); err != nil {
			description, _ := site.Kubectl(kubeconfig, "", "describe", "pod/seeded")
			t.Fatalf("kubectl %s: %v\n%s\n%s", strings.Join(args, " "), err, out, description)
		}
	}
}

// depotAdmin is an administrator's connection to the site's depot.
type depotAdmin struct {
	*depotclient.Depot
	address string // IP address of the depot
}

// siteDepot connects to the site's depot with an account that it creates and that may write.
func siteDepot(t *testing.T, s *site.Site) *depotAdmin {
	t.Helper()
	settings := &corev1.ConfigMap{}
	if err := s.Get(context.Background(), client.ObjectKey{Namespace: "bpa-system", Name: "config-bpa"}, settings); err != nil {
		t.Fatal(err)
	}
	s.Kubectl("create", "serviceaccount", "keeper")
	s.Kubectl("create", "clusterrolebinding", s.Namespace+"-keeper", "--clusterrole=bpa-depot-writer", "--serviceaccount="+s.Namespace+":keeper")
	t.Cleanup(func() { s.Kubectl("delete", "clusterrolebinding", s.Namespace+"-keeper") })
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
