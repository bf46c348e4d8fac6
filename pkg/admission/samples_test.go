package admission

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// TestBackupSample checks the sample of the kind Backup.
func TestBackupSample(t *testing.T) {
	raw, err := os.ReadFile("../../config/samples/" + backupSample)
	if err != nil {
		t.Fatal(err)
	}
	b := &v1alpha1.Backup{}
	if err := yaml.UnmarshalStrict(raw, b); err != nil {
		t.Fatal(err)
	}
	if err := CheckBackup(context.Background(), b); err != nil || b.GetObjectKind().GroupVersionKind() != b.GetGroupVersionKind() {
		t.Errorf("%s: %v", b.GetObjectKind().GroupVersionKind(), err)
	}
}

const backupSample = "backup.yaml"

// softwareSamples are the samples of the kind Software, with what must be read from them. Two of them are
// ICN's own.
var softwareSamples = map[string]string{
	"icn-software.yaml":      `cluster-xyz [expect htop {"jq":{"version":"1.5+dfsg-1ubuntu0.1"}} maven] [curl python tmux jq]`,
	"icn-software-test.yaml": `cluster-abc [nautilus htop {"jq":{"version":"1.5+dfsg-1ubuntu0.1"}} maven] [curl htop tmux jq]`,
	"software-driver.yaml":   `edge-1 [] [{"qat-driver":{"disruption":"Reboot"}} {"sriov-driver":{"version":"1.0","disruption":"Drain"}} lldpd]`,
}

// A Software in config/samples can be applied unchanged, and does not change when it is parsed and written
// again.
func TestSoftwareSamples(t *testing.T) {
	files, err := filepath.Glob("../../config/samples/*software*.yaml")
	if err != nil || len(files) != len(softwareSamples) {
		t.Fatalf("found the samples %q (%v), want %d", files, err, len(softwareSamples))
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s := &v1alpha1.Software{}
			if err := yaml.UnmarshalStrict(raw, s); err != nil {
				t.Fatal(err)
			}
			if err := CheckSoftware(context.Background(), s); err != nil || s.GetObjectKind().GroupVersionKind() != s.GetGroupVersionKind() {
				t.Errorf("%s is refused: %v", s.GetObjectKind().GroupVersionKind(), err)
			}
			got := fmt.Sprint(s.ClusterName(), " ", entryTexts(t, s.Spec.MasterSoftware), " ", entryTexts(t, s.Spec.WorkerSoftware))
			if want := softwareSamples[filepath.Base(file)]; got != want {
				t.Errorf("read as %s, want %s", got, want)
			}
			if raw, err = yaml.Marshal(s); err != nil {
				t.Fatal(err)
			}
			again := &v1alpha1.Software{}
			if err := yaml.UnmarshalStrict(raw, again); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(s, again); diff != "" {
				t.Errorf("written and read again (-want +got):\n%s", diff)
			}
		})
	}
}

// entryTexts returns the entries in JSON, without the quotes of the short notation.
func entryTexts(t *testing.T, entries []v1alpha1.SoftwareEntry) (texts []string) {
	for _, e := range entries {
		raw, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, strings.Trim(string(raw), `"`))
	}
	return texts
}

// Every other file in config/samples is a Provisioning that a user can apply unchanged, and that does not
// change when it is parsed and written again.
func TestSamples(t *testing.T) {
	files, err := filepath.Glob("../../config/samples/*.yaml")
	if err != nil || len(files) < 14 {
		t.Fatalf("found %d samples (%v): have they moved?", len(files), err)
	}
	for _, file := range files {
		if filepath.Base(file) == backupSample || softwareSamples[filepath.Base(file)] != "" {
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
			again := &v1alpha1.Provisioning{}
			if err := yaml.UnmarshalStrict(raw, again); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(p, again); diff != "" {
				t.Errorf("written and read again (-want +got):\n%s", diff)
			}
		})
	}
}

func readSample(t *testing.T, file string) *v1alpha1.Provisioning {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(raw, []byte("\n---")) {
		t.Fatal("more than one object in a sample")
	}
	p := &v1alpha1.Provisioning{}
	if err := yaml.UnmarshalStrict(raw, p); err != nil {
		t.Fatal(err)
	}
	if p.GetObjectKind().GroupVersionKind() != p.GetGroupVersionKind() {
		t.Errorf("kind is %s", p.GetObjectKind().GroupVersionKind())
	}
	return p
}

// TestAllSettingsAreAll: provisioning-all-settings.yaml has every field of the schema, but for those of nodes, which have
// samples of their own, and for fields that exclude another one. Those are in its comments.
func TestAllSettingsAreAll(t *testing.T) {
	raw, err := os.ReadFile("../../config/samples/provisioning-all-settings.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var sample struct{ Spec map[string]any }
	if err := yaml.Unmarshal(raw, &sample); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../config/300-provisionings.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	fields := 0
	var compare func(path string, schema apiextensionsv1.JSONSchemaProps, value map[string]any)
	compare = func(path string, schema apiextensionsv1.JSONSchemaProps, value map[string]any) {
		for name, below := range schema.Properties {
			fields++
			is, there := value[name]
			if object, ok := is.(map[string]any); ok {
				compare(path+name+".", below, object)
			} else if !there && (path+name != "osImage.upload" && path+name != "depot.caBundle" || !bytes.Contains(raw, []byte(name+": "))) {
				t.Errorf("the sample lacks %s%s", path, name)
			}
		}
	}
	compare("", crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"], sample.Spec)
	if fields < 40 {
		t.Errorf("only %d fields were compared", fields)
	}
	index, err := os.ReadFile("../../config/samples/README.md")
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob("../../config/samples/*.yaml")
	for _, file := range files {
		if name := filepath.Base(file); !strings.HasPrefix(name, "icn-") && !bytes.Contains(index, []byte("]("+name+")")) {
			t.Errorf("the index does not have %s", name)
		}
	}
}
