package auth

import (
	"errors"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNeeds(t *testing.T) {
	archive := []Access{{Create, Images, "", ""}, {Update, Images, "", ""}}
	for _, tt := range []struct {
		method, url string
		want        []Access
	}{
		{"POST", "/v2/app/blobs/uploads/", []Access{{Create, Images, "", "app"}}},
		{"POST", "/v2/app/blobs/uploads", []Access{{Create, Images, "", "app"}}},
		{"POST", "/v2/app/blobs/uploads/?mount=sha256:1&from=private/base", []Access{{Create, Images, "", "app"}, {Get, Images, "", "private/base"}}},
		{"PATCH", "/v2/coredns/coredns/blobs/uploads/1-2-3", []Access{{Create, Images, "", "coredns/coredns"}}},
		{"PUT", "/v2/app/blobs/uploads/1-2-3?digest=sha256:1", []Access{{Create, Images, "", "app"}}},
		{"DELETE", "/v2/app/blobs/uploads/1-2-3", []Access{{Create, Images, "", "app"}}},
		{"GET", "/v2/app/blobs/uploads/1-2-3", []Access{{Get, Images, "", "app"}}},
		{"PUT", "/v2/app/manifests/v1", []Access{{Update, Images, "", "app"}}},
		{"PUT", "/v2/app/manifests/sha256:1", []Access{{Create, Images, "", "app"}}},
		{"DELETE", "/v2/app/manifests/sha256:1", []Access{{Delete, Images, "", "app"}}},
		{"DELETE", "/v2/app/blobs/sha256:1", []Access{{Delete, Images, "", "app"}}},
		{"PUT", "/v2/a/manifests/b/blobs/uploads/manifests/v1", []Access{{Update, Images, "", "a/manifests/b/blobs/uploads"}}},
		{"GET", "/v2/app/tags/list", []Access{{Get, Images, "", "app"}}},
		{"GET", "/v2/app/referrers/sha256:1", []Access{{Get, Images, "", "app"}}},
		{"GET", "/v2/_catalog", []Access{{Get, Images, "", ""}}},

		// Reserved repositories hold the artifacts of all owners, so they need the right to all
		// artifacts.
		{"GET", "/v2/bpa-depot/artifacts/c1/edge/os_images/a/manifests/current", []Access{
			{Get, Images, "", "bpa-depot/artifacts/c1/edge/os_images/a"}, {Get, Artifacts, "", ""},
		}},
		{"POST", "/v2/app/blobs/uploads/?mount=sha256:aa&from=bpa-depot/uploads", []Access{{Create, Images, "", "app"}, {Get, Images, "", "bpa-depot/uploads"}, {Get, Artifacts, "", ""}}},
		{"POST", "/v1/baremetalcluster/c1/edge/os_images", []Access{{Create, Artifacts, "c1", "edge"}}},
		{"PATCH", "/v1/baremetalcluster/c1/edge/os_images/ubuntu.img", []Access{{Update, Artifacts, "c1", "edge"}}},
		{"DELETE", "/v1/baremetalcluster/c1/edge/binary_images/kubelet", []Access{{Delete, Artifacts, "c1", "edge"}}},
		{"GET", "/v1/baremetalcluster/c1/edge/os_images/ubuntu.img", []Access{{Get, Artifacts, "c1", "edge"}}},
		// The owner's name is not a valid namespace name, so the right must be cluster-wide.
		{"POST", "/v1/baremetalcluster/Owner.One/edge/os_images", []Access{{Create, Artifacts, "", "edge"}}},
		// The images of an archive could replace the images of all clusters, so rights to all
		// images are needed.
		{"PATCH", "/v1/baremetalcluster/c1/edge/container_images/all.tar", append([]Access{{Update, Artifacts, "c1", "edge"}}, archive...)},
		{"DELETE", "/v1/baremetalcluster/c1/edge/container_images/all.tar", []Access{{Delete, Artifacts, "c1", "edge"}, {Delete, Images, "", ""}}},
		{"GET", "/v1/baremetalcluster/c1/edge/status/node-1", []Access{{Get, ArtifactStatus, "c1", "edge"}}},
		{"GET", "/v1/usage", []Access{{Get, Storage, "", ""}}},
		{"GET", "/v1/gc", []Access{{Get, Storage, "", ""}}},
		{"POST", "/v1/gc?dry-run=true", []Access{{Update, Storage, "", ""}}},
		{"POST", "/v1/gc?unlisted-images=true", []Access{{Update, Storage, "", ""}, {Delete, Images, "", ""}}},
		{"POST", "/v1/gc/more", []Access{{Create, Artifacts, "", ""}, {Create, Images, "", ""}, {Update, Images, "", ""}}},
		{"DELETE", "/files/dl.k8s.io/kubelet", []Access{{Delete, Files, "", "dl.k8s.io/kubelet"}}},
		{"GET", "/v1/packages", []Access{{Get, Artifacts, "", ""}}},
		{"GET", "/v1/baremetalcluster/c1/edge/status", []Access{{Get, ArtifactStatus, "c1", "edge"}}},
		{"GET", "/v1/baremetalcluster/c1", []Access{{Get, Artifacts, "c1", ""}}},
		{"GET", "/v1/baremetalcluster", []Access{{Get, Artifacts, "", ""}}},
		{"POST", "/v1/baremetalcluster/c1/edge", append([]Access{{Create, Artifacts, "", ""}}, archive...)},
		{"POST", "/v1/anything", append([]Access{{Create, Artifacts, "", ""}}, archive...)},

		{"PUT", "/files/dl.k8s.io/kubelet", []Access{{Update, Files, "", "dl.k8s.io/kubelet"}}},
		{"GET", "/files/os_images/c1/edge/ubuntu.img.sha256", []Access{{Get, Artifacts, "c1", "edge"}}},
		{"PUT", "/files/os_images/c1/edge/ubuntu.img", []Access{{Update, Files, "", "os_images/c1/edge/ubuntu.img"}}},
		{"DELETE", "/files/a%20b", []Access{{Delete, Files, "", "a b"}}},
	} {
		t.Run(tt.method+" "+tt.url, func(t *testing.T) {
			got, err := needs(httptest.NewRequest(tt.method, tt.url, nil))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNeedsRefuses(t *testing.T) {
	for _, tt := range []struct {
		method, url string
		want        error
	}{
		{"POST", "/v1/baremetalcluster/c1/../c2/os_images", errPath},
		{"POST", "/v1/baremetalcluster/c1%2fedge/x/os_images", errPath},
		{"POST", "/v1/baremetalcluster/c1/%2e%2e/os_images", errPath},
		{"POST", "/v1//baremetalcluster/c1/edge/os_images", errPath},
		{"PUT", "/files/a%5cb", errPath},
		{"PUT", "/files/a%00b", errPath},
		{"PUT", "/v2/app//manifests/v1", errPath},
		{"PUT", "/v2/app", errUnknown},
		{"POST", "/v2/", errUnknown},
		{"DELETE", "/v2/_catalog", errUnknown},
		{"PUT", "/v2/app/tags/list", errUnknown},
		{"POST", "/", errUnknown},
		{"POST", "/healthz", errUnknown},
		{"PROPFIND", "/files/a", errNoMethod},
		{"TRACE", "/files/a", errNoMethod},
	} {
		if got, err := needs(httptest.NewRequest(tt.method, tt.url, nil)); !errors.Is(err, tt.want) {
			t.Errorf("%s %s needs %v, %v; want error %v", tt.method, tt.url, got, err, tt.want)
		}
	}
}
