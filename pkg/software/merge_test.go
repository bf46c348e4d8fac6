package software

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// softwareOf returns a Software with a spec in YAML.
func softwareOf(t *testing.T, name, spec string) *v1alpha1.Software {
	t.Helper()
	s := &v1alpha1.Software{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := yaml.UnmarshalStrict([]byte(spec), &s.Spec); err != nil {
		t.Fatalf("%s: %v", spec, err)
	}
	return s
}

// nodeOf returns a node whose host has the UID "uid-" and the node's name.
func nodeOf(name string, roles ...string) contract.Node {
	return contract.Node{Name: name, Roles: roles, Host: "host-" + name, HostUID: "uid-" + name}
}

const (
	cp = contract.RoleControlPlane
	w  = contract.RoleWorker
)

func TestMerge(t *testing.T) {
	apart := []contract.Node{nodeOf("m-1", cp), nodeOf("w-1", w)}
	mixed := []contract.Node{nodeOf("m-2", cp, w), nodeOf("m-1", cp, w), nodeOf("w-1", w)}
	const none, drain, reboot = contract.DisruptionNone, contract.DisruptionDrain, contract.DisruptionReboot
	const unreadOptions = "in Software a, version of package jq is 7, which is no text: write it in quotes: " +
		"write the name of a package, or an object with the name as its only key, such as {curl: {version: \"8.5.0-2\"}}"
	for name, tc := range map[string]struct {
		specs []string // of the Softwares a, b and c
		nodes []contract.Node
		want  []contract.Software
		found []Conflict
	}{
		"nothing": {},
		"one list": {specs: []string{"{workerSoftware: [tmux, curl]}"}, nodes: apart, want: []contract.Software{
			{Name: "curl", Workers: true, Disruption: none}, {Name: "tmux", Workers: true, Disruption: none}}},
		"both lists": {specs: []string{"{masterSoftware: [curl], workerSoftware: [curl]}"}, nodes: apart, want: []contract.Software{
			{Name: "curl", ControlPlanes: true, Workers: true, Disruption: none}}},
		"a list of each Software": {specs: []string{"{masterSoftware: [curl]}", "{workerSoftware: [curl]}"}, nodes: mixed, want: []contract.Software{
			{Name: "curl", ControlPlanes: true, Workers: true, Disruption: none}}},
		"a version for control planes, as in ICN's sample": {specs: []string{"{masterSoftware: [jq: {version: '1.5'}], workerSoftware: [jq]}"}, nodes: apart, want: []contract.Software{
			{Name: "jq", Version: "1.5", Pinned: true, ControlPlanes: true, Disruption: none}, {Name: "jq", Workers: true, Disruption: none}}},
		"the same with a node of both roles": {specs: []string{"{masterSoftware: [jq: {version: '1.5'}], workerSoftware: [jq]}"}, nodes: mixed, want: []contract.Software{
			{Name: "jq", Version: "1.5", Pinned: true, ControlPlanes: true, Workers: true, Disruption: none}}},
		"the version counts": {specs: []string{"{workerSoftware: [jq], autoUpdate: false}", "{workerSoftware: [jq: {version: '1.5'}]}", "{workerSoftware: [jq: {version: '1.5'}]}"}, nodes: apart,
			want: []contract.Software{{Name: "jq", Version: "1.5", Pinned: true, Workers: true, Disruption: none}}},
		"the strongest disruption": {specs: []string{"{workerSoftware: [jq: {disruption: Reboot}]}", "{workerSoftware: [jq: {disruption: Drain}], masterSoftware: [jq: {disruption: Drain}]}"}, nodes: apart,
			want: []contract.Software{{Name: "jq", ControlPlanes: true, Disruption: drain}, {Name: "jq", Workers: true, Disruption: reboot}}},
		"one without automatic updates": {specs: []string{"{workerSoftware: [jq]}", "{masterSoftware: [jq, curl], autoUpdate: false}"}, nodes: apart, want: []contract.Software{
			{Name: "curl", Hold: true, ControlPlanes: true, Disruption: none}, {Name: "jq", Hold: true, ControlPlanes: true, Workers: true, Disruption: none}}},
		"two versions for one role": {specs: []string{"{workerSoftware: [jq: {version: '1.6'}]}", "{workerSoftware: [jq: {version: '1.5'}], masterSoftware: [jq]}", "{workerSoftware: [jq]}"}, nodes: apart,
			want: []contract.Software{{Name: "jq", ControlPlanes: true, Disruption: none},
				{Name: "jq", Workers: true, Disruption: none, Problem: "different versions of package jq are requested for workers: 1.5 by b, 1.6 by a. Write the same version in all of them, or a version in only one"}},
			found: []Conflict{{"jq", []string{"a", "b"}, "different versions of package jq are requested for workers: 1.5 by b, 1.6 by a. Write the same version in all of them, or a version in only one"}}},
		"two versions for two roles": {specs: []string{"{workerSoftware: [jq: {version: '1.6'}], masterSoftware: [jq: {version: '1.5'}]}"}, nodes: apart, want: []contract.Software{
			{Name: "jq", Version: "1.5", Pinned: true, ControlPlanes: true, Disruption: none}, {Name: "jq", Version: "1.6", Pinned: true, Workers: true, Disruption: none}}},
		"two versions for one node": {specs: []string{"{workerSoftware: [jq: {version: '1.6'}], masterSoftware: [jq: {version: '1.5'}]}", "{workerSoftware: [curl]}"}, nodes: mixed,
			want: []contract.Software{{Name: "curl", Workers: true, Disruption: none}, {Name: "jq", ControlPlanes: true, Workers: true, Disruption: none,
				Problem: "different versions of package jq are requested for node m-1, which is control plane and worker: 1.5 by a, 1.6 by a. Write the same version in all of them, or a version in only one"}},
			found: []Conflict{{"jq", []string{"a"},
				"different versions of package jq are requested for node m-1, which is control plane and worker: 1.5 by a, 1.6 by a. Write the same version in all of them, or a version in only one"}}},
		"entries that the webhook refuses": {specs: []string{"{workerSoftware: [curl-, jq: {version: -x}, 7]}"}, nodes: apart,
			want: []contract.Software{
				{Problem: "BPA removes no package of the cluster until all entries can be read: in Software a, \"curl-\" is not the name of a package: write the name that the package has: at most 100 letters, digits, and + . _ -; it begins with a letter or digit and does not end with a dash"},
				{Name: "jq", Workers: true, Disruption: none,
					Problem: "in Software a, \"-x\" is not the version of a package: write the version that the package has: at most 100 letters, digits, and . + ~ : _ ^ -; it begins with a letter or digit"}},
			found: []Conflict{
				{"7", []string{"a"}, "in Software a, 7 is neither a name nor an object: write the name of a package, or an object with the name as its only key, such as {curl: {version: \"8.5.0-2\"}}"},
				{"curl-", []string{"a"}, "in Software a, \"curl-\" is not the name of a package: write the name that the package has: at most 100 letters, digits, and + . _ -; it begins with a letter or digit and does not end with a dash"},
				{"jq", []string{"a"}, "in Software a, \"-x\" is not the version of a package: write the version that the package has: at most 100 letters, digits, and . + ~ : _ ^ -; it begins with a letter or digit"}}},
		"options that cannot be read": {specs: []string{"{workerSoftware: [jq: {version: 7}]}", "{masterSoftware: [jq]}"}, nodes: apart,
			want:  []contract.Software{{Name: "jq", ControlPlanes: true, Disruption: none}, {Name: "jq", Workers: true, Disruption: none, Problem: unreadOptions}},
			found: []Conflict{{"jq", []string{"a"}, unreadOptions}}},
	} {
		t.Run(name, func(t *testing.T) {
			var all []*v1alpha1.Software
			for i, spec := range tc.specs {
				all = append([]*v1alpha1.Software{softwareOf(t, string(rune('a'+i)), spec)}, all...) // the order does not matter
			}
			got, conflicts := Merge(all, tc.nodes)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("packages (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.found, conflicts); diff != "" {
				t.Errorf("conflicts (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMergeWithoutDeleted checks that a Software that is being deleted requests nothing.
func TestMergeWithoutDeleted(t *testing.T) {
	s := softwareOf(t, "a", "{workerSoftware: [curl]}")
	now := metav1.Now()
	s.DeletionTimestamp = &now
	if got, conflicts := Merge([]*v1alpha1.Software{s}, nil); len(got)+len(conflicts) > 0 {
		t.Errorf("got %+v, %+v", got, conflicts)
	}
}
