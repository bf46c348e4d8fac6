package depot

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/akraino-icn/bpa/pkg/depot/garbage"
	"github.com/akraino-icn/bpa/pkg/depot/scrub"
)

// These tests force every order of a collection and of one other operation in which one of the two
// is interrupted once. They count the calls of the storage driver. In one direction, a whole
// collection runs inside each call of the operation. In the other direction, the whole operation
// runs inside each call of the collection.

// calls is a storage driver that calls before each call.
type calls struct {
	storagedriver.StorageDriver
	before func(ctx context.Context, call, at string) error
}

func (c *calls) PutContent(ctx context.Context, at string, content []byte) error {
	if err := c.before(ctx, "PutContent", at); err != nil {
		return err
	}
	return c.StorageDriver.PutContent(ctx, at, content)
}

func (c *calls) GetContent(ctx context.Context, at string) ([]byte, error) {
	if err := c.before(ctx, "GetContent", at); err != nil {
		return nil, err
	}
	return c.StorageDriver.GetContent(ctx, at)
}

func (c *calls) Stat(ctx context.Context, at string) (storagedriver.FileInfo, error) {
	if err := c.before(ctx, "Stat", at); err != nil {
		return nil, err
	}
	return c.StorageDriver.Stat(ctx, at)
}

func (c *calls) List(ctx context.Context, at string) ([]string, error) {
	if err := c.before(ctx, "List", at); err != nil {
		return nil, err
	}
	return c.StorageDriver.List(ctx, at)
}

func (c *calls) Move(ctx context.Context, from, to string) error {
	if err := c.before(ctx, "Move", to); err != nil {
		return err
	}
	return c.StorageDriver.Move(ctx, from, to)
}

func (c *calls) Delete(ctx context.Context, at string) error {
	if err := c.before(ctx, "Delete", at); err != nil {
		return err
	}
	return c.StorageDriver.Delete(ctx, at)
}

// raced is a depot whose driver calls the tests see.
type raced struct {
	*Depot
	t   *testing.T
	dir string
	// before is called before each call of the driver; nil: nothing.
	before func(ctx context.Context, call, at string) error
}

// newRaced returns a depot with old content that nothing refers to, and with content that other
// clients use.
func newRaced(t *testing.T, dir string) *raced {
	t.Helper()
	r := &raced{t: t, dir: dir}
	r.Depot = opened(t, dir, func(o *options) {
		o.wrap = func(d storagedriver.StorageDriver) storagedriver.StorageDriver {
			return &calls{d, func(ctx context.Context, call, at string) error {
				if r.before == nil {
					return nil
				}
				return r.before(ctx, call, at)
			}}
		}
	})
	return r
}

// memory returns a directory of the test in the memory of the machine, if there is one: the tests
// wait for many syncs.
func memory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "depot-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (r *raced) close() {
	r.t.Helper()
	r.before = nil
	if err := r.Close(); err != nil {
		r.t.Error(err)
	}
}

// send sends a request and returns the answer.
func (r *raced) send(method, path, body string, header ...string) *httptest.ResponseRecorder {
	req := httptest.NewRequestWithContext(r.t.Context(), method, path, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	r.ServeHTTP(w, req)
	return w
}

// acked records what a depot has acknowledged: paths with the content that they must have.
type acked map[string]string

// refused is the error for a request that the depot did not accept.
type refused struct{ text string }

func (r refused) Error() string { return r.text }

// want sends a request, and returns a refused error if the status is another one.
func (r *raced) want(status int, method, path, body string, header ...string) (*httptest.ResponseRecorder, error) {
	w := r.send(method, path, body, header...)
	if w.Code != status {
		return w, refused{fmt.Sprintf("%s %s = %d %s, want %d", method, path, w.Code, w.Body, status)}
	}
	return w, nil
}

// pushBlob pushes a blob as clients do: it asks for the blob first, and sends it only if it is
// absent.
func (r *raced) pushBlob(repository, content string) error {
	d := digest.FromString(content)
	if r.send("HEAD", "/v2/"+repository+"/blobs/"+d.String(), "").Code == http.StatusOK {
		return nil
	}
	begun, err := r.want(http.StatusAccepted, "POST", "/v2/"+repository+"/blobs/uploads/", "")
	if err != nil {
		return err
	}
	_, err = r.want(http.StatusCreated, "PUT", begun.Header().Get("Location")+"&digest="+d.String(), content)
	return err
}

func (r *raced) pushManifest(repository, ref, kind string, body []byte, a acked) error {
	if _, err := r.want(http.StatusCreated, "PUT", "/v2/"+repository+"/manifests/"+ref, string(body), "Content-Type", kind); err != nil {
		return err
	}
	a["/v2/"+repository+"/manifests/"+ref] = string(body)
	return nil
}

func descriptor(content string) v1.Descriptor {
	return v1.Descriptor{MediaType: v1.MediaTypeImageLayer, Digest: digest.FromString(content), Size: int64(len(content))}
}

// imageOf returns the manifest of an image whose config and layer are the given contents.
func imageOf(config, layer string, subject *v1.Descriptor) []byte {
	c := descriptor(config)
	c.MediaType = v1.MediaTypeImageConfig
	body, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": v1.MediaTypeImageManifest, "config": c, "layers": []v1.Descriptor{descriptor(layer)}, "subject": subject})
	if err != nil {
		panic(err)
	}
	return body
}

func indexOf(manifests ...[]byte) []byte {
	var all []v1.Descriptor
	for _, m := range manifests {
		all = append(all, v1.Descriptor{MediaType: v1.MediaTypeImageManifest, Digest: digest.FromBytes(m), Size: int64(len(m))})
	}
	body, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": v1.MediaTypeImageIndex, "manifests": all})
	if err != nil {
		panic(err)
	}
	return body
}

// push pushes an image with its blobs.
func (r *raced) push(repository, tag, config, layer string, subject *v1.Descriptor, a acked) error {
	for _, blob := range []string{config, layer} {
		if err := r.pushBlob(repository, blob); err != nil {
			return err
		}
	}
	body := imageOf(config, layer, subject)
	if tag == "" {
		tag = digest.FromBytes(body).String()
	}
	if err := r.pushManifest(repository, tag, v1.MediaTypeImageManifest, body, a); err != nil {
		return err
	}
	for _, blob := range []string{config, layer} {
		a["/v2/"+repository+"/blobs/"+digest.FromString(blob).String()] = blob
	}
	return nil
}

func (r *raced) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// savedImage is an archive of one image, as docker save writes it.
func savedImage(layer string) []byte {
	img, err := mutate.AppendLayers(empty.Image, static.NewLayer([]byte(layer), types.OCIUncompressedLayer))
	if err != nil {
		panic(err)
	}
	tag, err := name.NewTag("example.com/archived:v1")
	if err != nil {
		panic(err)
	}
	var b bytes.Buffer
	if err := tarball.Write(tag, img, &b); err != nil {
		panic(err)
	}
	return b.Bytes()
}

const artifact = "/v1/baremetalcluster/o/c/os_images/image"

// prepare fills the depot with content of two kinds. The content that it returns is used and must
// stay. The other content is old, and nothing refers to it: an operation may use it again.
func (r *raced) prepare() acked {
	r.t.Helper()
	stays, gone := acked{}, acked{}
	r.must(r.push("kept", "v1", "kept config", "kept layer", nil, stays))
	_, err := r.want(http.StatusCreated, "PUT", "/v1/baremetalcluster/o/c/os_images/kept/content", "kept artifact")
	r.must(err)
	stays["/v1/baremetalcluster/o/c/os_images/kept/content"] = "kept artifact"

	// An image whose manifest is deleted: its blobs and their links remain.
	r.must(r.push("app", "old", "old config", "old layer", nil, gone))
	_, err = r.want(http.StatusAccepted, "DELETE", "/v2/app/manifests/"+digest.FromBytes(imageOf("old config", "old layer", nil)).String(), "")
	r.must(err)
	r.must(r.push("other", "old", "other config", "other layer", nil, gone))
	_, err = r.want(http.StatusAccepted, "DELETE", "/v2/other/manifests/"+digest.FromBytes(imageOf("other config", "other layer", nil)).String(), "")
	r.must(err)
	// Images without a tag.
	r.must(r.push("untagged", "", "untagged config", "untagged layer", nil, gone))
	r.must(r.push("untagged", "", "platform config", "platform layer", nil, gone))
	// An artifact that is deleted.
	for path, content := range map[string]string{artifact: "artifact content", "/v1/baremetalcluster/o/c/container_images/a.tar": string(savedImage("archived layer"))} {
		_, err = r.want(http.StatusCreated, "PUT", path+"/content", content)
		r.must(err)
		_, err = r.want(http.StatusNoContent, "DELETE", path, "")
		r.must(err)
	}
	_, err = r.want(http.StatusAccepted, "DELETE", "/v2/archived/manifests/"+r.send("HEAD", "/v2/archived/manifests/v1", "", "Accept", string(types.DockerManifestSchema2)+", "+v1.MediaTypeImageManifest).Header().Get("Docker-Content-Digest"), "")
	r.must(err)
	r.age()
	return stays
}

// age makes all content look two days old.
func (r *raced) age() {
	r.t.Helper()
	old := time.Now().Add(-48 * time.Hour)
	r.must(filepath.WalkDir(filepath.Join(r.dir, RegistryDir), func(at string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(at, old, old)
	}))
}

// operations are what clients do. Each adds what the depot has acknowledged to its acked.
var operations = map[string]func(*raced, acked) error{
	"push an image of old blobs": func(r *raced, a acked) error { return r.push("app", "new", "new config", "old layer", nil, a) },
	"push a manifest again":      func(r *raced, a acked) error { return r.push("app", "again", "old config", "old layer", nil, a) },
	"push a new image":           func(r *raced, a acked) error { return r.push("new", "v1", "a config", "a layer", nil, a) },
	"mount a blob of another repository": func(r *raced, a acked) error {
		if w := r.send("POST", "/v2/mounted/blobs/uploads/?mount="+digest.FromString("other layer").String()+"&from=other", ""); w.Code != http.StatusCreated && w.Code != http.StatusAccepted {
			return refused{fmt.Sprint("mount = ", w.Code, w.Body)}
		}
		return r.push("mounted", "v1", "mounted config", "other layer", nil, a)
	},
	"mount by sha512": func(r *raced, a acked) error {
		config, layer := descriptor("long config"), descriptor("long layer")
		config.MediaType, layer.Digest = v1.MediaTypeImageConfig, digest.SHA512.FromString("long layer")
		if err := r.pushBlob("long", "long config"); err != nil {
			return err
		}
		begun, err := r.want(http.StatusAccepted, "POST", "/v2/long/blobs/uploads/", "")
		if err != nil {
			return err
		}
		if _, err := r.want(http.StatusCreated, "PUT", begun.Header().Get("Location")+"&digest="+layer.Digest.String(), "long layer"); err != nil {
			return err
		}
		body, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": v1.MediaTypeImageManifest, "config": config, "layers": []v1.Descriptor{layer}})
		if err != nil {
			return err
		}
		if err := r.pushManifest("long", "v1", v1.MediaTypeImageManifest, body, a); err != nil {
			return err
		}
		a["/v2/long/blobs/"+layer.Digest.String()] = "long layer"
		return nil
	},
	"tag an image without a tag": func(r *raced, a acked) error {
		a2 := acked{}
		if err := r.pushManifest("untagged", "v1", v1.MediaTypeImageManifest, imageOf("untagged config", "untagged layer", nil), a2); err != nil {
			return err
		}
		a2["/v2/untagged/blobs/"+digest.FromString("untagged layer").String()] = "untagged layer"
		for path, content := range a2 {
			a[path] = content
		}
		return nil
	},
	"push an index of an image without a tag": func(r *raced, a acked) error {
		image := imageOf("platform config", "platform layer", nil)
		if err := r.pushManifest("untagged", "multi", v1.MediaTypeImageIndex, indexOf(image), a); err != nil {
			return err
		}
		a["/v2/untagged/manifests/"+digest.FromBytes(image).String()] = string(image)
		a["/v2/untagged/blobs/"+digest.FromString("platform layer").String()] = "platform layer"
		return nil
	},
	"push a signature": func(r *raced, a acked) error {
		kept := imageOf("kept config", "kept layer", nil)
		return r.push("kept", "", "signature config", "signature", &v1.Descriptor{MediaType: v1.MediaTypeImageManifest, Digest: digest.FromBytes(kept), Size: int64(len(kept))}, a)
	},
	"upload an artifact whole": func(r *raced, a acked) error {
		if _, err := r.want(http.StatusCreated, "PUT", artifact+"/content", "artifact content"); err != nil {
			return err
		}
		a[artifact+"/content"] = "artifact content"
		return nil
	},
	"upload an artifact in pieces": func(r *raced, a acked) error {
		if _, err := r.want(http.StatusCreated, "POST", filepath.Dir(artifact), `{"owner": "o", "image_name": "image", "image_length": 16}`, "Content-Type", "application/json"); err != nil {
			return err
		}
		if _, err := r.want(http.StatusNoContent, "PATCH", artifact, "artifact", "Upload-Offset", "0"); err != nil {
			return err
		}
		if _, err := r.want(http.StatusNoContent, "PATCH", artifact, " content", "Upload-Offset", "8"); err != nil {
			return err
		}
		a[artifact+"/content"] = "artifact content"
		return nil
	},
	"upload an archive of images": func(r *raced, a acked) error {
		if _, err := r.want(http.StatusCreated, "PUT", "/v1/baremetalcluster/o/c/container_images/a.tar/content", string(savedImage("archived layer"))); err != nil {
			return err
		}
		a["/v1/baremetalcluster/o/c/container_images/a.tar/content"] = string(savedImage("archived layer"))
		a["/v2/archived/blobs/"+digest.FromString("archived layer").String()] = "archived layer"
		return nil
	},
	"change a record": func(r *raced, a acked) error {
		_, err := r.want(http.StatusCreated, "PUT", "/v1/baremetalcluster/o/c/os_images/kept", `{"owner": "o", "image_name": "kept", "image_length": 13, "type": "changed"}`, "Content-Type", "application/json")
		return err
	},
	"delete and upload again": func(r *raced, a acked) error {
		if w := r.send("DELETE", artifact, ""); w.Code != http.StatusNoContent && w.Code != http.StatusNotFound {
			return refused{fmt.Sprint("delete = ", w.Code, w.Body)}
		}
		if _, err := r.want(http.StatusCreated, "PUT", artifact+"/content", "artifact content"); err != nil {
			return err
		}
		a[artifact+"/content"] = "artifact content"
		return nil
	},
}

// repeats are what a client does after an operation was refused, if that is not the same again: the
// collection came first and has freed an image that no list names, so the client sends it whole.
var repeats = map[string]func(*raced, acked) error{
	"tag an image without a tag": func(r *raced, a acked) error {
		return r.push("untagged", "v1", "untagged config", "untagged layer", nil, a)
	},
	"push an index of an image without a tag": func(r *raced, a acked) error {
		if err := r.push("untagged", "", "platform config", "platform layer", nil, a); err != nil {
			return err
		}
		return r.pushManifest("untagged", "multi", v1.MediaTypeImageIndex, indexOf(imageOf("platform config", "platform layer", nil)), a)
	},
}

// verify reads everything that the depot has acknowledged, and looks for damage.
func (r *raced) verify(all ...acked) {
	r.t.Helper()
	for _, a := range all {
		for path, want := range a {
			w := r.send("GET", path, "", "Accept", v1.MediaTypeImageManifest+", "+v1.MediaTypeImageIndex)
			if w.Code != http.StatusOK || w.Body.String() != want {
				r.t.Errorf("acknowledged %s = %d %.200q, want %.50q", path, w.Code, w.Body, want)
			}
		}
	}
	if _, err := scrub.Run(r.t.Context(), r.store, func(d scrub.Damage) { r.t.Errorf("damaged: %s", d) }); err != nil {
		r.t.Error(err)
	}
}

// collect runs a collection that keeps only images with tags.
func (r *raced) collect(ctx context.Context, grace time.Duration) error {
	_, err := garbage.Collect(ctx, r.store, garbage.Options{Keep: garbage.Listed{}, Grace: grace})
	return err
}

type collecting struct{}

// template is a directory that prepare has filled, and what must stay in it.
type template struct {
	dir   string
	stays acked
}

func newTemplate(t *testing.T) template {
	t.Helper()
	r := newRaced(t, memory(t))
	defer r.close()
	return template{r.dir, r.prepare()}
}

// open returns a depot in a copy of the template.
func (p template) open(t *testing.T) *raced {
	t.Helper()
	dir := memory(t)
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", p.dir+"/.", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return newRaced(t, dir)
}

// everyCall returns the first call of the driver that a test tries, and the distance to the next one.
// All calls together take minutes, so a run of the tests tries a part of them, from a random call on.
// The environment variable DEPOT_RACES=all tries all.
func everyCall(t *testing.T) (first, step int) {
	t.Helper()
	if os.Getenv("DEPOT_RACES") == "all" {
		return 0, 1
	}
	const part = 7
	first = rand.IntN(part)
	t.Logf("every %dth call from call %d on", part, first)
	return first, part
}

// A collection within each driver call of an operation.
func TestACollectionWithinAnOperation(t *testing.T) {
	from := newTemplate(t)
	for operation, run := range operations {
		for _, grace := range []time.Duration{0, 24 * time.Hour} {
			t.Run(fmt.Sprint(operation, " grace ", grace), func(t *testing.T) {
				k, step := everyCall(t)
				for more := true; more && !t.Failed(); k += step {
					more = from.collectWithin(t, run, grace, k)
				}
			})
		}
	}
}

// collectWithin runs an operation, and a collection before its k-th call of the driver. It returns
// false if the operation makes no such call.
func (p template) collectWithin(t *testing.T, run func(*raced, acked) error, grace time.Duration, k int) (reached bool) {
	t.Helper()
	r := p.open(t)
	defer r.close()
	does := acked{}
	n, at := 0, ""
	r.before = func(ctx context.Context, call, path string) error {
		if ctx.Value(collecting{}) != nil {
			return nil
		}
		if n++; n == k+1 {
			reached, at = true, call+" "+path
			if err := r.collect(context.WithValue(t.Context(), collecting{}, true), grace); err != nil {
				t.Errorf("collection: %v", err)
			}
		}
		return nil
	}
	err := run(r, does)
	r.before = nil
	// Without a grace, a push whose blobs no manifest names yet may fail. The client then repeats it.
	if err != nil && grace == 0 {
		clear(does)
		err = run(r, does)
	}
	if err != nil {
		t.Errorf("the operation fails: %v", err)
	}
	r.must(r.collect(t.Context(), 0))
	r.verify(p.stays, does)
	if t.Failed() {
		t.Logf("the collection ran before call %d: %s", k, at)
	}
	return reached
}

// An operation within each driver call of a collection. While the collection removes content, the
// operation may have to wait for it. It then goes on beside the collection.
func TestAnOperationWithinACollection(t *testing.T) {
	from := newTemplate(t)
	for operation, run := range operations {
		t.Run(operation, func(t *testing.T) {
			again := repeats[operation]
			if again == nil {
				again = run
			}
			k, step := everyCall(t)
			for more := true; more && !t.Failed(); k += step {
				more = from.operateWithin(t, run, again, k)
			}
		})
	}
}

// operateWithin runs a collection, and an operation before its k-th call of the driver. If the
// operation is refused, again repeats it after the collection. operateWithin returns false if the collection makes no such call.
func (p template) operateWithin(t *testing.T, run, again func(*raced, acked) error, k int) (reached bool) {
	t.Helper()
	r := p.open(t)
	defer r.close()
	does := acked{}
	waits, ended := make(chan struct{}, 1), make(chan error, 1)
	r.store.Waiting = func() {
		select {
		case waits <- struct{}{}:
		default:
		}
	}
	n, at := 0, ""
	r.before = func(ctx context.Context, call, path string) error {
		if ctx.Value(collecting{}) == nil {
			return nil
		}
		if n++; n != k+1 {
			return nil
		}
		reached, at = true, call+" "+path
		go func() { ended <- run(r, does) }()
		select {
		case <-waits: // for this call
		case err := <-ended:
			ended <- err
		}
		return nil
	}
	if err := r.collect(context.WithValue(t.Context(), collecting{}, true), 0); err != nil {
		t.Errorf("collection: %v", err)
	}
	if !reached {
		return false
	}
	// Without a grace, the collection may remove blobs between two requests of a push, which the
	// client then repeats.
	if err := <-ended; err != nil {
		clear(does)
		if err := again(r, does); err != nil {
			t.Errorf("the operation fails: %v", err)
		}
	}
	r.must(r.collect(t.Context(), 0))
	r.verify(p.stays, does)
	if t.Failed() {
		t.Logf("the operation ran before call %d of the collection: %s", k, at)
	}
	return true
}

var errKilled = errors.New("killed")

// A kill at each call of a collection that changes the storage: before the call, and in the middle
// of it. The next collection leaves the same files as one that was not interrupted.
func TestACollectionIsKilled(t *testing.T) {
	from := newTemplate(t)
	whole := from.open(t)
	defer whole.close()
	whole.must(whole.collect(t.Context(), 0))
	want := whole.files()
	for _, half := range []bool{false, true} {
		k := 0
		for more := true; more && !t.Failed(); k++ {
			more = from.killed(t, k, half, want)
		}
		t.Log(k, "kills")
		if k < 10 {
			t.Error("the collection makes too few changes: nothing was tested")
		}
	}
}

// killed ends the storage before the k-th change of a collection, or in the middle of that change.
// It returns false if the collection makes no such change.
func (p template) killed(t *testing.T, k int, half bool, want []string) (reached bool) {
	t.Helper()
	r := p.open(t)
	n, dead, at := 0, false, ""
	r.before = func(_ context.Context, call, path string) error {
		if dead {
			return errKilled
		}
		if call != "Delete" && call != "PutContent" && call != "Move" {
			return nil
		}
		if n++; n != k+1 {
			return nil
		}
		reached, dead, at = true, true, call+" "+path
		if half && call == "Delete" {
			r.must(filepath.WalkDir(filepath.Join(r.dir, RegistryDir, path), func(file string, e fs.DirEntry, err error) error {
				if errors.Is(err, fs.ErrNotExist) {
					return nil // the collection deletes what may be absent
				}
				if err != nil || e.IsDir() {
					return err
				}
				return os.Remove(file) // the folders stay
			}))
		}
		return errKilled
	}
	err := r.collect(t.Context(), 0)
	if reached && !errors.Is(err, errKilled) && !strings.Contains(fmt.Sprint(err), errKilled.Error()) {
		t.Errorf("the collection ends with %v", err)
	}
	r.close()
	if !reached {
		return false
	}
	r = newRaced(t, r.dir)
	defer r.close()
	r.verify(p.stays)
	r.must(r.collect(t.Context(), 0))
	r.verify(p.stays)
	if diff := cmp.Diff(want, r.files()); diff != "" {
		t.Errorf("after another collection (-want +got):\n%s", diff)
	}
	if t.Failed() {
		t.Logf("killed at change %d of the collection (half: %t): %s", k, half, at)
	}
	return true
}

// files lists the files of the store, and its folders of blobs.
func (r *raced) files() (all []string) {
	r.t.Helper()
	root := filepath.Join(r.dir, RegistryDir)
	r.must(filepath.WalkDir(root, func(at string, e fs.DirEntry, err error) error {
		if err == nil && (!e.IsDir() || strings.Contains(at, "/blobs/sha256/")) {
			all = append(all, strings.TrimPrefix(at, root))
		}
		return err
	}))
	return all
}
