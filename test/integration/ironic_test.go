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
	ironicNamespace = "ironic" // namespace of this file's hosts
	ironicLimit     = 15 * time.Minute
	imageSize       = 8 << 20 // bytes
	userData        = "#cloud-config of TestIronic"
	uploads         = "alpha/beta/"
)

// imageCase is a host that gets an image, and the expected result.
type imageCase struct {
	host  string
	image v1alpha1.OSImageSpec
	depot string // spec.depot.imageURL
	want  string // part of the failure's message; empty means that the disk gets the image
}

// TestIronicWritesUploadedImages checks that an image that was uploaded to the depot is written to
// the disk of a host, with the user data, over HTTP and over HTTPS. The real select-hosts, Metal3,
// Ironic and ironic-python-agent do this. It also checks the failures that a user sees if an image
// cannot be written.
func TestIronicWritesUploadedImages(t *testing.T) {
	metal3Program := buildMetal3(t)
	ctx, stop := context.WithTimeout(t.Context(), ironicLimit)
	defer stop()
	c, err := accountClient(shared.kubeconfig, "")
	if err != nil {
		t.Fatal(err)
	}
	hosts := []string{"raw", "qcow2", "missing", "wrong-checksum", "unknown-authority"}
	site := newIronicSite(t, hosts...)
	raw := diskImage()
	site.depot.put(t, "/v1/baremetalcluster/"+uploads+"os_images/disk.raw/content", raw)
	site.depot.put(t, "/v1/baremetalcluster/"+uploads+"os_images/disk.qcow2/content", qcow2(t, raw))
	site.other.put(t, "/v1/baremetalcluster/"+uploads+"os_images/disk.raw/content", raw)
	must(t, "", "create", "namespace", ironicNamespace)
	must(t, "", "create", "secret", "generic", "user", "-n", ironicNamespace, "--from-literal=userData="+userData)
	startMetal3(t, ctx, metal3Program, ironicNamespace, site.metal3Environment(t))
	for _, host := range hosts {
		m := site.rack.machines[host]
		enroll(t, ctx, c, ironicNamespace, m.n, host, m.mac, site.rack.bmcAddress(m))
	}
	awaitHosts(t, ctx, c, ironicNamespace, hosts, metal3.StateAvailable)

	plain, https := "http://"+site.depot.plain, "https://"+site.depot.tls
	cases := []imageCase{
		{"raw", v1alpha1.OSImageSpec{Upload: uploads + "disk.raw", Format: "raw", UserData: "user"}, plain, ""},
		{"qcow2", v1alpha1.OSImageSpec{Upload: uploads + "disk.qcow2", UserData: "user"}, https, ""},
		{"missing", v1alpha1.OSImageSpec{Upload: uploads + "missing.raw"}, plain, "the image does not exist: upload it"},
		{"wrong-checksum", v1alpha1.OSImageSpec{
			URL: plain + "/files/os_images/" + uploads + "disk.raw", Checksum: strings.Repeat("a", 64), ChecksumType: "sha256", Format: "raw",
		}, plain, "the image does not match its checksum"},
		{"unknown-authority", v1alpha1.OSImageSpec{Upload: uploads + "disk.raw"}, "https://" + site.other.tls, "or set spec.depot.imageURL to the depot's HTTP endpoint"},
	}
	var all sync.WaitGroup // all cases run at once on any number of processors, because they mostly wait
	for _, tc := range cases {
		all.Go(func() { t.Run(tc.host, func(t *testing.T) { tc.run(t, ctx, c, site, raw) }) })
	}
	all.Wait()
}

func (s imageCase) run(t *testing.T, ctx context.Context, c client.WithWatch, site *ironicSite, raw []byte) {
	m := site.rack.machines[s.host]
	mac := v1alpha1.MAC(m.mac)
	p := &v1alpha1.Provisioning{ObjectMeta: metav1.ObjectMeta{Name: s.host, Namespace: ironicNamespace, UID: "uid"}, Spec: v1alpha1.ProvisioningSpec{
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

// checkDisk checks that the disk has the image and, at its end, the user data. It does not compare
// the partition table, because Ironic adds a partition with the user data.
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
		t.Error("the disk does not contain the image")
	}
	end := make([]byte, 128<<20)
	if _, err := disk.ReadAt(end, diskSize-int64(len(end))); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(end, []byte(userData)) {
		t.Error("the end of the disk does not contain the user data")
	}
}

// diskImage returns an image with an MBR and one partition of random bytes.
func diskImage() []byte {
	const sector, start, table = 512, 1 << 20, 446
	image := make([]byte, imageSize)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(image[start:]) // never fails
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
