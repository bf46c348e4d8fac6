package seedregistry

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/depot/depottest"
	"github.com/akraino-icn/bpa/pkg/inventory"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// A file is pinned if the playbooks have no checksum for the file, but have a variable for its
// checksum.
func TestListReturnsFilesToPin(t *testing.T) {
	fake := &fakePlaybooks{events: greenEvents, listing: `{"files": [
		{"url": "` + depotURL + `/files/known", "checksum": "sha256:` + strings.Repeat("a", 64) + `", "variable": "runc_binary_checksum", "architecture": "amd64"},
		{"url": "` + depotURL + `/files/unknown", "checksum": "", "variable": "kubelet_binary_checksum", "architecture": "amd64"},
		{"url": "` + depotURL + `/files/lookup", "checksum": "sha256:", "variable": "kubeadm_binary_checksum", "architecture": "amd64"},
		{"url": "` + depotURL + `/files/unnamed", "checksum": ""}]}`}
	in := ListInput{Request: request(), PlaybooksDir: checkout(t, false), ScratchDir: t.TempDir()}
	in.Request.Slots, in.Request.Sets = in.Request.Slots[:2], nil // a master and a worker, which need the same files
	_, got, err := List(t.Context(), in, ListPorts{fake.run, &strings.Builder{}})
	if err != nil {
		t.Fatal(err)
	}
	want := []Pin{{"unknown", "kubelet_binary_checksum", "amd64"}, {"lookup", "kubeadm_binary_checksum", "amd64"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pins (-want +got):\n%s", diff)
	}
	path := filepath.Join(t.TempDir(), "pins")
	if err := WritePins(path, got); err != nil {
		t.Fatal(err)
	}
	if read, err := ReadPins(path); err != nil || !cmp.Equal(read, want) {
		t.Errorf("read %v, %v", read, err)
	}
}

func TestPinsThatAreNotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pins")
	for text, want := range map[string]string{`[{"path": "../../token"}]`: "../../token", `{`: "files to pin"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadPins(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if pins, err := ReadPins(path + ".none"); err != nil || pins != nil {
		t.Errorf("no file: %v, %v", pins, err)
	}
}

func TestRunPinsWhatTheDepotHas(t *testing.T) {
	w := newFixture(t, 1)
	in := w.input()
	in.List.Files = []artifacts.File{{Path: "dl.k8s.io/kubelet", URL: in.List.Files[0].URL}} // without a checksum
	in.Pins = []Pin{{"dl.k8s.io/kubelet", "kubelet_binary_checksum", "amd64"}, {"dl.k8s.io/kubelet", "kubelet_binary_checksum", "arm64"}}
	out, err := Run(t.Context(), in, w.ports())
	if err != nil {
		t.Fatal(err)
	}
	sum := depottest.Sum([]byte("kubelet"))
	want := inventory.Pins{"kubelet_binary_checksum": {"amd64": sum, "arm64": sum}}
	got, err := inventory.ParsePins(out.Results()[contract.ResultChecksums])
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("checksums (-want +got), %v:\n%s", err, diff)
	}
	if got := (Output{}).Results()[contract.ResultChecksums]; got != "{}" {
		t.Errorf("without checksums the result is %q, want {}: the next task needs it", got)
	}
}

func TestRunRefusesPins(t *testing.T) {
	w := newFixture(t, 1)
	in := w.input()
	in.Pins = []Pin{{"dl.k8s.io/kubelet", "ansible_become_exe", "amd64"}}
	refused := func(err error, says string) bool {
		return err != nil && strings.Contains(err.Error(), says) && task.FailureOf(err).Reason == contract.ReasonInvalidRequest
	}
	if _, err := Run(t.Context(), in, w.ports()); !refused(err, "is not a kubespray variable") {
		t.Errorf("a variable that is not for a checksum: %v", err)
	}
	in.Pins = nil
	for n := range 60 {
		in.Pins = append(in.Pins, Pin{"dl.k8s.io/kubelet", "kubelet_binary_checksum", fmt.Sprintf("cpu%d", n)})
	}
	if _, err := Run(t.Context(), in, w.ports()); !refused(err, "exceed a result of 3072 bytes") {
		t.Errorf("more checksums than fit into a result: %v", err)
	}
}

// The checksums of all files, for two architectures, fit into one result of a Tekton task.
func TestAllOfTwoArchitecturesFit(t *testing.T) {
	all, sum := inventory.Pins{}, strings.Repeat("0", 64)
	for _, v := range []string{"cni_binary_checksum", "containerd_archive_checksum", "crictl_binary_checksum", "etcd_binary_checksum", "kubeadm_binary_checksum",
		"kubectl_binary_checksum", "kubelet_binary_checksum", "nerdctl_archive_checksum", "runc_binary_checksum", "calicoctl_binary_checksum", "ciliumcli_binary_checksum", "helm_archive_checksum"} {
		all[v] = map[string]string{"amd64": sum, "arm64": sum}
	}
	if text, err := json.Marshal(all); err != nil || len(text) > maxPins {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

// For an uploaded OS image, the task returns the depot's digest, with which Metal3 verifies the
// image. For other OS images it returns none.
func TestRunReturnsTheDigestOfTheOSImage(t *testing.T) {
	w := newFixture(t, 1)
	sum := w.site.Put(t, "os_images/c1/edge-1/debian.img", []byte("debian"))
	in := w.input()
	r := contract.Request{Spec: contract.Spec{DepotURL: w.site.URL, OSImage: &contract.OSImage{URL: w.site.URL + "/files/os_images/c1/edge-1/debian.img", Uploaded: true}}}
	in.OSImage = UploadedImage(r)
	out, err := Run(t.Context(), in, w.ports())
	if err != nil || out.Results()[contract.ResultOSImage] != sum {
		t.Errorf("result %q, %v; want %s", out.Results()[contract.ResultOSImage], err, sum)
	}
	r.OSImage.Uploaded = false // not uploaded: the user provides the checksum
	if path := UploadedImage(r); path != "" {
		t.Errorf("the depot's digest of %s would replace the user's checksum", path)
	}
	if got := (Output{}).Results()[contract.ResultOSImage]; got != contract.None {
		t.Errorf("without an image it is %q", got)
	}
	in.OSImage = "os_images/c1/edge-1/gone.img"
	if _, err := Run(t.Context(), in, w.ports()); err == nil || !strings.Contains(err.Error(), "gone.img was removed from the depot while this task ran") {
		t.Errorf("an image that is gone: %v", err)
	}
}
