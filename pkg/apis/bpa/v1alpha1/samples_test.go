package v1alpha1

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// TestBackupSample checks the sample of the kind Backup.
func TestBackupSample(t *testing.T) {
	raw, err := os.ReadFile("../../../../config/samples/" + backupSample)
	if err != nil {
		t.Fatal(err)
	}
	b := &Backup{}
	if err := yaml.UnmarshalStrict(raw, b); err != nil {
		t.Fatal(err)
	}
	if err := b.Validate(context.Background()); err != nil || b.GetObjectKind().GroupVersionKind() != b.GetGroupVersionKind() {
		t.Errorf("%s: %v", b.GetObjectKind().GroupVersionKind(), err)
	}
}

const backupSample = "backup.yaml"

// Every other file in config/samples is a Provisioning that a user can apply unchanged, and that does not
// change when it is parsed and written again.
func TestSamples(t *testing.T) {
	files, err := filepath.Glob("../../../../config/samples/*.yaml")
	if err != nil || len(files) < 14 {
		t.Fatalf("found %d samples (%v): have they moved?", len(files), err)
	}
	for _, file := range files {
		if filepath.Base(file) == backupSample {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			p := readSample(t, file)
			p.SetDefaults(context.Background())
			if errs, _ := findings(context.Background(), p); errs != "" {
				t.Errorf("refused: %s", errs)
			}
			slots, err := p.Spec.Slots()
			if err != nil || len(slots)+len(p.Spec.Sets()) == 0 {
				t.Errorf("the sample requests no node: %v, %v", slots, err)
			}
			raw, err := yaml.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			again := &Provisioning{}
			if err := yaml.UnmarshalStrict(raw, again); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(p, again); diff != "" {
				t.Errorf("written and read again (-want +got):\n%s", diff)
			}
		})
	}
}

func readSample(t *testing.T, file string) *Provisioning {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(raw, []byte("\n---")) {
		t.Fatal("more than one object in a sample")
	}
	p := &Provisioning{}
	if err := yaml.UnmarshalStrict(raw, p); err != nil {
		t.Fatal(err)
	}
	if p.GetObjectKind().GroupVersionKind() != p.GetGroupVersionKind() {
		t.Errorf("kind is %s", p.GetObjectKind().GroupVersionKind())
	}
	return p
}
