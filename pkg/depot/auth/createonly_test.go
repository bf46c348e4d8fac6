package auth

import (
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
)

// A user who may only create can add new tags and files, and cannot replace existing ones.
func TestSeederAddsOnly(t *testing.T) {
	const seeder = "system:serviceaccount:edge:seeder"
	authorizer := &fakeAuthorizer{users: map[string]User{"tok": {Name: seeder}}, may: map[string][]Access{seeder: {
		{Create, Images, "", "app"}, {Create, Images, "", "bpa-depot/artifacts"}, {Create, Files, "", "old"}, {Create, Files, "", "new"}, {Create, Files, "", "odd"},
		{Create, Files, "", "apt/debian-12/a.deb"}, {Create, Files, "", "apt"}, {Create, Files, "", "aptitude/a.deb"},
		{Create, Artifacts, "edge", "c"},
	}}}
	there := map[string]int{"/v2/app/manifests/old": 200, "/files/old": 200, "/files/odd": 500}
	var puts []string
	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch code := there[r.URL.Path]; {
		case r.Method != http.MethodHead:
			puts = append(puts, r.Method+" "+r.URL.Path+" "+string(body))
		case len(body) > 0 || r.ContentLength != 0 || r.Header.Get("Authorization") != "" || !strings.Contains(strings.Join(r.Header.Values("Accept"), ","), "oci.image.index"):
			t.Errorf("the HEAD request had the header %v and the body %q", r.Header, body)
		case code == 0:
			http.NotFound(w, r)
		default:
			w.WriteHeader(code)
		}
	})
	handler := New(next, WithAuthorizer(authorizer), WithLogger(slog.New(slog.DiscardHandler)))
	for _, tt := range []struct {
		name, method, path string
		status             int
		text               string
	}{
		{"new tag", "PUT", "/v2/app/manifests/new", 200, ""},
		{"new file", "PUT", "/files/new", 200, ""},
		{"tag of another image", "PUT", "/v2/app/manifests/old", 403, `may not update images.depot.bpa.akraino.org "app"`},
		{"file that is there", "PUT", "/files/old", 403, `may not update files.depot.bpa.akraino.org "old"`},
		{"file that cannot be checked", "PUT", "/files/odd", 403, "may not update"},
		{"new tag where it may not", "PUT", "/v2/other/manifests/new", 403, "may not create images.depot.bpa.akraino.org \"other\". To allow it: kubectl create clusterrolebinding edge-seeder-bpa-depot-seeder --clusterrole=bpa-depot-seeder --serviceaccount=edge:seeder"},
		{"deletion needs a writer", "DELETE", "/v2/app/manifests/old", 403, "--clusterrole=bpa-depot-writer"},
		{"new artifact by a tag", "PUT", "/v2/bpa-depot/artifacts/manifests/new", 403, "may not update artifacts"},
		{"new upload", "PUT", "/v1/baremetalcluster/edge/c/os_images/new", 403, "may not update artifacts"},
		{"new package for all nodes", "PUT", "/files/apt/debian-12/a.deb", 403, `may not update files.depot.bpa.akraino.org "apt/debian-12/a.deb". To allow it: kubectl create clusterrolebinding edge-seeder-bpa-depot-writer --clusterrole=bpa-depot-writer --serviceaccount=edge:seeder`},
		{"new package by POST", "POST", "/files/apt/debian-12/a.deb", 403, "may not update"},
		{"new package by an encoded path", "PUT", "/files/%61pt/debian-12/a.deb", 403, "may not update"},
		{"the folder of packages", "PUT", "/files/apt", 403, "may not update"},
		{"new file in another folder", "PUT", "/files/aptitude/a.deb", 200, ""},
		{"part of a file", "PATCH", "/files/new", 403, "may not update files"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			puts = nil
			got := ask(handler, tt.method, tt.path, "Authorization", "Bearer tok")
			if got.Code != tt.status || !strings.Contains(strings.ReplaceAll(got.Body.String(), `\"`, `"`), tt.text) {
				t.Errorf("%d %s; want %d with %s", got.Code, got.Body, tt.status, tt.text)
			}
			if (len(puts) == 1) != (tt.status == 200) {
				t.Errorf("served: %q", puts)
			}
		})
	}
}
