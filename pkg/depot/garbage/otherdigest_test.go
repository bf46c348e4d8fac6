package garbage_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"testing"

	_ "crypto/sha512" // registers sha512, by which a client may name a blob

	"github.com/opencontainers/go-digest"

	"github.com/akraino-icn/bpa/pkg/depot/garbage"
	"github.com/akraino-icn/bpa/pkg/depot/scrub"
	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// send makes one request and returns the Location of the answer.
func (s *site) send(method, url, contentType string, body []byte) string {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, url, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Content-Type", contentType)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	if response.StatusCode >= http.StatusMultipleChoices {
		s.t.Fatalf("%s %s = %s %s", method, url, response.Status, text)
	}
	return response.Header.Get("Location")
}

// A client may name a blob by another hash than the sha256 by which the store keeps it.
func TestABlobOfAnotherDigestStays(t *testing.T) {
	s := newSite(t)
	layer := []byte("a layer that is known by its sha512")
	long := digest.SHA512.FromBytes(layer)
	push := func(content []byte, d digest.Digest) {
		at := s.send(http.MethodPost, s.server.URL+"/v2/app/blobs/uploads/", "", nil)
		s.send(http.MethodPut, s.server.URL+at+"&digest="+d.String(), "application/octet-stream", content)
	}
	push(layer, long)
	push([]byte("{}"), digest.FromString("{}"))
	s.send(http.MethodPut, s.server.URL+"/v2/app/manifests/v1", "application/vnd.oci.image.manifest.v1+json", fmt.Appendf(nil,
		`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",
		"config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":%q,"size":2},
		"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar","digest":%q,"size":%d}]}`, digest.FromString("{}"), long, len(layer)))
	s.send(http.MethodGet, s.server.URL+"/v2/app/blobs/"+long.String(), "", nil)
	st, err := store.OnDisk(t.Context(), filepath.Join(s.dir, "registry"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := scrub.Run(t.Context(), st, func(d scrub.Damage) { t.Errorf("whole, yet reported: %s", d) }); err != nil {
		t.Fatal(err)
	}
	if freed := s.collect(garbage.All{}, false); freed.Blobs != 0 {
		t.Errorf("%d blobs were freed of an image with a tag", freed.Blobs)
	}
	s.send(http.MethodGet, s.server.URL+"/v2/app/blobs/"+long.String(), "", nil)
}
