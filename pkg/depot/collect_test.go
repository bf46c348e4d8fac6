package depot

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/akraino-icn/bpa/pkg/depot/limits"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

func decoded[T any](t *testing.T, w *httptest.ResponseRecorder) (v T) {
	t.Helper()
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	return v
}

// collected starts a collection and waits for its end.
func collected(t *testing.T, d *Depot, query, list string) protocol.Collection {
	t.Helper()
	begun := decoded[protocol.Collection](t, request(t, d, http.StatusAccepted, "POST", "/v1/gc"+query, list))
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) { // between two questions
		c := decoded[protocol.Collection](t, request(t, d, http.StatusOK, "GET", "/v1/gc", ""))
		if c.ID != begun.ID {
			t.Fatalf("collection %s became %s", begun.ID, c.ID)
		}
		if c.State != protocol.Collecting {
			return c
		}
		if time.Now().After(deadline) {
			t.Fatal("the collection does not end")
		}
	}
}

func amount(all []protocol.Amount, name string) protocol.Amount {
	for _, a := range all {
		if a.Name == name {
			return a
		}
	}
	return protocol.Amount{}
}

func TestARunningDepotShowsAndFreesSpace(t *testing.T) {
	dir := t.TempDir()
	d := opened(t, dir)
	defer d.Close() //nolint:errcheck // the test has ended
	request(t, d, http.StatusNotFound, "GET", "/v1/gc", "")
	r := &raced{Depot: d, t: t, dir: dir}
	stays := r.prepare()
	const backup = "/v1/baremetalcluster/tenant/c/binary_images/backup-b-12345678.tar.age/content"
	request(t, d, http.StatusCreated, "PUT", backup, "encrypted")
	stays[backup] = "encrypted"
	request(t, d, http.StatusCreated, "PUT", "/files/a", "plain file")

	u := decoded[protocol.Usage](t, request(t, d, http.StatusOK, "GET", "/v1/usage", ""))
	if free := amount(u.Kinds, "unreferenced"); free.Count == 0 || free.Bytes == 0 || u.Free == nil {
		t.Errorf("usage %+v, want what gc would free", u)
	}
	if got := amount(u.Kinds, "files"); got != (protocol.Amount{Name: "files", Count: 1, Bytes: 10}) {
		t.Errorf("files %+v", got)
	}
	if got := amount(u.Owners, "tenant"); got.Count != 1 || got.Bytes < 9 || amount(u.Kinds, "backups").Bytes < 9 {
		t.Errorf("the tenant has %+v", got)
	}
	dry := collected(t, d, "?dry-run=true", "")
	if want := amount(u.Kinds, "unreferenced"); dry.State != protocol.Collected || dry.FreedBlobs != want.Count || dry.Bytes != want.Bytes {
		t.Errorf("a dry run frees %+v, usage says %+v", dry, want)
	}
	if freed := collected(t, d, "", ""); freed.State != protocol.Collected || freed.FreedBlobs != dry.FreedBlobs || freed.Bytes != dry.Bytes {
		t.Errorf("freed %+v, want what the dry run counted: %+v", freed, dry)
	}
	if again := collected(t, d, "", ""); again.FreedBlobs != 0 {
		t.Errorf("freed again: %+v", again)
	}
	r.verify(stays)
}

// A list of images says nothing about those that clusters have pulled since, and the depot does not
// remember them from before its start.
func TestUnlistedImagesAreFreedLater(t *testing.T) {
	dir := t.TempDir()
	d := opened(t, dir)
	defer d.Close() //nolint:errcheck // the test has ended
	r := &raced{Depot: d, t: t, dir: dir}
	stays := r.prepare()
	list := digest.FromString("another image").String() + "\n"
	if w := request(t, d, http.StatusConflict, "POST", "/v1/gc?unlisted-images=true", list); !strings.Contains(w.Body.String(), "was started") {
		t.Errorf("a list soon after the start: %s", w.Body)
	}
	request(t, d, http.StatusBadRequest, "POST", "/v1/gc?unlisted-images=true", "")
	pulled := imageOf("untagged config", "untagged layer", nil)
	stays["/v2/untagged/manifests/"+digest.FromBytes(pulled).String()] = string(pulled)
	stays["/v2/untagged/blobs/"+digest.FromString("untagged layer").String()] = "untagged layer"
	request(t, d, http.StatusOK, "GET", "/v2/untagged/manifests/"+digest.FromBytes(pulled).String(), "", "Accept", "application/vnd.oci.image.manifest.v1+json")
	d.maintenance.now = func() time.Time { return time.Now().Add(pullMemory) }
	if c := collected(t, d, "?unlisted-images=true", list); c.Manifests != 1 {
		t.Errorf("freed %+v, want the one image that nobody has pulled", c)
	}
	r.verify(stays)
}

// One namespace has used its share, and others have used all space but the reserve. The Backups of
// the other namespaces still fit.
func TestATenantCannotFailTheBackupsOfOthers(t *testing.T) {
	dir := t.TempDir()
	l := limits.Limits{Quota: 100_000, BackupReserve: 20_000, NamespaceShare: 60_000}
	d := opened(t, dir, WithLimits(l))
	upload := func(d *Depot, want int, owner, name string, size int) string {
		t.Helper()
		return request(t, d, want, "PUT", "/v1/baremetalcluster/"+owner+"/c/binary_images/"+name+"/content", strings.Repeat(name[:1], size)).Body.String()
	}
	upload(d, http.StatusCreated, "greedy", "a", 50_000)
	if text := upload(d, http.StatusInsufficientStorage, "greedy", "backup-x-1.tar.age", 20_000); !strings.Contains(text, "share of namespace greedy") || !strings.Contains(text, "--namespace-share") {
		t.Errorf("above the share: %s", text)
	}
	if text := upload(d, http.StatusInsufficientStorage, "other", "b", 35_000); !strings.Contains(text, "for Backups only") || !strings.Contains(text, "kubectl bpa depot gc") {
		t.Errorf("in the reserve: %s", text)
	}
	request(t, d, http.StatusInsufficientStorage, "PUT", "/files/f", strings.Repeat("f", 35_000))
	upload(d, http.StatusCreated, "other", "backup-x-2.tar.age", 35_000)
	// The share follows what is deleted, also after a restart.
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = opened(t, dir, WithLimits(limits.Limits{NamespaceShare: l.NamespaceShare}))
	defer d.Close() //nolint:errcheck // the test has ended
	upload(d, http.StatusInsufficientStorage, "greedy", "c", 20_000)
	request(t, d, http.StatusNoContent, "DELETE", "/v1/baremetalcluster/greedy/c/binary_images/a", "")
	upload(d, http.StatusCreated, "greedy", "c", 20_000)
	upload(d, http.StatusInsufficientStorage, "greedy", "d", 40_001)
	upload(d, http.StatusCreated, "greedy", "d", 40_000)
}
