package doors

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a depot cannot read is told beside what it has. The answers are those of its doors for a depot with one upload and one damaged record.
func TestEverythingTellsWhatIsDamaged(t *testing.T) {
	answers := map[string]string{
		"/v2/": "{}", "/v2/_catalog": `{"repositories": []}`, "/files/": "",
		uploadsDoor: `{"images": [{"owner": "a", "cluster_name": "b", "kind": "os_images", "image_name": "good", "upload_complete": true}],
			"damaged": [{"owner": "a", "cluster_name": "b", "kind": "os_images", "image_name": "bad", "detail": "record: digest differs"}]}`,
	}
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
