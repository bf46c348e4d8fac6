package rest_test

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// flip changes one bit of each blob that contains text. It fails the test if no blob contains it.
func flip(t *testing.T, dir, text string) {
	t.Helper()
	flipped := 0
	err := filepath.WalkDir(filepath.Join(dir, "docker/registry/v2/blobs"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(body), text) {
			return err
		}
		flipped++
		body[strings.Index(string(body), text)] ^= 1
		return os.WriteFile(path, body, 0o600)
	})
	if err != nil || flipped == 0 {
		t.Fatalf("%d blobs with %q flipped: %v", flipped, text, err)
	}
}

func TestOneDamagedRecordHidesNoOther(t *testing.T) {
	for name, text := range map[string]string{
		"a letter of the record":   `"image_name":"hurt"`,
		"the form of the record":   `{"owner":"o","cluster_name":"c","type":"os_images","image_name":"hurt"`,
		"the title in a manifest":  `"org.opencontainers.image.title":"hurt"`,
		"the form of the manifest": `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","artifactType":"application/vnd.akraino.bpa.artifact.v1","config":`,
	} {
		t.Run(name, func(t *testing.T) {
			c := newContract(t)
			c.load()
			c.do(201, "PUT", kind+"/hurt/content", "first")
			if !strings.Contains(name, "form of the manifest") { // the manifest of this artifact has the same text, so flip would damage it too
				c.do(201, "PUT", kind+"/whole/content", "second")
			}
			flip(t, c.dir, text)
			if strings.Contains(name, "form of the manifest") {
				c.do(201, "PUT", kind+"/whole/content", "second")
			}
			for _, at := range []string{"", "/o/c", "/o/c/os_images"} {
				c.do(200, "GET", protocol.Base+at, "")
				got := list(t, c.server.URL+protocol.Base+at)
				if len(got.Images) != 1 || got.Images[0].ImageName != "whole" {
					t.Errorf("the list has %+v, want the intact one", got.Images)
				}
				if len(got.Damaged) != 1 || got.Damaged[0].ImageName != "hurt" || got.Damaged[0].Owner != "o" || !strings.Contains(got.Damaged[0].Detail, "depot scrub") {
					t.Errorf("damaged are %+v, want the damaged one and the next step", got.Damaged)
				}
			}
			c.do(204, "DELETE", kind+"/hurt", "")
			c.do(201, "PUT", kind+"/hurt/content", "again")
			if got := list(t, c.server.URL+kind); len(got.Images) != 2 || len(got.Damaged) != 0 {
				t.Errorf("after it was uploaded again: %+v", got)
			}
		})
	}
}

type listed struct {
	Images  []protocol.Record
	Damaged []struct {
		Owner, Detail string
		ImageName     string `json:"image_name"`
	}
}

func list(t *testing.T, url string) (l listed) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&l); err != nil {
		t.Fatal(err)
	}
	return l
}
