package inventory

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
)

var sum = strings.Repeat("0a", 32)

func TestPins(t *testing.T) {
	pins, err := ParsePins(`{"kubelet_binary_checksum": {"amd64": "` + sum + `"}, "runc_binary_checksum": {"amd64": "` + sum + `", "arm64": "` + sum + `"}}`)
	if err != nil {
		t.Fatal(err)
	}
	r := request(func(r *contract.Request) {
		r.KubernetesVersion = "1.35.99"
		r.Vars = map[string]json.RawMessage{"runc_binary_checksum": json.RawMessage(`"sha256:mine"`)}
	})
	got, err := RenderPinned(r, []contract.Node{master("m-1", "10.60.0.11")}, pins)
	if err != nil {
		t.Fatal(err)
	}
	var vars map[string]any
	if err := json.Unmarshal(got.GroupVars, &vars); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"kubelet_binary_checksum": `{{ {"amd64":"sha256:` + sum + `"}[image_arch] | default(((kubelet_checksums | default({}))[image_arch] | default({}))[kube_version] | default('')) }}`,
		"runc_binary_checksum":    "sha256:mine",
		"etcd_binary_checksum":    nil,
	}
	for name, value := range want {
		if diff := cmp.Diff(value, vars[name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Kubespray supports a Kubernetes version if three tables have an entry for the version and each
// host's architecture. It always reads the entries for amd64 too.
func TestPinnedKubernetesIsInKubespraysTables(t *testing.T) {
	pins := Pins{"kubelet_binary_checksum": {"arm64": sum}, "runc_binary_checksum": {"riscv64": sum}}
	got, err := RenderPinned(request(func(r *contract.Request) { r.KubernetesVersion = "1.35.99" }), []contract.Node{master("m-1", "10.60.0.11")}, pins)
	if err != nil {
		t.Fatal(err)
	}
	var vars map[string]any
	if err := json.Unmarshal(got.GroupVars, &vars); err != nil {
		t.Fatal(err)
	}
	known := map[string]any{"1.35.99": "the depot's"}
	want := map[string]any{"amd64": known, "arm64": known}
	for _, table := range []string{"kubeadm_checksums", "kubectl_checksums", "kubelet_checksums"} {
		if diff := cmp.Diff(want, vars[table]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", table, diff)
		}
	}
	if other := (Pins{"runc_binary_checksum": {"amd64": sum}}).vars("1.35.4"); len(other) != 1 {
		t.Errorf("without a pin of Kubernetes kubespray's tables stay: %v", other)
	}
}

func TestPinsThatAreRefused(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"no JSON":             {`{`, "checksums of the depot"},
		"another variable":    {`{"kube_version": {"amd64": "` + sum + `"}}`, `"kube_version" is not a kubespray variable`},
		"a template":          {`{"kubelet_binary_checksum": {"amd64": "{{ lookup('pipe', 'id') }}"}}`, "want 64 hexadecimal digits"},
		"with its algorithm":  {`{"kubelet_binary_checksum": {"amd64": "sha256:` + sum + `"}}`, "want 64 hexadecimal digits"},
		"quotes as a machine": {`{"kubelet_binary_checksum": {"'": "` + sum + `"}}`, "for an architecture"},
	} {
		if _, err := ParsePins(tc.text); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v; want %q", name, err, tc.want)
		}
	}
	if p, err := ParsePins(""); err != nil || p != nil {
		t.Errorf("nothing: %v, %v", p, err)
	}
}

func TestListingVars(t *testing.T) {
	mine := func(r *contract.Request) {
		r.Vars = map[string]json.RawMessage{"etcd_binary_checksum": json.RawMessage(`"sha256:mine"`)}
	}
	upstream := ListingVars(request(mine))
	if _, there := upstream["etcd_binary_checksum"]; there {
		t.Error("a user-provided variable is replaced")
	}
	if got, want := upstream["runc_binary_checksum"], "{{ ((runc_checksums | default({}))[image_arch] | default({}))[runc_version] | default('') }}"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	depots := ListingVars(request(mine, func(r *contract.Request) { r.DepotChecksums = true }))
	if got := depots["runc_binary_checksum"]; got != "" {
		t.Errorf("with the depot's checksums the list asks for kubespray's checksum: %q", got)
	}
	if got := depots["bpa_checksum_variables"].(map[string]string)["containerd"]; got != "containerd_archive_checksum" {
		t.Errorf("containerd's variable is %q", got)
	}
}
