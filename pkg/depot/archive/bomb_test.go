package archive

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

// TestIndexBomb imports a few small indexes, each of which names the same index many times. A
// reader that followed each name would visit billions of manifests.
func TestIndexBomb(t *testing.T) {
	const times = 2000
	child := v1.Descriptor{MediaType: v1.MediaTypeImageIndex, Digest: digest.FromString("nowhere"), Size: 7}
	var files []file
	for range maxDepth {
		body, err := json.Marshal(v1.Index{Manifests: slices.Repeat([]v1.Descriptor{child}, times)})
		if err != nil {
			t.Fatal(err)
		}
		child.Digest, child.Size = digest.FromBytes(body), int64(len(body))
		files = append(files, file{name: "blobs/sha256/" + child.Digest.Encoded(), content: body})
	}
	root, err := json.Marshal(v1.Index{Manifests: []v1.Descriptor{child}})
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, file{name: "index.json", content: root})
	wantRefused(t, pack(t, files...))
}

// TestSavedBomb imports an archive of docker save's form whose manifest.json names one config many
// times.
func TestSavedBomb(t *testing.T) {
	config := fmt.Appendf(nil, `{"rootfs":{"type":"layers","diff_ids":[]},"comment":%q}`, strings.Repeat("a", 1<<20))
	list := []byte("[")
	for n := range 20_000 {
		if n > 0 {
			list = append(list, ',')
		}
		list = fmt.Appendf(list, `{"Config":"c.json","RepoTags":["a:%d"],"Layers":[]}`, n)
	}
	wantRefused(t, pack(t, file{name: "manifest.json", content: append(list, ']')}, file{name: "c.json", content: config}))
}

func wantRefused(t *testing.T, data []byte) {
	t.Helper()
	done := make(chan error, 1)
	i := newImporter(t)
	go func() {
		_, err := i.take(t, "bomb.tar", data)
		done <- err
	}()
	select {
	case err := <-done:
		var refused *Refusal
		if !errors.As(err, &refused) {
			t.Errorf("error = %v, want a refusal", err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the archive keeps the depot busy")
	}
}
