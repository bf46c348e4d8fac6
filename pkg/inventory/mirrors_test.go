package inventory

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// For a prefix of the user's entries, the user's entry is used. Images of all other registries come
// from the depot.
func TestTheirMirrorsWin(t *testing.T) {
	const own = `{"prefix": "registry.example:5000", "server": "https://registry.example:5000", "mirrors": []}`
	for _, tc := range []struct {
		name, theirs string
		want         map[string]string // server by prefix; nil: the user's value is unchanged
	}{
		{"another registry", `[` + own + `]`, map[string]string{
			"_default": "depot", "docker.io": "depot", "ghcr.io": "depot", "quay.io": "depot", "registry.k8s.io": "depot", "registry.example:5000": "https://registry.example:5000",
		}},
		{"one of ours, and upstream for the rest", `[{"prefix": "docker.io", "server": "https://cache"}, {"prefix": "_default", "server": ""}]`, map[string]string{
			"_default": "", "docker.io": "https://cache", "ghcr.io": "depot", "quay.io": "depot", "registry.k8s.io": "depot",
		}},
		{"none", `[]`, map[string]string{"_default": "depot", "docker.io": "depot", "ghcr.io": "depot", "quay.io": "depot", "registry.k8s.io": "depot"}},
		{"a template", `"{{ mirrors_of_the_site }}"`, nil},
		{"null", `null`, nil},
		{"an entry without a prefix", `[` + own + `, {"server": "https://x"}]`, nil},
		{"an entry that is none", `["docker.io"]`, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := request(func(r *contract.Request) { r.Vars = map[string]json.RawMessage{mirrorsVar: json.RawMessage(tc.theirs)} })
			got, err := Render(r, []contract.Node{master("m-1", "10.60.0.11")})
			if err != nil {
				t.Fatal(err)
			}
			var vars map[string]json.RawMessage
			if err := json.Unmarshal(got.GroupVars, &vars); err != nil {
				t.Fatal(err)
			}
			if tc.want == nil {
				sameJSON(t, tc.theirs, string(vars[mirrorsVar]))
				return
			}
			if diff := cmp.Diff(tc.want, servers(t, vars[mirrorsVar], r.DepotURL)); diff != "" {
				t.Errorf("servers (-want +got):\n%s", diff)
			}
		})
	}
}

// Without a depot, the only mirrors are the user's entries.
func TestTheirMirrorsWithoutADepot(t *testing.T) {
	const theirs = `[{"prefix": "docker.io", "server": "https://cache"}]`
	r := request(func(r *contract.Request) {
		r.DepotURL, r.Vars = "", map[string]json.RawMessage{mirrorsVar: json.RawMessage(theirs)}
	})
	got, err := Render(r, []contract.Node{master("m-1", "10.60.0.11")})
	if err != nil {
		t.Fatal(err)
	}
	var vars map[string]json.RawMessage
	if err := json.Unmarshal(got.GroupVars, &vars); err != nil {
		t.Fatal(err)
	}
	sameJSON(t, theirs, string(vars[mirrorsVar]))
}

// servers returns the field Server of each entry by prefix, with "depot" in place of the depot's
// URL. containerd tries the server in this field last. The test fails if a prefix occurs twice.
func servers(t *testing.T, text json.RawMessage, depot string) map[string]string {
	t.Helper()
	var all []mirror
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, m := range all {
		if _, twice := found[m.Prefix]; twice {
			t.Errorf("two entries have the prefix %s", m.Prefix)
		}
		if found[m.Prefix] = m.Server; m.Server == depot {
			found[m.Prefix] = "depot"
		}
	}
	return found
}

func sameJSON(t *testing.T, want, got string) {
	t.Helper()
	var a, b any
	if err := json.Unmarshal([]byte(want), &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(got), &b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
