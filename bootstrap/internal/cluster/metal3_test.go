package cluster

import (
	"testing"

	"sigs.k8s.io/yaml"
)

func TestForeignRecognizesAnotherInstallation(t *testing.T) {
	wanted := parsed(t, "{metadata: {name: hosts}, spec: {versions: [{name: v1alpha1, served: true}]}}")
	for name, c := range map[string]struct{ present, want string }{
		"there is none": {"{}", ""},
		"ours, with the API server's status": {`{metadata: {name: hosts, managedFields: [{manager: bpa-bootstrap},
			{manager: kube-apiserver, subresource: status}]}, spec: {versions: [{name: v1alpha1, served: true}]}}`, ""},
		"an older one of ours": {`{metadata: {name: hosts, managedFields: [{manager: bpa-bootstrap}]}}`, ""},
		"another manager beside ours": {`{metadata: {name: hosts, managedFields: [{manager: bpa-bootstrap},
			{manager: kubectl-client-side-apply}]}}`, "managed by kubectl-client-side-apply"},
		"a newer version": {`{metadata: {name: hosts, managedFields: [{manager: bpa-bootstrap}]},
			spec: {versions: [{name: v1alpha1, served: true}, {name: v1beta1, served: true}, {name: v1, served: false}]}}`, "serves v1beta1"},
		"a label": {`{metadata: {name: hosts, labels: {clusterctl.cluster.x-k8s.io: ""}, managedFields: [{manager: bpa-bootstrap}]}}`,
			"labelled clusterctl.cluster.x-k8s.io"},
	} {
		if got := foreign(parsed(t, c.present), wanted); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func parsed(t *testing.T, text string) definition {
	t.Helper()
	var d definition
	if err := yaml.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	return d
}
