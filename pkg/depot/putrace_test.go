package depot_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// After parallel uploads of one file, the stored content and the stored checksum belong together.
func TestFilePutByTwoHasItsOwnChecksum(t *testing.T) {
	server := serve(t, t.TempDir())
	for n := range 60 {
		url := fmt.Sprintf("%s/files/contested-%d", server.URL, n)
		var all sync.WaitGroup
		for who := range 4 {
			all.Go(func() {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url, strings.NewReader(fmt.Sprint("content ", who)))
				if err != nil {
					t.Error(err)
					return
				}
				response, err := http.DefaultClient.Do(request)
				if err != nil {
					t.Error(err)
					return
				}
				response.Body.Close()
			})
		}
		all.Wait()
		response, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		ask(t, "GET", url+".sha256").want(t, 200, sha(string(content)))
	}
}
