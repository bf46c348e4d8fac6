package artifacts

import (
	"strings"
	"testing"
)

// The variables of the lab stay the same in an upgrade: they have the checksums of all versions. A
// machine that has not built an older version has the checksums of one.
func TestChecksumsOfAllVersions(t *testing.T) {
	b := &Builder{State: t.TempDir()}
	vars := func() map[string]any {
		all := map[string]any{"cni_binary_checksum": "sha256:cni"}
		for variable := range kubeFiles {
			all[variable] = "sha256:new"
		}
		b.allVersions(all)
		return all
	}
	if got := vars(); got["kubelet_binary_checksum"] != "sha256:new" {
		t.Errorf("without an older version: %v", got)
	}
	for variable := range kubeFiles {
		for _, version := range OlderKubernetes {
			if err := b.stamps().Set("sha256 "+variable+" "+version, "old"); err != nil {
				t.Fatal(err)
			}
		}
	}
	got := vars()
	for variable := range kubeFiles {
		if want := `{{ {"1.34.3":"sha256:old","1.35.3":"sha256:old","1.35.4":"sha256:new"}[kube_version] }}`; got[variable] != want {
			t.Errorf("%s is %v, want %s", variable, got[variable], want)
		}
	}
	if got["cni_binary_checksum"] != "sha256:cni" {
		t.Errorf("variables %v", got)
	}
}

// Each version has files of its own, with their own stamps.
func TestOlderFiles(t *testing.T) {
	b := &Builder{State: t.TempDir()}
	for _, version := range OlderKubernetes {
		for _, f := range b.olderFiles(olderOf(version)) {
			if !strings.Contains(f.path, "/v"+version+"/") || !strings.HasSuffix(f.variable, " "+version) || !strings.Contains(f.source, version) {
				t.Errorf("%s: file %+v", version, f)
			}
		}
	}
}
