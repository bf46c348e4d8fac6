package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// sum returns an invented digest.
func sum(letter string) string { return "sha256:" + strings.Repeat(letter, 64) }

func TestImagesOfAnObject(t *testing.T) {
	for name, tc := range map[string]struct {
		object string
		want   []string
	}{
		"a pod's containers of all sorts, and its image volume": {`
kind: Pod
spec:
  initContainers: [{image: "depot:5443/init@A"}]
  containers: [{image: "app:v1"}, {image: "depot/app:v2@B"}]
  ephemeralContainers: [{image: "debug@C"}]
  volumes: [{image: {reference: "data@D"}}]
`, []string{"data@D", "debug@C", "depot/app:v2@B", "depot:5443/init@A"}},
		"what runs, though a tag has moved": {`
kind: Pod
status:
  containerStatuses: [{image: "app:v1", imageID: "docker.io/library/app@A"}]
  initContainerStatuses: [{imageID: "docker-pullable://init@B"}]
  ephemeralContainerStatuses: [{imageID: "C"}]
`, []string{"docker-pullable://init@B", "docker.io/library/app@A", "C"}},
		"a workload that is scaled to zero": {`
kind: Deployment
spec: {replicas: 0, template: {spec: {containers: [{image: "app@A"}]}}}
`, []string{"app@A"}},
		"a CronJob": {`
kind: CronJob
spec: {suspend: true, jobTemplate: {spec: {template: {spec: {initContainers: [{image: "init@A"}], containers: [{image: "job@B"}]}}}}}
`, []string{"init@A", "job@B"}},
		"a PodTemplate": {`
kind: PodTemplate
template: {spec: {containers: [{image: "app@A"}]}}
`, []string{"app@A"}},
		"an earlier revision of a StatefulSet": {`
kind: ControllerRevision
data: {spec: {template: {spec: {containers: [{image: "app@A"}]}}}}
`, []string{"app@A"}},
		"a Tekton task": {`
kind: Task
spec:
  stepTemplate: {image: "template@A"}
  steps: [{image: "step@B"}]
  sidecars: [{image: "sidecar@C"}]
`, []string{"sidecar@C", "step@B", "template@A"}},
		"a Tekton pipeline with tasks of its own": {`
kind: PipelineRun
spec: {pipelineSpec: {tasks: [{taskSpec: {steps: [{image: "step@A"}]}}], finally: [{taskSpec: {steps: [{image: "last@B"}]}}]}}
`, []string{"last@B", "step@A"}},
		"images in the arguments of a controller": {`
kind: Deployment
spec: {template: {spec: {containers: [{image: "tekton:v1", args: ["-entrypoint-image=entry@A", "-shell-image", "shell@B"], env: [{value: "x=helper@C,y=D"}]}]}}}
`, []string{"entry@A", "helper@C", "shell@B", "D"}},
		"a reference before a digest alone": {`{a: "A", b: "app@A", c: "A"}`, []string{"app@A"}},
		"nothing by digest":                 {`{spec: {containers: [{image: "app:v1"}], replicas: 3, paused: null}, short: "sha256:abc"}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			letters := func(text string) string {
				return regexp.MustCompile(`\b[A-D]\b`).ReplaceAllStringFunc(text, func(l string) string { return sum(strings.ToLower(l)) })
			}
			var object map[string]any
			if err := yaml.Unmarshal([]byte(letters(tc.object)), &object); err != nil {
				t.Fatal(err)
			}
			found := images{}
			if err := found.add(object); err != nil {
				t.Fatal(err)
			}
			var want []string
			for _, w := range tc.want {
				want = append(want, letters(w))
			}
			slices.Sort(want)
			if diff := cmp.Diff(want, found.lines()); diff != "" {
				t.Errorf("images (-want +got):\n%s", diff)
			}
		})
	}
}

// An image with a sha512 digest is an error, because "depot gc --keep" supports only sha256.
func TestImagesByAnotherDigest(t *testing.T) {
	err := images{}.add(map[string]any{"image": "app@sha512:" + strings.Repeat("a", 128)})
	if err == nil || !strings.Contains(err.Error(), "app@sha512:") {
		t.Errorf("an image by its sha512: %v", err)
	}
}

// apiServer is a fake API server. It answers discovery and list requests, with one object per page.
type apiServer struct {
	*httptest.Server
	kinds  map[string][]any // objects by the path of their kind, such as /apis/apps/v1/deployments
	broken map[string]int   // HTTP status by path, for paths that cannot be read
	asked  map[string]int
	// expires is the path for which the server rejects one continue token as expired.
	expires string
}

func newAPIServer(t *testing.T, kinds map[string][]any) *apiServer {
	t.Helper()
	s := &apiServer{kinds: kinds, broken: map[string]int{}, asked: map[string]int{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// newEdgeServer is like newAPIServer, with TLS.
func newEdgeServer(t *testing.T, kinds map[string][]any) *apiServer {
	t.Helper()
	s := &apiServer{kinds: kinds, broken: map[string]int{}, asked: map[string]int{}}
	s.Server = httptest.NewTLSServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked[r.URL.Path]++
	if status, broken := s.broken[r.URL.Path]; broken {
		answerJSON(w, status, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Code: int32(status), Reason: metav1.StatusReasonForbidden, Message: "you may not"})
		return
	}
	switch r.URL.Path {
	case "/api":
		answerJSON(w, 200, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	case "/apis":
		apps := metav1.GroupVersionForDiscovery{GroupVersion: "apps/v1", Version: "v1"}
		answerJSON(w, 200, metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"},
			Groups: []metav1.APIGroup{{Name: "apps", Versions: []metav1.GroupVersionForDiscovery{apps}, PreferredVersion: apps}}})
	case "/api/v1", "/apis/apps/v1":
		list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/apis/"), "/api/")}
		for path := range s.kinds {
			if name, ok := strings.CutPrefix(path, r.URL.Path+"/"); ok {
				list.APIResources = append(list.APIResources, metav1.APIResource{Name: name, Kind: name, Namespaced: true, Verbs: []string{"get", "list"}},
					metav1.APIResource{Name: name + "/status", Kind: name, Verbs: []string{"get"}})
			}
		}
		answerJSON(w, 200, list)
	default:
		s.list(w, r)
	}
}

func (s *apiServer) list(w http.ResponseWriter, r *http.Request) {
	items, known := s.kinds[r.URL.Path]
	if !known {
		http.NotFound(w, r)
		return
	}
	if s.expires == r.URL.Path && r.URL.Query().Get("continue") != "" {
		s.expires = ""
		answerJSON(w, http.StatusGone, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Code: http.StatusGone, Reason: metav1.StatusReasonExpired})
		return
	}
	var at int
	_, _ = fmt.Sscan(r.URL.Query().Get("continue"), &at) // the request for the first page has no continue token
	next := ""
	if at+1 < len(items) {
		next = fmt.Sprint(at + 1)
	}
	answerJSON(w, 200, map[string]any{"kind": "List", "apiVersion": "v1", "metadata": map[string]any{"continue": next}, "items": items[min(at, len(items)):min(at+1, len(items))]})
}

func answerJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}

// workload returns an object with an image.
func workload(kind, name, image string) any {
	return map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": name, "namespace": "default"}, "spec": map[string]any{"image": image}}
}

// siteWith returns a terminal for a bootstrap cluster with the Provisioning edge-1. edge is its API server; nil: edge-1
// has no kubeconfig.
func siteWith(t *testing.T, bootstrap, edge *apiServer) *terminal {
	t.Helper()
	objects := []client.Object{&v1alpha1.Provisioning{ObjectMeta: metav1.ObjectMeta{Namespace: "site-b", Name: "edge-1"}}}
	if edge != nil {
		config := certifiedFor(t, edge.URL, edge.Certificate(), firstUser, nil, time.Now().Add(time.Hour))
		objects = append(objects, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "site-b", Name: "edge-1-kubeconfig"}, Data: map[string][]byte{"value": []byte(config)}})
	}
	w := newTerminal(t, objects...)
	w.config = &rest.Config{Host: bootstrap.URL}
	return w
}

func TestImagesInUse(t *testing.T) {
	bootstrap := newAPIServer(t, map[string][]any{
		"/api/v1/pods":              {workload("Pod", "a", "a@"+sum("a")), workload("Pod", "b", "b@"+sum("b")), workload("Pod", "c", "c@"+sum("c"))},
		"/apis/apps/v1/deployments": {workload("Deployment", "d", "d@"+sum("d"))},
		"/api/v1/secrets":           {workload("Secret", "s", "s@"+sum("5"))},
	})
	bootstrap.expires = "/api/v1/pods"
	edge := newEdgeServer(t, map[string][]any{"/api/v1/pods": {workload("Pod", "e", "e@"+sum("e")), workload("Pod", "a", "a@"+sum("a"))}})
	w := siteWith(t, bootstrap, edge)
	file := filepath.Join(t.TempDir(), "keep.txt")
	w.expect(w.run(t.Context(), "depot", "images-in-use", "--to", file), codeDone, "site-b/edge-1")
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var want string
	for _, l := range []string{"a", "b", "c", "d", "e"} {
		want += l + "@" + sum(l) + "\n"
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("the list (-want +got):\n%s", diff)
	}
	if bootstrap.asked["/api/v1/secrets"] > 0 {
		t.Error("Secrets were read")
	}
	if bootstrap.expires != "" {
		t.Error("no second page was asked for")
	}
}

// With an incomplete list, gc would free images that a cluster needs.
func TestImagesInUseFailWhole(t *testing.T) {
	pods := func() map[string][]any {
		return map[string][]any{"/api/v1/pods": {workload("Pod", "a", "a@"+sum("a"))}, "/apis/apps/v1/deployments": {}}
	}
	for name, tc := range map[string]struct {
		hurt   func(bootstrap, edge *apiServer)
		noEdge bool
		args   []string
		texts  []string
	}{
		"a kind of the bootstrap cluster": {func(b, _ *apiServer) { b.broken["/apis/apps/v1/deployments"] = 403 }, false, nil, []string{"the bootstrap cluster", "read deployments.apps", "no list"}},
		"a kind of another cluster":       {func(_, e *apiServer) { e.broken["/api/v1/pods"] = 403 }, false, nil, []string{"Provisioning site-b/edge-1", "read pods"}},
		"a group":                         {func(b, _ *apiServer) { b.broken["/apis/apps/v1"] = 503 }, false, nil, []string{"apps/v1"}},
		"a cluster":                       {func(_, e *apiServer) { e.Close() }, false, nil, []string{"Provisioning site-b/edge-1"}},
		"no kubeconfig yet":               {func(*apiServer, *apiServer) {}, true, nil, []string{"site-b/edge-1", "--skip site-b/edge-1"}},
		"an unknown cluster to skip":      {func(*apiServer, *apiServer) {}, false, []string{"--skip=site-b/edge-7"}, []string{"site-b/edge-7"}},
		"no file of a kubeconfig":         {func(*apiServer, *apiServer) {}, false, []string{"--cluster-kubeconfig=/nowhere"}, []string{"/nowhere"}},
		"nothing by digest":               {func(b, e *apiServer) { b.kinds["/api/v1/pods"], e.kinds["/api/v1/pods"] = nil, nil }, false, nil, []string{"the right clusters"}},
	} {
		t.Run(name, func(t *testing.T) {
			bootstrap, edge := newAPIServer(t, pods()), newEdgeServer(t, pods())
			there := edge
			if tc.noEdge {
				there = nil
			}
			w := siteWith(t, bootstrap, there)
			tc.hurt(bootstrap, edge)
			file := filepath.Join(t.TempDir(), "keep.txt")
			if err := os.WriteFile(file, []byte("before"), 0o600); err != nil {
				t.Fatal(err)
			}
			code := w.run(t.Context(), append([]string{"depot", "images-in-use", "--to", file}, tc.args...)...)
			if code == codeDone {
				t.Error("the command succeeded")
			}
			w.expect(code, code, tc.texts...)
			if got, err := os.ReadFile(file); err != nil || string(got) != "before" {
				t.Errorf("the file has %q, %v", got, err)
			}
			if strings.Contains(w.text(), "sha256:") {
				t.Errorf("an incomplete list was printed: %s", w.text())
			}
		})
	}
}

func TestSkippedClusterIsNotAsked(t *testing.T) {
	bootstrap := newAPIServer(t, map[string][]any{"/api/v1/pods": {workload("Pod", "a", "a@"+sum("a"))}})
	w := siteWith(t, bootstrap, nil)
	w.expect(w.run(t.Context(), "depot", "images-in-use", "--skip", "site-b/edge-1"), codeDone, "a@"+sum("a"))
}
