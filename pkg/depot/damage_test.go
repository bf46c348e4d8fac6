package depot_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/akraino-icn/bpa/pkg/depot/disk"
)

// flip changes one bit of a stored blob, as a faulty disk does.
func flip(t *testing.T, dir, hexDigest string) {
	t.Helper()
	flipFile(t, filepath.Join(dir, "registry/docker/registry/v2/blobs/sha256", hexDigest[:2], hexDigest, "data"))
}

func flipFile(t *testing.T, path string) {
	t.Helper()
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	body[len(body)/2] ^= 1
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
}

// If the disk has damaged stored content, an upload of the same content replaces it, whatever the
// kind of upload.
func TestAnUploadReplacesDamagedContent(t *testing.T) {
	const content = "some content of which a bit is going to flip"
	sum := sha(content)
	for name, bring := range map[string]func(t *testing.T, url string) (read string){
		"a blob in one request": func(t *testing.T, url string) string {
			at := call(t, "POST", url+"/v2/app/blobs/uploads/", nil).want(t, 202).header.Get("Location")
			call(t, "PUT", url+at+"&digest=sha256:"+sum, strings.NewReader(content)).want(t, 201)
			return "/v2/app/blobs/sha256:" + sum
		},
		"a blob in pieces": func(t *testing.T, url string) string {
			at := call(t, "POST", url+"/v2/app/blobs/uploads/", nil).want(t, 202).header.Get("Location")
			at = call(t, "PATCH", url+at, strings.NewReader(content[:7]), "Content-Type", "application/octet-stream").want(t, 202).header.Get("Location")
			at = call(t, "PATCH", url+at, strings.NewReader(content[7:]), "Content-Type", "application/octet-stream").want(t, 202).header.Get("Location")
			call(t, "PUT", url+at+"&digest=sha256:"+sum, nil).want(t, 201)
			return "/v2/app/blobs/sha256:" + sum
		},
		"the same artifact": func(t *testing.T, url string) string {
			call(t, "PUT", url+osImages+"/first/content", strings.NewReader(content)).want(t, 200, sum)
			return osImages + "/first/content"
		},
		"the same artifact, announced": func(t *testing.T, url string) string {
			call(t, "PUT", url+osImages+"/first/content", strings.NewReader(content), "X-Checksum-Sha256", sum).want(t, 200, sum)
			return osImages + "/first/content"
		},
		"another artifact": func(t *testing.T, url string) string {
			call(t, "PUT", url+osImages+"/second/content", strings.NewReader(content)).want(t, 201, sum)
			return osImages + "/first/content"
		},
		"an artifact in pieces": func(t *testing.T, url string) string {
			create(t, url+osImages, record("second", len(content), "")).want(t, 201)
			patch(t, url+osImages+"/second", 0, content[:7]).want(t, 204)
			patch(t, url+osImages+"/second", 7, content[7:]).want(t, 204)
			return osImages + "/first/content"
		},
		"tus": func(t *testing.T, url string) string {
			at := call(t, "POST", url+osImages, nil, "Tus-Resumable", "1.0.0", "Upload-Length", "44", "Upload-Metadata", "filename c2Vjb25k").want(t, 201).header.Get("Location")
			call(t, "PATCH", url+at, strings.NewReader(content), "Tus-Resumable", "1.0.0", "Upload-Offset", "0", "Content-Type", "application/offset+octet-stream").want(t, 204)
			return osImages + "/first/content"
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			url := serve(t, dir).URL
			call(t, "PUT", url+osImages+"/first/content", strings.NewReader(content)).want(t, 201)
			flip(t, dir, sum)
			if got := ask(t, "GET", url+osImages+"/first/content").want(t, 200); got.body == content {
				t.Fatal("nothing is damaged")
			}
			if got := ask(t, "GET", url+bring(t, url)).want(t, 200); got.body != content {
				t.Errorf("read %q", got.body)
			}
		})
	}
}

// The depot compares the uploaded bytes with the digest of the stored artifact: other content is
// refused, also while the stored bytes are damaged.
func TestOtherContentDoesNotReplaceAnArtifact(t *testing.T) {
	const content, other = "0123456789", "0123x56789"
	dir := t.TempDir()
	url := serve(t, dir).URL + osImages + "/a/content"
	call(t, "PUT", url, strings.NewReader(content)).want(t, 201)
	for range 2 {
		call(t, "PUT", url, strings.NewReader(other)).want(t, 409)
		call(t, "PUT", url, strings.NewReader(other), "X-Checksum-Sha256", sha(content)).want(t, 422, sha(other))
		flip(t, dir, sha(content))
	}
	// The bit was flipped twice, so the content is intact again.
	call(t, "PUT", url, strings.NewReader(ask(t, "GET", url).body)).want(t, 200)
	flip(t, dir, sha(content))
	damaged := ask(t, "GET", url).body
	call(t, "PUT", url, strings.NewReader(damaged)).want(t, 409)
	call(t, "PUT", url, strings.NewReader(content)).want(t, 200)
	ask(t, "GET", url).want(t, 200, content)
}

// An upload also replaces an artifact whose stored file is cut or missing.
func TestAnUploadReplacesLostContent(t *testing.T) {
	const content = "content that is cut"
	for name, lose := range map[string]func(string) error{
		"its end": func(path string) error { return os.Truncate(path, 3) },
		"all":     os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			dir, sum := t.TempDir(), sha(content)
			url := serve(t, dir).URL + osImages + "/a/content"
			call(t, "PUT", url, strings.NewReader(content)).want(t, 201)
			if err := lose(filepath.Join(dir, "registry/docker/registry/v2/blobs/sha256", sum[:2], sum, "data")); err != nil {
				t.Fatal(err)
			}
			call(t, "PUT", url, strings.NewReader(content)).want(t, 200, sum)
			ask(t, "GET", url).want(t, 200, content)
		})
	}
}

func TestAnUploadReplacesADamagedFile(t *testing.T) {
	const content = "some content of a file"
	for name, header := range map[string][]string{"whatever is there": nil, "where there is none": {"If-None-Match", "*"}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			url := serve(t, dir).URL + "/files/a/b"
			call(t, "PUT", url, strings.NewReader(content)).want(t, 201)
			damageFile(t, filepath.Join(dir, "files/a/b"), filepath.Join(dir, "digests/a/b.digest.json"))
			call(t, "PUT", url, strings.NewReader(content), header...).want(t, 201)
			if got := ask(t, "GET", url).want(t, 200); got.body != content {
				t.Errorf("read %q", got.body)
			}
		})
	}
}

// damageFile flips a bit of the file at path. This changes the file's stamp, which a faulty disk
// does not do. So damageFile also writes the new stamp to note, the file with the stored checksum.
func damageFile(t *testing.T, path, note string) {
	t.Helper()
	flipFile(t, path)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	body, err := os.ReadFile(note)
	if err != nil {
		t.Fatal(err)
	}
	var kept struct {
		disk.Stamp
		SHA256 string `json:"sha256"`
	}
	if err := json.Unmarshal(body, &kept); err != nil {
		t.Fatal(err)
	}
	kept.Stamp = disk.StampOf(info)
	if body, err = json.Marshal(kept); err == nil {
		err = os.WriteFile(note, body, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Uploading an archive again replaces its damaged images, also if the stored archive is intact.
func TestAnArchiveReplacesDamagedImages(t *testing.T) {
	dir := t.TempDir()
	server := serve(t, dir)
	img := randomImage(t)
	tag, err := name.NewTag("registry.example/app:v1")
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := tarball.Write(tag, img, &archive); err != nil {
		t.Fatal(err)
	}
	const at = "/v1/baremetalcluster/alpha/beta/container_images/app.tar/content"
	call(t, "PUT", server.URL+at, bytes.NewReader(archive.Bytes())).want(t, 201)
	parts := partsOf(t, reference(t, server, "app:v1"))
	for _, again := range []string{at, strings.Replace(at, "app.tar", "app2.tar", 1)} {
		for _, part := range parts {
			flip(t, dir, part.Hex)
			if status := call(t, "PUT", server.URL+again, bytes.NewReader(archive.Bytes())).status; status != http.StatusOK && status != http.StatusCreated {
				t.Fatalf("the archive again = %d", status)
			}
			pulled, err := remote.Image(reference(t, server, "app:v1"))
			if err == nil {
				err = validate.Image(pulled)
			}
			if err != nil {
				t.Errorf("%s damaged, and the archive sent again: %v", part, err)
			}
		}
	}
}

// Uploading an archive again does not change tags that were moved after the first upload, even if
// the stored archive was damaged.
func TestAnArchiveSentAgainMovesNoTag(t *testing.T) {
	dir := t.TempDir()
	server := serve(t, dir)
	var archive bytes.Buffer
	tags := map[name.Tag]v1.Image{}
	for _, tag := range []string{"registry.example/app:v1", "registry.example/app:v2"} {
		named, err := name.NewTag(tag)
		if err != nil {
			t.Fatal(err)
		}
		tags[named] = randomImage(t)
	}
	if err := tarball.MultiWrite(tags, &archive); err != nil {
		t.Fatal(err)
	}
	const at = "/v1/baremetalcluster/alpha/beta/container_images/app.tar/content"
	call(t, "PUT", server.URL+at, bytes.NewReader(archive.Bytes())).want(t, 201)
	pushed := randomImage(t)
	if err := remote.Write(reference(t, server, "app:v1"), pushed); err != nil {
		t.Fatal(err)
	}
	for _, damaged := range []bool{false, true} {
		if err := os.RemoveAll(filepath.Join(dir, "registry/docker/registry/v2/repositories/app/_manifests/tags/v2")); err != nil {
			t.Fatal(err)
		}
		if damaged {
			flip(t, dir, sha(archive.String()))
		}
		call(t, "PUT", server.URL+at, bytes.NewReader(archive.Bytes())).want(t, 200)
		now, err := remote.Image(reference(t, server, "app:v1"))
		if err != nil {
			t.Fatal(err)
		}
		if digestOf(t, now) != digestOf(t, pushed) {
			t.Errorf("damaged %t: app:v1 is no longer the image that was pushed after the archive", damaged)
		}
		if _, err := remote.Image(reference(t, server, "app:v2")); err != nil {
			t.Errorf("damaged %t: a tag that was lost did not come back: %v", damaged, err)
		}
	}
}

// partsOf returns the digests of an image's manifest, config and layers.
func partsOf(t *testing.T, ref name.Reference) []v1.Hash {
	t.Helper()
	img, err := remote.Image(ref)
	if err != nil {
		t.Fatal(err)
	}
	m, err := img.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	parts := []v1.Hash{digestOf(t, img), m.Config.Digest}
	for _, l := range m.Layers {
		parts = append(parts, l.Digest)
	}
	return parts
}

func TestAPushReplacesADamagedManifest(t *testing.T) {
	dir := t.TempDir()
	server := serve(t, dir)
	img := randomImage(t)
	ref := reference(t, server, "app:v1")
	if err := remote.Write(ref, img); err != nil {
		t.Fatal(err)
	}
	manifest, err := img.RawManifest()
	if err != nil {
		t.Fatal(err)
	}
	flip(t, dir, digestOf(t, img).Hex)
	call(t, "PUT", server.URL+"/v2/app/manifests/v1", bytes.NewReader(manifest), "Content-Type", "application/vnd.docker.distribution.manifest.v2+json").want(t, 201)
	got := ask(t, "GET", server.URL+"/v2/app/manifests/v1", "Accept", "application/vnd.docker.distribution.manifest.v2+json").want(t, 200)
	if sum := sha256.Sum256([]byte(got.body)); hex.EncodeToString(sum[:]) != digestOf(t, img).Hex {
		t.Errorf("read %q", got.body)
	}
}
