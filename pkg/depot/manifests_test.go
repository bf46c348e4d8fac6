package depot_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

const (
	foreignLayer = "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip"
	dockerImage  = "application/vnd.docker.distribution.manifest.v2+json"
)

func layer(mediaType string, d digest.Digest, more string) string {
	return fmt.Sprintf(`"layers":[{"mediaType":%q,"digest":%q,"size":9%s}]`, mediaType, d, more)
}

// A bad manifest is the client's error (4xx), never an error of the depot (5xx).
func TestManifestsAreTakenOrRefusedWithAReason(t *testing.T) {
	const oci = v1.MediaTypeImageManifest
	server := serve(t, t.TempDir())
	pushBlob(t, server, "{}", digest.FromString("{}")).want(t, 201)
	absent := digest.FromString("absent")
	with := func(layers string) string { return strings.Replace(manifestOf(""), `"layers":[]`, layers, 1) }
	signed := strings.Replace(manifestOf(about(absent, "test/signature")), `"layers":[]`, layer("text/plain", absent, ""), 1)
	docker := strings.NewReplacer(oci, dockerImage, "application/vnd.oci.empty.v1+json", "application/vnd.docker.container.image.v1+json")
	const foreignDocker = "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip"
	for name, try := range map[string]struct {
		manifest, mediaType string
		status              int
		reason              string
	}{
		"a layer elsewhere":             {with(layer(foreignLayer, absent, `,"urls":["https://example.org/layer"]`)), oci, 201, ""},
		"a layer elsewhere, Docker's":   {docker.Replace(with(layer(foreignDocker, absent, `,"urls":["http://example.org/layer"]`))), dockerImage, 201, ""},
		"a layer nowhere":               {with(layer(foreignLayer, absent, "")), oci, 400, "MANIFEST_BLOB_UNKNOWN"},
		"a layer nowhere, Docker's":     {docker.Replace(with(layer(foreignDocker, absent, ""))), dockerImage, 400, "has no URL"},
		"a layer in a file":             {with(layer(foreignLayer, absent, `,"urls":["file:///etc/passwd"]`)), oci, 400, "must begin with http"},
		"a layer that is missing":       {with(layer(v1.MediaTypeImageLayer, absent, "")), oci, 400, "MANIFEST_BLOB_UNKNOWN"},
		"a layer of an unknown hash":    {with(layer(v1.MediaTypeImageLayer, "blake3:"+digest.Digest(absent.Encoded()), "")), oci, 400, "sha256, sha384 or sha512"},
		"a layer of half a digest":      {with(layer(v1.MediaTypeImageLayer, "sha512:"+digest.Digest(absent.Encoded()), "")), oci, 400, "MANIFEST_INVALID"},
		"a signature without its layer": {signed, oci, 400, "MANIFEST_BLOB_UNKNOWN"},
		"another version":               {strings.Replace(manifestOf(""), `"schemaVersion":2`, `"schemaVersion":1`, 1), oci, 400, "schemaVersion is 1"},
		"no JSON":                       {"{", oci, 400, "MANIFEST_INVALID"},
		"another type":                  {manifestOf(""), "text/plain", 400, "MANIFEST_INVALID"},
		"no type":                       {manifestOf(""), "", 400, "MANIFEST_INVALID"},
		"a subject that is no digest":   {manifestOf(`,"subject":{"mediaType":"a/b","digest":"sha256:0","size":1}`), oci, 201, ""},
		"too long":                      {manifestOf(`,"annotations":{"a":"` + strings.Repeat("a", 4<<20) + `"}`), oci, 400, "MANIFEST_INVALID"},
	} {
		t.Run(name, func(t *testing.T) {
			call(t, "PUT", server.URL+"/v2/app/manifests/v1", strings.NewReader(try.manifest), "Content-Type", try.mediaType).want(t, try.status, try.reason)
		})
	}
	if got := referring(t, server.URL+"/v2/app/referrers/"+absent.String()); len(got) > 0 {
		t.Errorf("a manifest that was refused is listed: %v", got)
	}
}

func TestContentByAnotherDigest(t *testing.T) {
	for _, algorithm := range []digest.Algorithm{digest.SHA384, digest.SHA512} {
		t.Run(algorithm.String(), func(t *testing.T) {
			server := serve(t, t.TempDir())
			named := func(a answer) answer {
				t.Helper()
				if d := digest.Digest(a.header.Get("Docker-Content-Digest")); d.Algorithm() != algorithm {
					t.Errorf("Docker-Content-Digest: %q; a client that asked by %s treats it as damage", d, algorithm)
				}
				return a
			}
			d := algorithm.FromString("{}")
			pushed := named(pushBlob(t, server, "{}", d).want(t, 201))
			for _, method := range []string{"GET", "HEAD"} {
				named(ask(t, method, server.URL+pushed.header.Get("Location")).want(t, 200))
			}
			named(ask(t, "GET", server.URL+"/v2/app/blobs/"+d.String()).want(t, 200, "{}"))
			mounted := named(call(t, "POST", server.URL+"/v2/other/blobs/uploads/?"+url.Values{"mount": {d.String()}, "from": {"app"}}.Encode(), nil).want(t, 201))
			named(ask(t, "GET", server.URL+mounted.header.Get("Location")).want(t, 200, "{}"))
			call(t, "POST", server.URL+"/v2/other/blobs/uploads/?"+url.Values{"mount": {algorithm.FromString("none").String()}, "from": {"app"}}.Encode(), nil).want(t, 202)

			manifest := strings.Replace(manifestOf(""), digest.FromString("{}").String(), d.String(), 1)
			m := algorithm.FromString(manifest)
			accept := []string{"Accept", v1.MediaTypeImageManifest}
			at := named(pushManifest(t, server, manifest, m.String()).want(t, 201)).header.Get("Location")
			named(ask(t, "GET", server.URL+at, accept...).want(t, 200, manifest))
			ask(t, "GET", server.URL+"/v2/app/manifests/"+digest.FromString(manifest).String(), accept...).want(t, 200, manifest)
			pushManifest(t, server, manifest, "v1").want(t, 201)
			pushManifest(t, server, manifest, algorithm.FromString("another").String()).want(t, 400, "DIGEST_INVALID")
			pushManifest(t, server, manifest, algorithm.String()+":short").want(t, 400)
			call(t, "DELETE", server.URL+at, nil).want(t, 202)
			for _, gone := range []string{m.String(), digest.FromString(manifest).String(), "v1"} {
				ask(t, "GET", server.URL+"/v2/app/manifests/"+gone, accept...).want(t, 404)
			}
			call(t, "DELETE", server.URL+at, nil).want(t, 404)
			pushBlob(t, server, "{}", algorithm.FromString("other")).want(t, 400, "DIGEST_INVALID")
			call(t, "DELETE", server.URL+"/v2/app/blobs/"+d.String(), nil).want(t, 202)
			ask(t, "HEAD", server.URL+"/v2/app/blobs/"+d.String()).want(t, 404)
		})
	}
}
