//go:build integration

package integration

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/contract/from"
	"github.com/akraino-icn/bpa/pkg/settings"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

const (
	ironed      = "ironic" // namespace of this file's hosts
	ironicLimit = 15 * time.Minute
	imageSize   = 8 << 20 // bytes
	userData    = "#cloud-config of TestIronic"
	uploads     = "alpha/beta/"
)

// imageStory is a host that is to get an image, and what becomes of it.
type imageStory struct {
	host  string
	image v1alpha1.OSImageSpec
	depot string // spec.depot.imageURL
	want  string // in the message of the failure; empty: the disk has the image
}

// TestIronicWritesUploadedImages: what was uploaded to the depot is on the disk of a host in the end, with the user data, by way of the real
// select-hosts, Metal3, Ironic and ironic-python-agent, over HTTP and over HTTPS; and what people read in the Provisioning when it is not.
func TestIronicWritesUploadedImages(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), ironicLimit)
	defer stop()
	c, err := arenaClient(shared.kubeconfig, "")
	if err != nil {
		t.Fatal(err)
	}
	hosts := []string{"raw", "qcow2", "missing", "wrong-checksum", "unknown-authority"}
	site := newIronicSite(t, hosts...)
	raw := diskImage()
	site.depot.put(t, "/v1/baremetalcluster/"+uploads+"os_images/disk.raw/content", raw)
	site.depot.put(t, "/v1/baremetalcluster/"+uploads+"os_images/disk.qcow2/content", qcow2(t, raw))
	site.other.put(t, "/v1/baremetalcluster/"+uploads+"os_images/disk.raw/content", raw)
	must(t, "", "create", "namespace", ironed)
	must(t, "", "create", "secret", "generic", "user", "-n", ironed, "--from-literal=userData="+userData)
	startMetal3(t, ctx, ironed, site.metal3Environment(t))
	for _, host := range hosts {
		m := site.rack.machines[host]
		enroll(t, ctx, c, ironed, m.n, host, m.mac, site.rack.bmcAddress(m))
	}
	awaitHosts(t, ctx, c, ironed, hosts, metal3.StateAvailable)

	plain, https := "http://"+site.depot.plain, "https://"+site.depot.tls
	stories := []imageStory{
		{"raw", v1alpha1.OSImageSpec{Upload: uploads + "disk.raw", Format: "raw", UserData: "user"}, plain, ""},
		{"qcow2", v1alpha1.OSImageSpec{Upload: uploads + "disk.qcow2", UserData: "user"}, https, ""},
		{"missing", v1alpha1.OSImageSpec{Upload: uploads + "missing.raw"}, plain, "the image is not there: upload it"},
		{"wrong-checksum", v1alpha1.OSImageSpec{
			URL: plain + "/files/os_images/" + uploads + "disk.raw", Checksum: strings.Repeat("a", 64), ChecksumType: "sha256", Format: "raw",
		}, plain, "the image and its checksum do not belong together"},
		{"unknown-authority", v1alpha1.OSImageSpec{Upload: uploads + "disk.raw"}, "https://" + site.other.tls, "or name the depot's HTTP door in spec.depot.imageURL"},
	}
	var told sync.WaitGroup // all at once, however few processors there are: most of it is waiting
	for _, story := range stories {
		told.Go(func() { t.Run(story.host, func(t *testing.T) { story.run(t, ctx, c, site, raw) }) })
	}
	told.Wait()
}

func (s imageStory) run(t *testing.T, ctx context.Context, c client.WithWatch, site *ironicSite, raw []byte) {
	m := site.rack.machines[s.host]
	mac := v1alpha1.MAC(m.mac)
	p := &v1alpha1.Provisioning{ObjectMeta: metav1.ObjectMeta{Name: s.host, Namespace: ironed, UID: "uid"}, Spec: v1alpha1.ProvisioningSpec{
		Masters: []map[string]v1alpha1.Master{{s.host: {MACAddress: &mac}}}, OSImage: &s.image, Depot: v1alpha1.DepotSpec{ImageURL: s.depot},
	}}
	request, err := from.Provisioning(p, settings.Depot{})
	if err != nil {
		t.Fatal(err)
	}
	_, log, err := selectHosts(t, ctx, c, request)
	if s.want == "" {
		if err != nil {
			t.Fatalf("%v\n%s", err, log)
		}
		m.checkDisk(t, raw)
		return
	}
	if err == nil {
		t.Fatalf("provisioned; want %q\n%s", s.want, log)
	}
	got := task.FailureOf(err)
	if got.Reason != contract.ReasonHostProvisioningFailed || got.Host != s.host || !strings.Contains(got.Message, s.want) {
		t.Errorf("failure %+v; want %q", got, s.want)
	}
}

// checkDisk compares the disk with the image, but for the partition table, to which Ironic added one with the user data at the end.
func (m *machine) checkDisk(t *testing.T, raw []byte) {
	t.Helper()
	disk, err := os.Open(m.file)
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	start := make([]byte, imageSize)
	if _, err := io.ReadFull(disk, start); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(start[512:], raw[512:]) {
		t.Error("the disk does not have the image")
	}
	end := make([]byte, 128<<20)
	if _, err := disk.ReadAt(end, diskSize-int64(len(end))); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(end, []byte(userData)) {
		t.Error("the disk does not have the user data")
	}
}

// diskImage is a disk with one partition, of random bytes, and an MBR.
func diskImage() []byte {
	const sector, start, table = 512, 1 << 20, 446
	image := make([]byte, imageSize)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(image[start:]) // gives no error
	entry := image[table:]
	entry[4] = 0x83 // Linux
	entry[9], entry[10] = start/sector>>8&0xff, start/sector>>16
	entry[13], entry[14] = (imageSize-start)/sector>>8&0xff, (imageSize-start)/sector>>16
	image[510], image[511] = 0x55, 0xaa
	return image
}

func qcow2(t *testing.T, raw []byte) []byte {
	t.Helper()
	from, to := filepath.Join(t.TempDir(), "disk.raw"), filepath.Join(t.TempDir(), "disk.qcow2")
	if err := os.WriteFile(from, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	command(t, "qemu-img", "convert", "-f", "raw", "-O", "qcow2", from, to)
	image, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	return image
}
