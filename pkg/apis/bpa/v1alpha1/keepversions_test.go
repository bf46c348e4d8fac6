package v1alpha1

import (
	"testing"

	"knative.dev/pkg/apis"
)

// A user who removes the line with the version from a manifest does not request an upgrade to the default
// of the installed build.
func TestUpdateWithoutAVersionKeepsIt(t *testing.T) {
	for name, tc := range map[string]struct{ was, is, version, release string }{
		"both lines are removed":               {"kubernetes: {version: 1.34.3}\nkubespray: {release: v2.32.0}", "", "1.34.3", "v2.32.0"},
		"another line is removed":              {"kubernetes: {version: 1.34.3, networkPlugin: calico}", "kubernetes: {version: 1.34.3}", "1.34.3", ""},
		"another version":                      {"kubernetes: {version: 1.34.3}", "kubernetes: {version: 1.35.4}", "1.35.4", ""},
		"a newer release":                      {"kubespray: {release: v2.32.0}", "kubespray: {release: v2.33.0}", DefaultKubernetesVersion, "v2.33.0"},
		"another name of the same release":     {"kubespray: {release: v2.31.0}", "", DefaultKubernetesVersion, ""},
		"a stored object without its defaults": {"", "", DefaultKubernetesVersion, ""},
	} {
		was, is := provisioning(t, "masters: [{m: {cpu: 1}}]\n"+tc.was), provisioning(t, "masters: [{m: {cpu: 1}}]\n"+tc.was)
		is.Spec.Kubernetes, is.Spec.Kubespray = KubernetesSpec{}, KubespraySpec{}
		if tc.is != "" {
			is = provisioning(t, "masters: [{m: {cpu: 1}}]\n"+tc.is)
		}
		is.SetDefaults(apis.WithinUpdate(t.Context(), was))
		if version, release := is.Spec.Kubernetes.Version, is.Spec.Kubespray.Release; version != tc.version || release != tc.release {
			t.Errorf("%s: version %s and release %q, want %s and %q", name, version, release, tc.version, tc.release)
		}
	}
	created := provisioning(t, "masters: [{m: {cpu: 1}}]")
	created.Spec.Kubernetes.Version = ""
	if created.SetDefaults(apis.WithinCreate(t.Context())); created.Spec.Kubernetes.Version != DefaultKubernetesVersion {
		t.Errorf("a new object gets version %s", created.Spec.Kubernetes.Version)
	}
}
