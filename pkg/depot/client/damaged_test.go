package client

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// Everything also returns the artifacts that the depot cannot read. The answers are those of a
// depot with one artifact and one damaged record.
func TestEverythingListsDamagedArtifacts(t *testing.T) {
	d := answering(t, map[string]string{
		"/v2/": "{}", "/v2/_catalog": `{"repositories": []}`, "/files/": "",
		protocol.Base: `{"images": [{"owner": "a", "cluster_name": "b", "kind": "os_images", "image_name": "good", "upload_complete": true}],
			"damaged": [{"owner": "a", "cluster_name": "b", "kind": "os_images", "image_name": "bad", "detail": "record: digest differs"}]}`,
	})
	list, damaged, err := d.Everything(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"os_images/a/b/bad: record: digest differs"}, damaged); diff != "" {
		t.Errorf("damaged (-want +got):\n%s", diff)
	}
	if len(list.Files) != 1 || list.Files[0].Path != "os_images/a/b/good" {
		t.Errorf("list %+v", list)
	}
}

// A truncated list is an error: an export without the rest of the files would look complete.
func TestEverythingReadsLongFolders(t *testing.T) {
	hidden := "." + strings.Repeat("x", 1000) + "\n" // a name that no list can contain
	answers := map[string]string{
		"/v2/": "{}", "/v2/_catalog": `{"repositories": []}`, protocol.Base: "{}", "/files/tool": "tool",
		"/files/": strings.Repeat(hidden, artifacts.MaxList/len(hidden)+1) + "tool\n", "/files/tool.sha256": strings.Repeat("0", 64) + "  tool\n",
	}
	list, _, err := answering(t, answers).Everything(t.Context())
	if err != nil || len(list.Files) != 1 {
		t.Errorf("list %+v, %v; want the last file of the folder", list, err)
	}
	answers["/files/"] = strings.Repeat(hidden, maxFolder/len(hidden)+1) + "tool\n"
	if _, _, err := answering(t, answers).Everything(t.Context()); err == nil || !strings.Contains(err.Error(), "name the artifacts that you need") {
		t.Errorf("a list longer than the limit: %v", err)
	}
}

// answering returns a client of a server that has a fixed answer for each path.
func answering(t *testing.T, answers map[string]string) *Depot {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, known := answers[r.URL.Path]
		if !known {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	d, err := Connect(t.Context(), server.URL, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}
