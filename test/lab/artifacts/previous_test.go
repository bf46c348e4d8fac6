package artifacts

import (
	"strings"
	"testing"
)

// The variables of the lab stay the same in an upgrade: they have the checksums of both versions. A
// machine that has not built the previous version has the checksums of one.
func TestChecksumsOfBothVersions(t *testing.T) {
	b := &Builder{State: t.TempDir()}
	vars := func() map[string]any {
		all := map[string]any{"cni_binary_checksum": "sha256:cni"}
		for variable := range kubeFiles {
			all[variable] = "sha256:new"
		}
		b.bothVersions(all)
		return all
	}
	if got := vars(); got["kubelet_binary_checksum"] != "sha256:new" || got["coredns_version"] != nil {
		t.Errorf("without the previous version: %v", got)
	}
	for variable := range kubeFiles {
		if err := b.stamps().Set("sha256 "+variable+" "+PreviousKubernetes, "old"); err != nil {
			t.Fatal(err)
		}
	}
	got := vars()
	for variable := range kubeFiles {
		if want := `{{ {"1.34.3":"sha256:old","1.35.4":"sha256:new"}[kube_version] }}`; got[variable] != want {
			t.Errorf("%s is %v, want %s", variable, got[variable], want)
		}
	}
	if got["cni_binary_checksum"] != "sha256:cni" || got["coredns_version"] != corednsVersion {
		t.Errorf("variables %v", got)
	}
}

// Both versions are files of their own, with their own stamps.
func TestPreviousFiles(t *testing.T) {
	b := &Builder{State: t.TempDir()}
	for _, f := range b.previousFiles() {
		if !strings.Contains(f.path, "/v"+PreviousKubernetes+"/") || !strings.HasSuffix(f.variable, " "+PreviousKubernetes) {
			t.Errorf("file %+v", f)
		}
	}
}
