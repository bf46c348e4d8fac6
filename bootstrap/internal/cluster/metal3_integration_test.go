//go:build integration

package cluster

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/bootstrap/manifests"
)

// Another Metal3 installation serves a version that our CRD lacks. installMetal3 must not remove
// it.
func TestInstallMetal3KeepsCRDsOfAnotherInstallation(t *testing.T) {
	c := onAPIServer(t)
	hosts := bytes.Split(manifests.Metal3, []byte("---\n"))[1] // after the comment
	newer := strings.Replace(string(hosts), "  versions:\n", "  versions:\n"+
		"  - {name: v1beta1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}\n", 1)
	if !strings.Contains(newer, "baremetalhosts.metal3.io") || !strings.Contains(newer, "v1beta1") {
		t.Fatal("the first CRD is no longer that of hosts")
	}
	if _, err := c.kubectl(t.Context(), time.Minute, []byte(newer), "apply", "--server-side", "--field-manager=site", "-f", "-"); err != nil {
		t.Fatal(err)
	}

	changed, kept, err := c.installMetal3(t.Context())
	if err != nil || !changed || len(kept) != 1 || kept[0] != "baremetalhosts.metal3.io (managed by site)" {
		t.Errorf("changed %t, kept %q, %v; want one CRD kept and the others applied", changed, kept, err)
	}
	for crd, want := range map[string]string{"baremetalhosts.metal3.io": "v1beta1 v1alpha1", "hardwaredata.metal3.io": "v1alpha1"} {
		got, err := c.kubectl(t.Context(), time.Minute, nil, "get", "crd", crd, "-o", "jsonpath={.spec.versions[*].name}")
		if err != nil || got != want {
			t.Errorf("%s has versions %q (%v), want %q", crd, got, err, want)
		}
	}
	if changed, _, err := c.installMetal3(t.Context()); err != nil || changed {
		t.Errorf("a second time: changed %t, %v", changed, err)
	}
	if _, err := c.kubectl(t.Context(), time.Minute, nil, "delete", "crd", "hardwaredata.metal3.io", "--timeout=30s"); err != nil {
		t.Fatal(err)
	}
	if changed, _, err := c.installMetal3(t.Context()); err != nil || !changed {
		t.Errorf("after one was removed: changed %t, %v; want it applied again", changed, err)
	}
}
