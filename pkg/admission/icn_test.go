//go:build icn

package admission

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/plugin"
)

// icnFile returns the path of one of ICN's own files in a checkout of ICN, which ICN names.
func icnFile(t *testing.T, name string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(os.Getenv("ICN"), "cmd/bpa-operator/*", name))
	deeper, err2 := filepath.Glob(filepath.Join(os.Getenv("ICN"), "cmd/bpa-operator/deploy/crds/*", name))
	if found = append(found, deeper...); err != nil || err2 != nil || len(found) != 1 {
		t.Fatalf("ICN=%q must be a checkout of ICN with one file %s: %v, %v, %v", os.Getenv("ICN"), name, found, err, err2)
	}
	return found[0]
}

// icnProvisionings are ICN's own files of the kind Provisioning. blob is the name of the file's content in
// ICN's git repository (github.com/akraino-edge-stack/icn, commit 95ca9e91), nodes is what must be read from it, and warns what BPA says about it.
var icnProvisionings = map[string]struct{ blob, nodes, warns string }{
	"bpa_v1alpha1_provisioning_cr.yaml": {"0c62cbc07504d548518d688dce1b57939f11dca4",
		"master-1 00:c6:14:04:61:b2, master-2 00:c5:12:06:61:b2, worker-1 00:c4:13:04:62:b5", twoMasters},
	"bpa_v1alpha1_provisioning_cr_2.yaml": {"179208e8367f8eb34a9e0ec10373ac5282679cd0",
		"master-1 a4:bf:0f:63:85:66, worker-1 b5:bf:0f:63:85:61, worker-2 34:f2:fd:9c:87:62", ""},
	"bpa_v1alpha1_provisioning_cr_multiple_3.yaml": {"3a34dba6373eb3ec1efa85070840144ede841bfd",
		"master-1 00:c6:14:04:61:b2, master-2 00:c5:12:06:61:b2, worker-1 00:c4:13:04:62:b5, worker-2 00:c3:11:02:61:b5", twoMasters},
	"bpa_v1alpha1_provisioning_cr_sample_multiple_1.yaml": {"2c3c9068e5c7022d334701898ceb4ad7754a76b6",
		"master-1 00:c6:14:04:61:b2, worker-1 00:c4:13:04:62:b5", ""},
	"bpa_v1alpha1_provisioning_cr_sample_multiple_2.yaml": {"a9c5b5c821d5d9c640c6265bb7ff78cfbda644d1",
		"master-1 00:c6:14:04:61:b2, master-2 00:c5:12:06:61:b2, worker-1 00:c4:13:04:62:b5, worker-2 00:c3:11:02:61:b5", twoMasters},
	"bpa_v1alpha1_provisioning_cr_sample_single.yaml": {"cfff1c54c85a9515e029d36b0411e8c8da483fc1", "master-1 90:e2:ba:cd:df:bd", ""},
	"bpa_v1alpha1_provisioning_cr_sample_single_2.yaml": {"6e973e651767bfb0a99aeb621e9b3097b21aab4f",
		"master-1 90:e2:ba:cd:df:bd both", ""},
	"bpa_v1alpha1_provisioning_cr_sample_single_3.yaml": {"9209398f73bc845e4b90c7ee926c192fd8465130",
		"master-1 90:e2:ba:cd:df:bd both", ""},
	"bpa_v1alpha1_provisioning_cr_vm_multiple.yaml": {"be026f896795b0e9eed92173d4c79de08573652d",
		"master-1 00:c6:14:04:61:b2, worker-1 00:c4:13:04:62:b5", ""},
	"bpa_v1alpha1_provisioning_cr_vm_single.yaml": {"a7802976e905d2764183d65c5bf1f27b1af962e3", "master-1 c2:b4:57:49:47:f1", ""},
	"provisioning_cr_kud_plugins_sample.yaml":     {"852f5210309f015f3ad1a031568ed316f2b367f8", "master-1 00:e1:ba:ce:df:bd", skips("emco")},
	"bpa_remote_compute_cr_sample.yaml":           {"a2c77e0f900ac0e21290d6fc224681b8bf9b5902", "remote-compute 08:00:27:ef:ab:60", skips("bpa")},
	"bpa_remote_virtletvm_cr.yaml":                {"0788a06062f892554633730d714e8ccc078b7f7d", "master-1 c2:b4:57:49:47:f1", ""},
	"bpa_remote_virtletvm_cr_multi.yaml": {"65230532cecaaa75decdbd8272a79521d3f9fec7",
		"master-1 c2:b4:57:49:47:f3, master-2 c2:b4:57:49:47:f4, master-3 c2:b4:57:49:47:f5, worker-1 c2:b4:57:49:47:f6, worker-2 c2:b4:57:49:47:f7", ""},
	"e2e_virtletvm_test_provisioning_cr.yaml": {"4868b720f42d5491629367311596e23305a3e7c3", "master-1 c2:b4:57:49:47:f1", ""},
	"test_bmh_provisioning_cr.yaml": {"aca37664fed96f6c2684d2aa9c4fcf8d60a38c39",
		"pod11-node3 00:1e:67:f1:5b:91, pod11-node2 00:1e:67:fe:f4:1a", skips("emco")},
}

const twoMasters = "2 masters tolerate no more failures than 1, because etcd needs a majority of them: add one or remove one: spec.masters"

func skips(name string) string {
	return "plugin " + name + " is skipped, because it is retired: " + plugin.Shipped()[name].Reason + ". Remove it from the list: spec.KUDPlugins[0]"
}

// icnSoftwares are ICN's own files of the kind Software, by their content in ICN's git repository.
var icnSoftwares = map[string]string{
	"bpa_v1alpha1_software_cr.yaml":      "f5f35ba0b854c285455777e7a5c818f225ff7619",
	"test_bpa_v1alpha1_software_cr.yaml": "c64615b4212452127e766ad23657ba06c5b9195e",
}

// TestICNFiles: ICN's own files are admitted as they are. A plugin that is retired is a warning.
func TestICNFiles(t *testing.T) {
	for name, want := range icnProvisionings {
		t.Run(name, func(t *testing.T) {
			checkBlob(t, name, want.blob)
			p := readSample(t, icnFile(t, name))
			p.SetDefaults(context.Background())
			errs, warns := findings(context.Background(), p)
			if diff := cmp.Diff([]string{"", want.warns}, []string{errs, warns}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := nodeTexts(t, p); got != want.nodes {
				t.Errorf("nodes %s, want %s", got, want.nodes)
			}
		})
	}
	for name, blob := range icnSoftwares {
		t.Run(name, func(t *testing.T) {
			s := &v1alpha1.Software{}
			if err := yaml.UnmarshalStrict(checkBlob(t, name, blob), s); err != nil {
				t.Fatal(err)
			}
			if err := CheckSoftware(context.Background(), s); err != nil {
				t.Errorf("refused: %v", err)
			}
		})
	}
}

// checkBlob returns the content of a file, after a comparison with its name in git.
func checkBlob(t *testing.T, name, blob string) []byte {
	t.Helper()
	raw, err := os.ReadFile(icnFile(t, name))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(raw), raw))
	if got := hex.EncodeToString(sum[:]); got != blob {
		t.Errorf("the file is not ICN's any more: blob %s, want %s", got, blob)
	}
	return raw
}

// nodeTexts describes the nodes: NAME MAC, and "both" for a host in both roles.
func nodeTexts(t *testing.T, p *v1alpha1.Provisioning) string {
	t.Helper()
	slots, err := p.Spec.Slots()
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, s := range slots {
		text := s.Name + " " + string(s.MAC)
		if s.ControlPlane && s.Worker && len(p.Spec.Workers) > 0 {
			text += " both"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}
