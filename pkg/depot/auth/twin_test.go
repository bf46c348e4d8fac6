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

// FuzzPathIsServedAsAuthorized compares our reading of a path with those of the routers behind us: a right to one repository, or to one
// owner's artifacts, must not open another.
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
			return // the server refuses it before us
		}
		r := httptest.NewRequest(http.MethodPut, "/", nil)
		r.URL, r.RequestURI = u, path
		judged, err := needs(r)
		if err != nil {
			return
		}
		var match mux.RouteMatch
		if registry.Match(r, &match) && match.MatchErr == nil && match.Handler == nil && match.Vars["name"] != "" {
			if judged[0].Resource != Images || judged[0].Name != match.Vars["name"] {
				t.Errorf("%q: judged %+v, served from repository %q", path, judged[0], match.Vars["name"])
			}
		}
		owner, cluster = "", ""
		artifacts.ServeHTTP(httptest.NewRecorder(), r)
		if owner != "" && (judged[0].Resource != Artifacts || judged[0].Name != cluster || judged[0].Namespace != "" && judged[0].Namespace != owner) {
			t.Errorf("%q: judged %+v, served for owner %q, cluster %q", path, judged[0], owner, cluster)
		}
	})
}
