package admission

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"knative.dev/pkg/apis"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// softwareOf returns a Software with a spec in YAML.
func softwareOf(t *testing.T, spec string) *v1alpha1.Software {
	t.Helper()
	s := &v1alpha1.Software{ObjectMeta: metav1.ObjectMeta{Name: "drivers"}}
	if err := yaml.UnmarshalStrict([]byte(spec), &s.Spec); err != nil {
		t.Fatalf("%s: %v", spec, err)
	}
	return s
}

func TestSoftwareIsAccepted(t *testing.T) {
	for _, spec := range []string{
		"{}",
		"{cluster: edge-1, autoUpdate: false}",
		"{masterSoftware: [curl, g++, libstdc++6, python3.12, NetworkManager, a, 7zip, compat-openssl11]}",
		"{masterSoftware: [curl: , jq: {}, vim: {version: }]}",
		"{masterSoftware: [jq: {version: 1.5+dfsg-1ubuntu0.1}, qat: {version: '1:2.0~rc1^git_1-3', disruption: Reboot}]}",
		"{masterSoftware: [jq: {disruption: None}, htop: {disruption: Drain}], workerSoftware: [jq, htop]}",
		"{masterSoftware: [" + strings.Repeat("a", 100) + ": {version: '" + strings.Repeat("1", 100) + "'}]}",
	} {
		s := softwareOf(t, spec)
		s.Labels = map[string]string{"cluster": "edge-2"}
		if err := CheckSoftware(context.Background(), s); err != nil {
			t.Errorf("%s: %v", spec, err)
		}
	}
}

func TestSoftwareIsRefused(t *testing.T) {
	for spec, want := range map[string]string{
		"{masterSoftware: ['']}":                                              `"" is not the name of a package: spec.masterSoftware[0]`,
		"{masterSoftware: [curl, -y]}":                                        `"-y" is not the name of a package: spec.masterSoftware[1]`,
		"{workerSoftware: [curl-]}":                                           `"curl-" is not the name of a package: spec.workerSoftware[0]`,
		"{workerSoftware: ['curl wget']}":                                     "does not end with a dash",
		"{workerSoftware: ['curl=1.0']}":                                      `"curl=1.0" is not the name of a package`,
		"{workerSoftware: ['curl:amd64']}":                                    `"curl:amd64" is not the name of a package`,
		"{workerSoftware: ['$(reboot)']}":                                     `"$(reboot)" is not the name of a package`,
		"{workerSoftware: [../etc]}":                                          `"../etc" is not the name of a package`,
		"{workerSoftware: [\"a\\n\"]}":                                        `"a\n" is not the name of a package`,
		"{workerSoftware: [" + strings.Repeat("a", 101) + "]}":                "at most 100 letters",
		"{workerSoftware: [{-o: {version: '1'}}]}":                            `"-o" is not the name of a package`,
		"{workerSoftware: [jq: {version: '1.5 --force'}]}":                    `"1.5 --force" is not the version of a package: spec.workerSoftware[0].version`,
		"{workerSoftware: [jq: {version: -1}]}":                               "version of package jq is -1, which is no text: write it in quotes",
		"{workerSoftware: [jq: {version: 1.10}]}":                             "version of package jq is 1.1, which is no text: write it in quotes",
		"{workerSoftware: [jq: {version: '../1'}]}":                           `"../1" is not the version of a package`,
		"{workerSoftware: [jq: {version: '*'}]}":                              `"*" is not the version of a package`,
		"{workerSoftware: [jq: {version: " + strings.Repeat("1x", 51) + "}]}": "at most 100 letters",
		"{workerSoftware: [jq: {disruption: reboot}]}":                        `"reboot" is not a disruption: spec.workerSoftware[0].disruption` + "\nwrite one of None, Drain, Reboot",
		"{workerSoftware: [jq: {state: absent}]}":                             `package jq has the unknown option "state"; there are version and disruption: spec.workerSoftware[0]`,
		"{workerSoftware: [jq: {Version: '1'}]}":                              `package jq has the unknown option "Version"`,
		"{workerSoftware: [jq: '1.5']}":                                       `the options of package jq are "1.5", which is no object`,
		"{workerSoftware: [{jq: {}, curl: {}}]}":                              "the object has 2 keys (curl, jq), so its package is not known: spec.workerSoftware[0]\nwrite the name of a package",
		"{workerSoftware: [{name: jq, version: '1.5'}]}":                      "the object has 2 keys (name, version)",
		"{workerSoftware: [{}]}":                                              "the object has no name of a package",
		"{workerSoftware: [null]}":                                            "the entry is empty: spec.workerSoftware[0]",
		"{workerSoftware: [7]}":                                               "7 is neither a name nor an object",
		"{workerSoftware: [[jq]]}":                                            `["jq"] is neither a name nor an object`,
		"{workerSoftware: [jq, curl, jq: {version: '1.5'}]}":                  `package "jq" is also entry 0: spec.workerSoftware[2]` + "\nwrite each package once",
		"{cluster: Edge_1}":                                                   `"Edge_1" is not the name of a cluster: spec.cluster`,
	} {
		s := softwareOf(t, spec)
		s.Labels = map[string]string{"cluster": "edge-2"}
		if err := CheckSoftware(context.Background(), s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", spec, err, want)
		}
	}
}

// TestInvalidEntryKeepsItsName checks that an entry keeps the name of its package if only the options are wrong:
// a package without an entry is removed from the nodes.
func TestInvalidEntryKeepsItsName(t *testing.T) {
	for text, want := range map[string]string{
		`{"jq":{"version":7}}`: "jq", `{"jq":{"state":"x"}}`: "jq", `{"jq":"1.5"}`: "jq", `{"jq":{},"curl":{}}`: "", `7`: "", `{}`: "",
	} {
		var e v1alpha1.SoftwareEntry
		if err := json.Unmarshal([]byte(text), &e); err != nil || e != (v1alpha1.SoftwareEntry{Name: want, Invalid: text}) {
			t.Errorf("%s: %+v, %v; want the name %q", text, e, err, want)
		}
		if CheckPackage(e) == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}

// TestSoftwareCluster checks the name of the cluster: the label alone, as in ICN's samples, is enough.
func TestSoftwareCluster(t *testing.T) {
	for name, tc := range map[string]struct {
		cluster, label, want, mentions string
	}{
		"none":      {"", "", "", "the Software names no cluster: spec.cluster\nwrite the name of a Provisioning"},
		"label":     {"", "edge-1", "edge-1", ""},
		"bad label": {"", "edge.1", "edge.1", `"edge.1" is not the name of a cluster: metadata.labels.cluster`},
		"spec":      {"edge-1", "", "edge-1", ""},
		"both":      {"edge-1", "edge-2", "edge-1", ""},
	} {
		s := &v1alpha1.Software{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"cluster": tc.label}}, Spec: v1alpha1.SoftwareSpec{Cluster: tc.cluster}}
		err := CheckSoftware(context.Background(), s)
		if s.ClusterName() != tc.want || (err == nil) != (tc.mentions == "") || err != nil && !strings.Contains(err.Error(), tc.mentions) {
			t.Errorf("%s: cluster %q, %v; want %q, %s", name, s.ClusterName(), err, tc.want, tc.mentions)
		}
	}
}

// An edit of the metadata, such as of a finalizer, is accepted even if a rule is newer than the object. An
// edit of the spec or of the cluster is checked.
func TestSoftwareOfAnOlderBuild(t *testing.T) {
	old := softwareOf(t, "{cluster: edge-1, workerSoftware: [curl-]}")
	labelled, moved, edited := old.DeepCopy(), old.DeepCopy(), old.DeepCopy()
	labelled.Labels = map[string]string{"cluster": "edge-2"}
	moved.Spec.Cluster = "edge-2"
	edited.Spec.WorkerSoftware = append(edited.Spec.WorkerSoftware, v1alpha1.SoftwareEntry{Name: "jq"})
	ctx := apis.WithinUpdate(context.Background(), old)
	if err := CheckSoftware(ctx, labelled); err != nil {
		t.Error(err)
	}
	for name, s := range map[string]*v1alpha1.Software{"cluster": moved, "packages": edited} {
		if CheckSoftware(ctx, s) == nil {
			t.Errorf("an edit of the %s is not checked", name)
		}
	}
	now := metav1.Now()
	edited.DeletionTimestamp = &now
	if err := CheckSoftware(ctx, edited); err != nil {
		t.Errorf("while it is deleted: %v", err)
	}
	if err := CheckSoftware(apis.WithinSubResourceUpdate(context.Background(), old, "status"), old); err != nil {
		t.Errorf("update of the status: %v", err)
	}
}

// FuzzSoftwareEntry reads any JSON as an entry. Reading it never fails, because that would make all Softwares
// unreadable. What validation accepts is one word that no program reads as an option, and reads the same again.
func FuzzSoftwareEntry(f *testing.F) {
	for _, seed := range []string{`"curl"`, `{"jq":{"version":"1.5+dfsg-1ubuntu0.1"}}`, `{"a":{},"b":{}}`, `{"a":{"version":1.5}}`, `"a; reboot"`, `"-y"`, `{"a":null}`, `null`, `7`,
		`{"a":{"version":"1","version":"--x"}}`, `{"a":{"disruption":"Reboot"}}`, `{"a":{"Version":"x"}}`, `"\u0000"`, `"\ud800"`, `["a"]`, ` {"a" : {"version":"1"} } `, `"<a>"`} {
		f.Add([]byte(seed))
	}
	const name, version = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+._-", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.+~:_^-"
	f.Fuzz(func(t *testing.T, data []byte) {
		var e v1alpha1.SoftwareEntry
		if err := json.Unmarshal(data, &e); err != nil {
			if json.Valid(data) {
				t.Fatalf("%q: %v", data, err)
			}
			return
		}
		raw, err := json.Marshal(e)
		if err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		var again v1alpha1.SoftwareEntry
		if err := json.Unmarshal(raw, &again); err != nil {
			t.Fatalf("%q becomes %q: %v", data, raw, err)
		}
		refused := CheckPackage(e)
		if (refused == nil) != (CheckPackage(again) == nil) {
			t.Errorf("%q becomes %q: %v, %v", data, raw, refused, CheckPackage(again))
		}
		if refused != nil {
			return
		}
		if again != e {
			t.Errorf("%q: %+v becomes %q: %+v", data, e, raw, again)
		}
		safe := func(text, letters string) bool {
			return text != "" && len(text) <= 100 && strings.Trim(text, letters) == "" && !strings.ContainsAny(text[:1], "+._-~:^")
		}
		if !safe(e.Name, name) || strings.HasSuffix(e.Name, "-") || e.Version != "" && !safe(e.Version, version) {
			t.Errorf("%q is accepted as %+v", data, e)
		}
	})
}
