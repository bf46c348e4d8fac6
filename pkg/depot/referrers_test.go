package depot_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

// pushBlob pushes a blob to repository app under digest d, of any algorithm.
func pushBlob(t *testing.T, server *httptest.Server, content string, d digest.Digest) answer {
	t.Helper()
	at := upload(t, "POST", server.URL+"/v2/app/blobs/uploads/", nil)
	return call(t, "PUT", server.URL+at+"&digest="+d.String(), strings.NewReader(content), "Content-Type", "application/octet-stream")
}

// manifestOf returns an OCI manifest with an empty config and no layers. more is the JSON of
// further fields, which are added after the last one.
func manifestOf(more string) string {
	return fmt.Sprintf(`{"schemaVersion":2,"mediaType":%q,"config":{"mediaType":"application/vnd.oci.empty.v1+json","digest":%q,"size":2},"layers":[]%s}`,
		v1.MediaTypeImageManifest, digest.FromString("{}"), more)
}

func pushManifest(t *testing.T, server *httptest.Server, manifest, as string) answer {
	t.Helper()
	return call(t, "PUT", server.URL+"/v2/app/manifests/"+as, strings.NewReader(manifest), "Content-Type", v1.MediaTypeImageManifest)
}

// about returns the fields that make a manifest refer to subject.
func about(subject digest.Digest, artifactType string) string {
	return fmt.Sprintf(`,"artifactType":%q,"subject":{"mediaType":%q,"digest":%q,"size":3}`, artifactType, v1.MediaTypeImageManifest, subject)
}

func referring(t *testing.T, url string) []digest.Digest {
	t.Helper()
	var index v1.Index
	got := ask(t, "GET", url).want(t, 200)
	if err := json.Unmarshal([]byte(got.body), &index); err != nil || index.Manifests == nil || got.header.Get("Content-Type") != v1.MediaTypeImageIndex {
		t.Errorf("GET %s: %v, %v %s", url, err, got.header, got.body)
	}
	var all []digest.Digest
	for _, desc := range index.Manifests {
		all = append(all, desc.Digest)
	}
	slices.Sort(all)
	return all
}

func TestWhatRefersToAnImageIsListed(t *testing.T) {
	dir := t.TempDir()
	server := serve(t, dir)
	pushBlob(t, server, "{}", digest.FromString("{}")).want(t, 201)
	image := manifestOf("")
	subject := digest.FromString(image)
	list := server.URL + "/v2/app/referrers/" + subject.String()
	if got := referring(t, list); len(got) != 0 {
		t.Errorf("before anything was pushed, %v refer to it", got)
	}
	// A signature may be pushed before the image that it signs.
	signature, sbom := manifestOf(about(subject, "test/signature")), manifestOf(about(subject, "test/sbom"))
	for manifest, as := range map[string]string{signature: "signature", sbom: digest.FromString(sbom).String()} {
		if got := pushManifest(t, server, manifest, as).want(t, 201).header.Get("OCI-Subject"); got != subject.String() {
			t.Errorf("OCI-Subject: %q, want %s", got, subject)
		}
	}
	if got := pushManifest(t, server, image, "v1").want(t, 201).header; got["Oci-Subject"] != nil {
		t.Errorf("an image without a subject has %v", got)
	}
	both := []digest.Digest{digest.FromString(sbom), digest.FromString(signature)}
	slices.Sort(both)
	if diff := cmp.Diff(both, referring(t, list)); diff != "" {
		t.Errorf("all (-want +got):\n%s", diff)
	}
	filtered := ask(t, "GET", list+"?artifactType=test/sbom").want(t, 200, digest.FromString(sbom).String())
	if filtered.header.Get("OCI-Filters-Applied") != "artifactType" || strings.Contains(filtered.body, digest.FromString(signature).String()) {
		t.Errorf("of one type: %v %s", filtered.header, filtered.body)
	}
	call(t, "DELETE", server.URL+"/v2/app/manifests/"+digest.FromString(signature).String(), nil).want(t, 202)
	again := serve(t, dir) // a new depot has nothing in memory
	if diff := cmp.Diff([]digest.Digest{digest.FromString(sbom)}, referring(t, strings.Replace(list, server.URL, again.URL, 1))); diff != "" {
		t.Errorf("after a deletion and in another process (-want +got):\n%s", diff)
	}
}

func TestLongListsOfReferrersHaveALink(t *testing.T) {
	server := serve(t, t.TempDir())
	pushBlob(t, server, "{}", digest.FromString("{}")).want(t, 201)
	subject := digest.FromString("subject")
	var want, got []digest.Digest
	for n := range 3 {
		manifest := manifestOf(about(subject, "test/"+strings.Repeat("x", 2<<20)+fmt.Sprint(n)))
		pushManifest(t, server, manifest, digest.FromString(manifest).String()).want(t, 201)
		want = append(want, digest.FromString(manifest))
	}
	slices.Sort(want)
	pages := 0
	for at := "/v2/app/referrers/" + subject.String(); at != ""; pages++ {
		if pages > len(want) {
			t.Fatal("the pages have no end")
		}
		page := ask(t, "GET", server.URL+at).want(t, 200)
		got = append(got, referring(t, server.URL+at)...)
		at, _, _ = strings.Cut(strings.TrimPrefix(page.header.Get("Link"), "<"), `>; rel="next"`)
	}
	if diff := cmp.Diff(want, got); diff != "" || pages != 3 {
		t.Errorf("%d pages, want 3 (-want +got):\n%s", pages, diff)
	}
}

func TestBadQuestionsAboutReferrers(t *testing.T) {
	url := serve(t, t.TempDir()).URL
	d := digest.FromString("x").String()
	ask(t, "GET", url+"/v2/app/referrers/sha256:short").want(t, 400, "DIGEST_INVALID")
	ask(t, "GET", url+"/v2/app/referrers/latest").want(t, 400, "DIGEST_INVALID")
	ask(t, "GET", url+"/v2/app/referrers/"+d+"?last=first").want(t, 400, "DIGEST_INVALID")
	ask(t, "GET", url+"/v2/App/referrers/"+d).want(t, 400, "NAME_INVALID")
	call(t, "PUT", url+"/v2/app/referrers/"+d, strings.NewReader("{}")).want(t, 405, "UNSUPPORTED")
	ask(t, "HEAD", url+"/v2/app/referrers/"+d).want(t, 200)
	// The name of a repository may contain the word referrers.
	ask(t, "GET", url+"/v2/a/referrers/tags/list").want(t, 404, "NAME_UNKNOWN")
}

// An archive that is uploaded at /v1 does not pass through the registry's HTTP handlers.
func TestReferrersInAnUploadedArchiveAreListed(t *testing.T) {
	server := serve(t, t.TempDir())
	image := manifestOf("")
	signature := manifestOf(about(digest.FromString(image), "test/signature"))
	index := fmt.Sprintf(`{"schemaVersion":2,"manifests":[%s,%s]}`, named(image, "registry.k8s.io/app:v1"), named(signature, "registry.k8s.io/app:signature"))
	archive := tarOf(t, map[string]string{
		"oci-layout": `{"imageLayoutVersion":"1.0.0"}`, "index.json": index,
		blobFile("{}"): "{}", blobFile(image): image, blobFile(signature): signature,
	})
	call(t, "PUT", server.URL+"/v1/baremetalcluster/o/c/container_images/app.tar/content", archive).want(t, 201)
	if diff := cmp.Diff([]digest.Digest{digest.FromString(signature)}, referring(t, server.URL+"/v2/app/referrers/"+digest.FromString(image).String())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func named(manifest, name string) string {
	return fmt.Sprintf(`{"mediaType":%q,"digest":%q,"size":%d,"annotations":{"io.containerd.image.name":%q}}`,
		v1.MediaTypeImageManifest, digest.FromString(manifest), len(manifest), name)
}

func blobFile(content string) string { return "blobs/sha256/" + digest.FromString(content).Encoded() }

func tarOf(t *testing.T, files map[string]string) *bytes.Buffer {
	t.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for name, content := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &archive
}
