package depot_test

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/depot"
	"github.com/akraino-icn/bpa/pkg/depot/limits"
)

// beginPush opens an upload in the registry and returns the URL for its next request.
func beginPush(t *testing.T, url string) string {
	t.Helper()
	return url + call(t, "POST", url+"/v2/app/blobs/uploads/", nil).want(t, 202).header.Get("Location")
}

// sendSlowly announces size bytes and sends the bytes of first. The function finish sends the rest
// and returns the status of the answer. The depot asks for a body only after it has reserved space
// for this body. So the space is reserved when sendSlowly returns.
func sendSlowly(t *testing.T, method, url string, size int64, first string) (finish func(rest string) int) {
	t.Helper()
	body, send := io.Pipe()
	req, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	req.ContentLength = size
	req.Header.Set("Expect", "100-continue")
	client := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Hour}}
	t.Cleanup(client.CloseIdleConnections)
	answer := make(chan int, 1)
	go func() {
		resp, err := client.Do(req)
		if err != nil {
			answer <- 0
			return
		}
		_ = resp.Body.Close()
		answer <- resp.StatusCode
	}()
	if _, err := io.WriteString(send, first); err != nil {
		t.Fatal(err)
	}
	return func(rest string) int {
		_, _ = io.WriteString(send, rest)
		_ = send.Close()
		return <-answer
	}
}

func TestPushesAtOnceKeepTheQuotaTogether(t *testing.T) {
	url := serve(t, t.TempDir(), depot.WithLimits(limits.Limits{Quota: 100})).URL
	first := strings.Repeat("a", 60)
	finish := sendSlowly(t, "PUT", beginPush(t, url)+"&digest=sha256:"+sha(first), 60, "a")
	call(t, "PUT", beginPush(t, url)+"&digest=sha256:"+sha(strings.Repeat("b", 41)), strings.NewReader(strings.Repeat("b", 41))).want(t, 507, "quota", "reserved")
	call(t, "PATCH", beginPush(t, url), strings.NewReader(strings.Repeat("b", 41))).want(t, 507, "quota")
	call(t, "PATCH", beginPush(t, url), unsized{strings.NewReader(strings.Repeat("b", 41))}).want(t, 507, "quota")
	call(t, "PUT", url+"/files/b", strings.NewReader(strings.Repeat("b", 41))).want(t, 507, "quota")
	call(t, "PUT", url+osImages+"/b/content", strings.NewReader(strings.Repeat("b", 41))).want(t, 507, "quota")
	if got := finish(first[1:]); got != 201 {
		t.Fatalf("the first push = %d, want 201", got)
	}
	// Written bytes count at once, and no byte counts twice.
	call(t, "PUT", url+"/files/b", strings.NewReader(strings.Repeat("b", 20))).want(t, 201)
	call(t, "PUT", url+"/files/b", strings.NewReader(strings.Repeat("c", 21))).want(t, 507, "it holds 80 of 100")
	call(t, "PUT", url+"/files/b", strings.NewReader("c")).want(t, 201)
	pieces := beginPush(t, url)
	pieces = url + call(t, "PATCH", pieces, strings.NewReader("0123456789")).want(t, 202).header.Get("Location")
	pieces = url + call(t, "PATCH", pieces, unsized{strings.NewReader("0123456789")}).want(t, 202).header.Get("Location")
	call(t, "PATCH", pieces, strings.NewReader(strings.Repeat("d", 20))).want(t, 507, "it holds 81 of 100")
	call(t, "DELETE", pieces, nil).want(t, 204)
	pieces = url + call(t, "PATCH", beginPush(t, url), strings.NewReader(strings.Repeat("e", 39))).want(t, 202).header.Get("Location")
	call(t, "PUT", pieces+"&digest=sha256:"+sha(strings.Repeat("e", 39)), nil).want(t, 201)
	call(t, "PUT", url+"/files/d", strings.NewReader("d")).want(t, 507, "it holds 100 of 100")
}

func TestPushesCountAsOpenUploads(t *testing.T) {
	dir := t.TempDir()
	limit := depot.WithLimits(limits.Limits{MaxOpen: 2})
	server := serve(t, dir, limit)
	url := server.URL
	full := func() {
		t.Helper()
		got := call(t, "POST", url+"/v2/app/blobs/uploads/", nil).want(t, 429, "TOOMANYREQUESTS", "--max-open-uploads")
		if got.header.Get("Retry-After") == "" {
			t.Error("429 does not say when to try again")
		}
	}
	one, two := beginPush(t, url), beginPush(t, url)
	full()
	if got := create(t, url+osImages, record("a", 1, "")).want(t, 503, "--max-open-uploads"); got.header.Get("Retry-After") == "" {
		t.Error("503 does not say when to try again")
	}
	call(t, "DELETE", one, nil).want(t, 204)
	create(t, url+osImages, record("a", 1, "")).want(t, 201)
	full()
	call(t, "PUT", two+"&digest=sha256:"+sha("x"), strings.NewReader("x")).want(t, 201)
	beginPush(t, url)
	full()
	server.Close()

	// Uploads of an earlier process count as open, until they have been idle for a long time.
	url = serve(t, dir, limit).URL
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) { // between two questions
		got := call(t, "POST", url+"/v2/app/blobs/uploads/", nil)
		if got.status == 429 {
			break
		}
		call(t, "DELETE", url+got.header.Get("Location"), nil).want(t, 204)
		if time.Now().After(deadline) {
			t.Fatal("what is open is not counted after a restart")
		}
	}
}

func TestAPushThatWasLeftGivesWay(t *testing.T) {
	dir := t.TempDir()
	limit := depot.WithLimits(limits.Limits{MaxOpen: 1})
	server := serve(t, dir, limit)
	beginPush(t, server.URL)
	server.Close()
	notes, err := filepath.Glob(dir + "/registry/docker/registry/v2/repositories/app/_uploads/*/startedat")
	if err != nil || len(notes) != 1 {
		t.Fatalf("uploads = %v, %v", notes, err)
	}
	long := time.Now().Add(-2 * time.Hour)
	for _, name := range []string{notes[0], filepath.Join(filepath.Dir(notes[0]), "data")} {
		if err := os.Chtimes(name, long, long); err != nil {
			t.Fatal(err)
		}
	}
	url := serve(t, dir, limit).URL
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) { // between two questions
		mine := beginPush(t, url)
		if _, err := os.Stat(notes[0]); errors.Is(err, os.ErrNotExist) {
			return
		}
		call(t, "DELETE", mine, nil).want(t, 204) // the depot had not counted the old upload yet
		if time.Now().After(deadline) {
			t.Fatal("what was left two hours ago does not give way")
		}
	}
}

// A push in many pieces must not become slower with each piece, nor fill its folder with files.
func TestPushInPiecesKeepsFewHashStates(t *testing.T) {
	dir := t.TempDir()
	url := serve(t, dir).URL
	at, content := beginPush(t, url), ""
	for range 20 {
		content += "piece"
		at = url + call(t, "PATCH", at, strings.NewReader("piece"), "Content-Type", "application/octet-stream").want(t, 202).header.Get("Location")
	}
	states, err := filepath.Glob(filepath.Join(dir, "registry/docker/registry/v2/repositories/app/_uploads/*/hashstates/sha256/*"))
	if err != nil || len(states) > 2 {
		t.Errorf("%d hash states after 20 pieces, %v; want at most 2", len(states), err)
	}
	call(t, "PUT", at+"&digest=sha256:"+sha(content), nil).want(t, 201)
	ask(t, "GET", url+"/v2/app/blobs/sha256:"+sha(content)).want(t, 200, content)
}
