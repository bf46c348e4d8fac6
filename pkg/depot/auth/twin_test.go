package auth

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	v2 "github.com/distribution/distribution/v3/registry/api/v2"
	"github.com/gorilla/mux"
)

// FuzzPathIsServedAsAuthorized compares how this package reads a path with how the routers of /v2
// and /v1 read it: a right to one repository, or to one owner's artifacts, must not give access to
// another.
func FuzzPathIsServedAsAuthorized(f *testing.F) {
	for _, path := range []string{
		"/v2/app/manifests/v1", "/v2/a/b/blobs/uploads/", "/v2/a/blobs/uploads/7", "/v2/a/manifests/b/manifests/c", "/v2/blobs/uploads/manifests/x",
		"/v2/a%2fb/manifests/v1", "/v2/a/../b/manifests/v1", "/v2/a/blobs/uploads/manifests/sha256:aa", "/v2/a/blobs/sha256:" + strings.Repeat("a", 64),
		"/v1/baremetalcluster/c1/edge/os_images/x", "/v1/baremetalcluster/c%2f1/edge/os_images/x", "/v1/baremetalcluster/c1/./edge/os_images", "/v1/baremetalcluster//c1/edge/os_images/y",
	} {
		f.Add(path)
	}
	registry := v2.Router()
	artifacts := http.NewServeMux()
	var owner, cluster string
	artifacts.HandleFunc("/v1/baremetalcluster/{owner}/{cluster}/{rest...}", func(_ http.ResponseWriter, r *http.Request) {
		owner, cluster = r.PathValue("owner"), r.PathValue("cluster")
	})
	f.Fuzz(func(t *testing.T, path string) {
		u, err := url.ParseRequestURI(path)
		if err != nil || u.Host != "" || u.Scheme != "" {
			return // the HTTP server refuses such a request
		}
		r := httptest.NewRequest(http.MethodPut, "/", nil)
		r.URL, r.RequestURI = u, path
		rights, err := needs(r)
		if err != nil {
			return
		}
		var match mux.RouteMatch
		if registry.Match(r, &match) && match.MatchErr == nil && match.Handler == nil && match.Vars["name"] != "" {
			if rights[0].Resource != Images || rights[0].Name != match.Vars["name"] {
				t.Errorf("%q: rights %+v, served from repository %q", path, rights[0], match.Vars["name"])
			}
		}
		owner, cluster = "", ""
		artifacts.ServeHTTP(httptest.NewRecorder(), r)
		if owner != "" && (rights[0].Resource != Artifacts || rights[0].Name != cluster || rights[0].Namespace != "" && rights[0].Namespace != owner) {
			t.Errorf("%q: rights %+v, served for owner %q, cluster %q", path, rights[0], owner, cluster)
		}
	})
}
