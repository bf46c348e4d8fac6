package rest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
)

// A client that does not know the id of an upload must not disturb the client that sends this
// upload.
func TestAWrongIDDoesNotInterruptAnUpload(t *testing.T) {
	for _, c := range []struct {
		method string
		header []string
	}{
		{"PATCH", nil},
		{"DELETE", nil},
		{"POST", []string{"X-HTTP-Method-Override", "DELETE"}},
	} {
		t.Run(c.method, func(t *testing.T) {
			d := newContract(t)
			d.load()
			upload := d.tusCreate("a", "", "20000")
			body, send := io.Pipe()
			req, err := http.NewRequestWithContext(t.Context(), "PATCH", d.server.URL+upload, body)
			if err != nil {
				t.Fatal(err)
			}
			for k, v := range map[string]string{"Tus-Resumable": "1.0.0", "Upload-Offset": "0", "Content-Type": "application/offset+octet-stream"} {
				req.Header.Set(k, v)
			}
			answer := make(chan int, 1)
			go func() {
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					answer <- 0
					return
				}
				_ = resp.Body.Close()
				answer <- resp.StatusCode
			}()
			half := strings.Repeat("x", 10000)
			if _, err := io.WriteString(send, half); err != nil {
				t.Fatal(err)
			}
			d.arrived(upload, len(half))
			header := append([]string{"Tus-Resumable", "1.0.0", "Upload-Offset", "0", "Content-Type", "application/offset+octet-stream"}, c.header...)
			d.do(404, c.method, upload+"0", "x", header...)
			if _, err := io.WriteString(send, half); err != nil {
				t.Fatal(err)
			}
			_ = send.Close()
			if got := <-answer; got != http.StatusNoContent {
				t.Errorf("the running upload ended with status %d, want 204", got)
			}
		})
	}
}

// A client that lost the answer to a whole upload sends the same content again.
func TestAWholeUploadMayBeSentAgain(t *testing.T) {
	c := newContract(t)
	c.load()
	const content = kind + "/whole/content"
	sum := []string{"X-Checksum-Sha256", digest.FromString("all of it").Encoded()}
	c.do(201, "PUT", content, "all of it")
	for _, header := range [][]string{nil, sum} {
		if got := c.do(200, "PUT", content, "all of it", header...).Header.Get("X-Checksum-Sha256"); got != sum[1] {
			t.Errorf("the second answer has the checksum %q, want %s", got, sum[1])
		}
	}
	c.do(409, "PUT", content, "others it")                                                                // same length, other content
	c.do(409, "PUT", content, "longer than it was")                                                       //
	c.do(409, "PUT", content, "all of it", "X-Checksum-Sha256", digest.FromString("others it").Encoded()) // another checksum is announced
	c.do(422, "PUT", content, "others it", sum...)                                                        // damaged during transfer
	c.do(400, "PUT", content, strings.Repeat("x", 9), "X-Checksum-Sha256", "x")                           //
	c.do(201, "PUT", kind+"/another/content", "others it", "X-Checksum-Sha256", digest.FromString("others it").Encoded())
}
