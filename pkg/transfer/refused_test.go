package transfer

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/random"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/pkg/depot/depottest"
)

const cure = "kubectl create clusterrolebinding x --clusterrole=bpa-depot-seeder --serviceaccount=a:b"

// closed answers like an empty depot in which the client has no right to write.
func closed(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/v2/":
	case r.Method == http.MethodHead || r.Method == http.MethodGet:
		http.NotFound(w, r)
	case strings.HasPrefix(r.URL.Path, "/v2/"):
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, `{"errors": [{"code": "DENIED", "message": "a:b may not create images. To allow it: %s"}]}`, cure)
	default:
		http.Error(w, "a:b may not create files. To allow it: "+cure, http.StatusForbidden)
	}
}

// If the depot refuses the client, the error begins with the refusal and the command that grants
// the right. The refusal appears once even if many artifacts were refused.
func TestRefusalIsReportedOnce(t *testing.T) {
	net := newInternet(t)
	server := httptest.NewServer(http.HandlerFunc(closed))
	t.Cleanup(server.Close)
	to := connect(t, &depottest.Depot{URL: server.URL})
	list := artifacts.List{Files: []artifacts.File{net.offer("dl.example/kubelet", []byte("kubelet"))}, Images: []artifacts.Image{{Ref: net.host + "/none:v1"}}}
	for n := range 8 {
		image, err := random.Image(100, 4)
		if err != nil {
			t.Fatal(err)
		}
		list.Images = append(list.Images, net.publish(fmt.Sprintf("image-%d:v1", n), image))
	}
	_, err := ToDepot(t.Context(), artifacts.List{Files: list.Files}, upstream(t), to, Options{})
	if want := "the depot refuses: a:b may not create files. To allow it: " + cure; err == nil || err.Error() != want {
		t.Errorf("of a file: %v, want %s", err, want)
	}
	_, err = ToDepot(t.Context(), list, upstream(t), to, Options{})
	var refused *client.Refused
	if !errors.As(err, &refused) || !strings.HasPrefix(err.Error(), "the depot refuses: a:b may not create") || strings.Count(err.Error(), cure) != 1 {
		t.Errorf("the error is %v", err)
	}
	if err != nil && (!strings.Contains(err.Error(), "/none:v1") || strings.Contains(err.Error(), "image-")) {
		t.Errorf("want only the failure with another reason beside the refusal: %v", err)
	}
}

// If upstream refuses a request, the error does not name a right in the depot, because such a right
// would not help.
func TestUpstreamRefuses(t *testing.T) {
	net, site := newInternet(t), depottest.Start(t)
	image, err := random.Image(100, 1)
	if err != nil {
		t.Fatal(err)
	}
	list := artifacts.List{Images: []artifacts.Image{net.publish("private:v1", image)}}
	net.refuse = func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/blobs/") }
	_, err = ToDepot(t.Context(), list, upstream(t), connect(t, site), Options{})
	var refused *client.Refused
	if err == nil || errors.As(err, &refused) || !strings.Contains(err.Error(), "private:v1") || strings.Contains(err.Error(), "bpa-depot") {
		t.Errorf("the error is %v", err)
	}
}

// If the client may not write to the repository of one image, the blobs that this image shares with
// other images are still sent for those images.
func TestRefusedImageLeavesOthersTheirBlobs(t *testing.T) {
	net, site := newInternet(t), depottest.Start(t)
	depot, err := url.Parse(site.URL)
	if err != nil {
		t.Fatal(err)
	}
	through := httputil.NewSingleHostReverseProxy(depot)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v2/part-0/") && r.Method == http.MethodPost {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		through.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	var list artifacts.List
	for n, image := range family(t, 3, 3000, 10) {
		list.Images = append(list.Images, net.publish(fmt.Sprintf("part-%d:v1", n), image))
	}
	done, err := ToDepot(t.Context(), list, upstream(t), connect(t, &depottest.Depot{URL: server.URL}), Options{})
	if err == nil || done.Images != 2 {
		t.Errorf("done %+v, %v; want the two others, and an error", done, err)
	}
	if got := missing(t, connect(t, site), list); got.Size() != 1 {
		t.Errorf("%d are missing: %v", got.Size(), got.List)
	}
}
