package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// kills is how often the test kills the depot. The environment variable DEPOT_KILLS sets another
// number.
const kills = 100

// ledger records what the depot has acknowledged, and therefore must have after each restart.
type ledger struct {
	mu        sync.Mutex
	artifacts map[string]string  // sha256 by path
	images    map[string]v1.Hash // digest by reference; a reference has no registry
	open      map[string]*upload // unfinished upload by path
}

// upload is content that a worker sends to the depot in pieces.
type upload struct {
	path, kind string
	content    []byte
	offset     int // acknowledged
	images     []string
}

// TestNothingAcknowledgedIsLost kills a depot at random moments of uploads and pushes. After each
// restart it checks that everything that was acknowledged is there and whole, and that nothing else
// is visible.
func TestNothingAcknowledgedIsLost(t *testing.T) {
	rounds := kills
	if n, err := strconv.Atoi(os.Getenv("DEPOT_KILLS")); err == nil {
		rounds = n
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	l := &ledger{artifacts: map[string]string{}, images: map[string]v1.Hash{}, open: map[string]*upload{}}
	root := t.TempDir()
	for round := range rounds {
		p := start(t, root)
		l.verify(t, p.address, round == rounds-1)
		ctx, cancel := context.WithCancel(t.Context())
		var working sync.WaitGroup
		for worker := range 3 {
			r := rand.New(rand.NewPCG(seed, uint64(round*10+worker)))
			working.Go(func() { l.work(ctx, p.address, r, fmt.Sprintf("r%d-w%d", round, worker)) })
		}
		time.Sleep(time.Duration(random.IntN(250)) * time.Millisecond) // kill at a random moment
		if err := p.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = p.Wait()
		cancel()
		working.Wait()
	}
	p := start(t, root)
	l.finish(t, p.address)
	l.verify(t, p.address, true)
	t.Logf("after %d kills: %d artifacts and %d images, all whole", rounds, len(l.artifacts), len(l.images))
	if len(l.artifacts) == 0 || len(l.images) == 0 {
		t.Error("nothing was acknowledged, so nothing was tested")
	}
}

// work sends images, archives and files until the depot is gone.
func (l *ledger) work(ctx context.Context, address string, r *rand.Rand, name string) {
	for n := 0; ctx.Err() == nil; n++ {
		id := fmt.Sprintf("%s-n%d", name, n)
		var err error
		switch r.IntN(4) {
		case 0:
			err = l.collect(ctx, address)
		case 1:
			err = l.push(ctx, address, id)
		case 2:
			err = l.archive(ctx, address, id, r)
		default:
			err = l.file(ctx, address, id, r)
		}
		if err != nil {
			return
		}
	}
}

// collect uploads and deletes an artifact, and begins a garbage collection that frees everything that
// nothing refers to. A push of another worker may then fail, and nothing that was acknowledged may be
// lost.
func (l *ledger) collect(ctx context.Context, address string) error {
	base := "http://" + address
	if err := ask(ctx, http.MethodPost, base+"/v1/gc?grace=0s", nil, http.StatusAccepted); err != nil && !strings.Contains(err.Error(), "409") {
		return err
	}
	path := base + fmt.Sprintf("/v1/baremetalcluster/o/c/os_images/deleted-%d", rand.Uint64())
	if err := ask(ctx, http.MethodPut, path+"/content", strings.NewReader("deleted soon"), http.StatusCreated); err != nil {
		return err
	}
	return ask(ctx, http.MethodDelete, path, nil, http.StatusNoContent)
}

func (l *ledger) push(ctx context.Context, address, id string) error {
	img, err := random.Image(20_000, 2)
	if err != nil {
		return err
	}
	ref, err := name.NewTag(address + "/pushed-" + id + ":v1")
	if err != nil {
		return err
	}
	if err := remote.Write(ref, img, remote.WithContext(ctx), remote.WithRetryPredicate(func(error) bool { return false })); err != nil {
		return err
	}
	return l.image("pushed-"+id+":v1", img)
}

func (l *ledger) image(ref string, img v1.Image) error {
	d, err := img.Digest()
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.images[ref] = d
	return nil
}

func (l *ledger) file(ctx context.Context, address, id string, r *rand.Rand) error {
	content := make([]byte, 1+r.IntN(200_000))
	for i := range content {
		content[i] = byte(r.Uint32())
	}
	return l.send(ctx, address, &upload{path: "/v1/baremetalcluster/o/c/os_images/" + id, kind: "os_images", content: content}, r)
}

func (l *ledger) archive(ctx context.Context, address, id string, r *rand.Rand) error {
	img, err := random.Image(20_000, 2)
	if err != nil {
		return err
	}
	tag, err := name.NewTag("example.com/archived-" + id + ":v1")
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := tarball.Write(tag, img, &b); err != nil {
		return err
	}
	return l.send(ctx, address, &upload{path: "/v1/baremetalcluster/o/c/container_images/" + id, kind: "container_images", content: b.Bytes(), images: []string{"archived-" + id + ":v1"}}, r)
}

// send opens an upload and sends pieces of random size until it is complete.
func (l *ledger) send(ctx context.Context, address string, u *upload, r *rand.Rand) error {
	record := fmt.Sprintf(`{"owner": "o", "image_name": %q, "image_length": %d}`, u.path[strings.LastIndex(u.path, "/")+1:], len(u.content))
	if err := ask(ctx, http.MethodPost, "http://"+address+u.path[:strings.LastIndex(u.path, "/")], strings.NewReader(record), http.StatusCreated, "Content-Type", "application/json"); err != nil {
		return err
	}
	l.mu.Lock()
	l.open[u.path] = u
	l.mu.Unlock()
	return l.resume(ctx, address, u, r)
}

func (l *ledger) resume(ctx context.Context, address string, u *upload, r *rand.Rand) error {
	for u.offset < len(u.content) {
		piece := min(1+r.IntN(100_000), len(u.content)-u.offset)
		err := ask(ctx, http.MethodPatch, "http://"+address+u.path, bytes.NewReader(u.content[u.offset:u.offset+piece]), http.StatusNoContent, "Upload-Offset", strconv.Itoa(u.offset))
		if errors.Is(err, errBusy) {
			continue // it is being recovered
		}
		if err != nil {
			return err
		}
		u.offset += piece
	}
	l.done(u)
	return nil
}

// done records that an upload and the images that it contains are complete.
func (l *ledger) done(u *upload) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.artifacts[u.path] = fmt.Sprintf("%x", sha256.Sum256(u.content))
	for _, ref := range u.images {
		l.images[ref] = v1.Hash{} // the depot makes the manifest of this image, so the test accepts any digest
	}
	delete(l.open, u.path)
}

// errBusy means that the depot answered 503 with Retry-After.
var errBusy = errors.New("503")

func ask(ctx context.Context, method, url string, body io.Reader, want int, header ...string) error {
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return err
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") != "" {
		return errBusy
	}
	if resp.StatusCode != want {
		return fmt.Errorf("%s %s = %d %s", method, url, resp.StatusCode, text)
	}
	return nil
}

// verify checks the unfinished uploads. If all is set, it also checks everything else that the
// depot acknowledged.
func (l *ledger) verify(t *testing.T, address string, all bool) {
	t.Helper()
	for path, u := range l.open {
		l.verifyOpen(t, address, path, u)
	}
	if !all {
		return
	}
	for path, sum := range l.artifacts {
		got, status := fetch(t, "http://"+address+path+"/content")
		if status != http.StatusOK || got != sum {
			t.Fatalf("acknowledged %s = %d with sha256 %s, want %s", path, status, got, sum)
		}
	}
	for ref, want := range l.images {
		l.verifyImage(t, address, ref, want)
	}
}

// verifyOpen checks an unfinished upload: the depot must have at least the bytes that it
// acknowledged, and must serve the content only if it is whole.
func (l *ledger) verifyOpen(t *testing.T, address, path string, u *upload) {
	t.Helper()
	resp, err := http.Head("http://" + address + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	offset, err := strconv.Atoi(resp.Header.Get("Upload-Offset"))
	if resp.StatusCode != http.StatusOK || err != nil || offset < u.offset || offset > len(u.content) {
		t.Fatalf("open upload %s = %d at %q, acknowledged were %d", path, resp.StatusCode, resp.Header.Get("Upload-Offset"), u.offset)
	}
	u.offset = offset
	got, status := fetch(t, "http://"+address+path+"/content")
	for deadline := time.Now().Add(time.Minute); status == http.StatusNotFound && offset == len(u.content) && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond) // the depot still recovers the upload
		got, status = fetch(t, "http://"+address+path+"/content")
	}
	whole := fmt.Sprintf("%x", sha256.Sum256(u.content))
	switch {
	case status == http.StatusNotFound && offset < len(u.content):
	case status == http.StatusOK && got == whole: // the upload was complete, and only the answer was lost
		l.done(u)
	default:
		t.Fatalf("half-written %s is visible: %d with sha256 %s", path, status, got)
	}
}

func (l *ledger) verifyImage(t *testing.T, address, ref string, want v1.Hash) {
	t.Helper()
	tag, err := name.NewTag(address + "/" + ref)
	if err != nil {
		t.Fatal(err)
	}
	img, err := remote.Image(tag)
	if err != nil {
		t.Fatalf("acknowledged image %s: %v", ref, err)
	}
	if got, err := img.Digest(); err != nil || got != want && want != (v1.Hash{}) {
		t.Fatalf("acknowledged image %s = %s, %v; want %s", ref, got, err, want)
	}
	if err := validate.Image(img); err != nil {
		t.Fatalf("acknowledged image %s: %v", ref, err)
	}
}

// finish completes all unfinished uploads, from the offset that the depot reports.
func (l *ledger) finish(t *testing.T, address string) {
	t.Helper()
	l.verify(t, address, false)
	r := rand.New(rand.NewPCG(1, 1))
	for _, u := range l.open {
		if err := l.resume(t.Context(), address, u, r); err != nil {
			t.Fatalf("upload %s cannot be finished: %v", u.path, err)
		}
	}
}

// fetch returns the SHA-256 of the content at a URL.
func fetch(t *testing.T, url string) (sum string, status int) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	h := sha256.New()
	if _, err := io.Copy(h, resp.Body); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", h.Sum(nil)), resp.StatusCode
}

func TestSecondDepotOnOneStoreIsRefused(t *testing.T) {
	root := t.TempDir()
	start(t, root)
	second := exec.Command(os.Args[0], "--root="+root, "--local-listen=127.0.0.1:0")
	second.Env = append(os.Environ(), asDepot+"=1")
	out, err := second.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || !strings.Contains(string(out), "in use by another depot") {
		t.Errorf("a second depot = %v: %s", err, out)
	}
}
